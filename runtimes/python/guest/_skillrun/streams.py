"""The three standard streams, as `python3` makes them when they are pipes and the locale is C.UTF-8."""

import io
import sys


def install():
    """The objects hold nothing but file numbers, so they can be made before the snapshot."""
    sys.stdin = sys.__stdin__ = _stream(0, "r", "<stdin>", "surrogateescape")
    sys.stdout = sys.__stdout__ = _stream(1, "w", "<stdout>", "surrogateescape")
    sys.stderr = sys.__stderr__ = _stream(2, "w", "<stderr>", "backslashreplace", line_buffering=True)


def flush():
    """Writes out what is still buffered. False if that failed."""
    done = True
    for name in ("stdout", "stderr"):
        current, original = getattr(sys, name, None), getattr(sys, f"__{name}__", None)
        try:
            if current is not None and not current.closed:
                current.flush()
        except Exception:
            done = False
        # A script that wrapped the stream anew may have left text in the first one.
        try:
            if original is not None and original is not current:
                original.flush()
        except ValueError:
            pass
        except Exception:
            done = False
    return done


def _stream(number, mode, name, errors, line_buffering=False):
    binary = open(number, mode + "b", closefd=False)
    binary.raw.name = name
    text = io.TextIOWrapper(binary, encoding="utf-8", errors=errors, newline="\n", line_buffering=line_buffering)
    text.mode = mode
    return text
