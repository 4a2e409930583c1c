import asyncio, os, re, sys, time

print("begins", flush=True)
if sys.argv[1:] == ["endless"]:
    while True:
        pass
else:
    pass
print("ends")
