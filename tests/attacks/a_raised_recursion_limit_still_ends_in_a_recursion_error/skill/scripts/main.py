import sys
sys.setrecursionlimit(int(sys.argv[1]))

def down():
    down()

try:
    down()
except (RecursionError, MemoryError) as error:
    print(type(error).__name__)
del down
print("goes on")
