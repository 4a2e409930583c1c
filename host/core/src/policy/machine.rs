//! The policy of root, a ceiling for every other policy on the machine.
//!
//! A host reads it for each decision, so it binds the command line, servers and programs that embed the library alike, and
//! a change binds a host that is already running. An embedder cannot turn it off: an option to do so would be set by
//! whoever finds the ceiling in the way.
//!
//! It only counts if root alone can have written it. Otherwise nothing runs: whoever replaced it may have removed what it
//! forbids.

use super::{Policy, PolicyError, PolicyFile, shown};
use crate::files::plain;
use crate::ownership::{Ownership, other_writer};
use std::borrow::Cow;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

impl Policy {
    /// Where root's policy is. No variable changes this path: whoever sets it could avoid the ceiling.
    pub const OF_MACHINE: &str = "/etc/skillrun/skillrun.toml";

    /// The policy of root, if there is one. Fails if it cannot be read, or if a user other than root may have written it.
    ///
    /// Its sections with `~` cover no skill: everyone chooses their own `HOME`. Blocks: call it from a blocking thread.
    pub fn of_machine() -> Result<Option<Self>, PolicyError> {
        root_policy(Path::new(Self::OF_MACHINE))
    }

    /// This policy below the policy of root. [`Host`](crate::Host) does the same for every decision; this is for a program
    /// that shows what is in force. Reads that policy, so it blocks: call it from a blocking thread.
    pub fn bounded_by_machine(self) -> Result<Self, PolicyError> {
        let bounded = bounded(&self)?.into_owned();
        Ok(bounded)
    }
}

/// A policy below the policy of root, unless it already is.
pub(crate) fn bounded(policy: &Policy) -> Result<Cow<'_, Policy>, PolicyError> {
    Ok(match Policy::of_machine()? {
        Some(ceiling) if !policy.ceilings.contains(&ceiling) => {
            Cow::Owned(policy.clone().bounded_by(ceiling))
        }
        _ => Cow::Borrowed(policy),
    })
}

fn root_policy(path: &Path) -> Result<Option<Policy>, PolicyError> {
    let found = path.symlink_metadata();
    if found.is_err_and(|error| matches!(error.kind(), NotFound | NotADirectory)) {
        return Ok(None);
    }
    for part in path.parent().into_iter().chain([path]) {
        let fail = |why: &str, hint: &str| {
            let error = PolicyError::new(format!("`{}` {why}", shown(part)));
            let hint = format!("{hint}; {} is a ceiling for every policy", shown(path));
            error.with_hint(hint)
        };
        let found = Ownership::at(part).map_err(|error| {
            let why = format!("cannot be read: {}", plain(&error));
            fail(&why, "every user must be able to read it")
        })?;
        let meta = found.metadata();
        if meta.is_symlink() {
            return Err(fail("is a link", "replace it with what it points to"));
        }
        if meta.uid() != 0 {
            return Err(fail("does not belong to root", "only root may write it"));
        }
        if meta.mode() & 0o022 != 0 || other_writer(&found).is_some() {
            let why = "may be written by users other than root";
            return Err(fail(why, "only root may write it"));
        }
    }
    PolicyFile::read(path)?.parse().map(Some)
}
