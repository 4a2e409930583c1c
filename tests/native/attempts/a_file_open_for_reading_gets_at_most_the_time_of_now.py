# What is open can be given the time of now, which `touch` needs. Without a file tree of its own this
# holds for what is open only for reading, too: the one thing that a script can change there.
attempt("the skill, by name", lambda: os.utime(f"{SKILL}/data"))
attempt("the skill, open", lambda: os.utime(os.open(f"{SKILL}/data", os.O_RDONLY)))
attempt("the skill, open, to another time", lambda: os.utime(os.open(f"{SKILL}/data", os.O_RDONLY), (1, 1)))
# The twin: the workspace.
attempt("the workspace, open", lambda: os.utime(os.open("own", os.O_RDONLY)))
attempt("the tool", lambda: os.system("touch new own"))
