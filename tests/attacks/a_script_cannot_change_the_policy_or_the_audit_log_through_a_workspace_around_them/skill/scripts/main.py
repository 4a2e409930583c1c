import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

def replace(path):
    open("own.txt", "w").write("x")
    os.replace("own.txt", path)

for path in sys.argv[1:]:
    attempt(f"append to {path}", lambda: open(path, "a").write("x"))
    attempt(f"create {path}", lambda: open(path, "x").write("x"))
    attempt(f"replace {path}", lambda: replace(path))
    attempt(f"link {path}", lambda: os.link(path, "hard"))
    attempt(f"truncate {path}", lambda: os.truncate(path, 0))
    attempt(f"times of {path}", lambda: os.utime(path, (1, 1)))
    attempt(f"move {path} away", lambda: os.rename(path, "moved"))
    attempt(f"remove {path}", lambda: os.remove(path))
for path in sorted({os.path.dirname(path) for path in sys.argv[1:]} - {""}):
    attempt(f"make {path}", lambda: os.makedirs(path))
    attempt(f"move {path} away", lambda: os.rename(path, "moved"))
    attempt(f"link to {path}", lambda: os.symlink("elsewhere", path))
