import atexit
atexit.register(print, "bye")
try:
    raise SystemExit(3)
finally:
    print("finally")
