import asyncio, os, re, sys, time

print("begins", flush=True)
if sys.argv[1:] == ["endless"]:
    while True:
        bytearray(50 << 20)
else:
    bytearray(50 << 20)
print("ends")
