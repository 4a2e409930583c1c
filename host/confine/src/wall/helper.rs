//! Makes detached handles for a host that may not copy mounts itself: an ordinary user, or a container.
//!
//! A helper process in a user and mount namespace of its own may. The kernel copies only mounts of the
//! own namespace, so the helper looks the directory up again by its path, and checks that it is the same.
//!
//! The helper trusts the host, and nobody else can talk to it.

use super::detached::{Access, detached_for};
use super::error::fail;
use super::namespaces::require_one_thread;
use crate::ConfineError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, OpenTreeFlags, mount_change, open_tree};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use skillrun_supervisor::kernel;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A request: what the handle is for, then a path, which the kernel limits to 4096 bytes. An answer: an
/// error number or 0, in four bytes.
const MAX_MESSAGE: usize = 1 + 4096;
/// How long an answer may take. It takes some 50 µs, unless the machine is very busy or a file system hangs.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The error number of an answer for a path that leads to another file.
const ANOTHER_FILE: i32 = Errno::STALE.raw_os_error();

/// Makes detached handles in any process that can.
#[derive(Debug)]
pub struct Detacher {
    /// `None` if this process may copy mounts itself.
    helper: Option<Mutex<Helper>>,
}

#[derive(Debug)]
struct Helper {
    process: Child,
    socket: OwnedFd,
    /// Whether an answer did not come in time.
    gave_up: AtomicBool,
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Detacher {
    /// Finds out how this process can make detached handles. If it may not copy mounts, it starts a helper:
    /// `start_helper` starts an executable that calls [`serve_helper`] with the socket that it gets.
    pub fn find(start_helper: &dyn Fn(OwnedFd) -> io::Result<Child>) -> Result<Self, ConfineError> {
        if may_copy_mounts() {
            return Ok(Self { helper: None });
        }
        let step = "start the helper that copies mounts";
        let error = |error: io::Error| fail(step, error);
        let flags = SocketFlags::CLOEXEC;
        let (socket, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .map_err(|errno| error(errno.into()))?;
        let process = start_helper(theirs).map_err(error)?;
        let helper = Helper {
            process,
            socket,
            gave_up: AtomicBool::new(false),
        };
        // It says first whether it has its namespaces.
        helper.receive().map_err(|why| match why.kind() {
            io::ErrorKind::UnexpectedEof => fail(step, "it exited"),
            _ => fail("create namespaces for copies of mounts", why),
        })?;
        Ok(Self {
            helper: Some(Mutex::new(helper)),
        })
    }

    /// Whether a helper makes the handles.
    pub fn has_helper(&self) -> bool {
        self.helper.is_some()
    }

    /// The same as [`detached`](super::detached). `path` must lead to `dir` without links. Blocks for as
    /// long as the file system takes to look the path up.
    pub fn detach(&self, dir: BorrowedFd<'_>, path: &Path, writable: bool) -> io::Result<OwnedFd> {
        self.detach_for(dir, path, Access::writable(writable))
    }

    /// The same for one kind of access.
    pub fn detach_for(
        &self,
        file: BorrowedFd<'_>,
        path: &Path,
        access: Access,
    ) -> io::Result<OwnedFd> {
        let Some(helper) = &self.helper else {
            return detached_for(file, access);
        };
        let mut request = vec![access.code()];
        request.extend_from_slice(path.as_os_str().as_bytes());
        if request.len() > MAX_MESSAGE {
            return Err(Errno::NAMETOOLONG.into());
        }
        let helper = helper.lock().unwrap_or_else(PoisonError::into_inner);
        // An earlier request may have been given up. Its answer would be taken for that of this one.
        if helper.gave_up.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        send(helper.socket.as_fd(), &request, Some(file))?;
        let made = helper.receive()?;
        made.ok_or_else(|| io::Error::other("the helper sent no handle"))
    }
}

impl Helper {
    /// Receives an answer. Fails if it takes too long: the path may be on a file system that hangs.
    fn receive(&self) -> io::Result<Option<OwnedFd>> {
        let mut socket = [PollFd::new(&self.socket, PollFlags::IN)];
        let timeout = Timespec::try_from(TIMEOUT).map_err(io::Error::other)?;
        if poll(&mut socket, Some(&timeout))? == 0 {
            self.gave_up.store(true, Ordering::Relaxed);
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut answer = [0; 4];
        let (4, handle) = receive(self.socket.as_fd(), &mut answer)? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        match i32::from_ne_bytes(answer) {
            0 => Ok(handle),
            ANOTHER_FILE => Err(io::Error::other(
                "its path does not lead to it any more, or to a file system that was mounted since",
            )),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

impl Access {
    fn code(self) -> u8 {
        match self {
            Self::Read => 0,
            Self::ReadCode => 1,
            Self::Change => 2,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        let all = [Self::Read, Self::ReadCode, Self::Change];
        all.into_iter().find(|access| access.code() == code)
    }
}

/// Whether this process may copy mounts.
fn may_copy_mounts() -> bool {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, c"/", flags).is_ok()
}

/// The main function of a helper. `socket` is what [`Detacher::find`] gave to the executable; every other
/// handle but the first three is closed. Ends when the other end of the socket is closed.
pub fn serve_helper(socket: OwnedFd) -> ! {
    let entered = enter_namespaces(socket.as_fd());
    let number = |error: &io::Error| error.raw_os_error().unwrap_or(libc::EIO);
    let answer = entered.as_ref().map_or_else(number, |()| 0);
    let mut is_connected = send(socket.as_fd(), &answer.to_ne_bytes(), None).is_ok();
    while entered.is_ok() && is_connected {
        let mut request = [0; MAX_MESSAGE];
        let Ok((length @ 1.., Some(file))) = receive(socket.as_fd(), &mut request) else {
            break;
        };
        let made = detach(&request[..length], file.as_fd());
        let answer = made.as_ref().map_or_else(number, |_| 0).to_ne_bytes();
        let made = made.as_ref().ok().map(OwnedFd::as_fd);
        is_connected = send(socket.as_fd(), &answer, made).is_ok();
    }
    std::process::exit(0);
}

fn enter_namespaces(socket: BorrowedFd<'_>) -> io::Result<()> {
    require_one_thread().map_err(io::Error::other)?;
    kernel::close_others(&[socket])?;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    kernel::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
    let one = |id: u32| format!("{id} {id} 1");
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", one(group.as_raw()))?;
    fs::write("/proc/self/uid_map", one(user.as_raw()))?;
    // What the machine mounts later appears here as well, if its mounts are shared.
    let follow = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
    mount_change(c"/", follow)?;
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}

fn detach(request: &[u8], file: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let (code, path) = request.split_first().ok_or(Errno::INVAL)?;
    let access = Access::from_code(*code).ok_or(Errno::INVAL)?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let path = Path::new(OsStr::from_bytes(path));
    let again = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let (was, is) = (fstat(file)?, fstat(&again)?);
    if (was.st_dev, was.st_ino) != (is.st_dev, is.st_ino) {
        return Err(io::Error::from_raw_os_error(ANOTHER_FILE));
    }
    detached_for(again.as_fd(), access)
}

fn send(to: BorrowedFd<'_>, bytes: &[u8], handle: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut buffer = SendAncillaryBuffer::new(&mut space);
    let handles: Vec<BorrowedFd<'_>> = handle.into_iter().collect();
    if !handles.is_empty() {
        buffer.push(SendAncillaryMessage::ScmRights(&handles));
    }
    sendmsg(to, &[IoSlice::new(bytes)], &mut buffer, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives one message and the handle that may be with it. Returns how many bytes it has.
fn receive(from: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut buffer = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(into)];
    let bytes = loop {
        match recvmsg(from, parts, &mut buffer, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received?.bytes,
        }
    };
    let mut handle = None;
    for message in buffer.drain() {
        if let RecvAncillaryMessage::ScmRights(mut handles) = message {
            handle = handles.next();
        }
    }
    Ok((bytes, handle))
}
