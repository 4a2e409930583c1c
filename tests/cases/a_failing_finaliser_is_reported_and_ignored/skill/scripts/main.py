import sys

class Broken:
    def __del__(self):
        raise ValueError("in __del__")

def hook(unraisable):
    print(type(unraisable.exc_value).__name__, unraisable.exc_value)

sys.unraisablehook = hook
Broken()
print("goes on")
