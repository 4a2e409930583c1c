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
    /// of this process. Name only directories that runs will use: whoever can make one of them unusable decides where guests run. The layers in an outcome say which. As root, a worker in namespaces can use a directory only if its
    /// file system supports id-mapped mounts. Starts a process, so it blocks for a millisecond.
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
        let is_confined = match wall::probe().map(|wall| wall.kind) {
            Ok(WallKind::Namespaces) => !is_root || directories.all(is_usable),
            // No copies of mounts are made.
            Ok(_) => true,
            Err(_) => false,
        };
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
