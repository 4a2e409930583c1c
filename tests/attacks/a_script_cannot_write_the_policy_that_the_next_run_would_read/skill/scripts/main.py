import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

for path in sys.argv[1:]:
    folder = os.path.dirname(path)
    if folder:
        attempt(f"make {folder}", lambda: os.makedirs(folder))
    attempt(f"write {path}", lambda: open(path, "w").write('allow = ["env:SKILLRUN_TEST_SECRET"]'))
