//! The calls of the kernel that no library wraps, and those whose wrapping is unsafe.
//!
//! The keeper never has a second thread, which is what most of the arguments below rest on.

#![expect(unsafe_code, reason = "each block says why it is sound")]

use rustix::process::Pid;
use std::ffi::{CStr, CString};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::time::Duration;

/// Which side of a fork this is.
pub(crate) enum Fork {
    Child,
    Parent(Pid),
}

/// Makes a child process, in new namespaces if `flags` name any.
pub(crate) fn fork(flags: libc::c_int) -> io::Result<Fork> {
    let flags = u64::from((flags | libc::SIGCHLD).cast_unsigned());
    // SAFETY: without CLONE_VM and with no stack of its own the child is a copy of this process, as
    // after fork(2). There is one thread, so no lock is held by another that the copy lacks.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0u64, 0u64, 0u64, 0u64) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    Ok(pid.map_or(Fork::Child, Fork::Parent))
}

/// What a child that has ended left.
pub(crate) struct Waited {
    pub(crate) pid: i32,
    pub(crate) status: i32,
    pub(crate) cpu: Duration,
    pub(crate) peak: u64,
}

/// Whether to wait for a child that has not ended.
#[derive(PartialEq, Eq)]
pub(crate) enum Wait {
    Block,
    Look,
}

/// Waits for `pid`, or for any child if it is -1; `None` if nothing has ended yet.
pub(crate) fn wait(pid: i32, how: Wait) -> io::Result<Option<Waited>> {
    let options = if how == Wait::Look { libc::WNOHANG } else { 0 };
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

/// Properties of a mount.
pub(crate) mod attr {
    pub(crate) const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;
    pub(crate) const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
    pub(crate) const NODEV: u64 = libc::MOUNT_ATTR_NODEV;
}

/// Sets properties of a mount and, if `below`, of all mounts in it.
pub(crate) fn set_mount(mount: BorrowedFd<'_>, attributes: u64, below: bool) -> io::Result<()> {
    change_mount(mount, attributes, 0, below)
}

/// Makes the ids of a mount those that `ids`, a user namespace, maps them to.
pub(crate) fn map_ids(mount: BorrowedFd<'_>, ids: BorrowedFd<'_>) -> io::Result<()> {
    let ids = u64::try_from(ids.as_raw_fd()).unwrap_or(u64::MAX);
    change_mount(mount, libc::MOUNT_ATTR_IDMAP, ids, true)
}

fn change_mount(mount: BorrowedFd<'_>, set: u64, ids: u64, below: bool) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        // Nothing that is mounted elsewhere later comes in.
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

/// Puts a seccomp filter in force for this process and all it starts.
pub(crate) fn filter_calls(program: &[u8]) -> io::Result<()> {
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
            0,
            &raw const program,
        )
    };
    checked(done)
}

/// The version of Landlock that the kernel has; 0 if none is in force.
pub(crate) fn landlock_version() -> i32 {
    // SAFETY: with this flag the call takes no structure and only tells its version.
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

/// Closes what a host left open by mistake, before this program has opened anything.
pub(crate) fn close_inherited() {
    // SAFETY: called first of all, so no value of this program owns any of these handles.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) };
}

/// Has every handle but the first three closed when another program takes over.
pub(crate) fn close_handles_on_exec() -> io::Result<()> {
    // SAFETY: no handle is closed now; those that this process owns stay valid until it is replaced.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    checked(done)
}

/// Makes every signal arrive again, and do what it does by default.
pub(crate) fn reset_signals() {
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

/// Keeps the signals that ask a process to end from ending this one, and the one that tells of the end
/// of a child from being lost.
pub(crate) fn hold_off_signals() {
    // SAFETY: all-zero bytes are a valid set, the pointers are to live sets, and there is one thread.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        let ends = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
        for signal in ends.into_iter().chain([libc::SIGCHLD]) {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// A handle that can be read when a child has ended.
pub(crate) fn ends_of_children() -> io::Result<OwnedFd> {
    // SAFETY: all-zero bytes are a valid set, the pointer is to a live set, and a handle that the call
    // returns is new and owned by nobody.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            handle @ 0.. => Ok(OwnedFd::from_raw_fd(handle)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Receives up to `most` handles and the one byte they come with.
pub(crate) fn receive_handles(from: BorrowedFd<'_>, most: usize) -> io::Result<Vec<OwnedFd>> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = vec![std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut buffer = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8; 1];
    let parts = &mut [io::IoSliceMut::new(&mut byte)];
    let got = recvmsg(from, parts, &mut buffer, RecvFlags::CMSG_CLOEXEC)?;
    let mut handles = Vec::new();
    for message in buffer.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            handles.extend(sent);
        }
    }
    if got.bytes != 1 || handles.len() > most {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(handles)
}

/// Takes over the three standard handles, which are this process's from its start.
pub(crate) fn take_standard() -> io::Result<[OwnedFd; 3]> {
    let take = |number| {
        // SAFETY: whoever starts the keeper gives it these handles. Each is duplicated, and the
        // duplicate is new and owned by nobody.
        unsafe {
            match libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) {
                copy @ 0.. => Ok(OwnedFd::from_raw_fd(copy)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    };
    Ok([take(0)?, take(1)?, take(2)?])
}

/// Makes `handle` the standard handle `number`.
pub(crate) fn put_standard(handle: impl AsFd, number: i32) -> io::Result<()> {
    // SAFETY: the three standard handles are owned by no value of this program, so replacing one
    // closes nothing that is still referred to.
    let done = unsafe { libc::dup2(handle.as_fd().as_raw_fd(), number) };
    checked(i64::from(done))
}

/// Tries to make a socket for the network; tells whether that was possible.
pub(crate) fn can_reach_network() -> bool {
    // SAFETY: the call takes three numbers; a handle that it returns is closed again at once.
    unsafe {
        let handle = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if handle >= 0 {
            libc::close(handle);
        }
        handle >= 0
    }
}

/// Tries to make a user namespace; tells whether that was possible.
pub(crate) fn can_make_user_namespace() -> bool {
    // SAFETY: the call takes a number; if it works, this process is about to end.
    unsafe { libc::unshare(libc::CLONE_NEWUSER) == 0 }
}

/// Has the kernel, should memory run out, end this process and what it starts before the keeper.
pub(crate) fn yield_memory() -> io::Result<()> {
    std::fs::write("/proc/self/oom_score_adj", "1000")
}

/// How this process filters its calls: 2 means by a program.
pub(crate) fn seccomp_mode() -> i32 {
    // SAFETY: the call takes numbers only and tells a number.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) }
}

/// Has this process look at files, and at other processes, as this user and group.
pub(crate) fn look_as(user: u32, group: u32) {
    // SAFETY: the calls take numbers only, and there is one thread. They tell no failure; whoever then
    // cannot look meets that when he does.
    unsafe {
        libc::setfsgid(group);
        libc::setfsuid(user);
    }
}

/// A path or name as the kernel takes it.
pub(crate) fn text(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Whether a path is there.
pub(crate) fn exists(path: &CStr) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXISTS).is_ok()
}

fn checked(result: i64) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
