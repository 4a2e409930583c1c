import sys
sys.stdout.buffer.write(b'a\xff\xfeb\n')
sys.stderr.buffer.write(b'c\xf0\x9f\n')
