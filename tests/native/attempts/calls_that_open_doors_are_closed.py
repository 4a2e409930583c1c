# x86_64 only
NULL = 0
for what, number, arguments in (
    ("mount", 165, (b"none", b"/tmp", b"tmpfs", 0, NULL)),
    ("mount, bound", 165, (b"/", b".", NULL, 4096, NULL)),
    ("umount2", 166, (b"/proc", 2)),
    ("pivot_root", 155, (b".", b".")),
    ("chroot", 161, (b".",)),
    ("open_tree", 428, (-100, b"/", 1)),
    ("move_mount", 429, (-1, b"", -100, b".", 4)),
    ("fsopen", 430, (b"tmpfs", 0)),
    ("fspick", 433, (-100, b"/", 0)),
    ("mount_setattr", 442, (-100, b"/", 0, NULL, 0)),
    ("open_tree_attr", 467, (-100, b"/", 1, NULL, 0)),
    ("unshare, users", 272, (0x10000000,)),
    ("unshare, mounts", 272, (0x20000,)),
    ("unshare, files", 272, (0x400,)),
    ("setns", 308, (0, 0)),
    ("clone, users", 56, (0x10000000 | 17, NULL, NULL, NULL, NULL)),
    ("clone, network", 56, (0x40000000 | 17, NULL, NULL, NULL, NULL)),
    ("clone3", 435, (NULL, 88)),
    ("io_uring_setup", 425, (8, NULL)),
    ("io_uring_enter", 426, (0, 0, 0, 0)),
    ("io_uring_register", 427, (0, 0, 0, 0)),
    ("keyctl", 250, (0, -3, 1)),
    ("add_key", 248, (b"user", b"x", b"x", 1, -3)),
    ("request_key", 249, (b"user", b"x", NULL, -3)),
    ("bpf", 321, (0, NULL, 0)),
    ("perf_event_open", 298, (NULL, 0, -1, -1, 0)),
    ("userfaultfd", 323, (1,)),
    ("memfd_create", 319, (b"x", 0)),
    ("memfd_secret", 447, (0,)),
    ("kexec_load", 246, (0, 0, NULL, 0)),
    ("kexec_file_load", 320, (0, 0, 0, NULL, 0)),
    ("init_module", 175, (NULL, 0, b"")),
    ("finit_module", 313, (0, b"", 0)),
    ("delete_module", 176, (b"x", 0)),
    ("name_to_handle_at", 303, (-100, b".", NULL, NULL, 0)),
    ("open_by_handle_at", 304, (-1, NULL, 0)),
    ("fanotify_init", 300, (0, 0)),
    ("quotactl", 179, (0, NULL, 0, NULL)),
    ("swapon", 167, (b"x", 0)),
    ("settimeofday", 164, (NULL, NULL)),
    ("clock_settime", 227, (0, NULL)),
    ("adjtimex", 159, (NULL,)),
    ("sethostname", 170, (b"x", 1)),
    ("syslog", 103, (3, NULL, 0)),
    ("acct", 163, (NULL,)),
    ("vhangup", 153, ()),
    ("iopl", 172, (3,)),
    ("ioperm", 173, (0, 1, 1)),
    ("modify_ldt", 154, (0, NULL, 0)),
    ("personality, no randomness", 135, (0x40000,)),
    ("ptrace, by the parent", 101, (0, 0, 0, 0)),
    ("pidfd_getfd", 438, (0, 0, 0)),
    ("move_pages", 279, (0, 0, NULL, NULL, NULL, 0)),
    ("migrate_pages", 256, (0, 0, NULL, NULL)),
    ("mbind", 237, (0, 0, 0, NULL, 0, 0)),
    ("vmsplice", 278, (0, NULL, 0, 0)),
    ("shmget", 29, (0, 4096, 0o1600)),
    ("semget", 64, (0, 1, 0o1600)),
    ("msgget", 68, (0, 0o1600)),
    ("mq_open", 240, (b"x", 0o102, 0o600, NULL)),
    ("copy_file_range", 326, (0, NULL, 0, NULL, 0, 0)),
    ("fallocate", 285, (0, 0, 0, 0)),
    ("prctl, speculation", 157, (53, 0, 1, 0, 0)),
    ("prctl, who adopts orphans", 157, (36, 1, 0, 0, 0)),
    ("prctl, who may trace", 157, (0x59616d61, -1, 0, 0, 0)),
    ("prctl, memory map", 157, (35, 1, 0, 0, 0)),
    ("prctl, rights over files kept", 157, (47, 2, 1, 0, 0)),
    ("prctl, closed to looks", 157, (4, 0, 0, 0, 0)),
    ("prctl, keep rights", 157, (8, 1, 0, 0, 0)),
    ("sched_setattr", 314, (0, NULL, 0)),
    ("setgroups", 116, (0, NULL)),
    ("setuid, root", 105, (0,)),
    ("setresuid, root", 117, (0, 0, 0)),
    ("setgid, root", 106, (0,)),
    ("cachestat", 451, (0, NULL, NULL, 0)),
    ("no such call", 9999, ()),
    ("x32 getpid", 0x40000000 + 39, ()),
    ("x32 execve", 0x40000000 + 520, (NULL, NULL, NULL)),
    ("x32 ptrace", 0x40000000 + 521, (16, 1, 0, 0)),
    ("x32 open", 0x40000000 + 2, (b"own", 0)),
):
    attempt(what, lambda: call(number, *arguments))

# What types into a terminal; there is none, so the call alone is what is met.
attempt("TIOCSTI", lambda: call(16, 0, 0x5412, b"x"))
attempt("TIOCSTI with more bits", lambda: call(16, 0, 0x5412 | 1 << 32, b"x"))
attempt("TIOCLINUX", lambda: call(16, 0, 0x541c, b"\x03"))
attempt("TIOCSCTTY", lambda: call(16, 0, 0x540e, 0))
attempt("FICLONE", lambda: call(16, os.open("clone", os.O_RDWR | os.O_CREAT), 0x40049409, 0))


def machine_code(code):
    call_mmap = libc.mmap
    call_mmap.restype = ctypes.c_void_p
    memory = call_mmap(None, 4096, 7, 0x22, -1, 0)
    ctypes.memmove(memory, code, len(code))
    return ctypes.CFUNCTYPE(ctypes.c_long)(memory)()


# mov eax, 20 (getpid of 32 bits); int 0x80; ret. Its numbers mean other calls, so it ends a process.
attempt("int 0x80", lambda: child(lambda: machine_code(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")))
# sysenter, which on this processor is the same or nothing.
attempt("machine code of one's own", lambda: machine_code(b"\xb8\x2a\x00\x00\x00\xc3"))
import resource
for name in ("RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_DATA", "RLIMIT_CORE", "RLIMIT_CPU"):
    def more():
        try:
            resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except ValueError as error:
            return error
        return "raised"
    attempt(f"more {name}", more)
# The twins: calls that every program makes.
attempt("getpid", lambda: call(39) == os.getpid())
attempt("clone, a child", lambda: child(lambda: None))
attempt("prctl, no new privileges", lambda: call(157, 38, 1, 0, 0, 0))
attempt("personality, asked for", lambda: call(135, 0xffffffff))
