# limits: time=20
# x86_64 only
# The kernel continues a poll after a stop by a call of its own, with arguments that mean nothing. Made by a program, it would
# wait on for files that other threads have closed, and show other arguments than the poll.
import select, subprocess, threading, time


class Waits(ctypes.Structure):
    _fields_ = [("file", ctypes.c_int), ("events", ctypes.c_short), ("found", ctypes.c_short)]


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def handler(number):
    attempt("continue the poll", lambda: call(219, 0, 0, 0))


def wait():
    ctypes.set_errno(0)
    got = libc.poll(ctypes.byref(Waits(one.fileno())), 1, -1)
    print("the poll:", got, called(ctypes.get_errno()), flush=True)


def blocks(thread):
    with open(f"/proc/self/task/{thread.native_id}/syscall") as shown:
        return shown.read().startswith("7 ")


libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.signal(signal.SIGUSR1, handler)
one, other = socket.socketpair()
thread = threading.Thread(target=wait, daemon=True)
thread.start()
while not blocks(thread):
    time.sleep(0.001)
libc.tgkill(os.getpid(), thread.native_id, signal.SIGUSR1)
thread.join(3)
one.close()
other.setblocking(False)
attempt("the other end", lambda: "closed" if other.recv(1) == b"" else "a byte")

# The twin: what was stopped while it waited goes on.
WAITS = {
    "python sleeps": [sys.executable, "-c", "import time; time.sleep(0.6); print('slept')"],
    "python polls": [sys.executable, "-c", "import select, os; p = select.poll(); p.register(os.pipe()[0]); print(p.poll(600))"],
    "python waits for a lock": [sys.executable, "-c", "import threading; l = threading.Lock(); l.acquire(); print(l.acquire(timeout=0.6))"],
    "sleep sleeps": ["sleep", "0.6"],
}
for what, command in WAITS.items():
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    time.sleep(0.3)
    for number in [signal.SIGSTOP, signal.SIGCONT, signal.SIGSTOP, signal.SIGCONT]:
        process.send_signal(number)
        time.sleep(0.02)
    said = process.communicate()[0].strip()
    print(f"{what}: {said or 'ended'}, {process.returncode}", flush=True)
