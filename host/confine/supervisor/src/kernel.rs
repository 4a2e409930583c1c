//! System calls that a host and a supervisor both make, and whose wrapping is unsafe or missing elsewhere.

#![expect(unsafe_code, reason = "each block says why it is sound")]

use rustix::process::Pid;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::time::Duration;

/// Which side of a fork this is.
#[derive(Debug)]
pub enum Fork {
    /// The new process.
    Child,
    /// The process that called `fork`, with the id of the new one.
    Parent(Pid),
}

/// Forks, into new namespaces if `flags` name any.
///
/// The child of a process with several threads may only make system calls until it ends. It may
/// neither allocate nor take a lock, which a thread that it lacks may hold.
pub fn fork(flags: libc::c_int) -> io::Result<Fork> {
    let flags = u64::from((flags | libc::SIGCHLD).cast_unsigned());
    // SAFETY: without CLONE_VM and with no stack of its own the child is a copy of this process, as
    // after fork(2). Either there is one thread, so no lock is held by another that the copy lacks, or
    // the child only makes system calls.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0u64, 0u64, 0u64, 0u64) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    Ok(pid.map_or(Fork::Child, Fork::Parent))
}

/// The wait status and usage of a child that exited.
#[derive(Debug)]
pub struct Waited {
    /// Its process id.
    pub pid: i32,
    /// Its status, as `wait4` returns it.
    pub status: i32,
    /// Its CPU time, with that of the children that it reaped.
    pub cpu: Duration,
    /// The most memory that it or one of these had, in bytes.
    pub peak: u64,
}

/// Whether to block until a child exits.
#[derive(Debug, PartialEq, Eq)]
pub enum Wait {
    /// Block.
    Block,
    /// Return at once.
    Poll,
}

/// Ends this process at once: nothing is flushed, and no other code of it runs.
pub fn exit(code: i32) -> ! {
    // SAFETY: the call does not return.
    unsafe { libc::_exit(code) }
}

/// Reaps `pid`, or any child if it is -1. Returns `None` if nothing has exited yet.
pub fn wait(pid: i32, how: Wait) -> io::Result<Option<Waited>> {
    let options = if how == Wait::Poll { libc::WNOHANG } else { 0 };
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid rusage, which consists of integers.
    let mut usage: libc::rusage = unsafe { zeroed() };
    loop {
        // SAFETY: both pointers are to live values of the right types that nothing else refers to.
        let ended = unsafe { libc::wait4(pid, &raw mut status, options, &raw mut usage) };
        match ended {
            0 => return Ok(None),
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            pid => {
                return Ok(Some(Waited {
                    pid,
                    status,
                    cpu: time(usage.ru_utime) + time(usage.ru_stime),
                    peak: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
                }));
            }
        }
    }
}

fn time(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}

/// Mount attributes.
pub mod attr {
    /// Nothing can be changed.
    pub const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;
    /// Set-user-id bits and file capabilities have no effect.
    pub const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
    /// Devices cannot be opened.
    pub const NODEV: u64 = libc::MOUNT_ATTR_NODEV;
    /// Nothing can be executed, or mapped to be.
    pub const NOEXEC: u64 = libc::MOUNT_ATTR_NOEXEC;
}

/// Sets attributes of a mount and, if `below`, of all mounts inside it.
pub fn set_mount(mount: BorrowedFd<'_>, attributes: u64, below: bool) -> io::Result<()> {
    change_mount(mount, attributes, 0, below)
}

/// Maps the ids of a mount as the user namespace `ids` does.
pub fn map_ids(mount: BorrowedFd<'_>, ids: BorrowedFd<'_>) -> io::Result<()> {
    let ids = u64::try_from(ids.as_raw_fd()).unwrap_or(u64::MAX);
    change_mount(mount, libc::MOUNT_ATTR_IDMAP, ids, true)
}

fn change_mount(mount: BorrowedFd<'_>, set: u64, ids: u64, below: bool) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        // Later mounts elsewhere do not propagate here.
        propagation: libc::MS_PRIVATE,
        userns_fd: ids,
    };
    let recursive = if below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a valid string, and the structure is live and as large as is said.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    checked(done)
}

/// Installs a seccomp filter for this process and everything that it starts.
pub fn filter_calls(program: &[u8]) -> io::Result<()> {
    install_filter(program, 0).map(drop)
}

/// Installs a seccomp filter with these flags; returns the kernel's answer.
pub fn install_filter(program: &[u8], flags: libc::c_ulong) -> io::Result<i64> {
    let count = program.len() / size_of::<libc::sock_filter>();
    let mut filter: Vec<libc::sock_filter> = Vec::with_capacity(count);
    for code in program.chunks_exact(size_of::<libc::sock_filter>()) {
        filter.push(libc::sock_filter {
            code: u16::from_ne_bytes([code[0], code[1]]),
            jt: code[2],
            jf: code[3],
            k: u32::from_ne_bytes([code[4], code[5], code[6], code[7]]),
        });
    }
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program points to as many instructions as it says, which live until the call
    // returns; the kernel copies them and checks that they are a valid filter.
    let done = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    checked(done)?;
    Ok(done)
}

/// The kernel's Landlock version; 0 if Landlock is not enabled.
pub fn landlock_version() -> i32 {
    // SAFETY: with this flag the call takes no structure and only returns its version.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0usize,
            1u32,
        )
    };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// Closes every handle but the first three and `kept`.
///
/// Must be called before this process has opened any that it uses again.
pub fn close_others(kept: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut kept: Vec<u32> = kept
        .iter()
        .map(|handle| handle.as_raw_fd().cast_unsigned())
        .filter(|number| *number > 2)
        .collect();
    kept.sort_unstable();
    let mut first = 3;
    for end in kept.into_iter().chain([u32::MAX]) {
        if first < end {
            // SAFETY: as the documentation demands, no value of this process owns any of these handles.
            let closed = unsafe { libc::syscall(libc::SYS_close_range, first, end - 1, 0u32) };
            checked(closed)?;
        }
        first = end.saturating_add(1);
    }
    Ok(())
}

/// Moves this process, which must have one thread, into new namespaces.
pub fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: the call takes a number; no flag that concerns handles or memory is ever passed.
    checked(unsafe { libc::unshare(flags) }.into())
}

/// Makes `handle` the standard handle `number`.
pub fn put_standard(handle: impl AsFd, number: i32) -> io::Result<()> {
    // SAFETY: the three standard handles are owned by no value of this program, so replacing one
    // closes nothing that is still referred to.
    let done = unsafe { libc::dup2(handle.as_fd().as_raw_fd(), number) };
    checked(i64::from(done))
}

/// Unblocks every signal and restores its default action.
pub fn reset_signals() {
    // SAFETY: all-zero bytes are a valid set, the pointers are to a live set, and there is one thread.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the default action runs no code of this process. The call fails for the two signals
        // that cannot be changed, which then do what they always do.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Makes the kernel kill this process and what it starts before the supervisor when memory runs out.
pub fn prefer_oom_kill() -> io::Result<()> {
    std::fs::write("/proc/self/oom_score_adj", "1000")
}

/// The seccomp mode of this process; 2 means that a filter is installed.
pub fn seccomp_mode() -> i32 {
    // SAFETY: the call takes numbers only and returns a number.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) }
}

/// Sets the user and group with which this process accesses files and inspects other processes.
pub fn set_fs_ids(user: u32, group: u32) {
    // SAFETY: the calls take numbers only. They report no failure; a later access fails instead.
    unsafe {
        libc::setfsgid(group);
        libc::setfsuid(user);
    }
}

fn checked(result: i64) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
