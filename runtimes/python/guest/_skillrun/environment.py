"""The start of a run from the snapshot: its environment variables, and fresh random numbers.

The runtime of componentize-py does both before it calls our function: it assigns each variable to `os.environ`, and calls
`random.seed`. It looks both up before the snapshot. So stand-ins do the same with less work and are gone when the script starts.
"""

import os
import posix
import random

# 248 bits: nobody guesses them. `random.seed` takes 20,000 from the host, in ten calls.
_SEED_BYTES = 31


class _Unfilled(os._Environ):
    """`os.environ` before the run."""

    def __setitem__(self, name, value):
        # The host gives text without surrogates, which needs no error handler.
        name, value = name.encode(), value.encode()
        posix.putenv(name, value)
        self._data[name] = value


def install():
    """Called last before the snapshot."""
    os.environ.__class__ = _Unfilled
    random.seed = _seed_once


def get(name):
    """The value of a variable at the start of a run, or an empty text: less work than asking the mapping, which decodes and raises."""
    return os.environ._data.get(name, b"").decode("utf-8", "surrogateescape")


def begin():
    os.environ.__class__ = os._Environ
    random.seed = random._inst.seed


def _seed_once():
    # With a first byte that is not zero, all numbers have the same length, and seeding takes the same fuel in every run.
    random._inst.seed(int.from_bytes(b"\1" + os.urandom(_SEED_BYTES)))
