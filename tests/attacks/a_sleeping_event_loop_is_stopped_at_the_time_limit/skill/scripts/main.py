import asyncio, os, re, sys, time

print("begins", flush=True)
if sys.argv[1:] == ["endless"]:
    asyncio.run(asyncio.sleep(1000))
else:
    asyncio.run(asyncio.sleep(0.01))
print("ends")
