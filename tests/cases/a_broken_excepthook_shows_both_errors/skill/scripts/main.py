import sys

def hook(kind, value, traceback):
    raise TypeError("hook is broken")

sys.excepthook = hook
1 / 0
