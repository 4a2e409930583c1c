//! The record of what was run and what was refused: one JSON line per event, appended.
//!
//! A line is written before anything runs; if it cannot be written, nothing runs. The file is opened
//! for each line, so that a rotated or removed log is noticed. Each line holds the hash of the one
//! before, so that a later change is found ([`AuditFiles::verify`]). A signature would need a key
//! that the same user can read; a hash noted elsewhere does as much and is simpler.

mod chain;
mod event;
mod files;
mod foreign;
mod lines;
mod log;
mod query;
mod read;
mod report;
mod verify;

pub use chain::{LineHash, NoLineHash};
pub(crate) use event::{Asked, Event};
pub use query::{AuditFilter, AuditTime, NoAuditTime};
pub use read::{AuditFiles, AuditLine};
pub use report::{AuditFinding, AuditWrong, Verification, VerifiedFile};

use crate::error::Error;
use chain::{Head, Link};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A file of this size is some hundred thousand lines: quick to search, slow to reach.
const ROTATE_AT: u64 = 64 << 20;

/// Where events are recorded.
#[derive(Clone)]
pub struct AuditLog(Target);

type Sink = dyn Fn(&[u8]) -> io::Result<()> + Send + Sync;

#[derive(Clone)]
enum Target {
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
    /// A log in a file, made with its folder on first use, for its owner alone.
    ///
    /// The folder must be writable: beside `audit.jsonl` stands `audit.head`, which remembers the
    /// newest line, and a file that has grown to 64 MiB becomes `audit-<number of its first
    /// line>.jsonl`. Any number of processes may write to one log. It may be renamed, emptied or
    /// removed at any time; the next line follows the last one all the same. Each of these files must be a regular file
    /// of this user (or root) that nobody else may write; a link or a device is an error, and nothing runs.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let rotate_at = ROTATE_AT;
        Self(Target::File { path, rotate_at })
    }

    /// The same log with another size at which a new file is begun.
    pub fn rotate_at(mut self, bytes: u64) -> Self {
        if let Target::File { rotate_at, .. } = &mut self.0 {
            *rotate_at = bytes;
        }
        self
    }

    /// A log that hands each line, newline included, to `write`, one after the other.
    ///
    /// The chain begins with this value; its clones go on with it.
    pub fn sink(write: impl Fn(&[u8]) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Target::Sink {
            write: Arc::new(write),
            head: Arc::new(Mutex::new(Head::start())),
        })
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Target::File { path, .. } => Some(path),
            Target::Sink { .. } => None,
        }
    }

    /// The files that make up the record so far, and those that will be there with the next line.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        let Some(path) = self.path() else {
            return vec![];
        };
        let mut places = files::parts_of(path).unwrap_or_default();
        places.extend([path.to_owned(), files::head_of(path), files::lock_of(path)]);
        places
    }

    /// Fails if a line could not be written now.
    pub(crate) fn probe(&self) -> Result<(), Error> {
        match &self.0 {
            Target::File { path, .. } => log::probe(path).map_err(|source| self.failed(source)),
            Target::Sink { .. } => Ok(()),
        }
    }

    pub(crate) fn write(&self, event: &Event<'_>) -> Result<(), Error> {
        let written = match &self.0 {
            Target::File { path, rotate_at } => log::append(path, *rotate_at, event),
            Target::Sink { write, head } => {
                let mut head = head.lock().unwrap_or_else(PoisonError::into_inner);
                hand_over(write.as_ref(), &mut head, event)
            }
        };
        written.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.path().unwrap_or(Path::new("-")).to_owned();
        Error::Audit { path, source }
    }
}

/// Hands one line to a sink; one that it does not take is not in the chain.
fn hand_over(write: &Sink, head: &mut Head, event: &Event<'_>) -> io::Result<()> {
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
