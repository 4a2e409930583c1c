//! The append-only record of runs and refusals: one JSON line per event.
//!
//! A line is written before anything runs; if it cannot be written, nothing runs. Each line contains the
//! hash of the line before it, so that [`AuditFiles::verify`] detects later changes. A signature would need
//! a key that the same user can read; a hash stored elsewhere achieves as much and is simpler.
//!
//! Callers hand a line over to the thread of the log (`writer`) and wait for the result. The thread appends
//! what was handed over together, under the lock that processes share (`log`).

mod chain;
mod event;
mod files;
mod foreign_lines;
mod lines;
mod log;
mod query;
mod read;
mod recover;
mod report;
mod verify;
mod writer;

pub use chain::{LineHash, LineHashError};
pub(crate) use event::{Answered, Event, RunInfo};
pub use query::{AuditFilter, AuditTime, AuditTimeError};
pub use read::{AuditFiles, AuditLine};
pub use report::{AuditFinding, AuditFindingKind, Verification, VerifiedFile};

use crate::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use writer::Writer;

/// A file of this size has some hundred thousand lines: it is still quick to search, and rotation stays rare.
const ROTATE_AT: u64 = 64 << 20;

/// Where events are recorded.
#[derive(Clone)]
pub struct AuditLog {
    path: Option<PathBuf>,
    rotate_at: u64,
    writer: Arc<Writer>,
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
    ///
    /// One thread of the process writes the file, for all logs of the same path. Dropping the last of them
    /// waits until everything is written.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            writer: Writer::for_file(&path),
            path: Some(path),
            rotate_at: ROTATE_AT,
        }
    }

    /// The same log, rotated at another size.
    pub fn rotate_at(mut self, bytes: u64) -> Self {
        self.rotate_at = bytes;
        self
    }

    /// A log that passes each line, including its newline, to `write`, one after the other, on a thread of its own.
    /// `write` cannot write to the log itself.
    ///
    /// The chain begins with this value; its clones continue it.
    pub fn sink(write: impl Fn(&[u8]) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self {
            path: None,
            rotate_at: ROTATE_AT,
            writer: Writer::for_sink(Box::new(write)),
        }
    }

    /// The path of the log, if it is a file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
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

    /// Fails if a line cannot be written now. It may block for the file system.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        let checked = self.writer.check();
        checked.map_err(|source| self.failed(source))
    }

    /// Writes a line; returns when it is written. If the future is dropped before that, the line may be written or not.
    pub(crate) async fn write(&self, event: Event<'_>) -> Result<(), Error> {
        let written = match event.fields() {
            Ok(fields) => self.writer.write(fields, self.rotate_at).await,
            Err(error) => Err(error),
        };
        written.map_err(|source| self.failed(source))
    }

    /// Like [`AuditLog::write`], for callers that may block.
    pub(crate) fn write_blocking(&self, event: Event<'_>) -> Result<(), Error> {
        let fields = event.fields();
        let written = fields.and_then(|fields| self.writer.write_blocking(fields, self.rotate_at));
        written.map_err(|source| self.failed(source))
    }

    /// Writes a line after all that were handed over before, without waiting for it. An error cannot be reported.
    pub(crate) fn post(&self, event: Event<'_>) {
        if let Ok(fields) = event.fields() {
            self.writer.post(fields, self.rotate_at);
        }
    }

    /// Waits until every line that was handed over before is written, or has failed.
    pub(crate) async fn flush(&self) {
        self.writer.flush().await;
    }

    /// Like [`AuditLog::flush`], for callers that may block.
    pub(crate) fn flush_blocking(&self) {
        self.writer.flush_blocking();
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.path().unwrap_or(Path::new("-")).to_owned();
        Error::Audit { path, source }
    }
}

#[cfg(test)]
mod tests;
