import asyncio, os, re, sys, time

print("begins", flush=True)
if sys.argv[1:] == ["endless"]:
    pow(3, 1 << 28) and pow(7, 1 << 40)
else:
    pow(3, 100)
print("ends")
