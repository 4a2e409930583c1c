# At the root.
