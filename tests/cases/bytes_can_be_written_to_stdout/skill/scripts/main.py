import sys
sys.stdout.buffer.write(b"\x00\xff raw\n")
sys.stdout.write("text after\n")
sys.stdout.flush()
sys.stdout.buffer.write(b"end\n")
