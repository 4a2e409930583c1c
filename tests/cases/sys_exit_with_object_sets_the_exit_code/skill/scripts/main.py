import sys
print("out")
sys.exit(["a", 1])
