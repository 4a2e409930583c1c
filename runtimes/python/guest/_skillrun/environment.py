"""The start of a run from the snapshot: its environment variables, and fresh random numbers.

The runtime of componentize-py does both before it calls our function: it assigns each variable to `os.environ`, and calls
`random.seed`. It looks both up before the snapshot. So stand-ins do the same with less work and are gone when the script starts.
"""

import os
import random

import _skillrun_start


class _Unfilled(os._Environ):
    """`os.environ` before the run."""

    # A function in C gets no `self`. The host gives text without surrogates, which needs no error handler.
    __setitem__ = _skillrun_start.set_variable


def check():
    """Called once, before a seed is written."""
    words = tuple(range(1, 625))
    random.setstate((random.Random.VERSION, (*words, len(words)), None))
    _skillrun_start.check(random._inst)


def install():
    """Called last before the snapshot."""
    os.environ.__class__ = _Unfilled
    _skillrun_start.remember_variables(os.environ._data)
    random.seed = _seed_once


def get(name):
    """The value of a variable at the start of a run, or an empty text: less work than asking the mapping, which decodes and raises."""
    return os.environ._data.get(name, b"").decode("utf-8", "surrogateescape")


def begin():
    os.environ.__class__ = os._Environ
    random.seed = random._inst.seed


def _seed_once():
    _skillrun_start.seed(random._inst)
