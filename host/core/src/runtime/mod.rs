//! What executes a script, behind one interface.
//!
//! A runtime builds its sandbox from the [`Permit`] alone and leaves nothing behind. It returns what the script did as
//! [`Ended`]; an error means that the host failed.

pub(crate) mod artifacts;
mod blocking;
pub(crate) mod cache;
pub(crate) mod denials;
pub(crate) mod environment;
pub(crate) mod native;
mod other_paths;
pub(crate) mod output;
pub(crate) mod protected;
pub(crate) mod pump;
pub(crate) mod queue;
pub(crate) mod raw_paths;
pub(crate) mod scratch;
mod stuck;
pub(crate) mod teardown;
pub(crate) mod wasm;

pub use self::native::{NativeState, expect_native_script};
pub use self::output::Output;
pub use self::wasm::{Wall, Workers, serve_if_worker};

/// Whether this build has the hole for the tests of the second wall. No program that others use may have it.
#[doc(hidden)]
pub const HAS_HOLE: bool = cfg!(feature = "hole");
pub use crate::plan::RunsIn;
pub use crate::workspace::{LeftOut, PrivateWorkspace, ReturnedFiles, Workspace, WorkspaceError};
pub use skillrun_runtimes::third_party_licenses;

use crate::audit::Written;
use crate::decision::Permit;
use crate::error::Error;
use crate::limits::Limit;
use crate::outcome::{Artifact, Denial, Isolation, Status, Usage};
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::skill::Language;
use crate::tier::Tier;
use bytes::Bytes;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use teardown::Teardown;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;

/// A future that a runtime can store.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What executes scripts. The host decides, records, counts slots and removes scratch directories; a runtime only runs.
pub trait Runtime: Send + Sync {
    /// The name in outcomes and listings; no two runtimes of a host share one.
    fn name(&self) -> &'static str;
    /// Whether it executes scripts of `language` if `tier` was requested.
    fn runs(&self, language: Language, tier: Tier) -> RunsIn;
    /// Whether this machine can enforce the plan's limits and mounts as strictly as the policy demands: probed, not
    /// assumed.
    fn can_enforce(&self, plan: &Plan) -> Result<(), Refusal>;
    /// Whether it can run scripts immediately.
    fn is_prepared(&self) -> Result<bool, Error> {
        Ok(true)
    }
    /// Does the slow work that is needed once on a machine; returns a warning if the runtime can be used but not
    /// stored.
    fn prepare(&self) -> BoxFuture<'_, Result<Option<String>, Error>> {
        Box::pin(async { Ok(None) })
    }
    /// The isolation of its runs, as far as it is known before they start.
    fn isolation(&self) -> Isolation;
    /// Runs the script; returns when it has ended and can touch nothing any more. Whatever still runs after that, or after
    /// the future was dropped, keeps the `context`: its scratch directory and its slot are freed with it.
    fn run<'a>(
        &'a self,
        permit: Arc<Permit>,
        context: RunContext,
    ) -> BoxFuture<'a, Result<Ended, Error>>;
}

/// What the host gives to a run besides its permit.
pub struct RunContext {
    /// The script's standard input, if the request has no `input`.
    pub stdin: Option<Stdin>,
    /// Its standard output.
    pub stdout: Output,
    /// Its standard error.
    pub stderr: Output,
    /// Stops the script when it resolves; the status is then `cancelled`.
    pub stop: Option<BoxFuture<'static, ()>>,
    /// Receives what the script is denied.
    pub(crate) denied: Option<mpsc::UnboundedSender<Denial>>,
    /// Its private directory and its slot, freed when this is dropped: not before everything else of the run is.
    pub(crate) teardown: Teardown,
    /// The lines of the run in the audit log, if the runtime writes them.
    pub(crate) record: Record,
}

/// Called with the end of a run.
pub(crate) type Finish = Box<dyn FnOnce(&Ended) + Send>;

/// The lines of a run in the audit log. The host writes them, except for a runtime whose thread may block: there, that thread
/// does, because handing a line over to another one takes longer than to write it.
#[derive(Default)]
pub(crate) struct Record {
    /// The line `started`. Nothing may run before it is written.
    pub(crate) started: Option<Written>,
    /// Writes the line `finished`.
    pub(crate) finish: Option<Finish>,
}

impl RunContext {
    /// Opens the run's private directory, which is removed after the run. It is made when this is first called.
    pub fn scratch(&self) -> std::io::Result<std::os::fd::OwnedFd> {
        match self.teardown.scratch() {
            Some(scratch) => scratch.open(),
            None => Err(std::io::ErrorKind::NotFound.into()),
        }
    }
}

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext").finish_non_exhaustive()
    }
}

/// A script's standard input.
pub type Stdin = Box<dyn AsyncRead + Send + Sync + Unpin>;

/// The state of a runtime on this machine.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RuntimeState {
    /// Its name.
    pub name: &'static str,
    /// The version of its interpreter.
    pub version: &'static str,
    /// The tier it runs in.
    pub tier: &'static str,
    /// Whether it is compiled for this machine.
    pub prepared: bool,
    /// Where the compiled file is, or will be.
    pub file: PathBuf,
}

/// The connections of a run to its caller while it runs.
#[derive(Default)]
pub struct Live {
    /// The script's standard input, if the request has no `input`. Without either, the script reads end of file
    /// immediately.
    pub stdin: Option<Stdin>,
    /// Receives the output as it is written. If the channel is full, the script waits; if the receiver was dropped,
    /// the script sees a closed pipe.
    pub output: Option<mpsc::Sender<Chunk>>,
    /// Stops the script when it resolves; the outcome is then `cancelled`.
    pub stop: Option<BoxFuture<'static, ()>>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").finish_non_exhaustive()
    }
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The stream it was written to.
    pub stream: Stream,
    /// What was written.
    pub bytes: Bytes,
}

/// One of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a script ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How it ended.
    pub status: Status,
    /// Its exit code, or what stands for it in the outcome.
    pub exit_code: i32,
    /// The number of the signal that ended it, if one did.
    pub signal: Option<i32>,
    /// From its first instruction to its last.
    pub time: Duration,
    /// What it used.
    pub usage: Usage,
    /// What it was denied.
    pub denied: Vec<Denial>,
    /// Whether it was denied more than that.
    pub denied_truncated: bool,
    /// The files that it created, changed or removed in writable directories, if the plan asks for them.
    pub artifacts: Vec<Artifact>,
    /// Whether there may be more.
    pub artifacts_truncated: bool,
    /// What was enforced.
    pub isolation: Isolation,
    /// What its reader should know.
    pub warnings: Vec<String>,
    /// The limits that it hit, besides those that [`Self::status`] and truncated output tell.
    pub limits_hit: Vec<Limit>,
}

impl Ended {
    /// The end of a run that was stopped before it started.
    pub(crate) fn cancelled_before_start(isolation: Isolation) -> Self {
        Self::before_start(Status::Cancelled, 130, isolation)
    }

    /// The end of a run whose script did not start.
    pub(crate) fn before_start(status: Status, exit_code: i32, isolation: Isolation) -> Self {
        Self {
            status,
            exit_code,
            signal: None,
            time: Duration::ZERO,
            usage: Usage::default(),
            denied: Vec::new(),
            denied_truncated: false,
            artifacts: Vec::new(),
            artifacts_truncated: false,
            isolation,
            warnings: Vec::new(),
            limits_hit: Vec::new(),
        }
    }
}
