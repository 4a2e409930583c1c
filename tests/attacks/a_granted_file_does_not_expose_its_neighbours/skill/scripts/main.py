import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

given = sys.argv[1]
folder = os.path.dirname(given)
attempt("the file", lambda: open(given).read())
attempt("its neighbour", lambda: open(f"{folder}/secret.txt").read())
attempt("its neighbour by a detour", lambda: open(f"{folder}/./secret.txt").read())
attempt("its neighbour's size", lambda: os.stat(f"{folder}/secret.txt").st_size)
attempt("its folder", lambda: sorted(os.listdir(folder)))
attempt("a change", lambda: open(given, "a").write("x"))
