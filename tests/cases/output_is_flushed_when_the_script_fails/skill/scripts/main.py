import sys
print("to stdout")
print("to stderr", file=sys.stderr)
sys.stdout.write("no newline")
sys.stderr.write("also none ")
raise OSError("failed")
