import errno
import os

longest, beyond = "./" * 2000 + ".", "a/" * 3_000_000
calls = {
    "open": open, "stat": os.stat, "lstat": os.lstat, "listdir": os.listdir, "scandir": os.scandir, "mkdir": os.mkdir,
    "remove": os.remove, "rmdir": os.rmdir, "readlink": os.readlink, "utime": os.utime, "access": lambda path: os.access(path, os.R_OK),
    "rename": lambda path: os.rename("a", path), "link": lambda path: os.link("a", path), "symlink": lambda path: os.symlink("a", path),
    "truncate": lambda path: os.truncate(path, 0), "chdir": os.chdir, "bytes": lambda path: open(path.encode()), "os.open": lambda path: os.open(path, 0),
}
for name, call in calls.items():
    try:
        print(name, call(beyond))
    except OSError as error:
        print(name, errno.errorcode[error.errno], error.filename in (beyond, beyond.encode()))
print(os.path.samestat(os.stat(longest), os.stat(".")), os.path.exists(beyond))
