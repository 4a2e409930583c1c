from pathlib import Path
try:
    Path("/skill/scripts/new.txt").write_text("x")
except OSError as error:
    print(type(error).__name__, error.filename)
try:
    open("/etc/passwd")
except OSError as error:
    print(type(error).__name__, error.filename)
