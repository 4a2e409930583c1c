"""What a script can learn about the machine and the interpreter.

`sys.platform` says `linux`: scripts choose between Windows, macOS and Linux by it, and give up
on anything else, while nothing they then do on Linux works less than it would under another name. The
machine says `wasm32`, so that nobody takes it for a real one.
"""

import errno
import operator
import os
import sys

from . import stdlib

_UID = 1000

# Each level of a script's recursion takes room on the host's stack when its frame is taken apart. A
# million levels overflow the 128 MiB the host gives, and that would end the run without a word; a quarter
# of that is safe, and what a limit set "high enough" asks for.
_DEEPEST_RECURSION = 250_000
# The frames between the host's call and the script's first line; a script is not charged for them.
_FRAMES_BELOW = 3


# Set by `app`: the host's function that ends the run.
leave = None


def install():
    sys.executable = sys._base_executable = "/usr/bin/python3"
    sys.prefix = sys.exec_prefix = sys.base_prefix = sys.base_exec_prefix = "/usr"
    sys._stdlib_dir = stdlib.HOME
    sys.dont_write_bytecode = True
    _install_recursion_limit()

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
        "signal": _adjust_signal,
    })


def _install_recursion_limit():
    get_limit, set_limit = sys.getrecursionlimit, sys.setrecursionlimit

    def setrecursionlimit(limit, /):
        if isinstance(limit, int) and limit >= 1:
            limit = min(limit, _DEEPEST_RECURSION) + _FRAMES_BELOW
        set_limit(limit)

    sys.setrecursionlimit = setrecursionlimit
    sys.getrecursionlimit = lambda: get_limit() - _FRAMES_BELOW
    setrecursionlimit(get_limit())


def name_platform():
    """Called when the library is imported: some modules ask for the platform to know what libc lacks."""
    sys.platform = "linux"


def _fail(number, message):
    def function(*args, **options):
        raise OSError(number, message)
    return function


def _exit(status):
    leave(operator.index(status) & 0xFF)


def _terminal_size():
    import collections
    return collections.namedtuple("terminal_size", "columns lines")


def _adjust_platform(platform):
    # Asking the machine means starting `uname` or reading files that are not there.
    platform.libc_ver = lambda executable=None, lib="wasi", version="", chunksize=16384: (lib, version)
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


def _adjust_signal(signal):
    # Scripts guard against hanging with an alarm. None will ring here; the host's time limit is the guard.
    signal.alarm = lambda seconds: 0
    signal.setitimer = lambda which, seconds, interval=0.0: (0.0, 0.0)
    signal.getitimer = lambda which: (0.0, 0.0)
    signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF = 0, 1, 2


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
