//! Reads a log: its files in order, as they are at one moment.

use super::chain::{Head, Position, StoredHead};
use super::files::{head_of, lock_of, open_read, parts_of};
use super::lines::{Line, Lines};
use super::log::{lock_deadline, wait_for_lock};
use super::query::{AuditFilter, is_script};
use crate::error::Error;
use rustix::fs::FlockOperation;
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The files of an audit log, for reading. Reading them blocks: call it from a blocking thread, or
/// [`Host::audit`](crate::Host::audit).
#[derive(Debug, Clone)]
pub struct AuditFiles(Source);

#[derive(Debug, Clone)]
enum Source {
    Log(PathBuf),
    Named(Vec<PathBuf>),
}

/// One line of an audit log.
#[derive(Debug, Clone)]
pub struct AuditLine<'a> {
    json: Cow<'a, str>,
    value: serde_json::Value,
}

impl AuditLine<'_> {
    /// The line as it is in the log, without its newline.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The same line, on its own.
    pub(super) fn to_owned(&self) -> AuditLine<'static> {
        AuditLine {
            json: Cow::Owned(self.json.to_string()),
            value: self.value.clone(),
        }
    }

    /// A field of the line; null if it has no field of this name.
    pub fn field(&self, name: &str) -> &serde_json::Value {
        &self.value[name]
    }
}

impl AuditFilter {
    fn matches(&self, line: &AuditLine<'_>) -> bool {
        let text = |name| line.field(name).as_str().unwrap_or_default();
        let is = |wanted: &Option<String>, name| {
            let mut wanted = wanted.iter();
            wanted.all(|wanted| text(name) == wanted)
        };
        // Lines of earlier versions use the second name.
        let is_either = |wanted: &Option<String>, name, earlier| match line.field(name).is_null() {
            true => is(wanted, earlier),
            false => is(wanted, name),
        };
        is(&self.skill, "skill")
            && is(&self.status, "status")
            && is(&self.event, "event")
            && is_either(&self.tenant, "tenant", "world")
            && is_either(&self.session, "session", "chat")
            && self.run.iter().all(|run| text("run_id").starts_with(run))
            && self
                .script
                .iter()
                .all(|name| is_script(name, text("script")))
            && self.in_time(text("time"))
    }
}

impl AuditFiles {
    /// All files of the log at `path`: its parts and the live file.
    pub fn of(path: impl Into<PathBuf>) -> Self {
        Self(Source::Log(path.into()))
    }

    /// These files, in the order of their lines.
    pub fn named(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(Source::Named(paths.into_iter().collect()))
    }

    /// Passes the lines that match the filter to `take`, the oldest first, until it breaks. Returns how many lines
    /// could not be parsed.
    pub fn read(
        &self,
        filter: &AuditFilter,
        mut take: impl FnMut(&AuditLine<'_>) -> ControlFlow<()>,
    ) -> Result<u64, Error> {
        let mut unreadable = 0;
        let read = |_: &Path, line: &Line<'_>| {
            let text = line.bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
            let parsed = text.and_then(|json| {
                let value: serde_json::Value = serde_json::from_str(json).ok()?;
                let json = Cow::Borrowed(json);
                value.is_object().then_some(AuditLine { json, value })
            });
            match parsed {
                Some(line) if filter.matches(&line) => take(&line),
                Some(_) => ControlFlow::Continue(()),
                None => {
                    unreadable += 1;
                    ControlFlow::Continue(())
                }
            }
        };
        self.open()?.each_line(read)?;
        Ok(unreadable)
    }

    /// Opens the files and the head as they are now. The lock keeps writers away in between.
    pub(super) fn open(&self) -> Result<Opened, Error> {
        let (parts, live) = match &self.0 {
            Source::Log(path) => (None, Some(path.clone())),
            Source::Named(paths) => {
                let paths = in_order(paths)?;
                let live = paths.iter().find(|path| head_of(path).exists());
                let live = live.cloned();
                (Some(paths), live)
            }
        };
        let head_path = live.as_deref().map(head_of);
        let mut head = StoredHead::Absent;
        let mut locked = None;
        if let Some(path) = &head_path {
            // A copy has no writers and no lock file, and a user who may not write cannot lock it.
            let lock = live.as_deref().map(lock_of);
            let lock = lock.and_then(|lock| OpenOptions::new().write(true).open(lock).ok());
            if let Some(lock) = &lock {
                wait_for_lock(lock, FlockOperation::NonBlockingLockShared, lock_deadline())
                    .map_err(|source| read_error(path, source))?;
            }
            locked = lock;
            match open_read(path) {
                Ok(file) => {
                    head =
                        Head::read(&file, u64::MAX).map_err(|source| read_error(path, source))?;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(read_error(path, source)),
            }
        }
        let mut files = Vec::new();
        let paths = match (parts, &live) {
            (Some(paths), _) => paths,
            (None, Some(log)) => {
                let mut paths = parts_of(log).map_err(|source| read_error(log, source))?;
                paths.push(log.clone());
                paths
            }
            (None, None) => vec![],
        };
        for path in paths {
            // A part never changes; the live file may be rotated at any time.
            let opened = if Some(&path) == live.as_ref() {
                match open_sized(&path) {
                    Err(error)
                        if error.kind() == io::ErrorKind::NotFound
                            && matches!(self.0, Source::Log(_)) =>
                    {
                        continue;
                    }
                    opened => Some(opened.map_err(|source| read_error(&path, source))?),
                }
            } else {
                None
            };
            files.push((path, opened));
        }
        drop(locked);
        Ok(Opened {
            files,
            head,
            head_path,
        })
    }
}

/// A log at one moment.
pub(super) struct Opened {
    files: Vec<(PathBuf, Option<(File, u64)>)>,
    pub(super) head: StoredHead,
    /// The path of the head, whether it exists or not.
    pub(super) head_path: Option<PathBuf>,
}

impl Opened {
    /// Passes every line with the path of its file to `take`, until it breaks. Files without lines are skipped.
    pub(super) fn each_line(
        &self,
        mut take: impl FnMut(&Path, &Line<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        for (path, opened) in &self.files {
            let read_error = |source| read_error(path, source);
            let part;
            let (file, length) = match opened {
                Some(opened) => opened,
                None => {
                    part = open_sized(path).map_err(read_error)?;
                    &part
                }
            };
            let mut file = file;
            file.seek(io::SeekFrom::Start(0)).map_err(read_error)?;
            let mut lines = Lines::new(file, *length);
            while let Some(line) = lines.next().map_err(read_error)? {
                if take(path, &line).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(path, _)| path.as_path())
    }
}

fn open_sized(path: &Path) -> io::Result<(File, u64)> {
    let file = open_read(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

fn read_error(path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    Error::AuditRead { path, source }
}

/// Sorts files by the numbers of their first lines; a shell would list `-10` before `-9`.
fn in_order(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut numbered = Vec::with_capacity(paths.len());
    for path in paths {
        let first = (|| {
            let (file, length) = open_sized(path)?;
            let mut lines = Lines::new(file, length);
            let line = lines.next()?;
            let Some(bytes) = line.and_then(|line| line.bytes) else {
                return Ok(u64::MAX);
            };
            // A file from before lines had numbers comes first.
            Ok(Position::of(bytes).map_or(u64::MAX, |position| position.seq.unwrap_or(0)))
        })();
        numbered.push((first.map_err(|source| read_error(path, source))?, path));
    }
    numbered.sort_by_key(|(first, _)| *first);
    Ok(numbered.into_iter().map(|(_, path)| path.clone()).collect())
}
