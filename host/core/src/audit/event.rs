//! The fields of a line, except its position in the chain.

use super::chain::{LineHash, NewHead};
use crate::approver::Approver;
use crate::clock;
use crate::grant::Grant;
use crate::outcome::{Denial, Isolation, Outcome, Status};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::time::SystemTime;

/// Maximum characters of the arguments.
const ARGUMENT_CHARS: usize = 256;
/// Maximum characters of a name, which may be anything that an agent wrote.
const NAME_CHARS: usize = 1024;
/// Maximum characters of a reason, which may repeat such names.
const REASON_CHARS: usize = 4096;
/// Denials in a line; the outcome may have more.
const MAX_DENIALS: usize = 16;
/// The version of the line format.
const VERSION: u8 = 1;

/// What happened to a request or a run.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EventKind {
    Refused,
    Approved,
    Started,
    Finished,
    Aborted,
    /// The log had lines, but its head was missing, unreadable or from an older version.
    NewHead,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Info,
    Warning,
    Error,
}

/// How line number `seq` begins. A line that was cut short starts with this.
pub(super) fn line_prefix(seq: u64) -> String {
    format!("{}\"time\":\"", position_prefix(seq))
}

/// The part of a line before the fields of its event.
fn position_prefix(seq: u64) -> String {
    format!("{{\"v\":{VERSION},\"seq\":{seq},")
}

/// The content of a line, except its position in the chain.
#[derive(Debug, Serialize)]
pub(crate) struct Event<'a> {
    time: String,
    event: EventKind,
    level: Level,
    run_id: &'a str,
    tenant: &'a str,
    session: &'a str,
    skill: String,
    script: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    script_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    script_hash: Option<&'a str>,
    arguments: String,
    grants: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<NewHead>,
    #[serde(flatten)]
    answered: Option<Answered<'a>>,
    /// Who answered the question, or typed the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    approver: Option<&'a Approver>,
    #[serde(flatten)]
    result: Option<RunResult<'a>>,
    /// What the operator says about the tenant. An object of its own, so that none of its keys replaces one of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<&'a BTreeMap<String, String>>,
}

/// A question and the answer that a person gave.
#[derive(Debug, Serialize)]
pub(crate) struct Answered<'a> {
    pub(crate) question: &'a str,
    pub(crate) answer: &'a str,
    /// The hash of everything in the skill.
    pub(crate) content_hash: Option<&'a str>,
    pub(crate) workspace: Option<String>,
}

#[derive(Debug, Serialize)]
struct RunResult<'a> {
    exit_code: i32,
    status: &'static str,
    signal: Option<&'a str>,
    duration_ms: f64,
    isolation: &'a Isolation,
    stdout_bytes: u64,
    stderr_bytes: u64,
    stdout_truncated: bool,
    stderr_truncated: bool,
    denied: &'a [Denial],
    warnings: &'a [String],
}

/// The request or run that an event is about.
#[derive(Debug, Default)]
pub(crate) struct RunInfo<'a> {
    pub(crate) run_id: &'a str,
    pub(crate) tenant: &'a str,
    pub(crate) session: &'a str,
    pub(crate) skill: &'a str,
    pub(crate) script: &'a str,
    /// The script's real path, once it was found.
    pub(crate) script_path: Option<String>,
    /// The SHA-256 of the script, once it was read.
    pub(crate) script_hash: Option<&'a str>,
    pub(crate) args: &'a [String],
    pub(crate) grants: &'a [Grant],
    /// The audit fields of the tenant.
    pub(crate) fields: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Event<'a> {
    fn new(event: EventKind, run: RunInfo<'a>) -> Self {
        Self {
            time: jiff::Timestamp::now().to_string(),
            event,
            level: Level::Info,
            run_id: run.run_id,
            tenant: run.tenant,
            session: run.session,
            skill: truncate(run.skill, NAME_CHARS),
            script: truncate(run.script, NAME_CHARS),
            script_path: run.script_path,
            script_hash: run.script_hash,
            arguments: join_arguments(run.args),
            grants: run.grants.iter().map(ToString::to_string).collect(),
            reason: None,
            head: None,
            answered: None,
            approver: None,
            result: None,
            fields: run.fields.filter(|fields| !fields.is_empty()),
        }
    }

    pub(crate) fn refused(run: RunInfo<'a>, reason: &str) -> Self {
        Self {
            level: Level::Warning,
            reason: Some(truncate(reason, REASON_CHARS)),
            ..Self::new(EventKind::Refused, run)
        }
    }

    /// A new head was created for the log.
    pub(super) fn new_head(why: NewHead) -> Self {
        let level = match why.is_update() {
            true => Level::Warning,
            false => Level::Error,
        };
        Self {
            level,
            reason: Some(why.reason().to_owned()),
            head: Some(why),
            ..Self::new(EventKind::NewHead, RunInfo::default())
        }
    }

    /// The same, because a person did not say yes, or because the skill changed.
    pub(crate) fn refused_answer(
        run: RunInfo<'a>,
        reason: &str,
        answered: Answered<'a>,
        approver: &'a Approver,
    ) -> Self {
        Self {
            answered: Some(answered),
            approver: Some(approver),
            ..Self::refused(run, reason)
        }
    }

    pub(crate) fn approved(
        run: RunInfo<'a>,
        answered: Answered<'a>,
        approver: &'a Approver,
    ) -> Self {
        Self {
            answered: Some(answered),
            approver: Some(approver),
            ..Self::new(EventKind::Approved, run)
        }
    }

    /// `approver` is who typed the request, if somebody did. Who answered a question is in the line before.
    pub(crate) fn started(run: RunInfo<'a>, approver: Option<&'a Approver>) -> Self {
        Self {
            approver,
            ..Self::new(EventKind::Started, run)
        }
    }

    pub(crate) fn aborted(run: RunInfo<'a>) -> Self {
        Self {
            level: Level::Warning,
            ..Self::new(EventKind::Aborted, run)
        }
    }

    pub(crate) fn finished(run: RunInfo<'a>, outcome: &'a Outcome) -> Self {
        let level = match outcome.status {
            Status::Signaled | Status::Trapped => Level::Error,
            _ if outcome.warnings.is_empty() => Level::Info,
            _ => Level::Warning,
        };
        let result = RunResult {
            exit_code: outcome.exit_code,
            status: outcome.status.word(),
            signal: outcome.signal.as_deref(),
            duration_ms: outcome.execution_time_ms,
            isolation: &outcome.isolation,
            stdout_bytes: outcome.stdout_bytes,
            stderr_bytes: outcome.stderr_bytes,
            stdout_truncated: outcome.stdout_truncated,
            stderr_truncated: outcome.stderr_truncated,
            denied: &outcome.denied[..outcome.denied.len().min(MAX_DENIALS)],
            warnings: &outcome.warnings,
        };
        Self {
            level,
            result: Some(result),
            ..Self::new(EventKind::Finished, run)
        }
    }

    /// The same at another time than now.
    pub(super) fn at(mut self, time: SystemTime) -> Self {
        self.time = clock::text(time);
        self
    }

    /// The fields, owned and ready to be written by another thread.
    pub(super) fn fields(&self) -> io::Result<Fields> {
        Ok(Fields {
            json: serde_json::to_vec(self)?,
            ends_run: matches!(self.event, EventKind::Finished | EventKind::Aborted),
        })
    }
}

/// The fields of an event as a JSON object. Its position in the chain is added when it is written.
#[derive(Debug)]
pub(super) struct Fields {
    json: Vec<u8>,
    ends_run: bool,
}

impl Fields {
    pub(super) fn bytes(&self) -> usize {
        self.json.len()
    }

    /// Whether it records the end of a run whose start is recorded.
    pub(super) fn ends_run(&self) -> bool {
        self.ends_run
    }

    /// Appends the line at this position in the chain to `text`, without a newline.
    pub(super) fn push_line(&self, seq: u64, previous: Option<LineHash>, text: &mut Vec<u8>) {
        text.extend(position_prefix(seq).as_bytes());
        // Without the braces.
        let fields = self.json.get(1..self.json.len() - 1);
        text.extend(fields.unwrap_or_default());
        match previous {
            Some(hash) => {
                text.extend(b",\"previous\":\"");
                text.extend(hash.digits());
                text.extend(b"\"}");
            }
            None => text.extend(b",\"previous\":null}"),
        }
    }
}

/// Truncates a text that is too long, and marks the cut with `…`.
fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The arguments as one line, truncated to 256 characters.
fn join_arguments(args: &[String]) -> String {
    let mut all = String::new();
    for arg in args {
        if !all.is_empty() {
            all.push(' ');
        }
        // Truncated before it is copied: an argument may be megabytes long.
        all.extend(arg.chars().take(ARGUMENT_CHARS + 1));
        if all.chars().count() > ARGUMENT_CHARS {
            return all.chars().take(ARGUMENT_CHARS).chain(['…']).collect();
        }
    }
    all
}
