import asyncio, os, re, sys, time

print("begins", flush=True)
if sys.argv[1:] == ["endless"]:
    time.sleep(1000)
else:
    time.sleep(0.01)
print("ends")
