import io
import sys

print("written when the stream is dropped", end="")
sys.stdout = sys.__stdout__ = io.StringIO()
print("written nowhere")
