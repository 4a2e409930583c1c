import asyncio, os, re, sys, time

print("begins", flush=True)
if sys.argv[1:] == ["endless"]:
    re.match('(a|a)*b', 'a' * 60)
else:
    re.match('(a|a)*b', 'a' * 5)
print("ends")
