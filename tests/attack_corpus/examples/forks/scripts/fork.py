# Starts processes.
import os, subprocess, sys

def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    return child

for what, do in [("fork", fork), ("run", lambda: subprocess.run(["sleep", "1"]))]:
    try:
        print(what, bool(do()))
    except Exception as error:
        print(what, type(error).__name__, file=sys.stderr)
print("done")
