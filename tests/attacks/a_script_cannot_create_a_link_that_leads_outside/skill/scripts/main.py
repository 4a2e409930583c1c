import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

for target in sys.argv[1:]:
    attempt(f"link to {target}", lambda: os.symlink(target, "link"))
    if os.path.lexists("link"):
        print(os.readlink("link"))
        os.remove("link")
