//! The reason why a request may not run.

use crate::files::show;
use crate::grant::Grant;
use std::fmt;
use std::time::Duration;

/// Why a request may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The check that failed.
    pub check: Check,
    /// What failed, and on what.
    pub message: String,
    /// What to do about it, if anything helps.
    pub hint: Option<String>,
    /// What else the caller can do. A front end has its own words for it.
    pub remedy: Option<Remedy>,
    /// When to try again, if only waiting helps.
    pub retry_after: Option<Duration>,
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
    /// What it uses and the permit belong to the tenant that runs it.
    Tenant,
    /// The tenant's quota allows it to run or to wait.
    Quota,
}

/// A change of the request that would allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// This grant, requested and added with [`Policy::and_allow`](crate::Policy::and_allow).
    Grant(Grant),
    /// [`Request::follow`](crate::Request::follow), if whoever makes the request trusts the link.
    FollowLinks,
    /// [`Paths::Virtual`](crate::Paths::Virtual).
    VirtualPaths,
    /// A skill for the [`Expander`](crate::Expander).
    AddSkill,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant(grant) => write!(f, "grant `{}`", show(&grant.to_string())),
            Self::FollowLinks => f.write_str("follow links, if this one is yours"),
            Self::VirtualPaths => f.write_str("use virtual paths"),
            Self::AddSkill => f.write_str("add the skill"),
        }
    }
}

/// ` of tenant NAME`, for messages. A host with one tenant need not name it.
pub(crate) fn of_tenant(tenant: &str) -> String {
    match tenant {
        "" => String::new(),
        name => format!(" of tenant `{}`", show(name)),
    }
}

impl Refusal {
    /// A refusal without a hint.
    pub fn new(check: Check, message: impl Into<String>) -> Self {
        Self {
            check,
            message: message.into(),
            hint: None,
            remedy: None,
            retry_after: None,
        }
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The same with a remedy.
    #[must_use]
    pub(crate) fn remedy(self, remedy: Remedy) -> Self {
        Self {
            remedy: Some(remedy),
            ..self
        }
    }

    /// The hint and the remedy as one text. `say` says the remedy in the words of a front end.
    pub fn advice(&self, say: impl FnOnce(&Remedy) -> String) -> Option<String> {
        match (&self.hint, self.remedy.as_ref().map(say)) {
            (Some(hint), Some(remedy)) => Some(format!("{hint}, or {remedy}")),
            (hint, remedy) => remedy.or_else(|| hint.clone()),
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
        match self.advice(Remedy::to_string) {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}
