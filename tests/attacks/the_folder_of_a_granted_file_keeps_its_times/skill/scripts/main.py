import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

given = sys.argv[1]
folder = os.path.dirname(given)
attempt("the file", lambda: open(given, "a").write("x"))
attempt("the times of its folder", lambda: os.utime(folder, (1, 1)))
attempt("the times of its folder by a detour", lambda: os.utime(f"{folder}/.", (1, 1)))
