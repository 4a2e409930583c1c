//! Space that is occupied while a program runs.

use super::entries::{proc_path, unlock};
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate, fstat, openat};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::os::fd::OwnedFd;

/// Reserved on each file system: enough for a few directories of normal size.
pub(super) const RESERVED_BYTES: u64 = 256 << 10;

/// Makes an unnamed file that occupies space on the file system of a directory.
pub(super) fn reserve(directory: &OwnedFd) -> Result<OwnedFd, Errno> {
    let create = || {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(directory, c".", flags, Mode::RUSR)
    };
    // Read first: another supervisor may have unlocked the directory for a moment when this one finds it locked.
    let before = Mode::from_raw_mode(fstat(directory)?.st_mode);
    let file = match create() {
        // The directory is not writable now, but a program that runs as its owner could make it so.
        Err(Errno::ACCESS) => {
            unlock(directory)?;
            let created = create();
            rustix::fs::chmod(proc_path(directory), before)?;
            created?
        }
        created => created?,
    };
    // A larger file would end this process.
    let largest = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    let size = RESERVED_BYTES.min(largest);
    if size == 0 {
        return Ok(file);
    }
    match fallocate(&file, FallocateFlags::empty(), 0, size) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error),
        // Where blocks cannot be reserved, at least an inode is.
        _ => Ok(file),
    }
}
