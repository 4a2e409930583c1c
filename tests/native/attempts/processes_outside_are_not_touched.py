# x86_64 only
import fcntl

OTHERS = {"the host": HOST, "a process of the host": VICTIM, "the first process": 1, "the parent": os.getppid() or 1}
for what, pid in OTHERS.items():
    # Inside a namespace the first process is the parent, whom no signal from inside reaches.
    for name in ("SIGCONT", "SIGTERM", "SIGSTOP", "SIGKILL"):
        attempt(f"{name} to {what}", lambda: os.kill(pid, getattr(signal, name)))
    attempt(f"SIGKILL to the group of {what}", lambda: os.kill(-pid, signal.SIGKILL) if pid > 1 else "not tried: it would be everybody")
    attempt(f"SIGKILL to a thread of {what}", lambda: call(234, pid, pid, signal.SIGKILL))
    attempt(f"SIGKILL to {what} by a handle", lambda: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL))
    attempt(f"take a handle of {what}", lambda: call(438, os.pidfd_open(pid), 0, 0))
    attempt(f"attach to {what}", lambda: call(101, 16, pid, 0, 0))
    attempt(f"seize {what}", lambda: call(101, 0x4206, pid, 0, 0))
    attempt(f"read the memory of {what}", lambda: call(310, pid, 0, 0, 0, 0, 0))
    attempt(f"write the memory of {what}", lambda: call(311, pid, 0, 0, 0, 0, 0))
    attempt(f"compare with {what}", lambda: call(312, os.getpid(), pid, 0, 0, 0))
    for file in ("environ", "mem", "maps", "auxv", "io", "stack", "syscall", "smaps_rollup", "fdinfo", "fd", "ns/user", "exe", "cwd", "root", "cmdline", "status", "map_files"):
        def look():
            path = f"/proc/{pid}/{file}"
            if os.path.islink(path):
                return f"leads to {os.readlink(path)}"
            return "listed" if os.path.isdir(path) and os.listdir(path) is not None else "read" if read(path) else ""
        attempt(f"{file} of {what}", look)
    attempt(f"the files of {what} below its root", lambda: read(f"/proc/{pid}/root{ROOT}/home/secret"))
    attempt(f"the files of {what} below its directory", lambda: read(f"/proc/{pid}/cwd/home/secret"))
    attempt(f"an open file of {what}", lambda: read(f"/proc/{pid}/fd/0"))
    attempt(f"memory of {what}, for writing", lambda: os.open(f"/proc/{pid}/mem", os.O_RDWR))
    attempt(f"the name of {what}, for writing", lambda: os.open(f"/proc/{pid}/comm", os.O_WRONLY))
    attempt(f"the limits of {what}", lambda: call(302, pid, 7, 0, 0))
    attempt(f"the processors of {what}", lambda: os.sched_setaffinity(pid, {0}))
    attempt(f"the turns of {what}", lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)))
    attempt(f"the priority of {what}", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
    attempt(f"the priority of {what} at disks", lambda: call(251, 1, pid, 3 << 13))
    attempt(f"the memory of {what}, paged out", lambda: call(440, os.pidfd_open(pid), 0, 0, 21, 0))

    def signal_by_a_pipe():
        read_end, write_end = os.pipe()
        fcntl.fcntl(read_end, fcntl.F_SETOWN, pid)
        fcntl.fcntl(read_end, 10, signal.SIGKILL)  # F_SETSIG
        fcntl.fcntl(read_end, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        return os.write(write_end, b"x")

    attempt(f"a signal to {what} that the kernel sends for us", signal_by_a_pipe)
# A call that is about oneself but for its scope.
attempt("the priority of all processes of the user", lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt("the priority of all processes of the user at disks", lambda: call(251, 3, 0, 3 << 13))


def everybody():
    # Whoever is told to end here is in a session of its own.
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(-1, signal.SIGTERM)


mine = os.fork()
if mine == 0:
    os.setsid()
    signal.pause()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
attempt("SIGTERM to everybody", lambda: child(everybody))
attempt("that reached the own child", lambda: signal.Signals(os.WTERMSIG(os.waitpid(mine, 0)[1])).name)
# The twins: one's own.
mine = os.fork()
if mine == 0:
    signal.pause()
attempt("SIGSTOP to the own child", lambda: os.kill(mine, signal.SIGSTOP))
attempt("its state", lambda: os.WIFSTOPPED(os.waitpid(mine, os.WUNTRACED)[1]))
attempt("environ of the own child", lambda: read(f"/proc/{mine}/environ"))
attempt("SIGKILL to the own child", lambda: os.kill(mine, signal.SIGKILL))
attempt("its end", lambda: os.WTERMSIG(os.waitpid(mine, 0)[1]))
attempt("the own priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, 5))
