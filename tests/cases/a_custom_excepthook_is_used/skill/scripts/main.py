import sys

def hook(kind, value, traceback):
    print(f"caught {kind.__name__}: {value}", file=sys.stderr)

sys.excepthook = hook
1 / 0
