import sys, json
print(repr(sys.stdin.readline()))
print(json.loads(sys.stdin.readline()))
for line in sys.stdin:
    print(repr(line))
    break
print(sys.stdin.buffer.read())
print(repr(sys.stdin.read()))
