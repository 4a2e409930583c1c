import os, sys
end = "\0.txt" if "nul" in sys.argv else ""
for name, do in (("open", open), ("stat", os.stat), ("list", os.listdir), ("remove", os.remove), ("mkdir", os.mkdir)):
    try:
        print(name, type(do("/tmp/own" + end)).__name__)
    except (OSError, ValueError) as error:
        print(name, type(error).__name__, error)
