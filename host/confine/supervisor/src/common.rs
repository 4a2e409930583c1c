//! What the host and the supervisor both do.

use crate::error::{ConfineError, Step as _};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CapabilitySet;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often removing a control group is attempted, a millisecond apart: its last process may still be
/// exiting.
const MAX_REMOVE_ATTEMPTS: u32 = 50;

/// How often sending handles is attempted, a millisecond apart. The kernel limits the handles that a user has sent and that
/// were not received yet, in all processes together; other supervisors receive theirs within milliseconds.
const MAX_SEND_ATTEMPTS: u32 = 2000;

/// Sends handles along with one byte. If the user has too many handles in transit, waits until some were received.
///
/// The kernel compares their number with the limit on open files of the process that sends the next one. A program has a low
/// limit, so it cannot have as many in transit as this process may with its hard limit.
pub fn send_handles(to: impl AsFd, handles: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut raised = None;
    let mut attempts = 1;
    loop {
        match send_now(to.as_fd(), handles) {
            Err(Errno::TOOMANYREFS) if attempts < MAX_SEND_ATTEMPTS => {
                attempts += 1;
                match raised {
                    None => raised = Some(RaisedLimit::new()),
                    Some(_) => std::thread::sleep(Duration::from_millis(1)),
                }
            }
            Err(error @ Errno::TOOMANYREFS) => {
                let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
                return Err(io::Error::new(
                    io::Error::from(error).kind(),
                    format!(
                        "programs of this user, such as another script, have sent more than {limit} file handles that \
                         nobody has received: {error}"
                    ),
                ));
            }
            sent => return Ok(sent?),
        }
    }
}

/// Serialises raising the limit, so that none is restored to the raised one.
static LIMIT: Mutex<()> = Mutex::new(());

/// The limit on open files is raised as far as possible until this is dropped.
struct RaisedLimit {
    before: Rlimit,
    _only: MutexGuard<'static, ()>,
}

impl RaisedLimit {
    fn new() -> Self {
        let only = LIMIT.lock().unwrap_or_else(PoisonError::into_inner);
        let before = getrlimit(Resource::Nofile);
        let maximum = before.maximum;
        let raised = Rlimit {
            current: maximum,
            maximum,
        };
        // If this fails, sending goes on failing.
        let _ = setrlimit(Resource::Nofile, raised);
        Self {
            before,
            _only: only,
        }
    }
}

impl Drop for RaisedLimit {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Nofile, self.before);
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

/// Drops every capability but these from the bounding set. A process without capabilities cannot gain
/// any, so nothing is done then.
pub fn keep_in_bounding_set(kept: CapabilitySet) -> Result<(), ConfineError> {
    let current = rustix::thread::capabilities(None).step("read the capabilities")?;
    if current.effective.is_empty() {
        return Ok(());
    }
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if kept.contains(one) {
            continue;
        }
        match rustix::thread::remove_capability_from_bounding_set(one) {
            // Past the last capability that the kernel knows.
            Err(Errno::INVAL) => break,
            removed => removed.step("drop capabilities")?,
        }
    }
    Ok(())
}
