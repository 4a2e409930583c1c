//! Guests in processes of their own, behind a second wall.
//!
//! The engine is the first wall: a guest can only call what it imports. If that wall has a hole, the process around it is
//! the second one: a worker has no files but the handles of its run, no network, no other processes and no privileges
//! (`skillrun_confine::wall`). A crash of a worker ends its own run and no other.
//!
//! The host decides, records and removes; a worker only runs jobs, one after the other. What it sends is treated as the
//! output of a hostile program: every frame has a limit, no handle is accepted, and nothing that it says is believed beyond
//! its own run.
//!
//! A worker serves one run at a time. Several at once would save a megabyte or two for each, but a crash would end
//! all of them, and one that hangs in a file call could not be killed.
//!
//! Where namespaces are forbidden, Landlock confines a worker to the handles of its run, so it serves one run only
//! ([`WallKind::Landlock`]). The host chooses the kind of the wall, once: a worker that cannot have that kind runs nothing.

mod client;
mod connection;
mod pool;
mod run;
mod server;
mod wire;

pub(crate) use pool::Pool;
pub(super) use pool::Serves;
pub(super) use run::WorkerRun;
pub use server::serve_if_worker;

use crate::error::Error;
use rustix::fs::{FileType, Mode, OFlags, fstat};
use skillrun_confine::ConfineError;
use skillrun_confine::wall::{self, WallKind};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

/// Where the guests of the wasm tier run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Workers {
    /// On threads of this process: right for a single run, and where no worker can be confined.
    #[default]
    InProcess,
    /// In processes of their own behind a second wall, one for each run at the same time, and never two tenants in one unless
    /// the policy says so ([`WorkerMode`](crate::policy::WorkerMode)). They are started from this executable, which must call [`serve_if_worker`] first in its `main`. `/proc/self/exe` is that
    /// of this process. Where no worker can be confined, requests are refused.
    Processes(PathBuf),
}

impl Workers {
    /// Processes started from `program` if they can be confined on this machine and can use these directories, or else threads
    /// of this process. The layers in an outcome say which. As root, a worker in namespaces can use a directory only if its
    /// file system supports id-mapped mounts. Name only directories that runs will use: whoever can make one of them unusable
    /// decides where guests run. If workers cannot be confined for a reason that may pass, such as used up memory, runs fail for
    /// it instead. Starts a process, so it blocks for a millisecond.
    pub fn if_confined<P: AsRef<Path>>(
        program: impl Into<PathBuf>,
        directories: impl IntoIterator<Item = P>,
    ) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        let is_usable = |directory: P| {
            // This neither waits for a FIFO nor opens a device.
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let opened = rustix::fs::open(directory.as_ref(), flags, Mode::empty());
            let opened = opened.and_then(|opened| Ok((fstat(&opened)?.st_mode, opened)));
            match opened.map(|(mode, opened)| (FileType::from_raw_mode(mode), opened)) {
                Ok((FileType::Directory | FileType::RegularFile, opened)) => {
                    wall::detached(opened.as_fd(), true).is_ok()
                }
                // Whoever needs it reports that.
                _ => true,
            }
        };
        let mut directories = directories.into_iter();
        let are_usable = || !is_root || directories.all(is_usable);
        let is_confined = is_confined(wall::probe().map(|wall| wall.kind), are_usable);
        match is_confined {
            true => Self::Processes(program.into()),
            false => Self::InProcess,
        }
    }

    /// What confines workers on this machine, or why none can be confined. Starts a process, so it blocks for a
    /// millisecond.
    pub fn probe() -> Result<Wall, Error> {
        let wall = wall::probe().map_err(|error| Error::Sandbox(error.to_string()))?;
        Ok(Wall {
            without_namespaces: wall.without_namespaces.map(|why| why.to_string()),
        })
    }
}

/// Whether workers can be confined, after a probe. `are_usable` says whether workers in namespaces can use all directories.
fn is_confined(probed: Result<WallKind, ConfineError>, are_usable: impl FnOnce() -> bool) -> bool {
    match probed {
        Ok(WallKind::Namespaces) => are_usable(),
        // No copies of mounts are made.
        Ok(_) => true,
        // What may pass does not take the wall away: runs that need a worker fail for it.
        Err(error) => wall::is_transient(&error),
    }
}

/// What confines the workers of a machine, besides Landlock and seccomp.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wall {
    /// Why namespaces do not, if so. Each worker then serves one run.
    pub without_namespaces: Option<String>,
}

/// The name by which the executable of a worker is started.
const NAME: &str = "skillrun-worker";
/// The argument of a helper that copies mounts.
const MOUNTS: &str = "mounts";
/// The argument of a worker without namespaces.
const LANDLOCK: &str = "landlock";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_does_not_take_the_workers_away() {
        let failed = |why: &str| {
            let step = "create namespaces".into();
            Err(ConfineError {
                step,
                why: why.into(),
            })
        };
        for (probed, are_usable, expected) in [
            (Ok(WallKind::Namespaces), true, true),
            (Ok(WallKind::Namespaces), false, false),
            (Ok(WallKind::Landlock), false, true),
            (failed("Operation not permitted (os error 1)"), true, false),
            (failed("this kernel does not have it"), true, false),
            (
                failed("Resource temporarily unavailable (os error 11)"),
                false,
                true,
            ),
            (failed("Cannot allocate memory (os error 12)"), false, true),
        ] {
            assert_eq!(
                is_confined(probed.clone(), || are_usable),
                expected,
                "{probed:?}"
            );
        }
    }
}
