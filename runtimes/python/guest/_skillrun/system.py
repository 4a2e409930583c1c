"""What a script can learn about the machine and the interpreter.

`sys.platform` says `linux`: scripts choose between Windows, macOS and Linux by it, and give up
on anything else, while nothing they then do on Linux works less than it would under another name. The
machine says `wasm32`, so that nobody takes it for a real one.
"""

import errno
import os
import sys

from . import stdlib

_UID = 1000


class Exit(BaseException):
    """Ends the run at once, from `os._exit`."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def install():
    sys.executable = sys._base_executable = "/usr/bin/python3"
    sys.prefix = sys.exec_prefix = sys.base_prefix = sys.base_exec_prefix = "/usr"
    sys._stdlib_dir = stdlib.HOME
    sys.dont_write_bytecode = True

    uname = os.uname_result(("Linux", "sandbox", "0.0.0", "skillrun", "wasm32"))
    functions = {
        "uname": lambda: uname,
        "getuid": lambda: _UID, "geteuid": lambda: _UID, "getgid": lambda: _UID, "getegid": lambda: _UID,
        "getgroups": lambda: [_UID],
        "getppid": lambda: 0,
        "getpgid": lambda pid: 1, "getpgrp": lambda: 1, "getsid": lambda pid: 1,
        "getlogin": lambda: os.environ.get("LOGNAME") or os.environ.get("USER") or "user",
        "sched_getaffinity": lambda pid: {0},
        "cpu_count": lambda: 1, "process_cpu_count": lambda: 1,
        "getrandom": lambda size, flags=0: os.urandom(size),
        "getloadavg": _fail(errno.ENOSYS, "this sandbox does not tell the load of the machine"),
        "get_terminal_size": _fail(errno.ENOTTY, "Inappropriate ioctl for device"),
        "ttyname": _fail(errno.ENOTTY, "Inappropriate ioctl for device"),
        "pipe": _fail(errno.ENOSYS, "this sandbox has no pipes"),
        "mkfifo": _fail(errno.ENOSYS, "this sandbox has no pipes"),
        "_exit": _exit,
    }
    for name, function in functions.items():
        function.__name__ = function.__qualname__ = name
        function.__module__ = "posix"
        setattr(os, name, function)
    os.terminal_size = getattr(os, "terminal_size", None) or _terminal_size()
    os.GRND_NONBLOCK, os.GRND_RANDOM = 1, 2

    stdlib.after_import.update({
        "platform": _adjust_platform,
        "getpass": _adjust_getpass,
        "sysconfig": _adjust_sysconfig,
        "hashlib": _adjust_hashlib,
    })


def name_platform():
    """Called when the library is imported: some modules ask for the platform to know what libc lacks."""
    sys.platform = "linux"


def _fail(number, message):
    def function(*args, **options):
        raise OSError(number, message)
    return function


def _exit(status):
    raise Exit(status)


def _terminal_size():
    import collections
    return collections.namedtuple("terminal_size", "columns lines")


def _adjust_platform(platform):
    # Asking the machine means starting `uname` or reading files that are not there.
    platform.libc_ver = lambda executable=None, lib="", version="", chunksize=16384: (lib, version)
    platform.processor = lambda: "wasm32"


def _adjust_getpass(getpass):
    getpass.getuser = lambda: next(
        (os.environ[name] for name in ("LOGNAME", "USER", "LNAME", "USERNAME") if os.environ.get(name)), "user"
    )


def _adjust_sysconfig(sysconfig):
    # The values recorded when the interpreter was compiled name directories of that machine.
    sysconfig._PREFIX = sysconfig._BASE_PREFIX = sysconfig._EXEC_PREFIX = sysconfig._BASE_EXEC_PREFIX = "/usr"
    sysconfig._PROJECT_BASE = "/usr/bin"

    def init_posix(variables):
        variables.update(
            LIBDIR="/usr/lib", BINDIR="/usr/bin", LIBDEST=stdlib.HOME, INCLUDEPY="/usr/include/python3.14",
            EXT_SUFFIX=".cpython-314-wasm32-wasi.so", SOABI="cpython-314-wasm32-wasi", Py_GIL_DISABLED=0,
            Py_DEBUG=0, Py_ENABLE_SHARED=0, VERSION="3.14", ABIFLAGS="", MULTIARCH="wasm32-wasi",
        )

    sysconfig._init_posix = init_posix
    sysconfig.get_platform = lambda: "wasi-wasm32"


def _adjust_hashlib(hashlib):
    if not hasattr(hashlib, "pbkdf2_hmac"):
        hashlib.pbkdf2_hmac = _pbkdf2_hmac


def _pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """The key derivation of RFC 8018, which is otherwise part of OpenSSL."""
    import hmac
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    keyed = hmac.new(bytes(password), digestmod=hash_name)
    length = keyed.digest_size if dklen is None else dklen
    if length < 1:
        raise ValueError("key length must be greater than 0.")
    key = b""
    block = 0
    while len(key) < length:
        block += 1
        step = keyed.copy()
        step.update(bytes(salt) + block.to_bytes(4))
        last = step.digest()
        total = int.from_bytes(last)
        for _ in range(iterations - 1):
            step = keyed.copy()
            step.update(last)
            last = step.digest()
            total ^= int.from_bytes(last)
        key += total.to_bytes(keyed.digest_size)
    return key[:length]
