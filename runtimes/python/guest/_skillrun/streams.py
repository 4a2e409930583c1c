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
    out = _flush(getattr(sys, "stdout", None), getattr(sys, "__stdout__", None))
    err = _flush(getattr(sys, "stderr", None), getattr(sys, "__stderr__", None))
    return out and err


def _flush(current, original):
    done = True
    try:
        # Usually it is open, and asking it takes longer than flushing nothing.
        if type(current) is io.TextIOWrapper:
            current.flush()
        elif current is not None and not current.closed:
            current.flush()
    except Exception as error:
        done = isinstance(error, ValueError) and _is_closed(current)
    # A script that wrapped the stream anew may have left text in the first one.
    try:
        if original is not None and original is not current:
            original.flush()
    except ValueError:
        pass
    except Exception:
        done = False
    return done


def _is_closed(stream):
    try:
        return stream.closed
    except Exception:
        return False


def _stream(number, mode, name, errors, line_buffering=False):
    binary = open(number, mode + "b", closefd=False)
    binary.raw.name = name
    text = io.TextIOWrapper(binary, encoding="utf-8", errors=errors, newline="\n", line_buffering=line_buffering)
    text.mode = mode
    return text
