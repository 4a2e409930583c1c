//! A pipe on which the processes inside report to the supervisor: that the program starts, how it
//! ended, or why it never started.

use crate::error::ConfineError;
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};

/// A message from inside. Each fits into one write, which the kernel keeps atomic.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The program is about to be executed.
    Starts,
    /// The program ended with this wait status.
    Ended(i32),
    /// Its orphans that exited wrote this many bytes to disk.
    OrphanWrites(u64),
    /// The program never started.
    Failed { step: String, why: String },
}

/// The write end, used inside.
pub(crate) struct Reporter(File);

/// The read end, used by the supervisor.
pub(crate) struct Listener {
    file: File,
    bytes: Vec<u8>,
    closed: bool,
}

pub(crate) fn pipe() -> io::Result<(Listener, Reporter)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&read, true)?;
    let listener = Listener {
        file: File::from(read),
        bytes: Vec::new(),
        closed: false,
    };
    Ok((listener, Reporter(File::from(write))))
}

impl Reporter {
    pub(crate) fn send(&self, message: &Message) {
        let Ok(mut bytes) = postcard::to_allocvec(message) else {
            return;
        };
        // Each message is preceded by its length.
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_ne_bytes();
        bytes.splice(0..0, length);
        // If the supervisor is gone, this process will be killed in a moment.
        let _ = (&self.0).write_all(&bytes);
    }

    pub(crate) fn report_error(&self, error: ConfineError) {
        let ConfineError { mut step, mut why } = error;
        for text in [&mut step, &mut why] {
            while text.len() > 1000 {
                text.pop();
            }
        }
        self.send(&Message::Failed { step, why });
    }
}

impl Listener {
    /// Returns the next message, if a complete one has arrived.
    pub(crate) fn next(&mut self) -> Option<Message> {
        let mut part = [0; 4096];
        while let Ok(count) = self.file.read(&mut part) {
            self.bytes.extend_from_slice(&part[..count]);
            if count == 0 {
                self.closed = true;
                break;
            }
        }
        let length = usize::from(u16::from_ne_bytes(*self.bytes.first_chunk::<2>()?));
        let bytes = self.bytes.get(2..2 + length)?;
        let message = postcard::from_bytes(bytes).ok();
        self.bytes.drain(..2 + length);
        message
    }
}

impl Listener {
    /// Whether another message may still arrive.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl AsFd for Reporter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
