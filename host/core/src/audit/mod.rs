//! The append-only record of runs and refusals: one JSON line per event.
//!
//! A line is written before anything runs; if it cannot be written, nothing runs. Each line contains the
//! hash of the line before it, so that [`AuditFiles::verify`] detects later changes. A signature would need
//! a key that the same user can read; a hash stored elsewhere achieves as much and is simpler.
//!
//! Callers hand a line over to the thread of the log (`writer`) and wait for the result; a caller that may block takes the
//! turn of that thread if it is idle. What was handed over together is appended together, under the lock that processes
//! share (`log`).

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
pub(crate) use files::is_lock;
pub use query::{AuditFilter, AuditTime, AuditTimeError};
pub use read::{AuditFiles, AuditLine};
pub use report::{AuditFinding, AuditFindingKind, Verification, VerifiedFile};

use crate::clock::Clock;
use crate::error::Error;
use event::Fields;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use writer::{Receipt, Writer};

/// A file of this size has some hundred thousand lines: it is still quick to search, and rotation stays rare.
const ROTATE_AT: u64 = 64 << 20;

/// Where events are recorded.
#[derive(Clone)]
pub struct AuditLog {
    path: Option<PathBuf>,
    rotate_at: u64,
    /// Another clock than that of this machine.
    clock: Option<Arc<dyn Clock>>,
    writer: Arc<Writer>,
}

/// Receives the lines of a log, instead of a file. A function that takes a line is one too.
pub trait AuditSink: Send + Sync {
    /// Writes one line, including its newline. Lines come one after the other, on a thread of their own, so this may
    /// block. If it fails, the line is not part of the chain and nothing runs because of it. It cannot write to the log
    /// itself.
    fn write(&self, line: &[u8]) -> io::Result<()>;

    /// Fails if a line could not be written now: then a request is refused before anybody is asked.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}

impl<F: Fn(&[u8]) -> io::Result<()> + Send + Sync> AuditSink for F {
    fn write(&self, line: &[u8]) -> io::Result<()> {
        self(line)
    }
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
    /// Only one thread of the process writes the file at a time, for all logs of the same path. Dropping the last of them
    /// waits until everything is written.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            writer: Writer::for_file(&path),
            path: Some(path),
            rotate_at: ROTATE_AT,
            clock: None,
        }
    }

    /// The same log, rotated at another size.
    pub fn rotate_at(mut self, bytes: u64) -> Self {
        self.rotate_at = bytes;
        self
    }

    /// The same log with another clock than that of this machine.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// A log that passes each line, including its newline, to `write`: see [`AuditLog::to`].
    pub fn sink(write: impl Fn(&[u8]) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self::to(write)
    }

    /// A log that writes to a sink. The chain begins with this value; its clones continue it.
    pub fn to(sink: impl AuditSink + 'static) -> Self {
        Self {
            path: None,
            rotate_at: ROTATE_AT,
            clock: None,
            writer: Writer::for_sink(Arc::new(sink)),
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

    /// The lines that match a filter, the oldest first. It may block for the file system.
    pub(crate) fn lines(&self, filter: &AuditFilter) -> Result<Vec<AuditLine<'static>>, Error> {
        let Some(path) = self.path() else {
            let path = "-".into();
            let source = io::Error::other("its lines are where its sink has written them");
            return Err(Error::AuditRead { path, source });
        };
        let mut all = Vec::new();
        AuditFiles::of(path).read(filter, |line| {
            all.push(line.to_owned());
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    /// Fails if a line cannot be written now. It may block for the file system.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        let checked = self.writer.check();
        checked.map_err(|source| self.failed(source))
    }

    /// Queues a line before it returns; the future returns when the line is written. If it is dropped before that, the
    /// line may be written or not.
    pub(crate) fn write(&self, event: Event<'_>) -> Written {
        self.prepare(event).queue()
    }

    /// Renders a line, which takes much longer than to queue it.
    pub(crate) fn prepare(&self, event: Event<'_>) -> Prepared {
        let fields = self.fields(event);
        let log = self.clone();
        Prepared { fields, log }
    }

    /// Like [`AuditLog::write`], for callers that may block.
    pub(crate) fn write_blocking(&self, event: Event<'_>) -> Result<(), Error> {
        let fields = self.fields(event);
        let written = fields.and_then(|fields| self.writer.write_blocking(fields, self.rotate_at));
        written.map_err(|source| self.failed(source))
    }

    /// Writes a line after all that were handed over before, without waiting for it. An error cannot be reported.
    pub(crate) fn post(&self, event: Event<'_>) {
        if let Ok(fields) = self.fields(event) {
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

    fn fields(&self, event: Event<'_>) -> io::Result<Fields> {
        match &self.clock {
            Some(clock) => event.at(clock.now()).fields(),
            None => event.fields(),
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.path().unwrap_or(Path::new("-")).to_owned();
        Error::Audit { path, source }
    }
}

/// A line that can be queued.
pub(crate) struct Prepared {
    fields: io::Result<Fields>,
    log: AuditLog,
}

impl Prepared {
    /// As [`AuditLog::write`] does.
    pub(crate) fn queue(self) -> Written {
        let Self { fields, log } = self;
        let queued = fields.and_then(|fields| log.writer.write(fields, log.rotate_at));
        let queued = queued.map_err(Some);
        Written { queued, log }
    }
}

/// A line that is queued, or the error if it could not be.
pub(crate) struct Written {
    queued: Result<Receipt, Option<io::Error>>,
    log: AuditLog,
}

impl Written {
    /// Writes the line on this thread, which may block, if nobody else writes to the log at this moment. The result is that
    /// of the future.
    pub(crate) fn write_now(&mut self) {
        if let Ok(receipt) = &mut self.queued {
            receipt.write_now();
        }
    }
}

impl Future for Written {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match &mut self.queued {
            Ok(receipt) => ready!(Pin::new(receipt).poll(cx)),
            Err(error) => error.take().map_or(Ok(()), Err),
        };
        Poll::Ready(result.map_err(|source| self.log.failed(source)))
    }
}

#[cfg(test)]
mod tests;
