import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

for path in sys.argv[1:]:
    attempt(f"hard link to {path}", lambda: os.link(path, "hard.txt"))
    attempt("it is there", lambda: os.stat("hard.txt").st_nlink)
