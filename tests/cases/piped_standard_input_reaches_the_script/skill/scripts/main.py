import sys
print([line for line in sys.stdin])
