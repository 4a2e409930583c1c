"""One run: a script as `__main__`, from its start to its exit code.

The order of things at the end is the interpreter's own: print the exception, wait for threads, run the
exit functions, let go of the script's modules so that open files are written and finalisers run, flush.
The interpreter itself is never finalised: the host drops its memory.
"""

import atexit
import builtins
import gc
import importlib.machinery
import io
import os
import random
import sys
import threading
import types
import warnings
import weakref

from . import clock, frames, stdlib, streams, system, zone

# Set by `remember`: what belongs to the snapshot and not to the script.
_modules_of_snapshot = frozenset()
# Modules of the snapshot that a module next to a script takes the place of, as it would
# if nothing had been imported yet; without those `python3` itself imports first.
_may_be_shadowed = frozenset()

_ALWAYS_THERE = frozenset(
    "abc builtins codecs encodings errno genericpath io marshal os posix posixpath site stat sys time zipimport __main__".split()
)
_OF_THE_COMPONENT = frozenset(
    "wit_world componentize_py_types componentize_py_runtime componentize_py_async_support poll_loop".split()
)


def remember():
    """Called last before the snapshot."""
    global _modules_of_snapshot, _may_be_shadowed
    _modules_of_snapshot = frozenset(sys.modules)
    _may_be_shadowed = frozenset(
        name for name in sys.modules
        if "." not in name and not name.startswith("_") and name not in _ALWAYS_THERE and name not in sys.builtin_module_names
    )


def run(script, args, cwd):
    """Runs the script and returns its exit code."""
    _begin(script, args, cwd)
    try:
        with io.FileIO(script) as file:
            source = file.readall()
    except OSError as error:
        sys.stderr.write(f"python3: can't open file {script!r}: [Errno {error.errno}] {error.strerror}\n")
        return 2
    main = _main_module(script)
    try:
        code = _execute(source, script, main)
        code = _end(code, main)
    except system.Exit as end:
        return end.code & 0xFF
    return code


def _begin(script, args, cwd):
    clock.begin()
    zone.begin()
    random.seed()
    for name in _OF_THE_COMPONENT:
        sys.modules.pop(name, None)
    # The host answers for `cwd`; a script in a directory that vanished still runs.
    try:
        os.chdir(cwd)
    except OSError:
        pass
    sys.argv = [script, *args]
    sys.orig_argv = ["python3", script, *args]
    directory = script.rpartition("/")[0] or "/"
    sys.path = [directory, *(p for p in os.environ.get("PYTHONPATH", "").split(":") if p), stdlib.HOME]
    _make_way_for(directory)


def _make_way_for(directory):
    """Forgets library modules that have a namesake next to the script: the script's comes first."""
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        stem = name.partition(".")[0]
        if stem in _may_be_shadowed and (name == stem + ".py" or name == stem):
            if name == stem and not os.path.exists(f"{directory}/{name}/__init__.py"):
                continue
            for module in [m for m in sys.modules if m == stem or m.startswith(stem + ".")]:
                del sys.modules[module]


def _main_module(script):
    main = types.ModuleType("__main__")
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
    main.__builtins__ = builtins
    main.__file__ = script
    main.__cached__ = None
    sys.modules["__main__"] = main
    return main


def _execute(source, script, main):
    """Runs the code, and turns the way it ended into an exit code."""
    try:
        exec(compile(source, script, "exec", dont_inherit=True), main.__dict__)
    except system.Exit:
        raise
    except SystemExit as end:
        return _exit_code(end)
    except BaseException as error:
        error.__traceback__ = frames.without_ours(error.__traceback__)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
        return _report(error, code)
    return 0


def _exit_code(end):
    """What the interpreter makes of `sys.exit(value)`."""
    value = end.code
    if value is None:
        return 0
    if isinstance(value, int):
        # Numbers too large for C are -1 there.
        return value & 0xFF if -(2**31) <= value < 2**31 else 255
    streams.flush()
    try:
        print(value, file=sys.stderr, flush=True)
    except Exception:
        pass
    return 1


def _report(error, code):
    """Shows an uncaught exception the way the interpreter does, through `sys.excepthook`."""
    sys.last_exc = sys.last_value = error
    sys.last_type, sys.last_traceback = type(error), error.__traceback__
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        sys.stderr.write("sys.excepthook is missing\n")
        hook = sys.__excepthook__
    try:
        hook(type(error), error, error.__traceback__)
    except system.Exit:
        raise
    except SystemExit as end:
        return _exit_code(end)
    except BaseException as second:
        second.__traceback__ = frames.without_ours(second.__traceback__)
        second.__context__ = None
        sys.stderr.write("Error in sys.excepthook:\n")
        sys.__excepthook__(type(second), second, second.__traceback__)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, error.__traceback__)
    return code


def _end(code, main):
    threading._shutdown()
    atexit._run_exitfuncs()
    if not streams.flush():
        code = code or 120
    _let_go(main)
    streams.flush()
    return code


def _let_go(main):
    """Drops the script's modules, so that files left open are written and finalisers run."""
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        sys.__dict__.pop(name, None)
    modules = []
    for name, module in list(sys.modules.items()):
        if module is main or name not in _modules_of_snapshot:
            del sys.modules[name]
            if isinstance(module, types.ModuleType):
                modules.append(weakref.ref(module))
    main = module = None
    gc.collect()
    for reference in reversed(modules):
        module = reference()
        if module is not None:
            _clear(module.__dict__)
    gc.collect()


def _clear(names):
    """First what begins with an underscore, then the rest but the builtins: the interpreter's order."""
    for name in list(names):
        if name.startswith("_") and name[1:2] != "_":
            names[name] = None
    for name in list(names):
        if name != "__builtins__":
            names[name] = None
