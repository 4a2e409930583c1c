from pathlib import Path
Path("/tmp/x").write_bytes(b"caf\xe9")
print(open("/tmp/x", encoding="latin-1").read())
open("/tmp/x").read()
