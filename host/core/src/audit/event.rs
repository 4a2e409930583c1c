//! What is recorded: the fields of a line, but for its place in the chain.

use super::chain::LineHash;
use crate::decision::Permit;
use crate::outcome::{Isolation, Outcome, Status};
use serde::Serialize;

/// Characters of the arguments that are recorded.
const ARGUMENT_CHARS: usize = 256;
/// Characters of a name, which may be anything that an agent wrote.
const NAME_CHARS: usize = 1024;
/// Characters of a reason, which may repeat such names.
const REASON_CHARS: usize = 4096;
/// The version of the line format.
const VERSION: u8 = 1;

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

/// One line of the log, at its place in the chain.
#[derive(Serialize)]
struct Line<'a> {
    v: u8,
    seq: u64,
    #[serde(flatten)]
    event: &'a Event<'a>,
    previous: Option<LineHash>,
}

/// How the line with the number `seq` begins: what is left of one that was cut short.
pub(super) fn beginning(seq: u64) -> String {
    format!("{{\"v\":{VERSION},\"seq\":{seq},\"time\":\"")
}

/// What a line says, but for its place in the chain.
#[derive(Debug, Serialize)]
pub(crate) struct Event<'a> {
    time: String,
    event: Happened,
    level: Level,
    run_id: &'a str,
    world: &'a str,
    chat: &'a str,
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
    #[serde(flatten)]
    answered: Option<Answered<'a>>,
    #[serde(flatten)]
    ending: Option<Ending<'a>>,
}

/// What a person was asked, and said.
#[derive(Debug, Serialize)]
struct Answered<'a> {
    question: &'a str,
    answer: &'a str,
    /// Of all that the skill held.
    content_hash: Option<&'a str>,
    workspace: Option<String>,
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
            time: jiff::Timestamp::now().to_string(),
            event,
            level: Level::Info,
            run_id: asked.run_id,
            world: asked.world,
            chat: asked.chat,
            skill: cut(asked.skill, NAME_CHARS),
            script: cut(asked.script, NAME_CHARS),
            script_path: None,
            script_hash: None,
            arguments: shorten(asked.args),
            grants: asked.grants.iter().map(ToString::to_string).collect(),
            reason: None,
            answered: None,
            ending: None,
        }
    }

    pub(crate) fn refused(asked: &Asked<'a>, reason: String) -> Self {
        Self {
            level: Level::Warning,
            reason: Some(cut(&reason, REASON_CHARS)),
            ..Self::new(Happened::Refused, asked)
        }
    }

    /// A person's answer to the question `question`.
    pub(crate) fn approved(permit: &'a Permit, question: &'a str, answer: &'a str) -> Self {
        Self {
            answered: Some(Answered {
                question,
                answer,
                content_hash: permit.approved.as_deref(),
                workspace: permit.workspace_path(),
            }),
            ..Self::of_permit(Happened::Approved, permit)
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

    /// The line's bytes without a newline, at its place in the chain.
    pub(super) fn line(
        &self,
        seq: u64,
        previous: Option<LineHash>,
    ) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Line {
            v: VERSION,
            seq,
            event: self,
            previous,
        })
    }

    fn of_permit(event: Happened, permit: &'a Permit) -> Self {
        Self {
            script_path: Some(permit.script_path().display().to_string()),
            script_hash: Some(permit.script_hash()),
            ..Self::new(event, &permit.asked())
        }
    }
}

/// A text, cut visibly where it is too long.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
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
