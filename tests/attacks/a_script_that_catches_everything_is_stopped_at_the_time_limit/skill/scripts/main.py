import asyncio, os, re, sys, time

print("begins", flush=True)
if sys.argv[1:] == ["endless"]:
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
else:
    pass
print("ends")
