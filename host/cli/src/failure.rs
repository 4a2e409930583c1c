//! What went wrong, as an exit code, a message and a hint.

use serde_json::json;
use skillrun::{Error, PolicyError, Refusal, SkillError, TrustError};
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

/// The host failed, or what was typed makes no sense.
pub(crate) const HOST: u8 = 125;
/// A policy, an approval or missing isolation forbids it.
pub(crate) const REFUSED: u8 = 126;
/// A skill, a script or an interpreter is not there.
pub(crate) const NOT_FOUND: u8 = 127;
/// After Ctrl-C, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) word: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn host(message: impl Into<String>) -> Self {
        Self {
            code: HOST,
            word: "error",
            message: message.into(),
            hint: None,
        }
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
            SkillError::Ambiguous { .. } => Some("name the one that is meant by its path".into()),
            SkillError::Invalid { .. } => None,
        };
        Self {
            code: NOT_FOUND,
            word: "error",
            message,
            hint,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let (code, word) = (refusal.exit_code(), refusal.word());
        Self {
            code,
            word,
            message: refusal.message,
            hint: refusal.hint,
        }
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        Self {
            code: REFUSED,
            word: "refused",
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }
    }
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        Self {
            code: REFUSED,
            word: "refused",
            message: error.to_string(),
            hint: None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::host(error.to_string());
        match error {
            Error::Approvals { hint, .. } => Self {
                code: REFUSED,
                word: "refused",
                hint,
                ..failure
            },
            Error::Audit { .. } => {
                failure.hint("nothing ran; name another place with XDG_STATE_HOME")
            }
            _ => failure,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::host(plain(&error))
    }
}

/// Prints a failure where its reader looks for it and returns its exit code.
pub(crate) fn report(failure: &Failure, json: bool) -> ExitCode {
    if json {
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
        let _ = writeln!(crate::output::json(), "{object}");
    } else {
        say(failure.word, &failure.message);
        if let Some(hint) = &failure.hint {
            say("hint", hint);
        }
    }
    ExitCode::from(failure.code)
}

/// The system's words for an error, without its number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// Prints `word: text` to stderr, in colour on a terminal.
///
/// A message repeats what skills, models and files hold; it is one line, and whoever made the message need not
/// have thought of that.
pub(crate) fn say(word: &str, text: &str) {
    let text = skillrun::show_name(text);
    let mut stderr = std::io::stderr();
    let colour = match word {
        "error" | "refused" => "1;31",
        "warning" => "1;33",
        _ => "1;36",
    };
    let _ = if stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        writeln!(stderr, "\u{1b}[{colour}m{word}:\u{1b}[0m {text}")
    } else {
        writeln!(stderr, "{word}: {text}")
    };
}

/// Help and version are answers; anything else clap says is a mistake in what was typed. `run` keeps
/// 2 for the scripts, which use it for the same.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let runs = std::env::args_os()
        .nth(1)
        .is_some_and(|command| command == "run");
    match (error.use_stderr(), runs) {
        (false, _) => ExitCode::SUCCESS,
        (true, true) => ExitCode::from(HOST),
        (true, false) => ExitCode::from(2),
    }
}
