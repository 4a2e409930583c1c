//! What an attacker inside a worker tries with other system calls than those on files.

use crate::attempts::{Attempt, Given};
use crate::raw::{self, Met, call};
use libc::*;
use std::os::fd::{AsFd as _, OwnedFd};

const ROOM: [u64; 32] = [0; 32];
const KILLED: &str = "killed by SIGSYS";

fn room() -> &'static [u64] {
    ROOM.as_slice()
}

/// The mount attributes that would let the holder write, with those it has to clear.
const LOOSE: [u64; 4] = [0, 0b1111, 0, 0];

pub(crate) const MOUNTS: &[Attempt] = &[
    (
        "clear the flags of the skill's mount",
        |g| {
            call(
                SYS_mount_setattr,
                &[
                    &g.skill.as_fd(),
                    &c"",
                    &AT_EMPTY_PATH,
                    &LOOSE.as_slice(),
                    &32,
                ],
            )
        },
        KILLED,
    ),
    (
        "copy the skill's mount",
        |g| {
            call(
                SYS_open_tree,
                &[&g.skill.as_fd(), &c"", &(AT_EMPTY_PATH | 1)],
            )
        },
        KILLED,
    ),
    (
        "copy the mount above the skill",
        |g| call(SYS_open_tree, &[&g.skill.as_fd(), &c"..", &1]),
        KILLED,
    ),
    (
        "move the skill's mount",
        |g| {
            call(
                SYS_move_mount,
                &[&g.skill.as_fd(), &c"", &AT_FDCWD, &c"/", &4],
            )
        },
        KILLED,
    ),
    (
        "open a file system",
        |_| call(SYS_fsopen, &[&c"tmpfs", &0]),
        KILLED,
    ),
    (
        "pick a file system",
        |g| call(SYS_fspick, &[&g.skill.as_fd(), &c"", &8]),
        KILLED,
    ),
    (
        "mount",
        |_| call(SYS_mount, &[&c"none", &c"/proc", &c"tmpfs", &0, &0]),
        KILLED,
    ),
    (
        "unmount",
        |_| call(SYS_umount2, &[&c"/proc/self/fd", &2]),
        KILLED,
    ),
    (
        "change the root",
        |_| call(SYS_pivot_root, &[&c".", &c"."]),
        KILLED,
    ),
    (
        "change the root to the skill",
        |_| call(SYS_chroot, &[&c"/proc"]),
        KILLED,
    ),
    (
        "make a user and mount namespace",
        |_| call(SYS_unshare, &[&(CLONE_NEWUSER | CLONE_NEWNS)]),
        KILLED,
    ),
    (
        "make a user namespace in a child",
        |_| call(SYS_clone, &[&(CLONE_NEWUSER | SIGCHLD), &0, &0, &0, &0]),
        "EPERM",
    ),
    (
        "enter a namespace",
        |g| call(SYS_setns, &[&g.skill.as_fd(), &0]),
        KILLED,
    ),
    (
        "open a file by its number",
        |g| {
            call(
                SYS_open_by_handle_at,
                &[&g.skill.as_fd(), &room(), &O_RDONLY],
            )
        },
        KILLED,
    ),
    (
        "read the number of a file",
        |g| {
            call(
                SYS_name_to_handle_at,
                &[&g.skill.as_fd(), &c"", &room(), &room(), &AT_EMPTY_PATH],
            )
        },
        KILLED,
    ),
];

/// Clears the flags of the handle's mount, and copies it.
pub(crate) fn loosen(handle: &OwnedFd) -> [Met; 2] {
    [
        call(
            SYS_mount_setattr,
            &[
                &handle.as_fd(),
                &c"",
                &AT_EMPTY_PATH,
                &LOOSE.as_slice(),
                &32,
            ],
        ),
        call(
            SYS_open_tree,
            &[&handle.as_fd(), &c"", &(AT_EMPTY_PATH | 1)],
        ),
    ]
}

pub(crate) const NETWORK: &[Attempt] = &[
    (
        "an IPv4 socket",
        |_| call(SYS_socket, &[&AF_INET, &SOCK_STREAM, &0]),
        "EPERM",
    ),
    (
        "an IPv6 socket",
        |_| call(SYS_socket, &[&AF_INET6, &SOCK_DGRAM, &0]),
        "EPERM",
    ),
    (
        "a raw socket",
        |_| call(SYS_socket, &[&AF_INET, &SOCK_RAW, &1]),
        "EPERM",
    ),
    (
        "a packet socket",
        |_| call(SYS_socket, &[&AF_PACKET, &SOCK_RAW, &0]),
        "EPERM",
    ),
    (
        "a netlink socket",
        |_| call(SYS_socket, &[&AF_NETLINK, &SOCK_RAW, &0]),
        "EPERM",
    ),
    (
        "a unix socket",
        |_| call(SYS_socket, &[&AF_UNIX, &SOCK_STREAM, &0]),
        "EPERM",
    ),
    (
        "a vsock socket",
        |_| call(SYS_socket, &[&AF_VSOCK, &SOCK_STREAM, &0]),
        "EPERM",
    ),
    (
        "a cipher socket of the kernel",
        |_| call(SYS_socket, &[&AF_ALG, &SOCK_SEQPACKET, &0]),
        "EPERM",
    ),
    (
        "a pair of sockets",
        |_| call(SYS_socketpair, &[&AF_UNIX, &SOCK_STREAM, &0, &room()]),
        "EPERM",
    ),
    (
        "connect its socket to an abstract address",
        |_| call(SYS_connect, &[&0, &b"\x01\0\0x".as_slice(), &4]),
        "EPERM",
    ),
    (
        "send to an abstract address",
        |_| {
            let address = [1u8, 0, 0, b'x'];
            call(SYS_sendto, &[&0, &c"x", &1, &0, &address.as_slice(), &4])
        },
        "EPERM",
    ),
    (
        "bind its socket",
        |_| call(SYS_bind, &[&0, &room(), &2]),
        "EPERM",
    ),
    (
        "listen on its socket",
        |_| call(SYS_listen, &[&0, &1]),
        "EPERM",
    ),
    (
        "accept on its socket",
        |_| call(SYS_accept4, &[&0, &0, &0, &0]),
        "EPERM",
    ),
    (
        "set options of its socket",
        |_| call(SYS_setsockopt, &[&0, &SOL_SOCKET, &SO_SNDBUF, &room(), &4]),
        "EPERM",
    ),
];

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

/// All that is attempted, in this order.
pub(crate) fn all() -> impl Iterator<Item = &'static Attempt> {
    use crate::attempts::{FILES, NEEDED};
    // What is needed a second time at the end, beside all that was refused.
    [NEEDED, FILES, MOUNTS, NETWORK, PROCESSES, KERNEL]
        .into_iter()
        .flatten()
}

/// Makes one attempt.
pub(crate) fn attempt(name: &str, given: &Given) -> String {
    let mut known = all().chain(crate::attempts::OWNERS);
    let Some((_, attempt, _)) = known.find(|(known, ..)| *known == name) else {
        return "unknown".into();
    };
    match attempt(given) {
        Ok(got) => format!("ok {got}"),
        Err(error) => crate::name_of(error.raw_os_error()),
    }
}
