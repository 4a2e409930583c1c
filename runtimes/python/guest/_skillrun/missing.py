"""Says what is missing, for modules whose C part this interpreter does not have.

It is last in `sys.meta_path`, so it is asked only if no other finder found the module. It raises what
a missing module always raises: library modules that try an import and go on without it
(`shutil`, `tarfile`, `urllib.request`, …) keep working.
"""

import sys

from . import stdlib

_REASON = {
    "ssl": "this sandbox has no TLS yet",
    "bz2": "this sandbox has no bzip2",
    "lzma": "this sandbox has no LZMA",
    "ctypes": "this sandbox cannot load native libraries",
    "mmap": "this sandbox cannot map files into memory",
    "fcntl": "this sandbox has no file locks or device control",
    "pwd": "this sandbox has no user accounts",
    "grp": "this sandbox has no user accounts",
    "resource": "this sandbox sets resource limits from outside",
    "termios": "this sandbox has no terminal",
    "curses": "this sandbox has no terminal",
    "readline": "this sandbox has no terminal",
    "tkinter": "this sandbox has no display",
    "turtle": "this sandbox has no display",
    "syslog": "this sandbox has no system log",
    "venv": "packages cannot be installed from inside this sandbox",
    "ensurepip": "packages cannot be installed from inside this sandbox",
    "pip": "packages cannot be installed from inside this sandbox",
    "_multiprocessing": "processes cannot be started in this sandbox",
    "_posixsubprocess": "processes cannot be started in this sandbox",
    "_posixshmem": "this sandbox has no shared memory",
    "_interpreters": "this sandbox has no sub-interpreters",
    "_zstd": "this sandbox has no Zstandard",
    "_dbm": "this sandbox has no dbm library",
    "_gdbm": "this sandbox has no gdbm library",
}
for _name in ("bz2", "lzma", "ctypes", "curses", "ssl", "tkinter"):
    _REASON["_" + _name] = _REASON[_name]


class Missing:
    """A finder that finds nothing and says why."""

    def find_spec(name, path=None, target=None):
        reason = _REASON.get(name)
        # `importlib.util.find_spec` asks whether there is a module, and the answer is no; only an
        # import is told why.
        if reason is None or sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return None
        raise ModuleNotFoundError(f"No module named {name!r}: {reason}", name=name)

    find_spec.__code__ = find_spec.__code__.replace(co_filename=stdlib.INTERNAL)
    find_spec = staticmethod(find_spec)


def install():
    sys.meta_path.append(Missing)
