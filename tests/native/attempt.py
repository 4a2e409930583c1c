# Stands before every attempt in Python: says what was tried, and what it met.
import ctypes, errno, os, signal, socket, stat, sys

libc = ctypes.CDLL(None, use_errno=True)


def called(number):
    return errno.errorcode.get(number, str(number))


def attempt(what, do):
    try:
        got = do()
    except OSError as error:
        got = called(error.errno)
    print(f"{what}: {got}", flush=True)


def call(number, *arguments):
    """A call of the kernel by its number, past every library."""
    ctypes.set_errno(0)
    words = [word if isinstance(word, (bytes, ctypes._SimpleCData, ctypes.Array, ctypes.Structure)) or hasattr(word, "_obj") else ctypes.c_long(word) for word in arguments]
    got = libc.syscall(ctypes.c_long(number), *words)
    if got == -1:
        raise OSError(ctypes.get_errno(), "")
    return got


def read(path):
    with open(path, "rb") as file:
        return f"{len(file.read(64))} bytes"


def write(path):
    handle = os.open(path, os.O_WRONLY)
    return os.write(handle, b"x")


def child(do):
    """How a child process that does this ends."""
    process = os.fork()
    if process == 0:
        try:
            do()
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    status = os.waitpid(process, 0)[1]
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return called(os.WEXITSTATUS(status)) if os.WEXITSTATUS(status) else "done"


ROOT, HOST, VICTIM = os.environ["ROOT"], int(os.environ["HOST"]), int(os.environ["VICTIM"])
WORKSPACE, SKILL = f"{ROOT}/workspace", f"{ROOT}/skill"

