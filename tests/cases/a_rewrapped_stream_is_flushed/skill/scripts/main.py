import sys, io
sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", line_buffering=False)
sys.stderr = io.TextIOWrapper(sys.stderr.detach(), encoding="utf-8")
print("wrapped ü")
print("error ü", file=sys.stderr)
