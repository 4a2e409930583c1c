import atexit

@atexit.register
def last():
    print("last")

def broken():
    raise ValueError("in an exit function")

atexit.register(print, "first, third")
print("main")
