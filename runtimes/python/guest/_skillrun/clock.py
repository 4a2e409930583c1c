"""Processor time. WASI offers none, and libc's stand-in counts from the build of the snapshot.

A run is alone on its thread, so the time since its start is the best answer there is: an upper bound
that grows evenly and starts at zero.
"""

import time

_monotonic_ns = time.monotonic_ns
_start = 0


class _Clock:
    """Like the built-in functions, and unlike a Python function, it does not bind as a method."""

    def __init__(self, name, read):
        self.__name__ = self.__qualname__ = name
        self.__module__ = "time"
        self._read = read

    def __repr__(self):
        return f"<built-in function {self.__name__}>"

    def __call__(self):
        return self._read()


def install():
    for name in ("process_time", "thread_time"):
        setattr(time, name, _Clock(name, lambda: (_monotonic_ns() - _start) / 1e9))
        setattr(time, name + "_ns", _Clock(name + "_ns", lambda: _monotonic_ns() - _start))


def begin():
    global _start
    _start = _monotonic_ns()
