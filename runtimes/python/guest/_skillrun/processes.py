"""Processes cannot be started here, and the error says so.

The error is `FileNotFoundError` with the command's name: it is what a script meets on a machine that
does not have the command, so scripts that can go on without it do, and it agrees with
`shutil.which`, which finds nothing either. `os.system` never raises; a shell that does not find the command
writes a line and returns 127, and so does this one.
"""

import errno
import os
import sys

from . import denials, stdlib

MESSAGE = "processes cannot be started in this sandbox"


def install():
    stdlib.after_import.update({
        "subprocess": _adjust_subprocess,
        "multiprocessing.process": _adjust_process,
        "multiprocessing.context": _adjust_context,
        "concurrent.futures.process": _adjust_pool,
    })


def add_to_os():
    """Called when the library is imported: modules that find `os.fork` prepare for its use."""
    for name in ("fork", "forkpty", "vfork"):
        _add(name, _refuse)
    for name in ("execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe", "posix_spawn", "posix_spawnp"):
        _add(name, _refuse_command)
    for name in ("spawnv", "spawnve", "spawnvp", "spawnvpe", "spawnl", "spawnle", "spawnlp", "spawnlpe"):
        _add(name, lambda mode, file, *rest: _refuse_command(file))
    for name in ("wait", "waitpid", "wait3", "wait4", "waitid"):
        _add(name, _no_child)
    _add("kill", _kill)
    _add("killpg", _kill)
    _add("system", _system)


def refuse(command=None, is_line=False):
    denials.process(command, is_line)
    if command is None:
        raise OSError(errno.ENOSYS, MESSAGE)
    raise FileNotFoundError(errno.ENOENT, MESSAGE, command)


def _refuse(*args, **options):
    refuse()


def _refuse_command(file, *rest, **options):
    refuse(os.fspath(file))


def _no_child(*args):
    raise ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))


def _kill(pid, signal):
    if pid != os.getpid():
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    if signal:
        # All a signal to itself can mean for a script without handlers: the end.
        os._exit(128 + signal)


def _system(command):
    denials.process(command, is_line=True)
    sys.stderr.write(f"sh: {MESSAGE}: {os.fsdecode(command)}\n")
    return 127 << 8


def _adjust_subprocess(subprocess):
    def __init__(self, args, *rest, shell=False, **options):
        if shell or isinstance(args, (str, bytes)):
            command = args if isinstance(args, (str, bytes)) else args[0]
        elif isinstance(args, os.PathLike):
            command = os.fspath(args)
        else:
            command = os.fspath(list(args)[0])
        refuse(command, is_line=bool(shell))

    subprocess.Popen.__init__ = __init__


def _adjust_process(process):
    process.BaseProcess.start = lambda self: refuse()


def _adjust_context(context):
    # Pools, queues and locks between processes are refused by the same words.
    for name in ("Pool", "Queue", "JoinableQueue", "SimpleQueue", "Lock", "RLock", "Semaphore", "BoundedSemaphore",
                 "Condition", "Event", "Barrier", "Pipe", "Manager", "Value", "Array", "RawValue", "RawArray"):
        setattr(context.BaseContext, name, _refuse)


def _adjust_pool(process):
    process.ProcessPoolExecutor.__init__ = _refuse


def _add(name, function):
    setattr(os, name, function)
