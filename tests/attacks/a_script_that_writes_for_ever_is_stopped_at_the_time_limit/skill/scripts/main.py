import asyncio, os, re, sys, time

print("begins", flush=True)
if sys.argv[1:] == ["endless"]:
    while True:
        sys.stdout.write('x' * 1000)
        sys.stdout.flush()
else:
    print('x')
print("ends")
