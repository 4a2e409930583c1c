//! The system calls that a confined program may make.
//!
//! Every other call fails with ENOSYS, which programs take for an old kernel and work around. A few
//! calls get another error, because programs use them and would misread ENOSYS; these are in
//! [`REFUSED`], [`UNSUPPORTED`], [`FAILING`] and [`UNCOUNTED`]. Calls that are dangerous only with some arguments
//! are allowed with a test on the arguments.
//!
//! Not allowed because they are not listed, among others: `clone3` (its flags are in memory, where no
//! filter sees them; libc falls back to `clone`), `openat2` (the same is true of its mode),
//! `io_uring_*` (a second way to make calls, past this table), `memfd_create` and `memfd_secret`
//! (memory that no limit counts), `userfaultfd` and `perf_event_open` (common tools of kernel
//! exploits), `copy_file_range` (it fills disks without counted writes), System V and POSIX message
//! queues, semaphores and shared memory (they outlive a program), and everything that administers a
//! machine.

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

/// The flags for a thread of the same process, and for sharing its table of handles.
const THREAD: u32 = libc::CLONE_THREAD as u32;
const FILES: u32 = libc::CLONE_FILES as u32;

/// Restricts a call on processes to the caller itself.
const SELF: &[Test] = &[Test(0, Is::Equal(0))];

/// The bits that distinguish datagram sockets, and raw ones, which become datagram sockets, from
/// streams and sequenced packets.
const DATAGRAMS: u32 = 0b1010;

/// The set-user-id and set-group-id bits. A file that a program creates belongs to its caller, who
/// may be root.
const SETID_BITS: u32 = libc::S_ISUID | libc::S_ISGID;

/// Memory that belongs to no file, and memory that is shared with children.
const ANONYMOUS: u32 = libc::MAP_ANONYMOUS as u32;
const SHARED: u32 = libc::MAP_SHARED as u32;

/// Commands of `fcntl` with an error of their own.
///
/// Locks of open files instead of processes (F_OFD_GETLK, F_OFD_SETLK and F_OFD_SETLKW) outlive the process that takes them, and
/// nothing shows whose they are, so they could not be counted. EINVAL is what kernels before 3.15 return, and programs then use
/// locks of processes.
const REFUSED_COMMANDS: &[(&[Test], i32)] = &[
    (
        // The numbers are 36 to 38. No other command has both bits of the first.
        &[Test(
            1,
            Is::Exactly(libc::F_OFD_GETLK as u32, libc::F_OFD_GETLK as u32),
        )],
        libc::EINVAL,
    ),
    (&[Test(1, Is::Equal(libc::F_SETLEASE as u32))], libc::EPERM),
];

/// The same without a control group.
const REFUSED_COMMANDS_WITHOUT_CGROUP: &[(&[Test], i32)] = &[
    REFUSED_COMMANDS[0],
    REFUSED_COMMANDS[1],
    (
        &[Test(1, Is::Equal(libc::F_SETPIPE_SZ as u32))],
        libc::EPERM,
    ),
];

/// The commands of `fcntl` that programs use.
const COMMANDS: &[&[Test]] = &[
    // The oldest ones: duplicate handles, flags, locks of processes, and which signal announces input.
    &[Test(1, Is::Without(!31))],
    // F_DUPFD_CLOEXEC and F_SETPIPE_SZ, which are neighbours.
    &[Test(1, Is::Exactly(!1, libc::F_DUPFD_CLOEXEC as u32))],
    // F_GETPIPE_SZ and F_ADD_SEALS, which are, too.
    &[Test(1, Is::Exactly(!1, libc::F_GETPIPE_SZ as u32))],
    &[Test(1, Is::Equal(libc::F_GET_SEALS as u32))],
];

/// Other protocols of internet sockets than TCP, UDP and the messages that `ping` sends.
const OTHER_PROTOCOLS: &[(&[Test], i32)] = &[(
    &[
        // AF_INET and AF_INET6 differ in one bit.
        Test(0, Is::Exactly(!8, libc::AF_INET as u32)),
        Test(2, Is::Not(0)),
        Test(2, Is::Not(libc::IPPROTO_TCP as u32)),
        Test(2, Is::Not(libc::IPPROTO_UDP as u32)),
        Test(2, Is::Not(libc::IPPROTO_ICMP as u32)),
        Test(2, Is::Not(libc::IPPROTO_ICMPV6 as u32)),
    ],
    libc::EPROTONOSUPPORT,
)];

/// Anything but larger buffers of a socket (SO_SNDBUF and the like).
const NO_LARGER_BUFFERS: &[&[Test]] = &[
    &[Test(1, Is::Not(libc::SOL_SOCKET as u32))],
    &[
        Test(2, Is::Not(libc::SO_SNDBUF as u32)),
        Test(2, Is::Not(libc::SO_RCVBUF as u32)),
        Test(2, Is::Not(libc::SO_SNDBUFFORCE as u32)),
        Test(2, Is::Not(libc::SO_RCVBUFFORCE as u32)),
    ],
];

/// The flags that make an open create a file; without them the mode argument is undefined.
const CREATES: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;

/// The calls by which interpreters open a file for reading. No others are reported, because each
/// report costs a round trip to the supervisor. Calls with a directory handle are not reported;
/// programs that walk directories make those. `openat2` and `io_uring_*` are not allowed at all.
pub(super) const OPENS: &[(i64, &[&[Test]])] = &[
    (
        libc::SYS_openat,
        &[&[
            Test(0, Is::Equal(libc::AT_FDCWD as u32)),
            Test(2, Is::Without(NOT_ONLY_READING)),
        ]],
    ),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, &[&[Test(1, Is::Without(NOT_ONLY_READING))]]),
];

/// The calls that a program without network makes first when it wants to reach one. The supervisor
/// refuses each. Where they would connect to is not known yet.
pub(super) const SOCKETS: &[(i64, &[&[Test]])] = &[(
    libc::SYS_socket,
    &[
        &[Test(0, Is::Equal(libc::AF_INET as u32))],
        &[Test(0, Is::Equal(libc::AF_INET6 as u32))],
    ],
)];

/// An open that has none of these flags is for reading only.
const NOT_ONLY_READING: u32 = (libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_TRUNC
    | libc::O_APPEND
    | libc::O_PATH
    | libc::O_DIRECTORY) as u32;

/// Calls that take kernel memory which no process shows, refused if no control group counts it.
pub(super) const UNCOUNTED: &[Entry] = &[
    Entry::new(
        "extended attributes of files in memory: the script's copy can have any number of them",
    )
    .only(Where::NoCgroup)
    .calls(calls![SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr]),
    Entry::new("Landlock rules, of which a ruleset can have any number")
        .only(Where::NoCgroup)
        .calls(calls![
            SYS_landlock_create_ruleset,
            SYS_landlock_add_rule,
            SYS_landlock_restrict_self
        ]),
];

pub(super) const ALLOWED: &[Entry] = &[
    Entry::new("read and write what is open")
        .calls(calls![
        SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_preadv,
        SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_lseek, SYS_close,
        SYS_fsync, SYS_fdatasync, SYS_sync_file_range, SYS_ftruncate, SYS_flock,
        SYS_dup, SYS_dup3, SYS_pipe2, SYS_fadvise64, SYS_readahead
    ]),
    Entry::new("close handles, but not in a table of the thread's own (CLOSE_RANGE_UNSHARE)")
        .calls(calls![SYS_close_range])
        .when(&[&[Test(2, Is::Without(libc::CLOSE_RANGE_UNSHARE))]])
        .otherwise(libc::EINVAL),
    Entry::new(
        "control an open file, but take no lease (F_SETLEASE) and no delegation (F_SETDELEG, Linux 6.19): others who open the \
         file, the host among them, would wait for it. Nor ask for signals when a directory is read or changed (F_NOTIFY): \
         Landlock does not restrict it, and it would announce each sample of the supervisor",
    )
    .only(Where::Cgroup)
    .calls(calls![SYS_fcntl])
    .errors(REFUSED_COMMANDS)
    .when(COMMANDS)
    .otherwise(libc::EINVAL),
    Entry::new(
        "the same, and no larger pipe (F_SETPIPE_SZ): the supervisor counts each pipe with the \
         default capacity",
    )
    .only(Where::NoCgroup)
    .calls(calls![SYS_fcntl])
    .errors(REFUSED_COMMANDS_WITHOUT_CGROUP)
    .when(COMMANDS)
    .otherwise(libc::EINVAL),
    Entry::new("files by name: Landlock decides which")
        .calls(calls![
        SYS_newfstatat, SYS_fstat, SYS_statx, SYS_faccessat,
        SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_truncate, SYS_mkdirat,
        SYS_unlinkat, SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_chdir,
        SYS_fchdir, SYS_getcwd, SYS_umask, SYS_statfs, SYS_fstatfs,
    ]),
    Entry::new("open and create files, but not set-user-id or set-group-id ones")
        .calls(calls![SYS_openat])
        .when(&[&[Test(2, Is::Without(CREATES))], &[Test(3, Is::Without(SETID_BITS))]])
        .otherwise(libc::EPERM),
    Entry::new("the same, for named pipes and the like")
        .calls(calls![SYS_mknodat])
        .when(&[&[Test(2, Is::Without(SETID_BITS))]])
        .otherwise(libc::EPERM),
    Entry::new(
        "inotify: Landlock does not restrict it, and events contain names. Only a control group counts \
         the queues, of which 120 took 974 MiB",
    )
        .only(Where::NamespacesInCgroup)
        .calls(calls![SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch]),
    Entry::new("read extended attributes of open files").calls(calls![SYS_fgetxattr, SYS_flistxattr]),
    Entry::new("read extended attributes by name, which Landlock does not restrict")
        .only(Where::Namespaces)
        .calls(calls![SYS_getxattr, SYS_lgetxattr, SYS_listxattr, SYS_llistxattr]),
    Entry::new("change the mode of files, except set-user-id and set-group-id")
        .only(Where::Namespaces)
        .calls(calls![SYS_fchmod])
        .when(&[&[Test(1, Is::Without(SETID_BITS))]])
        .otherwise(libc::EPERM),
    Entry::new("the same by name")
        .only(Where::Namespaces)
        .calls(calls![SYS_fchmodat])
        .numbered(&[("fchmodat2", 452)])
        .when(&[&[Test(2, Is::Without(SETID_BITS))]])
        .otherwise(libc::EPERM),
    Entry::new(
        "change owner, times and attributes of files, which only a separate file tree restricts: otherwise \
         every readable file could be changed so",
    )
    .only(Where::Namespaces)
    .calls(calls![
        SYS_fchown, SYS_fsetxattr, SYS_fremovexattr, SYS_fchownat,
        SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr, SYS_lremovexattr
    ]),
    Entry::new("set the times of an open file to now: `utimensat` with a null path and null times")
        .only(Where::Landlock)
        .calls(calls![SYS_utimensat])
        .when(&[&[Test(1, Is::Null), Test(2, Is::Null)]])
        .otherwise(libc::EPERM),
    Entry::new("map memory, with and without files").only(Where::Cgroup).calls(calls![SYS_mmap]),
    Entry::new(
        "the same, but no anonymous shared memory: it stays allocated when no page table refers to it, and then \
         only a control group counts it",
    )
    .only(Where::NoCgroup)
    .calls(calls![SYS_mmap])
    .when(&[&[Test(3, Is::Without(ANONYMOUS))], &[Test(3, Is::Without(SHARED))]])
    .otherwise(libc::ENOMEM),
    Entry::new("manage mapped memory").calls(calls![
        SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_msync, SYS_mincore,
        SYS_mlock, SYS_munlock, SYS_brk, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect,
        SYS_membarrier
    ]),
    Entry::new(
        "threads and processes, but no namespaces. All threads of a process share one table of handles, and no other process \
         does, as libraries start both: so `/proc` shows all handles of a process, and its file locks end with it",
    )
    .calls(calls![SYS_clone])
    .when(&[
        &[Test(0, Is::Without(NAMESPACES | THREAD | FILES))],
        &[Test(0, Is::Exactly(NAMESPACES | THREAD | FILES, THREAD | FILES))],
    ]),
    Entry::new("execute programs: Landlock decides which").calls(calls![SYS_execve, SYS_execveat]),
    Entry::new("manage one's own processes").calls(calls![
        SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_getpid, SYS_getppid, SYS_gettid,
        SYS_getpgid, SYS_setpgid, SYS_getsid, SYS_setsid, SYS_set_tid_address,
        SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_sched_yield,
        SYS_pidfd_open
    ]),
    Entry::new("signals: a pid namespace or Landlock decides to which processes").calls(calls![
        SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigaction, SYS_rt_sigprocmask,
        SYS_rt_sigpending, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
        SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_sigaltstack, SYS_signalfd4,
        SYS_pidfd_send_signal
    ]),
    Entry::new("wait for time and events").calls(calls![
        SYS_futex, SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres,
        SYS_gettimeofday, SYS_getitimer, SYS_setitimer, SYS_timer_create, SYS_timer_settime,
        SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete, SYS_timerfd_create,
        SYS_timerfd_settime, SYS_timerfd_gettime, SYS_eventfd2, SYS_epoll_create1,
        SYS_epoll_ctl, SYS_epoll_pwait, SYS_ppoll, SYS_pselect6
    ])
    .numbered(&[("epoll_pwait2", 441), ("futex_waitv", 449)]),
    Entry::new("read ids, usage and scheduling").calls(calls![
        SYS_uname, SYS_sysinfo, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
        SYS_getresuid, SYS_getresgid, SYS_getgroups, SYS_getrusage, SYS_times, SYS_getrandom,
        SYS_getcpu, SYS_capget, SYS_getpriority, SYS_sched_getaffinity, SYS_sched_getscheduler,
        SYS_sched_getparam, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
        SYS_sched_rr_get_interval, SYS_sched_getattr, SYS_ioprio_get, SYS_getrlimit
    ]),
    Entry::new("change ids, which without capabilities allows only one's own")
        .calls(calls![
        SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
        SYS_setfsuid, SYS_setfsgid
    ]),
    Entry::new("drop capabilities and lower limits").calls(calls![
        SYS_capset, SYS_setrlimit, SYS_landlock_create_ruleset, SYS_landlock_add_rule,
        SYS_landlock_restrict_self, SYS_seccomp
    ]),
    Entry::new("limits and scheduling of oneself, not of other processes")
        .calls(calls![
        SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam
    ])
        .when(&[SELF]),
    Entry::new("the priority of oneself, not of other processes and not of all processes of the user")
        .calls(calls![SYS_setpriority])
        .when(&[&[Test(0, Is::Equal(libc::PRIO_PROCESS)), Test(1, Is::Equal(0))]]),
    Entry::new("the same for I/O")
        .calls(calls![SYS_ioprio_set])
        .when(&[&[Test(0, Is::Equal(1)), Test(1, Is::Equal(0))]]), // IOPRIO_WHO_PROCESS
    Entry::new("process settings that loosen nothing").calls(calls![SYS_prctl]).when(&[
        &[Test(0, Is::Equal(libc::PR_SET_NAME as u32))],
        &[Test(0, Is::Equal(libc::PR_GET_NAME as u32))],
        &[Test(0, Is::Equal(libc::PR_GET_PDEATHSIG as u32))],
        &[Test(0, Is::Equal(libc::PR_GET_DUMPABLE as u32))],
        // An undumpable process could not be watched.
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
    Entry::new("read the personality, and set the default one")
        .calls(calls![SYS_personality])
        .when(&[&[Test(0, Is::Equal(0xffff_ffff))], &[Test(0, Is::Equal(0))]]),
    Entry::new(
        "what programs need for terminals, pipes and files. Other requests inject terminal input, change files \
         that are open for reading, allocate disk space without writing, or control drivers",
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
        "socket pairs, to talk to child processes; no datagram sockets, which can send to other processes",
    )
    .calls(calls![SYS_socketpair])
    .when(&[&[
        Test(0, Is::Equal(libc::AF_UNIX as u32)),
        Test(1, Is::Without(DATAGRAMS)),
    ]])
    .otherwise(libc::EPERM),
    Entry::new("use an open socket").calls(calls![
        SYS_sendto, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg,
        SYS_shutdown, SYS_getsockname, SYS_getpeername, SYS_getsockopt
    ]),
    Entry::new("send messages, which names are resolved by. They can carry handles")
        .only(Where::Network)
        .calls(calls![SYS_sendmsg, SYS_sendmmsg]),
    Entry::new("socket options")
        .only(Where::CgroupWithoutNetwork)
        .calls(calls![SYS_setsockopt]),
    Entry::new(
        "the same, but no larger buffers: the supervisor counts each socket with the default buffer size",
    )
    .only(Where::NoCgroupWithoutNetwork)
    .calls(calls![SYS_setsockopt])
    .when(NO_LARGER_BUFFERS)
    .otherwise(libc::EPERM),
    Entry::new(
        "the same with a network, some of whose buffers no control group counts. Tools that ask the kernel for its addresses \
         give up on an error (`ip` does), so the call does nothing and succeeds; the kernel reduces a size without an error, too",
    )
    .only(Where::Network)
    .calls(calls![SYS_setsockopt])
    .when(NO_LARGER_BUFFERS)
    .otherwise(0),
    Entry::new(
        "internet sockets, and asking the kernel for its addresses. Of other protocols (MPTCP, SCTP) it does not list what \
         connections buffer, and it loads modules for them. On EPROTONOSUPPORT, programs use TCP",
    )
        .only(Where::Network)
        .calls(calls![SYS_socket])
        .errors(OTHER_PROTOCOLS)
        .when(&[
            &[Test(0, Is::Equal(libc::AF_INET as u32))],
            &[Test(0, Is::Equal(libc::AF_INET6 as u32))],
            &[
                Test(0, Is::Equal(libc::AF_NETLINK as u32)),
                Test(2, Is::Equal(libc::NETLINK_ROUTE as u32)),
            ],
        ])
        // Other families reach services of the machine.
        .otherwise(libc::EPERM),
    Entry::new("internet sockets, which the supervisor is asked about and refuses")
        .only(Where::SocketsReported)
        .calls(calls![SYS_socket])
        .when(&[
            &[Test(0, Is::Equal(libc::AF_INET as u32))],
            &[Test(0, Is::Equal(libc::AF_INET6 as u32))],
        ])
        .otherwise(libc::EPERM),
    Entry::new("connections").only(Where::Network).calls(calls![SYS_connect, SYS_bind, SYS_listen, SYS_accept4]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("older forms of the calls above, which this architecture still has").calls(calls![
        SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents,
        SYS_mkdir, SYS_rmdir, SYS_unlink, SYS_rename, SYS_renameat, SYS_link, SYS_symlink,
        SYS_dup2, SYS_pipe, SYS_poll, SYS_select, SYS_epoll_create, SYS_epoll_wait,
        SYS_eventfd, SYS_signalfd, SYS_fork, SYS_vfork, SYS_getpgrp,
        SYS_alarm, SYS_pause, SYS_time, SYS_arch_prctl
    ]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("the older form of opening and creating files")
        .calls(calls![SYS_open])
        .when(&[&[Test(1, Is::Without(CREATES))], &[Test(2, Is::Without(SETID_BITS))]])
        .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("older forms of creating files")
        .calls(calls![SYS_creat, SYS_mknod])
        .when(&[&[Test(1, Is::Without(SETID_BITS))]])
        .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("the older form of changing modes")
        .only(Where::Namespaces)
        .calls(calls![SYS_chmod])
        .when(&[&[Test(1, Is::Without(SETID_BITS))]])
        .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("older forms of changing owner and times of files, by name")
        .only(Where::Namespaces)
        .calls(calls![
        SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat
    ]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("an older form of accepting a connection")
        .only(Where::Network)
        .calls(calls![SYS_accept]),
];

/// Calls that fail with EPERM.
pub(super) const REFUSED: &[Entry] = &[
    Entry::new(
        "no network: with EPERM a program reports that it is forbidden, with ENOSYS that the kernel is too old",
    )
    .only(Where::NoNetwork)
        .calls(calls![
            SYS_connect,
            SYS_bind,
            SYS_listen,
            SYS_accept4
        ]),
    Entry::new("no sockets either").only(Where::SocketsRefused).calls(calls![SYS_socket]),
    Entry::new(
        "send handles: no process shows those in transit, and the kernel counts them for all processes of the \
         user together. On the sockets that a program without network has, libraries send nothing else by these calls",
    )
    .only(Where::NoNetwork)
    .calls(calls![SYS_sendmsg, SYS_sendmmsg]),
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
    Entry::new("BPF programs, kernel modules and kexec").calls(calls![
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
    Entry::new("files by handle, which bypasses directory permissions")
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
    Entry::new("leave groups: a file's mode may deny access to a group and allow it to everyone else")
        .calls(calls![SYS_setgroups]),
    Entry::new("change mode, owner and attributes of files, where no other layer restricts that")
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
        .numbered(&[("fchmodat2", 452)]),
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
    Entry::new("I/O ports").calls(calls![SYS_iopl, SYS_ioperm]),
];

/// Calls that fail with EOPNOTSUPP, as on a file system that lacks them; programs do without.
pub(super) const UNSUPPORTED: &[Entry] = &[
    Entry::new("allocate disk space without writing").calls(calls![SYS_fallocate]),
    Entry::new("extended attributes, which tools do without")
        .only(Where::Landlock)
        .calls(calls![
            SYS_getxattr,
            SYS_lgetxattr,
            SYS_listxattr,
            SYS_llistxattr
        ]),
];

/// Calls that fail with the error that their entry names.
pub(super) const FAILING: &[Entry] = &[
    Entry::new(
    "put pages of files into pipes and sockets: one byte there keeps a whole page, or a folio of 2 MiB, which nothing \
     shows once the file has been truncated. A control group charges a page to whoever read it first, which may be an earlier run. \
     On EINVAL, as for files that do not support this, programs read and write",
)
.calls(calls![SYS_splice, SYS_tee, SYS_sendfile])
.otherwise(libc::EINVAL),
    Entry::new(
        "continue a call after a stop. The kernel makes this call for a program. A program can make it, too, to continue a \
         `poll` with other arguments than those that show what it keeps open. With EINTR a call ends as after a signal, \
         and as `epoll_wait` always ends after a stop",
    )
    .calls(calls![SYS_restart_syscall])
    .otherwise(libc::EINTR),
];
