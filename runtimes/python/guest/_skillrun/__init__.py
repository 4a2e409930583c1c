"""What makes CPython on WASI run a script the way `python3 script.py` does.

Everything at module level here runs once, while the component is built; the memory it leaves
behind is the snapshot every run starts from. Only `script.run` runs again and again.

The package name is private so that no module next to a script can clash with it.
"""
