//! What the host and the supervisor both do.

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

/// How often removing a control group is attempted, a millisecond apart: its last process may still be
/// exiting.
const MAX_REMOVE_ATTEMPTS: u32 = 50;

/// Sends handles along with one byte.
pub fn send_handles(to: impl AsFd, handles: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut buffer = SendAncillaryBuffer::new(&mut space);
    if !buffer.push(SendAncillaryMessage::ScmRights(handles)) {
        return Err(io::ErrorKind::InvalidInput.into());
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
