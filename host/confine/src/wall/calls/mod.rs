//! The system calls that a worker may make, and those of its watcher.
//!
//! A call that no table lists fails with ENOSYS: it may be one that a later C library tries first. What
//! libraries try and survive fails with an error that they understand (`REFUSED`). What only an
//! attacker calls ends the worker (`FATAL`), which is then replaced: it must not get a second attempt.
//!
//! Paths are not tested. In namespaces a worker's root is empty: without a handle there is nothing to name. Without
//! namespaces Landlock decides what can be opened and changed by a path; what it does not cover and would change
//! something is a call that the table refuses, or allows on open files only.

mod refused;

use super::WallKind;
use crate::filter::{Entry, Is, Test, calls, filter_for};
use refused::{FATAL, REFUSED};
use rustix::process::Pid;

/// Flags with which a C library starts a thread: `glibc`, and `musl`, which sets an obsolete flag too.
const THREAD: u32 = (libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID) as u32;
const THREAD_OF_MUSL: u32 = THREAD | libc::CLONE_DETACHED as u32;
/// The first process of its namespace, which is what a worker in namespaces is.
const FIRST_PROCESS: u32 = 1;
/// Which pages of a mapping were written.
const PAGEMAP_SCAN: u32 = 0xc060_6610;

const ALLOWED: &[Entry] = &[
    Entry::new("requests, answers and events on the sockets that it has").calls(calls![
        SYS_recvmsg, SYS_sendmsg, SYS_recvfrom, SYS_shutdown, SYS_getsockopt, SYS_epoll_create1,
        SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_ppoll
    ])
    .numbered(&[("epoll_pwait2", 441)]),
    Entry::new("the same for plain writes, but to no other address")
        .calls(calls![SYS_sendto])
        .when(&[&[Test(4, Is::Null)]])
        .otherwise(libc::EPERM),
    Entry::new("read and write open files").calls(calls![
        SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_readv, SYS_writev, SYS_preadv,
        SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_lseek, SYS_close, SYS_close_range, SYS_fsync,
        SYS_fdatasync, SYS_sync_file_range, SYS_ftruncate, SYS_fadvise64
    ]),
    Entry::new(
        "files beneath handles. The mode of `openat2` is in memory, where no filter sees it, so set-user-id \
         files can be created, but only empty ones: the kernel clears the bit at every write of a process \
         without capabilities, and no mode can be changed",
    )
    .calls(calls![
        SYS_openat, SYS_openat2, SYS_newfstatat, SYS_fstat, SYS_statx, SYS_faccessat, SYS_faccessat2,
        SYS_readlinkat, SYS_getdents64, SYS_mkdirat, SYS_unlinkat, SYS_renameat2, SYS_linkat,
        SYS_symlinkat, SYS_fstatfs, SYS_getcwd
    ]),
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Entry::new("an older form of renaming").calls(calls![SYS_renameat]),
    #[cfg(target_arch = "x86_64")]
    Entry::new("older forms by which the C library reads files by name, of which it needs `/proc/self/fd`")
        .calls(calls![SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink]),
    Entry::new("duplicate handles, and make memory files that nobody can change").calls(calls![SYS_fcntl]).when(&[
        &[Test(1, Is::Equal(libc::F_DUPFD as u32))],
        &[Test(1, Is::Equal(libc::F_DUPFD_CLOEXEC as u32))],
        &[Test(1, Is::Equal(libc::F_GETFD as u32))],
        &[Test(1, Is::Equal(libc::F_SETFD as u32))],
        &[Test(1, Is::Equal(libc::F_GETFL as u32))],
        &[Test(1, Is::Equal(libc::F_SETFL as u32))],
        &[Test(1, Is::Equal(libc::F_GET_SEALS as u32))],
        &[Test(1, Is::Equal(libc::F_ADD_SEALS as u32))],
    ])
    .otherwise(libc::EPERM),
    Entry::new("memory of the engine: its pool, its stacks, compiled guests and their images").calls(calls![
        SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_memfd_create,
        SYS_membarrier
    ]),
    Entry::new("which pages a guest has written, and non-blocking sockets")
        .calls(calls![SYS_ioctl])
        .when(&[
            &[Test(1, Is::Equal(PAGEMAP_SCAN))],
            &[Test(1, Is::Equal(libc::FIONBIO as u32))],
        ])
        .otherwise(libc::ENOTTY),
    Entry::new("start threads, as the C library does; no processes")
        .calls(calls![SYS_clone])
        .when(&[&[Test(0, Is::Equal(THREAD))], &[Test(0, Is::Equal(THREAD_OF_MUSL))]])
        .otherwise(libc::EPERM),
    Entry::new("manage threads").calls(calls![
        SYS_futex, SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_set_tid_address, SYS_gettid,
        SYS_sched_yield, SYS_sched_getaffinity, SYS_exit, SYS_exit_group, SYS_restart_syscall
    ]),
    Entry::new("names of threads and of memory")
        .calls(calls![SYS_prctl])
        .when(&[
            &[Test(0, Is::Equal(libc::PR_SET_NAME as u32))],
            &[Test(0, Is::Equal(libc::PR_SET_VMA as u32))],
        ])
        .otherwise(libc::EINVAL),
    Entry::new("signals of the engine, for traps in guests").calls(calls![
        SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack
    ]),
    Entry::new("time and random numbers").calls(calls![
        SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
        SYS_getrandom
    ]),
    Entry::new("read its own ids, usage and machine").calls(calls![
        SYS_getpid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrusage,
        SYS_getcpu, SYS_uname, SYS_sysinfo, SYS_getpriority
    ]),
    Entry::new("lower the priority of a thread whose run takes long")
        .calls(calls![SYS_setpriority])
        .when(&[&[Test(0, Is::Equal(libc::PRIO_PROCESS)), Test(1, Is::Equal(0))]])
        .otherwise(libc::EPERM),
    Entry::new("read its own limits")
        .calls(calls![SYS_prlimit64])
        .when(&[&[Test(0, Is::Equal(0)), Test(2, Is::Null)]])
        .otherwise(libc::EPERM),
    #[cfg(target_arch = "x86_64")]
    Entry::new("older forms of the calls above").calls(calls![
        SYS_epoll_wait, SYS_poll, SYS_time, SYS_getrlimit
    ]),
];

/// What a worker in namespaces may call in addition.
const IN_NAMESPACES: &[Entry] = &[
    Entry::new("set the times of files beneath handles").calls(calls![SYS_utimensat]),
    Entry::new("signals to a thread of its own, by which `abort` ends the process")
        .calls(calls![SYS_tgkill])
        .when(&[&[Test(0, Is::Equal(FIRST_PROCESS))]])
        .otherwise(libc::EPERM),
];

/// What a worker without namespaces, the process `own`, may call in addition.
fn without_namespaces(own: Pid) -> [Entry; 2] {
    [
        Entry::new(
            "set the times of an open file. Landlock does not cover times, so by a path those of any file of the user \
             could be set",
        )
        .calls(calls![SYS_utimensat])
        .when(&[&[Test(1, Is::Null)]])
        .otherwise(libc::EPERM),
        Entry::new("signals to a thread of its own, by which `abort` ends the process")
            .calls(calls![SYS_tgkill])
            .when(only(own))
            .otherwise(libc::EPERM),
    ]
}

/// The test that the first argument is this process. Allocated for good, once: a process has one filter.
fn only(own: Pid) -> &'static [&'static [Test]] {
    let own = Test(0, Is::Equal(own.as_raw_pid().cast_unsigned()));
    let own: &'static [Test] = Box::leak(Box::new([own]));
    Box::leak(Box::new([own]))
}

/// The filter of a worker with this process id.
pub(super) fn of_worker(wall: WallKind, own: Pid) -> Vec<u8> {
    match wall {
        WallKind::Namespaces => filter_for(&[ALLOWED, IN_NAMESPACES], REFUSED, FATAL),
        WallKind::Landlock => filter_for(&[ALLOWED, &without_namespaces(own)], REFUSED, FATAL),
    }
}

/// The filter of the watcher with this process id. It handles no input, and only waits.
pub(super) fn of_watcher(own: Pid) -> Vec<u8> {
    let allowed = [
        Entry::new("wait for the worker and the host").calls(calls![
            SYS_ppoll,
            SYS_wait4,
            SYS_restart_syscall
        ]),
        #[cfg(target_arch = "x86_64")]
        Entry::new("the older form of waiting").calls(calls![SYS_poll]),
        Entry::new("end by the signal that has ended the worker")
            .calls(calls![SYS_kill])
            .when(only(own))
            .otherwise(libc::EPERM),
        Entry::new("end").calls(calls![SYS_exit_group]),
    ];
    filter_for(&[&allowed], &[], &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Call;

    fn calls_of(entries: &[Entry]) -> Vec<Call> {
        entries.iter().flat_map(Entry::all_calls).copied().collect()
    }

    #[test]
    fn every_call_is_in_one_entry_with_a_reason() {
        let own = rustix::process::getpid();
        for kind in [IN_NAMESPACES, &without_namespaces(own)] {
            each_call_has_one_entry([ALLOWED, kind, REFUSED, FATAL]);
        }
    }

    fn each_call_has_one_entry(tables: [&[Entry]; 4]) {
        let mut calls: Vec<Call> = tables.iter().flat_map(|table| calls_of(table)).collect();
        calls.sort_by_key(|(_, number)| *number);
        for pair in calls.windows(2) {
            assert_ne!(pair[0].1, pair[1].1, "{}", pair[0].0);
        }
        for entry in tables.into_iter().flatten() {
            assert!(entry.why().len() > 5, "{}", entry.why());
            assert!(entry.all_calls().count() > 0, "{}", entry.why());
        }
    }

    #[test]
    fn calls_that_reach_out_of_the_process_are_not_allowed() {
        let more = without_namespaces(rustix::process::getpid());
        let allowed: Vec<&str> = [ALLOWED, IN_NAMESPACES, &more]
            .into_iter()
            .flat_map(calls_of)
            .map(|(name, _)| name)
            .collect();
        for call in [
            "execve",
            "execveat",
            "fork",
            "vfork",
            "clone3",
            "ptrace",
            "process_vm_readv",
            "process_vm_writev",
            "kill",
            "tkill",
            "rt_sigqueueinfo",
            "pidfd_open",
            "pidfd_getfd",
            "pidfd_send_signal",
            "mount",
            "umount2",
            "mount_setattr",
            "open_tree",
            "move_mount",
            "fsopen",
            "fsmount",
            "fspick",
            "pivot_root",
            "chroot",
            "chdir",
            "fchdir",
            "unshare",
            "setns",
            "socket",
            "socketpair",
            "connect",
            "bind",
            "listen",
            "accept",
            "accept4",
            "sendmmsg",
            "setsockopt",
            "bpf",
            "io_uring_setup",
            "io_uring_enter",
            "io_uring_register",
            "keyctl",
            "add_key",
            "request_key",
            "perf_event_open",
            "userfaultfd",
            "open_by_handle_at",
            "name_to_handle_at",
            "setuid",
            "setresuid",
            "capset",
            "fchmod",
            "fchmodat",
            "fchmodat2",
            "fchown",
            "fchownat",
            "fsetxattr",
            "mknodat",
            "memfd_secret",
            "shmget",
            "msgget",
            "semget",
            "mq_open",
            "inotify_init1",
            "fanotify_init",
            "vmsplice",
            "splice",
            "seccomp",
            "personality",
            "reboot",
        ] {
            let name = format!("SYS_{call}");
            assert!(
                !allowed.contains(&name.as_str()) && !allowed.contains(&call),
                "{call}"
            );
        }
    }

    /// A long program takes long to install, and is run for every call.
    #[test]
    fn the_programs_are_short() {
        let instructions = |program: Vec<u8>| program.len() / 8;
        let own = rustix::process::getpid();
        for wall in [WallKind::Namespaces, WallKind::Landlock] {
            let length = instructions(of_worker(wall, own));
            assert!(length < 450, "{wall:?}: {length}");
        }
        let watcher = of_watcher(own);
        assert!(instructions(watcher) < 40);
    }
}
