import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

for path in sys.argv[1:]:
    attempt(f"utime {path}", lambda: os.utime(path, (1, 1)))
    attempt(f"changed {path}", lambda: os.stat(path).st_mtime < 2)
    attempt(f"utime {path} to now", lambda: os.utime(path))
    attempt(f"truncate {path}", lambda: os.truncate(path, 0))
    attempt(f"open {path}", lambda: os.open(path, os.O_RDWR) > 0)

# These change names and nothing else.
for path in sys.argv[1:]:
    attempt(f"stat {path}", lambda: os.stat(path).st_nlink)
    attempt(f"rename {path}", lambda: os.rename(path, path + "2"))
    attempt(f"link {path}2", lambda: os.link(path + "2", path))
attempt("list", lambda: sorted(os.listdir()))
for path in sys.argv[1:]:
    attempt(f"remove {path}", lambda: os.remove(path))
    attempt(f"remove {path}2", lambda: os.remove(path + "2"))
attempt("list", lambda: sorted(os.listdir()))
