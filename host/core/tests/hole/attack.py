"""Attempts what code that broke out of the engine would, and prints what each attempt meets."""
import json, os, struct, sys

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
O_RDWR, O_CREAT, O_TRUNC, O_DIRECTORY, O_PATH = 2, 0o100, 0o1000, 0o200000, 0o10000000
ERRORS = {1: "EPERM", 2: "ENOENT", 3: "ESRCH", 6: "ENXIO", 9: "EBADF", 13: "EACCES", 14: "EFAULT", 17: "EEXIST", 18: "EXDEV",
          20: "ENOTDIR", 21: "EISDIR", 22: "EINVAL", 25: "ENOTTY", 26: "ETXTBSY", 30: "EROFS", 38: "ENOSYS", 95: "EOPNOTSUPP",
          106: "EISCONN"}

given = json.loads(sys.argv[1])
calls, paths, ids = given["calls"], given["paths"], given["ids"]


def hole(command):
    return os.readlink("/hole/" + command)


def call(name, *arguments):
    return int(hole(" ".join(["syscall", str(calls[name]), *map(str, arguments)])))


def peek(address, length):
    return bytes.fromhex(hole(f"peek {address} {length}"))


def poke(address, data):
    for start in range(0, len(data), 1024):
        part = data[start:start + 1024]
        assert hole(f"poke {address + start} {part.hex()}") == "ok"
    return address


# Memory of the process, outside of that of the guest.
room = call("mmap", 0, 1 << 20, 3, 0x22, -1, 0)
assert room > 0, room
used = 0


def put(data):
    global used
    at = room + used
    used += (len(data) + 15) & ~15
    return poke(at, data)


def text(path):
    return put(os.fsencode(path) + b"\0")


def met(result):
    return "ok" if result >= 0 else ERRORS.get(-result, f"error {-result}")


def attempt(name, result):
    print(f"{name}: {met(result)}", flush=True)
    return result


def open_at(handle, path, flags=0, mode=0o600):
    return call("openat", handle, text(path), flags, mode)


def read(handle):
    buffer = put(bytes(256))
    return peek(buffer, max(call("read", handle, buffer, 256), 0))


def handles():
    return [number for number in range(256) if call("fcntl", number, 1, 0) >= 0]


def find(name):
    """The handle of the directory that has this file."""
    for number in handles():
        found = open_at(number, name)
        if found >= 0:
            call("close", found)
            return number
    raise AssertionError(f"no handle has {name}")


def message(data, address=b"", handle=None):
    """A message for `sendmsg`, as the kernel's structures have it."""
    part = put(struct.pack("QQ", put(data), len(data)))
    control = b"" if handle is None else struct.pack("QiiiI", 20, 1, 1, handle, 0)
    name = put(address) if address else 0
    return put(struct.pack("QIIQQQQII", name, len(address), 0, part, 1, put(control) if control else 0, len(control), 0, 0))


def several(name, results):
    print(f"{name}: {' '.join(sorted({met(result) for result in results}))}", flush=True)


def quiet():
    skill, workspace = find("SKILL.md"), find("marker")
    up = "../" * 24

    # The twin: what it was given works, and the hole is one.
    print("read a file of the skill:", read(open_at(skill, "SKILL.md")).decode().splitlines()[1])
    made = open_at(workspace, "made", O_RDWR | O_CREAT)
    attempt("create a file in the workspace", made)
    attempt("write it", call("write", made, text("written"), 7))
    memory = put(b"in memory")
    print("read memory of the process:", peek(memory, 9).decode())
    heap = call("brk", 0)
    print("read the heap of the engine:", len(peek(heap - 64, 64)))
    print("its process is the first one:", call("getpid") == 1)
    # In namespaces the host is no process that could be seen.
    print("its parent is known:", call("getppid") != 0)

    attempt("read the canary by its path", open_at(AT_FDCWD, paths["canary"]))
    attempt("write the canary", open_at(AT_FDCWD, paths["canary"], O_RDWR | O_TRUNC))
    attempt("read the other tenant's file", open_at(AT_FDCWD, paths["other"]))
    attempt("read /etc/passwd", open_at(AT_FDCWD, "/etc/passwd"))
    attempt("list /etc", open_at(AT_FDCWD, "/etc", O_DIRECTORY))
    attempt("create a file beside the canary", open_at(AT_FDCWD, paths["canary"] + "2", O_RDWR | O_CREAT))
    for name in ["environ", "mem", "maps", "root", "cwd", "exe", "fd"]:
        attempt(f"open /proc/self/{name}", open_at(AT_FDCWD, f"/proc/self/{name}"))
    for who in ["host", "other", "victim"]:
        several(f"open files of the {who} in /proc", [
            open_at(AT_FDCWD, f"/proc/{ids[who]}/{name}", flags)
            for name, flags in [("environ", 0), ("mem", O_RDWR), ("maps", 0), ("status", 0), ("fd", O_DIRECTORY), ("root", O_DIRECTORY)]
        ])

    everything = handles()
    several("climb to /etc/passwd from every handle", [open_at(number, up + "etc/passwd") for number in everything])
    several("climb to the canary from every handle", [open_at(number, up + paths["canary"][1:]) for number in everything])
    several("climb to the canary to write it", [open_at(number, up + paths["canary"][1:], O_RDWR) for number in everything])
    several("climb step by step", [
        open_at(open_at(number, "..", O_PATH), up + paths["canary"][1:]) for number in everything
    ])

    attempt("make a link to the canary in the workspace", call("symlinkat", text(paths["canary"]), workspace, text("link")))
    attempt("follow it", open_at(workspace, "link"))
    attempt("follow it to write", open_at(workspace, "link", O_RDWR))
    attempt("link the canary into the workspace", call("linkat", AT_FDCWD, text(paths["canary"]), workspace, text("hard"), 0))
    attempt("move the canary into the workspace", call("renameat2", AT_FDCWD, text(paths["canary"]), workspace, text("moved"), 0))
    attempt("link the workspace's file out", call("linkat", workspace, text("made"), AT_FDCWD, text(paths["canary"] + "3"), 0))
    attempt("remove the canary", call("unlinkat", AT_FDCWD, text(paths["canary"]), 0))
    attempt("remove the other tenant's file", call("unlinkat", AT_FDCWD, text(paths["other"]), 0))
    attempt("make a directory beside the canary", call("mkdirat", AT_FDCWD, text(paths["canary"] + "4"), 0o700))
    attempt("change the mode of the canary", call("fchmodat", AT_FDCWD, text(paths["canary"]), 0o777))
    attempt("change the owner of the canary", call("fchownat", AT_FDCWD, text(paths["canary"]), 0, 0, 0))
    attempt("set the times of the canary", call("utimensat", AT_FDCWD, text(paths["canary"]), put(bytes(32)), 0))
    attempt("set an attribute of the canary", call("setxattr", text(paths["canary"]), text("user.x"), text("x"), 1, 0))
    attempt("make a device in the workspace", call("mknodat", workspace, text("device"), 0o20666, 0x103))
    attempt("write a file of the skill", open_at(skill, "SKILL.md", O_RDWR))
    attempt("create a file in the skill", open_at(skill, "made", O_RDWR | O_CREAT))
    own = open_at(skill, "SKILL.md")
    attempt("open a file of the skill again to write it", open_at(AT_FDCWD, f"/proc/self/fd/{own}", O_RDWR))

    attempt("make an IPv4 socket", call("socket", 2, 1, 0))
    attempt("make a unix socket", call("socket", 1, 1, 0))
    attempt("make a netlink socket", call("socket", 16, 3, 0))
    attempt("make a pair of sockets", call("socketpair", 1, 1, 0, put(bytes(8))))
    loopback = struct.pack("=H", 2) + struct.pack(">HI", given["port"], 0x7f000001) + bytes(8)
    abstract = struct.pack("=H", 1) + b"\0" + given["abstract"].encode()
    named = struct.pack("=H", 1) + os.fsencode(paths["socket"]) + b"\0"
    for name, address in [("a loopback port", loopback), ("an abstract socket", abstract), ("a socket with a path", named)]:
        attempt(f"connect its socket to {name}", call("connect", 0, put(address), len(address)))
        attempt(f"send to {name}", call("sendto", 0, text("x"), 1, 0, put(address), len(address)))
        attempt(f"send a message to {name}", call("sendmsg", 0, message(b"x", address), 0))
    attempt("bind its socket", call("bind", 0, put(abstract), len(abstract)))
    attempt("listen", call("listen", 0, 1))

    for who in ["host", "other", "victim"]:
        attempt(f"open a handle on the {who}", call("pidfd_open", ids[who], 0))
        attempt(f"signal a thread of the {who}", call("tgkill", ids[who], ids[who], 15))
        attempt(f"limit the {who}", call("prlimit64", ids[who], 0, put(bytes(16)), 0))
        attempt(f"schedule the {who}", call("sched_setaffinity", ids[who], 8, put(bytes(8))))
        attempt(f"lower the priority of the {who}", call("setpriority", 0, ids[who], 19))
    attempt("get signals of the host's socket", call("fcntl", 0, 8, ids["host"]))
    attempt("start a process", call("clone", 17, 0, 0, 0, 0))
    attempt("start a process with flags in memory", call("clone3", put(bytes(88)), 88))
    attempt("start a process in a user namespace", call("clone", 0x10000000 | 17, 0, 0, 0, 0))
    attempt("io_uring", call("io_uring_setup", 1, put(bytes(256))))
    attempt("another filter", call("seccomp", 1, 0, put(bytes(64))))
    attempt("another ruleset", call("landlock_create_ruleset", 0, 0, 1))
    attempt("shared memory", call("shmget", 0, 4096, 0o1600))
    attempt("message queues", call("mq_open", text("x"), O_RDWR, 0, 0))
    attempt("inject terminal input", call("ioctl", 0, 0x5412, text("x")))
    attempt("raise its own limits", call("prlimit64", 0, 6, put(bytes(16)), 0))

    # A frame as the host expects it, with a handle, which it must not take.
    sent = open_at(workspace, "sent-to-the-host", O_RDWR | O_CREAT)
    frame = b"o" + struct.pack("<I", 5) + b"sent\n"
    attempt("send a handle over its socket", call("sendmsg", 0, message(frame, handle=sent), 0))


def reach():
    """What must work without a worker: otherwise it would not be the wall that keeps the code from it."""
    opened = lambda name, handle: print(f"{name}: {met(handle)} {read(handle).decode()}", flush=True)
    opened("read the canary by its path", open_at(AT_FDCWD, paths["canary"]))
    opened("read the other tenant's file", open_at(AT_FDCWD, paths["other"]))
    opened("climb to the canary from every handle", open_at(find("marker"), "../" * 24 + paths["canary"][1:]))
    attempt("make a unix socket", call("socket", 1, 1, 0))


def fatal(name):
    """Each of these ends the worker."""
    null, zeros = 0, put(bytes(256))
    local = put(struct.pack("QQ", zeros, 8))
    remote = put(struct.pack("QQ", 0x400000, 8))
    memory = call("memfd_create", text("program"), 0)
    call("write", memory, text("#!/bin/sh\ntouch " + paths["canary"] + "5\n"), 32)
    workspace = find("marker")
    arguments = put(struct.pack("QQQQ", text("/bin/sh"), text("-c"), text("touch " + paths["canary"] + "6"), 0))
    attempts = {
        "kill the victim": ("kill", ids["victim"], 9),
        "kill the other worker": ("kill", ids["other"], 9),
        "kill its parent": ("kill", call("getppid"), 9),
        "look for the host": ("kill", ids["host"], 0),
        "look for any process": ("kill", -1, 0),
        "kill in the older form": ("tkill", ids["victim"], 9),
        "queue a signal": ("rt_sigqueueinfo", ids["victim"], 9, zeros),
        "signal over a handle": ("pidfd_send_signal", workspace, 9, 0, 0),
        "take a handle": ("pidfd_getfd", workspace, 0, 0),
        "trace the host": ("ptrace", 16, ids["host"], 0, 0),
        "trace the other worker": ("ptrace", 16, ids["other"], 0, 0),
        "read the host's memory": ("process_vm_readv", ids["host"], local, 1, remote, 1, 0),
        "read the other worker's memory": ("process_vm_readv", ids["other"], local, 1, remote, 1, 0),
        "write the other worker's memory": ("process_vm_writev", ids["other"], local, 1, remote, 1, 0),
        "execute a program": ("execve", text("/bin/sh"), arguments, null),
        "execute a memory file": ("execveat", memory, text(""), arguments, null, AT_EMPTY_PATH),
        "fork": ("fork",),
        "fork without copying": ("vfork",),
        "make namespaces": ("unshare", 0x10000000 | 0x20000),
        "enter a namespace": ("setns", workspace, 0),
        "mount": ("mount", text("none"), text("/proc"), text("tmpfs"), 0, 0),
        "copy the workspace's mount": ("open_tree", workspace, text(""), AT_EMPTY_PATH | 1),
        "change the root": ("chroot", text("/proc")),
        "open a file by its number": ("open_by_handle_at", workspace, zeros, 0),
        "load a program into the kernel": ("bpf", 5, zeros, 128),
        "performance events": ("perf_event_open", zeros, 0, -1, -1, 0),
        "keys": ("keyctl", 0, -3, 0),
        "userfaultfd": ("userfaultfd", 0),
        "become root": ("setuid", 0),
        "set capabilities": ("capset", zeros, zeros),
        "a kernel module": ("finit_module", memory, text(""), 0),
    }
    if name == "list":
        # Some architectures lack the older calls.
        print("\n".join(name for name, (number, *_) in attempts.items() if number in calls))
        return
    print(f"attempts: {name}", flush=True)
    number, *rest = attempts[name]
    print(f"{name}: {met(call(number, *rest))}", flush=True)


{"quiet": quiet, "reach": reach, "fatal": lambda: fatal(given["what"])}[given["part"]]()
