//! The system calls that fail with an error of their own, and those that end a worker.

use crate::filter::{Entry, calls};

/// Calls that fail with an error, because libraries try them and go on without.
pub(super) const REFUSED: &[Entry] = &[
    Entry::new("sockets: the C library asks services for names, and logs")
        .calls(calls![
            SYS_socket,
            SYS_socketpair,
            SYS_connect,
            SYS_bind,
            SYS_listen,
            SYS_accept4,
            SYS_setsockopt,
            SYS_sendmmsg
        ])
        .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("an older form of accepting a connection")
        .calls(calls![SYS_accept])
        .otherwise(libc::EPERM),
    Entry::new(
        "change mode, owner or attributes of files: no guest can, and copying libraries try",
    )
    .calls(calls![
        SYS_fchmod,
        SYS_fchmodat,
        SYS_fchown,
        SYS_fchownat,
        SYS_fsetxattr,
        SYS_setxattr,
        SYS_lsetxattr,
        SYS_fremovexattr,
        SYS_removexattr,
        SYS_lremovexattr
    ])
    .numbered(&[("fchmodat2", 452)])
    .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("the same in its older forms")
        .calls(calls![
            SYS_chmod,
            SYS_chown,
            SYS_lchown,
            SYS_utime,
            SYS_utimes,
            SYS_futimesat
        ])
        .otherwise(libc::EPERM),
    Entry::new(
        "extended attributes and disk space without writing, as on a file system without them",
    )
    .calls(calls![
        SYS_fgetxattr,
        SYS_getxattr,
        SYS_lgetxattr,
        SYS_flistxattr,
        SYS_listxattr,
        SYS_llistxattr,
        SYS_fallocate
    ])
    .otherwise(libc::EOPNOTSUPP),
    Entry::new("devices, named pipes and sockets in directories")
        .calls(calls![SYS_mknodat])
        .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("the same in its older form")
        .calls(calls![SYS_mknod])
        .otherwise(libc::EPERM),
    Entry::new("a directory to start paths from: it has handles for that")
        .calls(calls![SYS_chdir, SYS_fchdir])
        .otherwise(libc::EPERM),
    Entry::new("a second way to make calls, past this table: libraries probe for it")
        .calls(calls![
            SYS_io_uring_setup,
            SYS_io_uring_enter,
            SYS_io_uring_register
        ])
        .otherwise(libc::EPERM),
    Entry::new("handles on processes: libraries probe for them")
        .calls(calls![SYS_pidfd_open])
        .otherwise(libc::EPERM),
    Entry::new("limits and scheduling, of itself and of others")
        .calls(calls![
            SYS_setrlimit,
            SYS_sched_setaffinity,
            SYS_sched_setscheduler,
            SYS_sched_setparam,
            SYS_sched_setattr,
            SYS_ioprio_set
        ])
        .otherwise(libc::EPERM),
];

/// Calls that end the worker.
pub(super) const FATAL: &[Entry] = &[
    Entry::new("programs: a worker starts none").calls(calls![SYS_execve, SYS_execveat]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("processes in older forms, which the C library does not use")
        .calls(calls![SYS_fork, SYS_vfork]),
    Entry::new("other processes: their memory, their handles, and signals to them").calls(calls![
        SYS_ptrace,
        SYS_process_vm_readv,
        SYS_process_vm_writev,
        SYS_process_madvise,
        SYS_kcmp,
        SYS_pidfd_getfd,
        SYS_pidfd_send_signal,
        SYS_kill,
        SYS_tkill,
        SYS_rt_sigqueueinfo,
        SYS_rt_tgsigqueueinfo
    ]),
    Entry::new("mounts").calls(calls![
        SYS_mount,
        SYS_umount2,
        SYS_pivot_root,
        SYS_chroot,
        SYS_open_tree,
        SYS_move_mount,
        SYS_fsopen,
        SYS_fsconfig,
        SYS_fsmount,
        SYS_fspick,
        SYS_mount_setattr
    ]),
    Entry::new("namespaces").calls(calls![SYS_unshare, SYS_setns]),
    Entry::new("users, groups and capabilities").calls(calls![
        SYS_setuid,
        SYS_setgid,
        SYS_setreuid,
        SYS_setregid,
        SYS_setresuid,
        SYS_setresgid,
        SYS_setfsuid,
        SYS_setfsgid,
        SYS_setgroups,
        SYS_capset
    ]),
    Entry::new("files by handle, which bypasses directories")
        .calls(calls![SYS_name_to_handle_at, SYS_open_by_handle_at]),
    Entry::new("programs in the kernel, and tools of kernel exploits").calls(calls![
        SYS_bpf,
        SYS_perf_event_open,
        SYS_userfaultfd,
        SYS_init_module,
        SYS_finit_module,
        SYS_delete_module,
        SYS_kexec_load
    ]),
    Entry::new("keys, which belong to a user and not to a process").calls(calls![
        SYS_add_key,
        SYS_request_key,
        SYS_keyctl
    ]),
    Entry::new("the machine itself").calls(calls![
        SYS_reboot,
        SYS_swapon,
        SYS_swapoff,
        SYS_settimeofday,
        SYS_clock_settime,
        SYS_adjtimex,
        SYS_clock_adjtime,
        SYS_syslog,
        SYS_acct,
        SYS_sethostname,
        SYS_setdomainname
    ]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("I/O ports and segments of memory").calls(calls![
        SYS_iopl,
        SYS_ioperm,
        SYS_modify_ldt
    ]),
];
