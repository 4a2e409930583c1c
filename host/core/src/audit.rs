//! The record of what was run and what was refused: one JSON line per event, appended.
//!
//! A line is written before anything runs; if it cannot be written, nothing runs. The file is opened
//! for each line, so that a rotated or removed log is noticed, and a line is one `write` in append
//! mode, so that several processes do not tear each other's lines. `previous` is the place of a hash
//! chain over the lines.

use crate::decision::Permit;
use crate::error::Error;
use crate::outcome::{Isolation, Outcome, Status};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Characters of the arguments that are recorded.
const ARGUMENT_CHARS: usize = 256;

/// Where events are recorded.
#[derive(Clone)]
pub struct AuditLog(Target);

type Sink = dyn Fn(&[u8]) -> io::Result<()> + Send + Sync;

#[derive(Clone)]
enum Target {
    File(PathBuf),
    Sink(Arc<Sink>),
}

impl std::fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AuditLog").field(&self.path()).finish()
    }
}

impl AuditLog {
    /// A log in a file, made with its folder on first use, for its owner alone.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Target::File(path.into()))
    }

    /// A log that hands each line, newline included, to `write`.
    pub fn sink(write: impl Fn(&[u8]) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Target::Sink(Arc::new(write)))
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Target::File(path) => Some(path),
            Target::Sink(_) => None,
        }
    }

    /// Fails if a line could not be written now.
    pub(crate) fn probe(&self) -> Result<(), Error> {
        match &self.0 {
            Target::File(path) => open(path).map(drop).map_err(|source| self.failed(source)),
            Target::Sink(_) => Ok(()),
        }
    }

    pub(crate) fn write(&self, event: &Event<'_>) -> Result<(), Error> {
        let mut line = serde_json::to_vec(event).map_err(|error| self.failed(error.into()))?;
        line.push(b'\n');
        let written = match &self.0 {
            Target::File(path) => open(path).and_then(|mut file| file.write_all(&line)),
            Target::Sink(write) => write(&line),
        };
        written.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.path().unwrap_or(Path::new("-")).to_owned();
        Error::Audit { path, source }
    }
}

fn open(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    let append = || {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            // A FIFO in the log's place would otherwise block the run before it starts.
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
    };
    match append() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().ok_or(error)?;
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            append()
        }
        other => other,
    }
}

/// What happened to a request or a run.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Happened {
    Refused,
    Approved,
    Started,
    Finished,
    Aborted,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Info,
    Warning,
    Error,
}

/// One line of the log.
#[derive(Debug, Serialize)]
pub(crate) struct Event<'a> {
    v: u8,
    time: String,
    event: Happened,
    level: Level,
    run_id: &'a str,
    world: &'a str,
    chat: &'a str,
    skill: &'a str,
    script: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    script_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    script_hash: Option<&'a str>,
    arguments: String,
    grants: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<&'a str>,
    #[serde(flatten)]
    ending: Option<Ending<'a>>,
    previous: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Ending<'a> {
    exit_code: i32,
    status: &'static str,
    signal: Option<&'a str>,
    duration_ms: f64,
    isolation: &'a Isolation,
    stdout_bytes: u64,
    stderr_bytes: u64,
    stdout_truncated: bool,
    stderr_truncated: bool,
    warnings: &'a [String],
}

/// Who asked, for the record.
pub(crate) struct Asked<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) world: &'a str,
    pub(crate) chat: &'a str,
    pub(crate) skill: &'a str,
    pub(crate) script: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) grants: &'a [crate::Grant],
}

impl<'a> Event<'a> {
    fn new(event: Happened, asked: &Asked<'a>) -> Self {
        Self {
            v: 1,
            time: jiff::Timestamp::now().to_string(),
            event,
            level: Level::Info,
            run_id: asked.run_id,
            world: asked.world,
            chat: asked.chat,
            skill: asked.skill,
            script: asked.script,
            script_path: None,
            script_hash: None,
            arguments: shorten(asked.args),
            grants: asked.grants.iter().map(ToString::to_string).collect(),
            reason: None,
            question: None,
            answer: None,
            ending: None,
            previous: None,
        }
    }

    pub(crate) fn refused(asked: &Asked<'a>, reason: String) -> Self {
        Self {
            level: Level::Warning,
            reason: Some(reason),
            ..Self::new(Happened::Refused, asked)
        }
    }

    pub(crate) fn approved(asked: &Asked<'a>, question: &'a str, answer: &'a str) -> Self {
        Self {
            question: Some(question),
            answer: Some(answer),
            ..Self::new(Happened::Approved, asked)
        }
    }

    pub(crate) fn started(permit: &'a Permit) -> Self {
        Self::of_permit(Happened::Started, permit)
    }

    pub(crate) fn aborted(permit: &'a Permit) -> Self {
        Self {
            level: Level::Warning,
            ..Self::of_permit(Happened::Aborted, permit)
        }
    }

    pub(crate) fn finished(permit: &'a Permit, outcome: &'a Outcome) -> Self {
        let level = match outcome.status {
            Status::Signaled | Status::Trapped => Level::Error,
            _ if outcome.warnings.is_empty() => Level::Info,
            _ => Level::Warning,
        };
        let ending = Ending {
            exit_code: outcome.exit_code,
            status: outcome.status.word(),
            signal: outcome.signal.as_deref(),
            duration_ms: outcome.execution_time_ms,
            isolation: &outcome.isolation,
            stdout_bytes: outcome.stdout_bytes,
            stderr_bytes: outcome.stderr_bytes,
            stdout_truncated: outcome.stdout_truncated,
            stderr_truncated: outcome.stderr_truncated,
            warnings: &outcome.warnings,
        };
        Self {
            level,
            ending: Some(ending),
            ..Self::of_permit(Happened::Finished, permit)
        }
    }

    fn of_permit(event: Happened, permit: &'a Permit) -> Self {
        Self {
            script_path: Some(permit.script_path().display().to_string()),
            script_hash: Some(permit.script_hash()),
            ..Self::new(event, &permit.asked())
        }
    }
}

/// The arguments as one line, cut at 256 characters.
fn shorten(args: &[String]) -> String {
    let mut all = String::new();
    for arg in args {
        if !all.is_empty() {
            all.push(' ');
        }
        // A long argument is cut before it is copied: it may be megabytes.
        all.extend(arg.chars().take(ARGUMENT_CHARS + 1));
        if all.chars().count() > ARGUMENT_CHARS {
            return all.chars().take(ARGUMENT_CHARS).chain(['…']).collect();
        }
    }
    all
}
