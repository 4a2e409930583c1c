//! What an attacker tries with other processes and with the kernel.

use crate::attempts::Attempt;
use crate::calls::{KILLED, room};
use crate::raw::{self, call};
use libc::*;
use std::os::fd::AsFd as _;

pub(crate) const PROCESSES: &[Attempt] = &[
    (
        "see whether the host is there",
        |g| call(SYS_kill, &[&g.host, &0]),
        KILLED,
    ),
    (
        "see whether any process is there",
        |_| call(SYS_kill, &[&-1, &0]),
        KILLED,
    ),
    (
        "signal a thread of the host",
        |g| call(SYS_tgkill, &[&g.host, &g.host, &0]),
        "EPERM",
    ),
    (
        "signal a thread in the older form",
        |g| call(SYS_tkill, &[&g.host, &0]),
        KILLED,
    ),
    (
        "queue a signal to the host",
        |g| call(SYS_rt_sigqueueinfo, &[&g.host, &0, &room()]),
        KILLED,
    ),
    (
        "open the host",
        |g| call(SYS_pidfd_open, &[&g.host, &0]),
        "EPERM",
    ),
    (
        "signal over a handle",
        |g| call(SYS_pidfd_send_signal, &[&g.skill.as_fd(), &0, &0, &0]),
        KILLED,
    ),
    (
        "take a handle of a process",
        |g| call(SYS_pidfd_getfd, &[&g.skill.as_fd(), &0, &0]),
        KILLED,
    ),
    (
        "signal the host when its socket is ready",
        |g| call(SYS_fcntl, &[&0, &F_SETOWN, &g.host]),
        "EPERM",
    ),
    (
        "trace",
        |_| call(SYS_ptrace, &[&PTRACE_TRACEME, &0, &0, &0]),
        KILLED,
    ),
    (
        "read the host's memory",
        |g| {
            call(
                SYS_process_vm_readv,
                &[&g.host, &room(), &1, &room(), &1, &0],
            )
        },
        KILLED,
    ),
    (
        "write the host's memory",
        |g| {
            call(
                SYS_process_vm_writev,
                &[&g.host, &room(), &1, &room(), &1, &0],
            )
        },
        KILLED,
    ),
    (
        "compare handles with the host",
        |g| call(SYS_kcmp, &[&1, &g.host, &0, &0, &0]),
        KILLED,
    ),
    (
        "execute a program by name",
        |_| call(SYS_execve, &[&c"/bin/true", &0, &0]),
        KILLED,
    ),
    (
        "execute the code",
        |g| {
            call(
                SYS_execveat,
                &[&g.code.as_fd(), &c"", &0, &0, &AT_EMPTY_PATH],
            )
        },
        KILLED,
    ),
    (
        "execute a memory file",
        |_| {
            let memory = rustix::fs::memfd_create("program", rustix::fs::MemfdFlags::CLOEXEC)?;
            rustix::io::write(&memory, b"#!/bin/sh\n")?;
            call(
                SYS_execveat,
                &[&memory.as_fd(), &c"", &0, &0, &AT_EMPTY_PATH],
            )
        },
        KILLED,
    ),
    (
        "start a process",
        |_| call(SYS_clone, &[&SIGCHLD, &0, &0, &0, &0]),
        "EPERM",
    ),
    (
        "start a process that shares memory",
        |_| {
            call(
                SYS_clone,
                &[&(CLONE_VM | CLONE_FILES | SIGCHLD), &0, &0, &0, &0],
            )
        },
        "EPERM",
    ),
    (
        "start a process with flags in memory",
        |_| call(SYS_clone3, &[&room(), &88]),
        "ENOSYS",
    ),
    #[cfg(target_arch = "x86_64")]
    ("fork", |_| call(SYS_fork, &[]), KILLED),
    #[cfg(target_arch = "x86_64")]
    ("fork without copying", |_| call(SYS_vfork, &[]), KILLED),
    (
        "limit the host",
        |g| call(SYS_prlimit64, &[&g.host, &RLIMIT_CORE, &room(), &0]),
        "EPERM",
    ),
    (
        "raise its own limits",
        |_| call(SYS_prlimit64, &[&0, &RLIMIT_NPROC, &room(), &0]),
        "EPERM",
    ),
    (
        "change the priority of the user's processes",
        |_| call(SYS_setpriority, &[&PRIO_USER, &0, &5]),
        "EPERM",
    ),
    (
        "become a real-time process",
        |g| call(SYS_sched_setscheduler, &[&g.host, &SCHED_FIFO, &room()]),
        "EPERM",
    ),
    (
        "raise its priority",
        |_| call(SYS_setpriority, &[&PRIO_PROCESS, &0, &-20]),
        "EACCES",
    ),
    (
        "choose processors",
        |g| call(SYS_sched_setaffinity, &[&g.host, &8, &room()]),
        "EPERM",
    ),
];

pub(crate) const KERNEL: &[Attempt] = &[
    ("become root", |_| call(SYS_setuid, &[&0]), KILLED),
    (
        "become root in all ways",
        |_| call(SYS_setresuid, &[&0, &0, &0]),
        KILLED,
    ),
    ("change its group", |_| call(SYS_setgid, &[&0]), KILLED),
    (
        "leave its groups",
        |_| call(SYS_setgroups, &[&0, &0]),
        KILLED,
    ),
    (
        "set capabilities",
        |_| call(SYS_capset, &[&room(), &room()]),
        KILLED,
    ),
    (
        "load a program into the kernel",
        |_| call(SYS_bpf, &[&5, &room(), &128]),
        KILLED,
    ),
    (
        "io_uring",
        |_| call(SYS_io_uring_setup, &[&1, &room()]),
        "EPERM",
    ),
    ("userfaultfd", |_| call(SYS_userfaultfd, &[&0]), KILLED),
    (
        "performance events",
        |_| call(SYS_perf_event_open, &[&room(), &0, &-1, &-1, &0]),
        KILLED,
    ),
    ("keys", |_| call(SYS_keyctl, &[&0, &-3, &0]), KILLED),
    (
        "add a key",
        |_| call(SYS_add_key, &[&c"user", &c"x", &c"x", &1, &-3]),
        KILLED,
    ),
    (
        "request a key",
        |_| call(SYS_request_key, &[&c"user", &c"x", &0, &0]),
        KILLED,
    ),
    (
        "a kernel module",
        |g| call(SYS_finit_module, &[&g.code.as_fd(), &c"", &0]),
        KILLED,
    ),
    (
        "restart the machine",
        |_| call(SYS_reboot, &[&0, &0, &0, &0]),
        KILLED,
    ),
    (
        "read the kernel's messages",
        |_| call(SYS_syslog, &[&10, &0, &0]),
        KILLED,
    ),
    (
        "the host name",
        |_| call(SYS_sethostname, &[&c"x", &1]),
        KILLED,
    ),
    (
        "another filter",
        |_| call(SYS_seccomp, &[&1, &0, &room()]),
        "ENOSYS",
    ),
    (
        "process settings",
        |_| call(SYS_prctl, &[&PR_SET_DUMPABLE, &0]),
        "EINVAL",
    ),
    (
        "its address space",
        |_| call(SYS_prctl, &[&PR_SET_MM, &13, &0]),
        "EINVAL",
    ),
    (
        "the personality",
        |_| call(SYS_personality, &[&0xffff_ffffu32]),
        "ENOSYS",
    ),
    (
        "inject terminal input",
        |_| call(SYS_ioctl, &[&0, &(TIOCSTI as u32), &c"x"]),
        "ENOTTY",
    ),
    ("watch files", |_| call(SYS_inotify_init1, &[&0]), "ENOSYS"),
    (
        "watch file systems",
        |_| call(SYS_fanotify_init, &[&0, &0]),
        "ENOSYS",
    ),
    (
        "shared memory",
        |_| call(SYS_shmget, &[&0, &4096, &0o1600]),
        "ENOSYS",
    ),
    (
        "message queues",
        |_| call(SYS_msgget, &[&0, &0o1600]),
        "ENOSYS",
    ),
    (
        "message queues by name",
        |_| call(SYS_mq_open, &[&c"x", &O_RDWR, &0, &0]),
        "ENOSYS",
    ),
    ("secret memory", |_| call(SYS_memfd_secret, &[&0]), "ENOSYS"),
    ("lock memory", |_| call(SYS_mlock, &[&room(), &8]), "ENOSYS"),
    (
        "pipes from memory",
        |_| call(SYS_vmsplice, &[&0, &room(), &0, &0]),
        "ENOSYS",
    ),
    ("a call that does not exist", |_| call(999, &[]), "ENOSYS"),
    #[cfg(target_arch = "x86_64")]
    (
        "a call with the numbers of x32",
        |_| call(0x4000_0000 + SYS_getpid, &[]),
        "ENOSYS",
    ),
    #[cfg(target_arch = "x86_64")]
    ("a 32-bit call", |_| raw::call_32_bit(), KILLED),
    #[cfg(target_arch = "x86_64")]
    ("I/O ports", |_| call(SYS_iopl, &[&3]), KILLED),
    #[cfg(target_arch = "x86_64")]
    (
        "memory segments",
        |_| call(SYS_modify_ldt, &[&0, &room(), &16]),
        KILLED,
    ),
    // Signals without a handler do not reach the first process of a namespace, so what aborts dies of a fault.
    ("abort", |_| std::process::abort(), "killed by SIGSEGV"),
    ("a bug in the engine", |_| raw::crash(), "killed by SIGSEGV"),
];
