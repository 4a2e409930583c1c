import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

folder = sys.argv[1]
attempt("read", lambda: open(f"{folder}/a.txt").read())
attempt("write", lambda: open(f"{folder}/a.txt", "w").write("b"))
attempt("create", lambda: open(f"{folder}/b.txt", "x").write("b"))
attempt("remove", lambda: os.remove(f"{folder}/a.txt"))
