//! System calls that no library wraps, and those whose wrapping is unsafe.
//!
//! The supervisor never has a second thread; most of the SAFETY arguments below rest on that.

#![expect(unsafe_code, reason = "each block says why it is sound")]

pub(crate) use skillrun_supervisor::kernel::*;

use std::ffi::{CStr, CString};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Installs a seccomp filter that reports calls. Each reported call waits for an answer through the
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

/// Whether two threads have the same table of handles; false if the kernel does not tell.
pub(crate) fn share_handles(one: i32, other: i32) -> bool {
    const FILES: i32 = 2; // KCMP_FILES
    // SAFETY: the call takes numbers only and returns one.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, FILES, 0u64, 0u64) == 0 }
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
