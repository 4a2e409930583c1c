import atexit, os, sys
atexit.register(print, "never")
print("flushed", flush=True)
print("lost")
os._exit(9)
