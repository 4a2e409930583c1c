import sys, locale, os
from pathlib import Path
print(sys.stdout.encoding, sys.stdout.errors, sys.stderr.errors, sys.stdin.errors, sys.getfilesystemencoding(), locale.getpreferredencoding())
path = Path("/tmp/übung – 日本.txt")
path.write_text("grüße 🎉\n")
print(path.read_text(), path.read_bytes(), os.listdir("/tmp"))
with open(path) as file:
    print(file.encoding)
print("lone \udcff surrogate".encode("utf-8", "surrogateescape"))
print("é", file=sys.stderr)
sys.stdout.reconfigure(encoding="latin-1", errors="replace")
print("ascii again")
