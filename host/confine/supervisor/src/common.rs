//! What the host and the supervisor both do.

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

/// How often removing a control group is attempted, a millisecond apart: its last process may still be
/// exiting.
const MAX_REMOVE_ATTEMPTS: u32 = 50;

/// How often sending handles is attempted, a millisecond apart. The kernel limits the handles that a user has sent and that
/// were not received yet, in all processes together; other supervisors receive theirs within milliseconds.
const MAX_SEND_ATTEMPTS: u32 = 2000;

/// Sends handles along with one byte. If the user has too many handles in transit, waits until some were received.
pub fn send_handles(to: impl AsFd, handles: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut attempts = 1;
    loop {
        match send_now(to.as_fd(), handles) {
            Err(Errno::TOOMANYREFS) if attempts < MAX_SEND_ATTEMPTS => {
                attempts += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            sent => return Ok(sent?),
        }
    }
}

fn send_now(to: BorrowedFd<'_>, handles: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut buffer = SendAncillaryBuffer::new(&mut space);
    if !buffer.push(SendAncillaryMessage::ScmRights(handles)) {
        return Err(Errno::INVAL);
    }
    let byte = [IoSlice::new(&[0])];
    sendmsg(to, &byte, &mut buffer, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Removes a control group, if its processes have exited.
pub fn remove_cgroup(path: &Path) {
    for _ in 0..MAX_REMOVE_ATTEMPTS {
        match std::fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(1));
            }
            _ => return,
        }
    }
}
