//! System calls that no library wraps, and those whose wrapping is unsafe.
//!
//! The supervisor never has a second thread; most of the SAFETY arguments below rest on that.

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

/// Forks, into new namespaces if `flags` name any.
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

/// The wait status and usage of a child that exited.
pub(crate) struct Waited {
    pub(crate) pid: i32,
    pub(crate) status: i32,
    pub(crate) cpu: Duration,
    pub(crate) peak: u64,
}

/// Whether to block until a child exits.
#[derive(PartialEq, Eq)]
pub(crate) enum Wait {
    Block,
    Poll,
}

/// Reaps `pid`, or any child if it is -1. Returns `None` if nothing has exited yet.
pub(crate) fn wait(pid: i32, how: Wait) -> io::Result<Option<Waited>> {
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
pub(crate) mod attr {
    pub(crate) const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;
    pub(crate) const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
    pub(crate) const NODEV: u64 = libc::MOUNT_ATTR_NODEV;
}

/// Sets attributes of a mount and, if `below`, of all mounts inside it.
pub(crate) fn set_mount(mount: BorrowedFd<'_>, attributes: u64, below: bool) -> io::Result<()> {
    change_mount(mount, attributes, 0, below)
}

/// Maps the ids of a mount as the user namespace `ids` does.
pub(crate) fn map_ids(mount: BorrowedFd<'_>, ids: BorrowedFd<'_>) -> io::Result<()> {
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
pub(crate) fn filter_calls(program: &[u8]) -> io::Result<()> {
    install_filter(program, 0).map(drop)
}

/// The same for a filter that reports calls. Each reported call waits for an answer through the
/// returned handle.
pub(crate) fn report_calls(program: &[u8]) -> io::Result<OwnedFd> {
    let plain = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Kernels before 5.19 do not know the flag. There a signal interrupts a waiting call, as it
    // interrupts a slow one.
    let uninterrupted = plain | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let handle = match install_filter(program, uninterrupted) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => install_filter(program, plain),
        installed => installed,
    };
    let handle = i32::try_from(handle?).map_err(io::Error::other)?;
    // SAFETY: the kernel made this handle for this call, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(handle) })
}

fn install_filter(program: &[u8], flags: libc::c_ulong) -> io::Result<i64> {
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

/// A call that opens a file or creates a socket, and waits for an answer.
pub(crate) struct Call {
    id: u64,
    /// The thread that makes it.
    pub(crate) process: u32,
    /// The address of the path.
    pub(crate) path: u64,
    flags: u64,
    /// Whether it creates a socket. The other fields then mean nothing.
    pub(crate) is_socket: bool,
}

/// Receives the next call. It is an error if its process has been killed.
pub(crate) fn next_call(calls: BorrowedFd<'_>) -> io::Result<Call> {
    // SAFETY: all-zero bytes are a valid structure, which consists of integers; the kernel demands them.
    let mut call: libc::seccomp_notif = unsafe { zeroed() };
    let request = libc::SECCOMP_IOCTL_NOTIF_RECV;
    // SAFETY: the structure is live and the one that this request fills.
    let done = unsafe { libc::ioctl(calls.as_raw_fd(), request, &raw mut call) };
    checked(done.into())?;
    #[cfg(target_arch = "x86_64")]
    let first = usize::from(i64::from(call.data.nr) != libc::SYS_open);
    // Other architectures have only the call that takes a directory first.
    #[cfg(not(target_arch = "x86_64"))]
    let first = 1;
    Ok(Call {
        id: call.id,
        process: call.pid,
        path: call.data.args[first],
        flags: call.data.args[first + 1],
        is_socket: i64::from(call.data.nr) == libc::SYS_socket,
    })
}

/// Reads the memory of a calling process, starting at the path of its call. Returns the number of
/// bytes read.
pub(crate) fn read_memory(call: &Call, into: &mut [u8]) -> io::Result<usize> {
    let process = call.process.cast_signed();
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    // The kernel stops at the first part that it cannot read, so parts end at page boundaries.
    const PAGE: u64 = 4096;
    let (mut parts, mut from, mut left) = (Vec::new(), call.path, into.len());
    while left > 0 {
        let to_end = usize::try_from(PAGE - from % PAGE)
            .unwrap_or(left)
            .min(left);
        parts.push(libc::iovec {
            iov_base: std::ptr::without_provenance_mut(usize::try_from(from).unwrap_or(0)),
            iov_len: to_end,
        });
        left -= to_end;
        from = from.wrapping_add(to_end as u64);
    }
    // SAFETY: the local part is live memory that nothing else refers to. The others are addresses in another
    // process, which the kernel checks.
    let read = unsafe {
        libc::process_vm_readv(
            process,
            &raw const local,
            1,
            parts.as_ptr(),
            parts.len() as libc::c_ulong,
            0,
        )
    };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Fails if a call no longer waits.
pub(crate) fn check_call(calls: BorrowedFd<'_>, call: &Call) -> io::Result<()> {
    let request = libc::SECCOMP_IOCTL_NOTIF_ID_VALID;
    // SAFETY: the request reads a live number of this type.
    let done = unsafe { libc::ioctl(calls.as_raw_fd(), request, &raw const call.id) };
    checked(done.into())
}

/// Lets the kernel execute a call.
pub(crate) fn continue_call(calls: BorrowedFd<'_>, call: &Call) -> io::Result<()> {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    answer_call(calls, call, 0, u32::try_from(flags).unwrap_or(0))
}

/// Makes a call fail with this error.
pub(crate) fn fail_call(calls: BorrowedFd<'_>, call: &Call, error: &io::Error) -> io::Result<()> {
    let error = error.raw_os_error().unwrap_or(libc::EPERM);
    answer_call(calls, call, -error, 0)
}

fn answer_call(calls: BorrowedFd<'_>, call: &Call, error: i32, flags: u32) -> io::Result<()> {
    let mut answer = libc::seccomp_notif_resp {
        id: call.id,
        val: 0,
        error,
        flags,
    };
    let request = libc::SECCOMP_IOCTL_NOTIF_SEND;
    // SAFETY: the structure is live and the one that this request reads.
    let done = unsafe { libc::ioctl(calls.as_raw_fd(), request, &raw mut answer) };
    checked(done.into())
}

/// Answers a call with a duplicate of a handle.
pub(crate) fn answer_with_handle(
    calls: BorrowedFd<'_>,
    call: &Call,
    handle: BorrowedFd<'_>,
) -> io::Result<()> {
    let close_on_exec = u64::from(libc::O_CLOEXEC.cast_unsigned());
    let answer = libc::seccomp_notif_addfd {
        id: call.id,
        flags: u32::try_from(libc::SECCOMP_ADDFD_FLAG_SEND).unwrap_or(0),
        srcfd: handle.as_raw_fd().cast_unsigned(),
        newfd: 0,
        newfd_flags: u32::try_from(call.flags & close_on_exec).unwrap_or(0),
    };
    let request = libc::SECCOMP_IOCTL_NOTIF_ADDFD;
    // SAFETY: the structure is live and the one that this request reads.
    let done = unsafe { libc::ioctl(calls.as_raw_fd(), request, &raw const answer) };
    checked(done.into())
}

/// Asks the kernel to wake both sides of a notification on the same CPU, if it can (Linux 6.6).
pub(crate) fn wake_synchronously(calls: BorrowedFd<'_>) {
    const SYNCHRONOUSLY: u64 = 1; // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
    let request = libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS;
    // SAFETY: the request takes a number, no address.
    let _ = unsafe { libc::ioctl(calls.as_raw_fd(), request, SYNCHRONOUSLY) };
}

/// Executes the program that a handle is open on; returns only if that failed.
pub(crate) fn execute(
    program: BorrowedFd<'_>,
    arguments: &[CString],
    environment: &[CString],
) -> io::Error {
    let list = |texts: &[CString]| {
        let ends = std::iter::once(std::ptr::null());
        let texts = texts.iter().map(|text| text.as_ptr());
        texts.chain(ends).collect::<Vec<_>>()
    };
    let (arguments, environment) = (list(arguments), list(environment));
    // SAFETY: both lists end with a null pointer, and their strings live until the call returns.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            program.as_raw_fd(),
            c"".as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
            libc::AT_EMPTY_PATH,
        );
    }
    io::Error::last_os_error()
}

/// The kernel's Landlock version; 0 if Landlock is not enabled.
pub(crate) fn landlock_version() -> i32 {
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

/// Closes handles that the host left open by mistake, before this program has opened any.
pub(crate) fn close_inherited() {
    // SAFETY: called first of all, so no value of this program owns any of these handles.
    unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) };
}

/// Marks every handle but the first three as close-on-exec.
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

/// Unblocks every signal and restores its default action.
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

/// Blocks the signals that ask a process to terminate, and SIGCHLD, which is read from a signalfd.
pub(crate) fn block_signals() {
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

/// A signalfd that becomes readable when a child has exited.
pub(crate) fn child_exit_events() -> io::Result<OwnedFd> {
    // SAFETY: all-zero bytes are a valid set, the pointer is to a live set, and a handle that the call
    // returns is new and not owned by anything else.
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

/// Receives up to `max` handles and the one byte they come with.
pub(crate) fn receive_handles(from: BorrowedFd<'_>, max: usize) -> io::Result<Vec<OwnedFd>> {
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
    if got.bytes != 1 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if handles.len() > max {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(handles)
}

/// Duplicates the three standard handles that this process was started with.
pub(crate) fn take_standard() -> io::Result<[OwnedFd; 3]> {
    let take = |number| {
        // SAFETY: the host starts the supervisor with these handles. Each is duplicated, and the
        // duplicate is new and not owned by anything else.
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

/// Tries to create a network socket; returns whether that worked.
pub(crate) fn can_create_socket() -> bool {
    // SAFETY: the call takes three numbers; a handle that it returns is closed again at once.
    unsafe {
        let handle = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if handle >= 0 {
            libc::close(handle);
        }
        handle >= 0
    }
}

/// Tries to create a user namespace; returns whether that worked.
pub(crate) fn can_make_user_namespace() -> bool {
    // SAFETY: the call takes a number; if it works, this process is about to end.
    unsafe { libc::unshare(libc::CLONE_NEWUSER) == 0 }
}

/// Makes the kernel kill this process and what it starts before the supervisor when memory runs out.
pub(crate) fn prefer_oom_kill() -> io::Result<()> {
    std::fs::write("/proc/self/oom_score_adj", "1000")
}

/// The seccomp mode of this process; 2 means that a filter is installed.
pub(crate) fn seccomp_mode() -> i32 {
    // SAFETY: the call takes numbers only and returns a number.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) }
}

/// Sets the user and group with which this process accesses files and inspects other processes.
pub(crate) fn set_fs_ids(user: u32, group: u32) {
    // SAFETY: the calls take numbers only, and there is one thread. They report no
    // failure; a later access fails instead.
    unsafe {
        libc::setfsgid(group);
        libc::setfsuid(user);
    }
}

/// A path or name as a C string.
pub(crate) fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Whether a path exists.
pub(crate) fn exists(path: &CStr) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXISTS).is_ok()
}

fn checked(result: i64) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
