error = ValueError("bad row")
error.add_note("in file a.csv")
raise error
