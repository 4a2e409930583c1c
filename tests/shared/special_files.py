import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

for path in sys.argv[1:]:
    attempt(f"read {path}", lambda: open(path).read())
    attempt(f"write {path}", lambda: open(path, "r+").write("x"))
    attempt(f"append {path}", lambda: os.open(path, os.O_WRONLY | os.O_APPEND) > 0)
