import sys
print("out")
sys.exit(None)
