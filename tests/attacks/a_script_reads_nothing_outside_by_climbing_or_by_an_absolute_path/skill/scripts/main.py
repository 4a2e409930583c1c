import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

for path in sys.argv[1:]:
    attempt(f"read {path}", lambda: open(path).read())
    attempt(f"stat {path}", lambda: os.stat(path).st_size)
    attempt(f"list {path}", lambda: os.listdir(os.path.dirname(path) or "."))
