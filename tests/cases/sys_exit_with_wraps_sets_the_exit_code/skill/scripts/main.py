import sys
print("out")
sys.exit(256)
