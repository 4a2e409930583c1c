import traceback, sys

def f():
    raise ValueError("bad")

try:
    f()
except ValueError:
    print(traceback.format_exc(), end="")
    traceback.print_exc()

def g():
    traceback.print_stack(file=sys.stdout)
    print(len(traceback.extract_stack()))
g()
