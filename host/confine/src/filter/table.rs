//! The calls that a confined program may make.
//!
//! What is not here does not exist for it: the kernel answers that it has no such call, which programs
//! take as an old kernel and do without. A few calls get another answer, because programs ask for them
//! and would misunderstand that one; they stand in [`REFUSED`]. Calls that only some arguments make
//! dangerous are allowed with a test on these.
//!
//! Kept out by their absence, among others: `clone3` (its flags are in memory, where no filter sees
//! them; libc falls back to `clone`), `openat2` (so is its mode), `io_uring_*` (a second way to make calls, past this table),
//! `memfd_create` and `memfd_secret` (memory that no limit counts), `userfaultfd` and `perf_event_open`
//! (favourites of those who attack kernels), `copy_file_range` and `fallocate` (they fill disks without
//! writing, which the watch would not see), System V and POSIX message queues, semaphores and
//! shared memory (they outlive a program), and everything that administers a machine.

use super::{Entry, Is, Test, Where};

/// All new namespaces that `clone` can make.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWTIME) as u32;

/// A test by which calls on other processes become calls on oneself.
const ONESELF: &[Test] = &[Test(0, Is::Equal(0))];

/// The bits that tell datagram sockets, and raw ones, which become datagram sockets, from streams and
/// packets in order.
const DATAGRAMS: u32 = 0b1010;

/// The bits by which a file hands on its owner's rights. A file that a program makes is its caller's,
/// who may be root.
const OWNERS_RIGHTS: u32 = libc::S_ISUID | libc::S_ISGID;

/// The bits by which memory is part of no file, and is shared with children.
const ANONYMOUS: u32 = libc::MAP_ANONYMOUS as u32;
const SHARED: u32 = libc::MAP_SHARED as u32;

/// The flags with which opening makes a file; without them the mode is whatever is in a register.
const MAKES: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;

/// The calls by which interpreters open a file only to read it: every one that is reported costs a round trip to
/// the keeper. One with a directory's handle is not; programs that walk through directories make
/// those. `openat2` and `io_uring_*` are not among the calls that a program may make.
pub(super) const OPENS: &[(i64, &[Test])] = &[
    (
        libc::SYS_openat,
        &[
            Test(0, Is::Equal(libc::AT_FDCWD as u32)),
            Test(2, Is::Without(NOT_ONLY_READING)),
        ],
    ),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, &[Test(1, Is::Without(NOT_ONLY_READING))]),
];

/// The flags without which a file is opened only to be read.
const NOT_ONLY_READING: u32 = (libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_TRUNC
    | libc::O_APPEND
    | libc::O_PATH
    | libc::O_DIRECTORY) as u32;

/// What takes memory of the kernel that no process shows, refused where no control group counts it.
pub(super) const UNCOUNTED: &[Entry] = &[Entry::new(
    "attributes of files in memory: of the script's own copy there may be any number",
)
.only(Where::NoGroup)
.calls(calls![SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr])];

pub(super) const ALLOWED: &[Entry] = &[
    Entry::new("read and write what is open")
        .calls(calls![
        SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_preadv,
        SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_lseek, SYS_close, SYS_close_range,
        SYS_fsync, SYS_fdatasync, SYS_sync_file_range, SYS_ftruncate, SYS_flock,
        SYS_dup, SYS_dup3, SYS_pipe2, SYS_splice, SYS_tee, SYS_sendfile, SYS_fadvise64,
        SYS_readahead
    ]),
    Entry::new("what can be asked of an open file").only(Where::Group).calls(calls![SYS_fcntl]),
    Entry::new(
        "the same, but no larger pipe (F_SETPIPE_SZ): the keeper counts each as the most that an ordinary \
         one holds",
    )
    .only(Where::NoGroup)
    .calls(calls![SYS_fcntl])
    .when(&[&[Test(1, Is::Not(libc::F_SETPIPE_SZ as u32))]])
    .otherwise(libc::EPERM),
    Entry::new("files by name: Landlock says which")
        .calls(calls![
        SYS_newfstatat, SYS_fstat, SYS_statx, SYS_faccessat,
        SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_truncate, SYS_mkdirat,
        SYS_unlinkat, SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_chdir,
        SYS_fchdir, SYS_getcwd, SYS_umask, SYS_statfs, SYS_fstatfs,
    ]),
    Entry::new("open and make files, but none that hands on its owner's rights")
        .calls(calls![SYS_openat])
        .when(&[&[Test(2, Is::Without(MAKES))], &[Test(3, Is::Without(OWNERS_RIGHTS))]])
        .otherwise(libc::EPERM),
    Entry::new("the same, for pipes with a name and the like")
        .calls(calls![SYS_mknodat])
        .when(&[&[Test(2, Is::Without(OWNERS_RIGHTS))]])
        .otherwise(libc::EPERM),
    Entry::new("news of files: Landlock does not say of which, and they hold names")
        .only(Where::Namespaces)
        .calls(calls![SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch]),
    Entry::new("what open files say of themselves").calls(calls![SYS_fgetxattr, SYS_flistxattr]),
    Entry::new("what files say of themselves by name: Landlock does not say which")
        .only(Where::Namespaces)
        .calls(calls![SYS_getxattr, SYS_lgetxattr, SYS_listxattr, SYS_llistxattr]),
    Entry::new("the mode of files, but for the bits that hand on their owner's rights")
        .only(Where::Namespaces)
        .calls(calls![SYS_fchmod])
        .when(&[&[Test(1, Is::Without(OWNERS_RIGHTS))]])
        .otherwise(libc::EPERM),
    Entry::new("the same by name")
        .only(Where::Namespaces)
        .calls(calls![SYS_fchmodat])
        .call("fchmodat2", 452)
        .when(&[&[Test(2, Is::Without(OWNERS_RIGHTS))]])
        .otherwise(libc::EPERM),
    Entry::new(
        "change what a file says of itself, which no layer but a file tree of its own judges: a file \
         that may be read can be changed so",
    )
    .only(Where::Namespaces)
    .calls(calls![
        SYS_fchown, SYS_fsetxattr, SYS_fremovexattr, SYS_fchownat,
        SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr, SYS_lremovexattr
    ]),
    Entry::new("the time of an open file, which is the same call without a name, and only to now")
        .only(Where::Landlock)
        .calls(calls![SYS_utimensat])
        .when(&[&[Test(1, Is::Null), Test(2, Is::Null)]])
        .otherwise(libc::EPERM),
    Entry::new("memory, of files and not").only(Where::Group).calls(calls![SYS_mmap]),
    Entry::new(
        "the same, but what is shared is of a file: other memory stays when it is dropped from all tables, and \
         only a control group counts it then",
    )
    .only(Where::NoGroup)
    .calls(calls![SYS_mmap])
    .when(&[&[Test(3, Is::Without(ANONYMOUS))], &[Test(3, Is::Without(SHARED))]])
    .otherwise(libc::ENOMEM),
    Entry::new("what is done with memory").calls(calls![
        SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_msync, SYS_mincore,
        SYS_mlock, SYS_munlock, SYS_brk, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect,
        SYS_membarrier
    ]),
    Entry::new("threads and processes, but no namespaces")
        .calls(calls![SYS_clone])
        .when(&[&[Test(0, Is::Without(NAMESPACES))]]),
    Entry::new("programs: Landlock says which").calls(calls![SYS_execve, SYS_execveat]),
    Entry::new("the life of a process").calls(calls![
        SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_getpid, SYS_getppid, SYS_gettid,
        SYS_getpgid, SYS_setpgid, SYS_getsid, SYS_setsid, SYS_set_tid_address,
        SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_sched_yield,
        SYS_restart_syscall, SYS_pidfd_open
    ]),
    Entry::new("signals: a pid namespace or Landlock says to whom").calls(calls![
        SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigaction, SYS_rt_sigprocmask,
        SYS_rt_sigpending, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
        SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_sigaltstack, SYS_signalfd4,
        SYS_pidfd_send_signal
    ]),
    Entry::new("waiting for time and events").calls(calls![
        SYS_futex, SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres,
        SYS_gettimeofday, SYS_getitimer, SYS_setitimer, SYS_timer_create, SYS_timer_settime,
        SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete, SYS_timerfd_create,
        SYS_timerfd_settime, SYS_timerfd_gettime, SYS_eventfd2, SYS_epoll_create1,
        SYS_epoll_ctl, SYS_epoll_pwait, SYS_ppoll, SYS_pselect6
    ])
    .call("epoll_pwait2", 441)
    .call("futex_waitv", 449),
    Entry::new("who and where one is").calls(calls![
        SYS_uname, SYS_sysinfo, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
        SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_getrusage, SYS_times, SYS_getrandom,
        SYS_getcpu, SYS_capget, SYS_getpriority, SYS_sched_getaffinity, SYS_sched_getscheduler,
        SYS_sched_getparam, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
        SYS_sched_rr_get_interval, SYS_sched_getattr, SYS_ioprio_get, SYS_getrlimit
    ]),
    Entry::new("another user, which without rights is none but oneself")
        .calls(calls![
        SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
        SYS_setfsuid, SYS_setfsgid
    ]),
    Entry::new("fewer rights, and lower limits of one's own").calls(calls![
        SYS_capset, SYS_setrlimit, SYS_landlock_create_ruleset, SYS_landlock_add_rule,
        SYS_landlock_restrict_self, SYS_seccomp
    ]),
    Entry::new("limits and turns of one's own, not of others")
        .calls(calls![
        SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam
    ])
        .when(&[ONESELF]),
    Entry::new("a priority of one's own, not of others and not of all that the user has")
        .calls(calls![SYS_setpriority])
        .when(&[&[Test(0, Is::Equal(libc::PRIO_PROCESS)), Test(1, Is::Equal(0))]]),
    Entry::new("the same for disks")
        .calls(calls![SYS_ioprio_set])
        .when(&[&[Test(0, Is::Equal(1)), Test(1, Is::Equal(0))]]), // IOPRIO_WHO_PROCESS
    Entry::new("settings of one's own that loosen nothing").calls(calls![SYS_prctl]).when(&[
        &[Test(0, Is::Equal(libc::PR_SET_NAME as u32))],
        &[Test(0, Is::Equal(libc::PR_GET_NAME as u32))],
        &[Test(0, Is::Equal(libc::PR_GET_PDEATHSIG as u32))],
        &[Test(0, Is::Equal(libc::PR_GET_DUMPABLE as u32))],
        // Closed to the keeper, a process could not be watched.
        &[Test(0, Is::Equal(libc::PR_SET_DUMPABLE as u32)), Test(1, Is::Equal(1))],
        &[Test(0, Is::Equal(libc::PR_SET_NO_NEW_PRIVS as u32))],
        &[Test(0, Is::Equal(libc::PR_GET_NO_NEW_PRIVS as u32))],
        &[Test(0, Is::Equal(libc::PR_CAPBSET_READ as u32))],
        &[Test(0, Is::Equal(libc::PR_GET_SECCOMP as u32))],
        &[Test(0, Is::Equal(libc::PR_SET_TIMERSLACK as u32))],
        &[Test(0, Is::Equal(libc::PR_GET_TIMERSLACK as u32))],
        &[Test(0, Is::Equal(libc::PR_SET_THP_DISABLE as u32))],
        &[Test(0, Is::Equal(libc::PR_SET_VMA as u32))],
    ]),
    Entry::new("asking for the personality, and the ordinary one")
        .calls(calls![SYS_personality])
        .when(&[&[Test(0, Is::Equal(0xffff_ffff))], &[Test(0, Is::Equal(0))]]),
    Entry::new(
        "what programs ask of terminals, pipes and files. The rest types into terminals, changes files that \
         are open for reading, takes room on disks without writing, or talks to drivers",
    )
    .calls(calls![SYS_ioctl])
    .when(&[
        &[Test(1, Is::Equal(libc::TCGETS as u32))],
        &[Test(1, Is::Equal(libc::TCSETS as u32))],
        &[Test(1, Is::Equal(libc::TCSETSW as u32))],
        &[Test(1, Is::Equal(libc::TCSETSF as u32))],
        &[Test(1, Is::Equal(libc::TIOCGPGRP as u32))],
        &[Test(1, Is::Equal(libc::TIOCSPGRP as u32))],
        &[Test(1, Is::Equal(libc::TIOCGWINSZ as u32))],
        &[Test(1, Is::Equal(libc::FIONREAD as u32))],
        &[Test(1, Is::Equal(libc::FIONBIO as u32))],
        &[Test(1, Is::Equal(libc::FIOCLEX as u32))],
        &[Test(1, Is::Equal(libc::FIONCLEX as u32))],
        &[Test(1, Is::Equal(0x8008_6601))], // FS_IOC_GETFLAGS
        &[Test(1, Is::Equal(0xc020_660b))], // FS_IOC_FIEMAP
    ])
    .otherwise(libc::ENOTTY),
    Entry::new(
        "pairs of sockets, to talk to one's own children; not of datagrams, which can be sent to others",
    )
    .calls(calls![SYS_socketpair])
    .when(&[&[
        Test(0, Is::Equal(libc::AF_UNIX as u32)),
        Test(1, Is::Without(DATAGRAMS)),
    ]])
    .otherwise(libc::EPERM),
    Entry::new("what is done with a socket that one has").calls(calls![
        SYS_sendto, SYS_recvfrom, SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg, SYS_recvmmsg,
        SYS_shutdown, SYS_getsockname, SYS_getpeername, SYS_getsockopt
    ]),
    Entry::new("settings of a socket").only(Where::Group).calls(calls![SYS_setsockopt]),
    Entry::new(
        "the same, but no larger buffers (SO_SNDBUF and its kin): the keeper counts each socket as the most \
         that an ordinary one holds",
    )
    .only(Where::NoGroup)
    .calls(calls![SYS_setsockopt])
    .when(&[
        &[Test(1, Is::Not(libc::SOL_SOCKET as u32))],
        &[
            Test(2, Is::Not(libc::SO_SNDBUF as u32)),
            Test(2, Is::Not(libc::SO_RCVBUF as u32)),
            Test(2, Is::Not(libc::SO_SNDBUFFORCE as u32)),
            Test(2, Is::Not(libc::SO_RCVBUFFORCE as u32)),
        ],
    ])
    .otherwise(libc::EPERM),
    Entry::new("the internet, and asking the kernel for its addresses")
        .only(Where::Network)
        .calls(calls![SYS_socket])
        .when(&[
            &[Test(0, Is::Equal(libc::AF_INET as u32))],
            &[Test(0, Is::Equal(libc::AF_INET6 as u32))],
            &[
                Test(0, Is::Equal(libc::AF_NETLINK as u32)),
                Test(2, Is::Equal(libc::NETLINK_ROUTE as u32)),
            ],
        ])
        // Other kinds reach services of the machine.
        .otherwise(libc::EPERM),
    Entry::new("connections").only(Where::Network).calls(calls![SYS_connect, SYS_bind, SYS_listen, SYS_accept4]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("older forms of the above, which this architecture still has").calls(calls![
        SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents,
        SYS_mkdir, SYS_rmdir, SYS_unlink, SYS_rename, SYS_renameat, SYS_link, SYS_symlink,
        SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_epoll_create, SYS_epoll_wait,
        SYS_eventfd, SYS_signalfd, SYS_fork, SYS_vfork, SYS_getpgrp,
        SYS_alarm, SYS_pause, SYS_time, SYS_arch_prctl
    ]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("the older form of opening and making files")
        .calls(calls![SYS_open])
        .when(&[&[Test(1, Is::Without(MAKES))], &[Test(2, Is::Without(OWNERS_RIGHTS))]])
        .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("older forms of making files")
        .calls(calls![SYS_creat, SYS_mknod])
        .when(&[&[Test(1, Is::Without(OWNERS_RIGHTS))]])
        .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("the older form of changing modes")
        .only(Where::Namespaces)
        .calls(calls![SYS_chmod])
        .when(&[&[Test(1, Is::Without(OWNERS_RIGHTS))]])
        .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("older forms of changing what a file says of itself, by name")
        .only(Where::Namespaces)
        .calls(calls![
        SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat
    ]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("an older form of taking a connection")
        .only(Where::Network)
        .calls(calls![SYS_accept]),
];

/// Calls that are answered by "not permitted".
pub(super) const REFUSED: &[Entry] = &[
    Entry::new("no network: a program tells its user so, and not of an old kernel")
        .only(Where::NoNetwork)
        .calls(calls![
            SYS_socket,
            SYS_connect,
            SYS_bind,
            SYS_listen,
            SYS_accept4
        ]),
    Entry::new("other processes' memory and handles").calls(calls![
        SYS_ptrace,
        SYS_process_vm_readv,
        SYS_process_vm_writev,
        SYS_kcmp,
        SYS_pidfd_getfd,
        SYS_process_madvise
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
    Entry::new("programs and modules in the kernel").calls(calls![
        SYS_bpf,
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
    Entry::new("files by number, past every directory")
        .calls(calls![SYS_name_to_handle_at, SYS_open_by_handle_at]),
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
        SYS_setdomainname,
        SYS_quotactl,
        SYS_vhangup
    ]),
    Entry::new("leaving the groups that a file may exclude").calls(calls![SYS_setgroups]),
    Entry::new("what a file says of itself, where nothing else judges that")
        .only(Where::Landlock)
        .calls(calls![
            SYS_fchmod,
            SYS_fchown,
            SYS_fsetxattr,
            SYS_fremovexattr,
            SYS_fchmodat,
            SYS_fchownat,
            SYS_setxattr,
            SYS_lsetxattr,
            SYS_removexattr,
            SYS_lremovexattr
        ])
        .call("fchmodat2", 452),
    #[cfg(target_arch = "x86_64")]
    Entry::new("the same in its older forms")
        .only(Where::Landlock)
        .calls(calls![
            SYS_chmod,
            SYS_chown,
            SYS_lchown,
            SYS_utime,
            SYS_utimes,
            SYS_futimesat
        ]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("ports of the processor").calls(calls![SYS_iopl, SYS_ioperm]),
];

/// Calls whose absence on one file system programs know, and do without.
pub(super) const UNSUPPORTED: &[Entry] = &[
    Entry::new("room on a disk without writing").calls(calls![SYS_fallocate]),
    Entry::new("what files say of themselves, which tools do without")
        .only(Where::Landlock)
        .calls(calls![
            SYS_getxattr,
            SYS_lgetxattr,
            SYS_listxattr,
            SYS_llistxattr
        ]),
];
