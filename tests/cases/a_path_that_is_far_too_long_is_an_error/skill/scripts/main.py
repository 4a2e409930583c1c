import errno
import os
from pathlib import Path

longest, beyond = "./" * 2000 + ".", "a/" * 3_000_000
calls = {
    "open": open, "stat": os.stat, "lstat": os.lstat, "listdir": os.listdir, "scandir": os.scandir, "mkdir": os.mkdir,
    "remove": os.remove, "rmdir": os.rmdir, "readlink": os.readlink, "utime": os.utime, "access": lambda path: os.access(path, os.R_OK),
    "rename": lambda path: os.rename("a", path), "link": lambda path: os.link("a", path), "symlink": lambda path: os.symlink("a", path),
    "stat by keyword": lambda path: os.stat(path=path), "Path.stat": lambda path: Path(path).stat(), "Path.lstat": lambda path: Path(path).lstat(),
    "access Path": lambda path: os.access(Path(path), os.R_OK), "listdir Path": lambda path: os.listdir(Path(path)),
    "chmod": lambda path: os.chmod(path, 0o644), "chmod Path": lambda path: os.chmod(Path(path), 0o644),
    "chown": lambda path: os.chown(path, -1, -1), "lchown": lambda path: os.lchown(path, -1, -1),
    "truncate": lambda path: os.truncate(path, 0), "chdir": os.chdir, "bytes": lambda path: open(path.encode()), "os.open": lambda path: os.open(path, 0),
}
for name, call in calls.items():
    try:
        print(name, call(beyond))
    except OSError as error:
        print(name, errno.errorcode[error.errno], os.fspath(error.filename) in (beyond, beyond[:-1], beyond.encode()))
print(os.path.samestat(os.stat(longest), os.stat(".")), os.path.exists(beyond), Path(beyond).exists())
