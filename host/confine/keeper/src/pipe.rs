//! What the processes inside tell the keeper: that the program starts, how it ended, or why it never
//! began.

use crate::unable::Unable;
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};

/// A message from inside. Each fits into one write, which the kernel does not divide.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    /// The program is about to take over.
    Starts,
    /// It has ended with this status of the kernel's.
    Ended(i32),
    /// Its orphans that have ended wrote this many bytes to disks.
    Written(u64),
    /// It never began.
    Unable { step: String, why: String },
}

/// The end that is written inside.
pub(crate) struct Teller(File);

/// The end that the keeper reads.
pub(crate) struct Listener {
    file: File,
    bytes: Vec<u8>,
    closed: bool,
}

pub(crate) fn pipe() -> io::Result<(Listener, Teller)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&read, true)?;
    let listener = Listener {
        file: File::from(read),
        bytes: Vec::new(),
        closed: false,
    };
    Ok((listener, Teller(File::from(write))))
}

impl Teller {
    pub(crate) fn tell(&self, word: &Word) {
        let Ok(mut bytes) = postcard::to_allocvec(word) else {
            return;
        };
        // A message is led by its length.
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_ne_bytes();
        bytes.splice(0..0, length);
        // If the keeper is gone, so will this process be in a moment.
        let _ = (&self.0).write_all(&bytes);
    }

    pub(crate) fn tell_unable(&self, unable: Unable) {
        let Unable { mut step, mut why } = unable;
        for text in [&mut step, &mut why] {
            while text.len() > 1000 {
                text.pop();
            }
        }
        self.tell(&Word::Unable { step, why });
    }
}

impl Listener {
    /// The next message, if there is a whole one.
    pub(crate) fn next(&mut self) -> Option<Word> {
        let mut part = [0; 4096];
        while let Ok(count) = self.file.read(&mut part) {
            self.bytes.extend_from_slice(&part[..count]);
            if count == 0 {
                self.closed = true;
                break;
            }
        }
        let length = usize::from(u16::from_ne_bytes(*self.bytes.first_chunk::<2>()?));
        let message = self.bytes.get(2..2 + length)?;
        let word = postcard::from_bytes(message).ok();
        self.bytes.drain(..2 + length);
        word
    }
}

impl Listener {
    /// Whether anybody may still say something.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl AsFd for Teller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
