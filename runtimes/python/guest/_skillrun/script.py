"""One run: a script as `__main__`, from its start to its exit code.

The order of things at the end is the interpreter's own: print the exception, run the exit functions, let
go of the script's modules so that open files are written and finalisers run, flush.
The interpreter itself is never finalised: the host drops its memory.
"""

import atexit
import builtins
import codecs
import gc
import importlib.machinery
import io
import itertools
import linecache
import logging
import os
import posix
import sys
import types
import weakref

from . import clock, environment, frames, stdlib, streams, zone

# Set by `remember`: the modules of the snapshot. The others are the script's.
_modules_of_snapshot = frozenset()
_handlers_of_snapshot = 0
# The names of files and directories whose module, next to a script, takes the place of one of the snapshot, as it would
# if nothing had been imported yet; without the modules that `python3` itself imports first.
_shadowing = frozenset()

_ALWAYS_THERE = frozenset(
    "abc builtins codecs encodings errno genericpath io marshal os posix posixpath site stat sys time zipimport __main__".split()
)
_OF_THE_COMPONENT = frozenset(
    "wit_world componentize_py_types componentize_py_runtime componentize_py_async_support poll_loop".split()
)

# The layers of a file that hold back what was written, from the top down.
_BUFFERING = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
# What most objects are.
_NO_FILES = frozenset((
    dict, list, tuple, set, type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CellType,
    types.FrameType, types.ModuleType, types.GetSetDescriptorType,
))


def remember():
    """Called last before the snapshot."""
    global _modules_of_snapshot, _shadowing, _handlers_of_snapshot
    _handlers_of_snapshot = len(logging._handlerList)
    atexit.unregister(logging.shutdown)
    _modules_of_snapshot = frozenset(sys.modules)
    shadowed = {
        name for name in sys.modules
        if "." not in name and not name.startswith("_") and name not in _ALWAYS_THERE and name not in sys.builtin_module_names
    }
    _shadowing = frozenset(shadowed).union(name + ".py" for name in shadowed)


def run(script, source, args, cwd):
    """Runs the script and returns its exit code."""
    try:
        _begin(script, args, cwd)
        _remember_lines(script, source)
        _main_module(script)
        return _end(_execute(source, script, sys.modules["__main__"].__dict__))
    except BaseException:
        # A script can break what is used here, down to `sys.stderr`; an exception that left this function
        # would end the run as a crash of the interpreter.
        return 1


def _remember_lines(script, source):
    """Tracebacks then show the lines that run, whatever the file holds by then."""
    try:
        lines = source.removeprefix(codecs.BOM_UTF8).decode().splitlines(True)
    except UnicodeDecodeError:
        return
    linecache.cache[script] = len(source), None, lines, script


def _begin(script, args, cwd):
    environment.begin()
    clock.begin()
    zone.begin(environment.get(b"TZ"))
    for name in _OF_THE_COMPONENT:
        sys.modules.pop(name, None)
    # The host answers for `cwd`; a script in a directory that vanished still runs.
    try:
        posix.chdir(cwd)
    except OSError:
        pass
    sys.argv = [script, *args]
    sys.orig_argv = ["python3", script, *args]
    directory = script.rpartition("/")[0] or "/"
    sys.path = [directory, *filter(None, environment.get(b"PYTHONPATH").split(":")), stdlib.HOME]
    _make_way_for(directory)


def _make_way_for(directory):
    """Forgets library modules that have a namesake next to the script: the script's comes first."""
    global _modules_of_snapshot
    try:
        # One operation for all names: a loop over a large directory would cost more than the rest of the start.
        names = _shadowing.intersection(os.listdir(directory))
    except OSError:
        return
    for name in names:
        stem = name.removesuffix(".py")
        if name != stem or os.path.exists(f"{directory}/{name}/__init__.py"):
            forgotten = [module for module in sys.modules if module == stem or module.startswith(stem + ".")]
            _modules_of_snapshot = _modules_of_snapshot.difference(forgotten)
            for module in forgotten:
                del sys.modules[module]


def _main_module(script):
    main = types.ModuleType("__main__")
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
    main.__builtins__ = builtins
    main.__file__ = script
    main.__cached__ = None
    sys.modules["__main__"] = main


def _execute(source, script, names):
    """Runs the code, and turns the way it ended into an exit code."""
    try:
        exec(_compile(source, script), names)
    except SystemExit as end:
        return _exit_code(end)
    except BaseException as error:
        error.__traceback__ = frames.without_ours(error.__traceback__)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
        return _report(error, code)
    return 0


def _compile(source, script):
    try:
        return compile(source, script, "exec", dont_inherit=True)
    except SyntaxError as error:
        # Reading a file, the interpreter has other words for this than compiling its bytes.
        if "codec can't decode" not in str(error.msg):
            raise
        try:
            source.decode()
            raise
        except UnicodeDecodeError as undecodable:
            line, byte = source.count(b"\n", 0, undecodable.start) + 1, source[undecodable.start]
    raise SyntaxError(
        f"Non-UTF-8 code starting with '\\x{byte:02x}' in file {script} on line {line}, but no encoding declared; "
        "see https://peps.python.org/pep-0263/ for details"
    )


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


def _end(code):
    atexit._run_exitfuncs()
    # The snapshot imports it for everybody; it has something to do for those who made handlers.
    if len(logging._handlerList) > _handlers_of_snapshot:
        logging.shutdown()
    if not streams.flush():
        code = code or 120
    try:
        _drop_modules()
    except Exception:
        # A script can break what this uses. The run is over, and its exit code stands.
        pass
    streams.flush()
    return code


def _drop_modules():
    """Drops the script's modules, so that files left open are written and finalisers run."""
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        sys.__dict__.pop(name, None)
    # Looking at every module would write to every module: counting references dirties its page.
    # New ones are at the end, so the first known one, seen from there, is where to stop.
    names = list(itertools.takewhile(lambda name: name not in _modules_of_snapshot, reversed(sys.modules)))
    modules = []
    for name in ["__main__", *names]:
        module = sys.modules.pop(name, None)
        if isinstance(module, types.ModuleType):
            modules.append(weakref.ref(module))
    module = None
    _write_open_files()
    gc.collect()
    alive = [module for reference in modules if (module := reference()) is not None]
    module = None
    if alive:
        for module in alive:
            _clear(module.__dict__)
        gc.collect()


def _write_open_files():
    """Writes what open files still hold, wherever the script keeps them.

    The collector may close a file's binary buffer before the text layer above it, and the text that was
    still in that layer would be lost. Text layers are flushed first for the same reason.
    """
    # Only the script's own objects: those of the snapshot are out of the collector's sight. And the types
    # themselves instead of `io.IOBase`: asking an abstract class fills a cache for each kind of object. Most scripts leave no
    # file open, and there are far fewer kinds than objects.
    things = gc.get_objects()
    kinds = set(map(type, things)) - _NO_FILES
    if not any(issubclass(kind, _BUFFERING) for kind in kinds):
        return
    files = [thing for thing in things if isinstance(thing, _BUFFERING)]
    for kind in _BUFFERING:
        for file in files:
            if isinstance(file, kind):
                try:
                    if not file.closed and file.writable():
                        file.flush()
                except Exception:
                    # Closed underneath, or broken by the script: nothing more can be written to it.
                    pass


def _clear(names):
    """First what begins with an underscore, then the rest but the builtins: the interpreter's order."""
    for name in list(names):
        if name.startswith("_") and name[1:2] != "_":
            names[name] = None
    for name in list(names):
        if name != "__builtins__":
            names[name] = None


# Warnings and tracebacks then pass over these frames, as if nothing had called the script.
for _function in (run, _execute):
    _function.__code__ = _function.__code__.replace(co_filename=stdlib.INTERNAL)
