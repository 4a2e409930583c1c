//! What executes a script, behind one interface.
//!
//! A runtime builds its sandbox from the [`Permit`] alone and leaves nothing behind in the end. What the script
//! did comes back as [`Ended`]; an error means that the host failed.

pub(crate) mod cache;
pub(crate) mod environment;
pub(crate) mod native;
pub(crate) mod output;
pub(crate) mod scratch;
pub(crate) mod sealed;
pub(crate) mod wasm;

use crate::decision::{Permit, Refusal, Runs};
use crate::error::Error;
use crate::outcome::{Isolation, Status, Usage};
use crate::request::Tier;
use crate::skill::Language;
use bytes::Bytes;
use output::Kept;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;

/// A future that a runtime can hold on to.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What executes scripts.
pub(crate) trait Runtime: Send + Sync {
    /// The name in outcomes and listings.
    fn name(&self) -> &'static str;
    /// Whether it executes scripts of `language` where `tier` was asked for.
    fn runs(&self, language: Language, tier: Tier) -> Runs;
    /// Whether what was permitted can be held here as firmly as the policy demands: tried, not assumed.
    fn holds(&self, permit: &Permit) -> Result<(), Refusal>;
    /// Whether it can run scripts at once.
    fn is_prepared(&self) -> Result<bool, Error>;
    /// Does what takes long and is done once on a machine; returns what went wrong without making it
    /// unusable.
    fn prepare(&self) -> BoxFuture<'_, Result<Option<String>, Error>>;
    /// Runs the script; returns when it has ended and can touch nothing any more.
    fn run<'a>(&'a self, permit: &'a Permit, live: Live) -> BoxFuture<'a, Result<Ended, Error>>;
    /// Waits until nothing of the runs that ended is left; says what stays behind.
    fn clean_up(&self) -> BoxFuture<'_, Option<String>>;
}

/// What connects a run to the outside while it goes on.
#[derive(Default)]
pub struct Live {
    /// Read as the script's standard input if the request has no `input`; otherwise the script finds
    /// the end of its input at once.
    pub stdin: Option<Box<dyn AsyncRead + Send + Sync + Unpin>>,
    /// Gets the output as it comes. If nobody receives, the script waits; if the receiver is gone,
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
    /// Where it was written.
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

/// What a script did.
pub(crate) struct Ended {
    pub(crate) status: Status,
    pub(crate) exit_code: i32,
    /// The number of the signal that ended it, if one did.
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
    pub(crate) time: Duration,
    pub(crate) usage: Usage,
    pub(crate) isolation: Isolation,
    pub(crate) warnings: Vec<String>,
}
