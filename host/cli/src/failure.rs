//! Errors of the command line: an exit code, a message and a hint.

use serde_json::json;
use skillrun::policy::{PolicyError, Remedy, TrustError};
use skillrun::skill::SkillError;
use skillrun::{Check, Error, Refusal, RunError};
pub(crate) use skillrun_skill::files::plain;
use skillrun_skill::text::{shell_word, show};
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

/// The host failed, or the usage was wrong.
pub(crate) const HOST: u8 = 125;
/// A policy, an approval or missing isolation forbids it.
pub(crate) const REFUSED: u8 = 126;
/// A skill, a script or an interpreter does not exist.
pub(crate) const NOT_FOUND: u8 = 127;
/// After Ctrl-C, as in shells.
pub(crate) const INTERRUPTED: u8 = 130;

/// An error, or a refusal.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) label: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn host(message: impl Into<String>) -> Self {
        Self {
            code: HOST,
            label: "error",
            message: message.into(),
            hint: None,
        }
    }

    /// The reader of the output has closed it: the command ends without a message.
    fn closed_pipe() -> Self {
        Self {
            code: 0,
            label: "",
            message: String::new(),
            hint: None,
        }
    }

    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.label.is_empty()
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl From<SkillError> for Failure {
    fn from(error: SkillError) -> Self {
        let message = error.to_string();
        let hint = match error {
            SkillError::NotFound { hint, .. } => Some(hint),
            SkillError::Ambiguous { .. } => Some("name the skill by its path".into()),
            SkillError::NotWritten { .. } => Some("set TMPDIR to another directory".into()),
            SkillError::Invalid { .. } => None,
        };
        Self {
            code: NOT_FOUND,
            label: "error",
            message,
            hint,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.check {
            Check::Script | Check::Runtime => NOT_FOUND,
            Check::Request => HOST,
            _ => REFUSED,
        };
        Self {
            code,
            label: refusal.word(),
            hint: hint(&refusal),
            message: refusal.message,
        }
    }
}

/// The hint of a refusal, with the flag that would allow it.
pub(crate) fn hint(refusal: &Refusal) -> Option<String> {
    refusal.advice(|remedy| match remedy {
        Remedy::Grant(grant) => match shell_word(&grant.to_string()) {
            Some(grant) => format!("pass --allow {grant}"),
            None => "pass it with --allow".to_owned(),
        },
        Remedy::FollowLinks => "pass --follow if the link is yours".into(),
        Remedy::VirtualPaths => "pass --virtual-paths".into(),
        Remedy::AddSkill => "name the skill with --skill".into(),
        other => other.to_string(),
    })
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        Self {
            code: REFUSED,
            label: "refused",
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }
    }
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        Self {
            code: REFUSED,
            label: "refused",
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::host(error.to_string());
        match error {
            Error::Approvals { hint, .. } => Self {
                code: REFUSED,
                label: "refused",
                hint,
                ..failure
            },
            Error::Audit { .. } => {
                failure.hint("nothing ran; set XDG_STATE_HOME to another directory")
            }
            Error::Stuck { .. } => failure.hint("check the file systems of their workspaces"),
            _ => failure,
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Refused(refusal) => refusal.into(),
            RunError::Host(error) => error.into(),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::closed_pipe();
        }
        Self::host(plain(&error))
    }
}

/// Ignores a closed pipe, as in `skillrun … | head`, for commands whose exit code reports more than that the output was
/// written.
pub(crate) fn ignore_closed_pipe(written: Result<(), impl Into<Failure>>) -> Result<(), Failure> {
    match written.map_err(Into::into) {
        Err(failure) if failure.is_closed_pipe() => Ok(()),
        written => written,
    }
}

/// Prints a failure, as JSON to stdout or as text to stderr, and returns its exit code.
pub(crate) fn report(failure: &Failure, json: bool) -> ExitCode {
    if failure.is_closed_pipe() {
        // There is no reader.
    } else if json {
        let kind = match failure.code {
            REFUSED => "refused",
            NOT_FOUND => "not_found",
            _ => "error",
        };
        let Failure {
            code,
            message,
            hint,
            ..
        } = failure;
        let object =
            json!({"error": {"kind": kind, "message": message, "hint": hint}, "exit_code": code});
        // Where stdout cannot be written, as on a full disk, the text is better than silence.
        if writeln!(crate::output::json(), "{object}").is_err() {
            print_text(failure);
        }
    } else {
        print_text(failure);
    }
    ExitCode::from(failure.code)
}

fn print_text(failure: &Failure) {
    print_message(failure.label, &failure.message);
    if let Some(hint) = &failure.hint {
        print_message("hint", hint);
    }
}

/// Prints `label: text` to stderr, in colour on a terminal.
///
/// A message may repeat text of skills, models and files. It is escaped here and stays on one line, so that no caller
/// has to do it.
pub(crate) fn print_message(label: &str, text: &str) {
    let text = show(text);
    let mut stderr = std::io::stderr();
    let colour = match label {
        "error" | "refused" => "1;31",
        "warning" => "1;33",
        _ => "1;36",
    };
    let _ = if stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        writeln!(stderr, "\u{1b}[{colour}m{label}:\u{1b}[0m {text}")
    } else {
        writeln!(stderr, "{label}: {text}")
    };
}
