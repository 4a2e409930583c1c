import sys
print("out")
sys.exit("stopped: ü")
