//! Gives files that a worker of root created to the owner of their directory.
//!
//! In namespaces a mapping of ids does that. Without them the worker is a private user, and owns what it creates.

use super::error::shared;
use rustix::fs::{FileType, fstat};
use skillrun_supervisor::ids::Ids;
use skillrun_supervisor::walk;
use std::io;
use std::os::fd::BorrowedFd;

/// Gives everything in the directory `dir` that belongs to the private user of workers to the owner of `dir`, after the
/// run of a worker that [`lock_down_to`](super::lock_down_to) confined. Does nothing unless the host is root. Links are
/// not followed.
pub fn give_back(dir: BorrowedFd<'_>) -> io::Result<()> {
    let ids = Ids::of_workers().map_err(|error| io::Error::other(shared(error)))?;
    if !ids.private {
        return Ok(());
    }
    let owner = fstat(dir)?;
    if FileType::from_raw_mode(owner.st_mode).is_dir() {
        walk::change_owner(dir, ids.outside.0, (owner.st_uid, owner.st_gid));
    }
    Ok(())
}
