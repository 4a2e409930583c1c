//! Handles on directories and files that a worker cannot climb out of.
//!
//! A plain handle on a directory leads to its parent with `..`, even in an empty root. A handle on a copy
//! of the mount that begins at this directory does not. The copy is attached nowhere, and it is dissolved
//! as soon as the handle is open: whoever held the copy itself could clear its flags in a user namespace
//! of its own. Of a dissolved mount nobody can.
//!
//! Where the host is root, the worker is a user that owns nothing. The copy then maps the owner of the
//! directory or file, and its group, to this user: the worker may do what the owner may, without the
//! owner's other groups, and what it creates belongs to the owner. All other owners stay what they are.

use super::error::shared;
use super::root::HARMLESS;
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use rustix::mount::{OpenTreeFlags, open_tree};
use skillrun_supervisor::ids::{self, Ids, OtherOwners};
use skillrun_supervisor::kernel::{self, attr};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// The most owners whose mappings are kept. Each is a handle and a namespace of the kernel.
const MAX_MAPPINGS: usize = 64;

/// What a worker may do with a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read.
    Read,
    /// Read, and map as code. For compiled guests.
    ReadCode,
    /// Read and change.
    Change,
}

impl Access {
    pub(super) fn writable(writable: bool) -> Self {
        match writable {
            true => Self::Change,
            false => Self::Read,
        }
    }

    fn attributes(self) -> u64 {
        match self {
            Self::Read => HARMLESS | attr::RDONLY,
            Self::ReadCode => HARMLESS & !attr::NOEXEC | attr::RDONLY,
            Self::Change => HARMLESS,
        }
    }
}

/// A handle on `dir`, a directory or a regular file, for a worker: `..` ends at it, nothing in it is
/// executed or is a device, and unless `writable` nothing can be changed through it.
///
/// File systems that are mounted below are included. Anything else than a directory or a regular file is
/// refused with EINVAL.
///
/// Needs the right to copy mounts; [`Detacher`](super::Detacher) is for those who lack it. Fails where the
/// host is root and the file system does not support id-mapped mounts.
pub fn detached(dir: BorrowedFd<'_>, writable: bool) -> io::Result<OwnedFd> {
    detached_for(dir, Access::writable(writable))
}

pub(super) fn detached_for(file: BorrowedFd<'_>, access: Access) -> io::Result<OwnedFd> {
    let stat = fstat(file)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if !kind.is_dir() && !kind.is_file() {
        return Err(Errno::INVAL.into());
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(file, c"", flags)?;
    if let Some(mapping) = mapping(&stat)? {
        kernel::map_ids(tree.as_fd(), mapping.as_fd()).map_err(|error| {
            let why = format!("cannot map its owner to the worker's user: {error}");
            io::Error::new(error.kind(), why)
        })?;
    }
    kernel::set_mount(tree.as_fd(), access.attributes(), true)?;
    reopen(&tree, kind)
}

/// A handle in the mount `tree`. That of the mount itself must not leave this process.
fn reopen(tree: &OwnedFd, kind: FileType) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    if kind.is_dir() {
        return Ok(openat(
            tree,
            c".",
            flags | OFlags::DIRECTORY,
            Mode::empty(),
        )?);
    }
    let path = format!("/proc/self/fd/{}", tree.as_raw_fd());
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// The namespace that maps the owner of a file to the worker's user, if that is a private one.
fn mapping(stat: &Stat) -> io::Result<Option<Arc<OwnedFd>>> {
    type Mappings = BTreeMap<(u32, u32), Arc<OwnedFd>>;
    static MAPPINGS: Mutex<Mappings> = Mutex::new(BTreeMap::new());
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let ids = Ids::of_workers().map_err(|error| io::Error::other(shared(error)))?;
    if !ids.private {
        return Ok(None);
    }
    let owner = (stat.st_uid, stat.st_gid);
    // Held while a mapping is made, which takes a process.
    let mut mappings = MAPPINGS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = mappings.get(&owner) {
        return Ok(Some(known.clone()));
    }
    if mappings.len() >= MAX_MAPPINGS {
        mappings.clear();
    }
    let new = Arc::new(ids::mapping(owner, &ids, OtherOwners::Kept)?);
    mappings.insert(owner, new.clone());
    Ok(Some(new))
}
