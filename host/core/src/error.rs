//! Failures of the host.
//!
//! A script that misbehaves is an [`Outcome`](crate::Outcome), a run that is not allowed is a
//! [`Refusal`](crate::Refusal); neither is an error.

use crate::refusal::Refusal;
use std::io;
use std::path::PathBuf;

/// A failure of the host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The audit record could not be written, so nothing ran.
    #[error("cannot write the audit log `{}`: {}", path.display(), crate::files::plain(source))]
    Audit {
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The approvals could not be read or written, so nothing ran.
    #[error("cannot use the approvals file `{}`: {why}", path.display())]
    Approvals {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
        /// What would help, if anything would.
        hint: Option<String>,
    },
    /// The audit fields of a tenant are more, or longer, than every line may have.
    #[error("cannot configure tenant `{}`: {why}", crate::files::show(tenant))]
    AuditFields {
        /// The tenant.
        tenant: String,
        /// What is too much.
        why: String,
    },
    /// The audit log could not be read.
    #[error("cannot read the audit log `{}`: {}", crate::files::show(&path.display().to_string()), crate::files::plain(source))]
    AuditRead {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A runtime could not be made ready.
    #[error("cannot prepare the runtime `{runtime}`: {why}")]
    Runtime {
        /// The runtime's name.
        runtime: &'static str,
        /// Why.
        why: String,
    },
    /// Two runtimes of a host have the same name.
    #[error("two runtimes are named `{name}`")]
    DuplicateRuntime {
        /// The name.
        name: &'static str,
    },
    /// A workspace that was given as bytes could not be written.
    #[error("cannot write the files of the workspace: {0}")]
    Workspace(String),
    /// The sandbox could not be built.
    #[error("cannot build the sandbox: {0}")]
    Sandbox(String),
    /// So many runs are stuck in host calls that no further run is started.
    #[error("{count} runs are stuck in host calls, so no further run is started")]
    Stuck {
        /// How many.
        count: usize,
    },
    /// The run was stopped because its async runtime has shut down.
    #[error("the run was stopped: the async runtime has shut down")]
    Stopped,
}

/// Why a permitted run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The skill changed after it was checked, the tenant's quota is used up, or the permit belongs to another tenant, so
    /// nothing ran.
    #[error("{0}")]
    Refused(Refusal),
    /// The host failed.
    #[error(transparent)]
    Host(#[from] Error),
}
