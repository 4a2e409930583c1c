import asyncio, os, re, sys, time

print("begins", flush=True)
if sys.argv[1:] == ["endless"]:
    while True:
        try:
            held = [bytearray(1 << 20) for _ in range(1000)]
        except MemoryError:
            held = None
else:
    held = bytearray(1 << 20)
print("ends")
