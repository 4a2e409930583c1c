//! The append-only record of runs and refusals: one JSON line per event.
//!
//! A line is written before anything runs; if it cannot be written, nothing runs. The file is opened
//! for each line, so that a rotated or removed log is noticed. Each line contains the hash of the line
//! before it, so that [`AuditFiles::verify`] detects later changes. A signature would need a key that
//! the same user can read; a hash stored elsewhere achieves as much and is simpler.

mod chain;
mod event;
mod files;
mod foreign_lines;
mod lines;
mod log;
mod query;
mod read;
mod report;
mod verify;

pub use chain::{LineHash, LineHashError};
pub(crate) use event::{Answered, Event, RunInfo};
pub use query::{AuditFilter, AuditTime, AuditTimeError};
pub use read::{AuditFiles, AuditLine};
pub use report::{AuditFinding, AuditFindingKind, Verification, VerifiedFile};

use crate::error::Error;
use chain::{Head, Link};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A file of this size has some hundred thousand lines: it is still quick to search, and rotation stays rare.
const ROTATE_AT: u64 = 64 << 20;

/// Where events are recorded.
#[derive(Clone)]
pub struct AuditLog(Destination);

type Sink = dyn Fn(&[u8]) -> io::Result<()> + Send + Sync;

#[derive(Clone)]
enum Destination {
    File {
        path: PathBuf,
        rotate_at: u64,
    },
    Sink {
        write: Arc<Sink>,
        head: Arc<Mutex<Head>>,
    },
}

impl std::fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AuditLog").field(&self.path()).finish()
    }
}

impl AuditLog {
    /// A log in a file. The file and its directory are created on first use, accessible to their owner only.
    ///
    /// The directory must be writable: `audit.head`, next to `audit.jsonl`, records the newest line, and a
    /// file that has grown to 64 MiB is renamed to `audit-<number of its first line>.jsonl`. Any number of
    /// processes may write to one log. It may be renamed, truncated or removed at any time; the chain
    /// continues with the next line. If the log has lines and its head is missing or damaged, the chain
    /// continues from the last line, and a `new_head` line records it. Each of these files must be a regular
    /// file that belongs to this user (or root) and that no other user can write. A link or a device is an
    /// error, and nothing runs.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let rotate_at = ROTATE_AT;
        Self(Destination::File { path, rotate_at })
    }

    /// The same log, rotated at another size.
    pub fn rotate_at(mut self, bytes: u64) -> Self {
        if let Destination::File { rotate_at, .. } = &mut self.0 {
            *rotate_at = bytes;
        }
        self
    }

    /// A log that passes each line, including its newline, to `write`, one after the other.
    ///
    /// The chain begins with this value; its clones continue it.
    pub fn sink(write: impl Fn(&[u8]) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Destination::Sink {
            write: Arc::new(write),
            head: Arc::new(Mutex::new(Head::empty())),
        })
    }

    /// The path of the log, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Destination::File { path, .. } => Some(path),
            Destination::Sink { .. } => None,
        }
    }

    /// All files of the log, including those that the next line would create.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let Some(path) = self.path() else {
            return vec![];
        };
        let mut paths = files::parts_of(path).unwrap_or_default();
        paths.extend([path.to_owned(), files::head_of(path), files::lock_of(path)]);
        paths
    }

    /// Fails if a line cannot be written now.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        match &self.0 {
            Destination::File { path, .. } => {
                log::check_writable(path).map_err(|source| self.failed(source))
            }
            Destination::Sink { .. } => Ok(()),
        }
    }

    pub(crate) fn write(&self, event: &Event<'_>) -> Result<(), Error> {
        let written = match &self.0 {
            Destination::File { path, rotate_at } => log::append(path, *rotate_at, event),
            Destination::Sink { write, head } => {
                let mut head = head.lock().unwrap_or_else(PoisonError::into_inner);
                write_to_sink(write.as_ref(), &mut head, event)
            }
        };
        written.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.path().unwrap_or(Path::new("-")).to_owned();
        Error::Audit { path, source }
    }
}

/// Passes one line to a sink. If the sink fails, the line is not part of the chain.
fn write_to_sink(write: &Sink, head: &mut Head, event: &Event<'_>) -> io::Result<()> {
    let seq = head.newest.seq + 1;
    let mut line = event.line(seq, head.previous())?;
    let hash = LineHash::of(&line);
    line.push(b'\n');
    write(&line)?;
    head.newest = Link { seq, hash };
    Ok(())
}

#[cfg(test)]
mod tests;
