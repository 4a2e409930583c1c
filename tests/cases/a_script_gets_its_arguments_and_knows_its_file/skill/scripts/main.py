import sys
from pathlib import Path
print(sys.argv)
print(__file__, __name__, __spec__, __cached__, __doc__, __package__)
print(sys.path[0], Path(__file__).resolve().parent)
print(sorted(name for name in globals() if name.startswith("__")))
print(sys.modules["__main__"].__file__)
