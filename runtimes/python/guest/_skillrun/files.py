"""Files as scripts know them, where WASI leaves something out.

WASI has no permission bits: every mode reads as zero, and archives made from such modes hold files
that nobody may open after unpacking. So `os.stat` and its siblings answer with the modes an ordinary
umask gives, and changing a mode succeeds without an effect.

The host takes a limited number of bytes in one call: a longer one ends the run. So `os.write` and `os.pwrite`
write in pieces, until everything is written as on other systems. A path that long is refused before it is passed on, by an
audit hook where a function has one, because `open` itself must stay the function that scripts know.
"""

import errno
import os
import posix
import stat as _stat
import sys

_FILE, _DIRECTORY = 0o644, 0o755
_umask = 0o022
_PIECE = 65536
_LONGEST_PATH = 65536
_WITH_PATHS = frozenset(
    ["open"]
    + [f"os.{name}" for name in ("link", "listdir", "mkdir", "remove", "rename", "rmdir", "scandir", "symlink", "truncate", "utime")]
)


def install():
    for name in ("stat", "lstat", "fstat"):
        _replace(name, _with_mode(getattr(posix, name)))
    for name in ("access", "readlink"):
        _replace(name, _with_checked_path(getattr(posix, name)))
    sys.addaudithook(_check_paths)
    for name in ("write", "pwrite"):
        _replace(name, _in_pieces(getattr(posix, name)))
    _replace("chmod", _chmod)
    _replace("chdir", _chdir)
    _add(
        fchmod=lambda fd, mode: None,
        lchmod=lambda path, mode: None,
        umask=_set_umask,
        chown=_chown,
        lchown=_chown,
        sync=lambda: None,
        statvfs=_statvfs,
    )


def _with_mode(original):
    read = original
    build, directory = os.stat_result, _stat.S_IFDIR

    def function(*args, **options):
        _check_path(args[0] if args else options.get("path"))
        result = read(*args, **options)
        mode = result.st_mode
        if mode & 0o777:
            return result
        # The one type that libc has no bits for.
        mode |= 0 if mode & 0o170000 else _stat.S_IFIFO
        mode |= _DIRECTORY if mode & 0o170000 == directory else 0o777 if mode & 0o170000 == 0o120000 else _FILE
        return build(
            (mode, *result[1:4], os.getuid(), os.getgid(), *result[6:10]),
            {
                "st_atime": result.st_atime, "st_mtime": result.st_mtime, "st_ctime": result.st_ctime,
                "st_atime_ns": result.st_atime_ns, "st_mtime_ns": result.st_mtime_ns, "st_ctime_ns": result.st_ctime_ns,
                "st_blksize": result.st_blksize, "st_blocks": result.st_blocks, "st_rdev": result.st_rdev,
            },
        )

    function.__doc__ = original.__doc__
    return function


def _check_paths(event, args):
    if event in _WITH_PATHS:
        for path in args[:2]:
            _check_path(path)


def _check_path(path):
    if not isinstance(path, (str, bytes, int)):
        try:
            path = os.fspath(path)
        except TypeError:
            # Not a path: the function that gets it raises its own error.
            return
    if isinstance(path, (str, bytes)) and len(path) > _LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)


def _with_checked_path(original):
    def function(path, *args, **options):
        _check_path(path)
        return original(path, *args, **options)

    function.__doc__ = original.__doc__
    return function


def _in_pieces(original):
    write = original

    def function(fd, data, /, *offset):
        try:
            view = memoryview(data)
        except TypeError:
            # Not bytes: the original raises its own error.
            return write(fd, data, *offset)
        if view.nbytes <= _PIECE or not view.c_contiguous:
            return write(fd, data, *offset)
        view = view.cast("B")
        written = 0
        while written < len(view):
            at = [start + written for start in offset]
            try:
                written += write(fd, view[written:written + _PIECE], *at)
            except OSError:
                if written:
                    break
                raise
        return written

    function.__doc__ = original.__doc__
    return function


def _chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    # Raises for a path that does not exist, as it should; there is nothing else to do.
    if isinstance(path, int):
        posix.fstat(path)
    else:
        _check_path(path)
        posix.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)


def _chdir(path):
    # libc only strings names together: after `chdir("..")` the current directory would be `/a/b/..`.
    _check_path(path)
    posix.chdir(os.path.realpath(path))


def _chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
    _check_path(path)
    posix.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
    if uid not in (-1, os.getuid()) or gid not in (-1, os.getgid()):
        raise PermissionError(errno.EPERM, "files cannot change their owner in this sandbox", path)


def _set_umask(mask):
    global _umask
    _umask, old = mask & 0o777, _umask
    return old


def _statvfs(path):
    raise OSError(errno.ENOSYS, "this sandbox does not tell how much disk there is", path)


def _replace(name, function):
    """Puts a function in the place of one of `os`, in the sets that say what it can do as well."""
    original = getattr(os, name)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "posix"
    setattr(os, name, function)
    for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if original in known:
            known.add(function)


def _add(**functions):
    for name, function in functions.items():
        if not hasattr(os, name):
            function.__name__ = function.__qualname__ = name
            function.__module__ = "posix"
            setattr(os, name, function)
