//! The reason why a request may not run.

use std::fmt;

/// Why a request may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The check that failed.
    pub check: Check,
    /// What failed, and on what.
    pub message: String,
    /// What to do about it, if anything helps.
    pub hint: Option<String>,
}

/// The checks before a run, roughly in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Check {
    /// The policy is trusted and covers the skill.
    Policy,
    /// The script exists and its name is unambiguous.
    Script,
    /// Its path stays inside the skill and is UTF-8 where it has to be.
    Path,
    /// It has no setuid or setgid bit; no other user can change a command.
    Permission,
    /// Its interpreter is allowed.
    Interpreter,
    /// The skill's `allowed-tools` allow it.
    AllowedTools,
    /// There is a runtime for it.
    Runtime,
    /// Arguments, input and limits are within what any run may request.
    Request,
    /// The limits are within what the policy allows.
    Limits,
    /// Every grant is in the policy.
    Grants,
    /// What the policy demands can be enforced on this machine.
    Isolation,
    /// A person approved it, if one has to be asked.
    Approval,
}

impl Refusal {
    pub(crate) fn new(check: Check, message: impl Into<String>) -> Self {
        Self {
            check,
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

    /// The first word of its message: `refused` if the run could be allowed, `error` otherwise.
    pub fn word(&self) -> &'static str {
        match self.check {
            Check::Script | Check::Runtime | Check::Request => "error",
            _ => "refused",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.word(), self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}
