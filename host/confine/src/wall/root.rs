//! The file tree of a worker: nothing but links to what it has open.
//!
//! Everything here makes system calls only, because [`super::probe`] does it in the child of a process
//! that may have threads.
//!
//! `/empty` is an empty directory, for whoever needs a handle on one.
//!
//! The worker needs `/proc/self/fd` to open what it has located, and `/proc/self/pagemap` to reset
//! memory. Only these two are mounted, each as a mount of its own, from the machine's `/proc`. A `/proc`
//! of its own was rejected: `/proc/self/exe` leads to the host's executable, whose mode, times and
//! attributes the user could change through it; and a container with masked files in its `/proc` cannot
//! mount another one.

use super::error::{At as _, Failed};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, open, openat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{chdir, pivot_root};
use skillrun_supervisor::kernel::{attr, set_mount};
use std::ffi::CStr;
use std::os::fd::{AsFd as _, OwnedFd};

/// What nobody may do with anything that a worker sees.
pub(super) const HARMLESS: u64 = attr::NOSUID | attr::NODEV | attr::NOEXEC;
/// The root contains an empty directory, and four entries on the way to its two mounts. A size of 0 would be no limit.
const ROOT: &CStr = c"size=4k,nr_inodes=8,mode=555";

/// Makes the machine's mounts read-only for this process, which must have a mount namespace of its own.
///
/// What it opens from now on cannot be changed through `/proc/self/fd` either: a file that was opened for
/// reading could otherwise be opened again for writing there, for example the cache of compiled guests.
pub(super) fn seal_machine() -> Result<(), Failed> {
    let alone = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    mount_change(c"/", alone).at("separate from the machine's mounts")?;
    let root = open(c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let root = root.at("open the machine's root")?;
    set_mount(root.as_fd(), attr::RDONLY, true).at("make the machine's mounts read-only")
}

/// Replaces the root of this process, which must have a mount namespace of its own. Open files stay
/// usable.
pub(super) fn empty_root() -> Result<(), Failed> {
    let step = "mount the worker's own part of /proc";
    let handles = proc_entry(c"/proc/self/fd").at(step)?;
    let pages = proc_entry(c"/proc/self/pagemap").at(step)?;

    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // This directory exists; what was in it is not needed any more.
    mount(c"root", c"/proc", c"tmpfs", flags, Some(ROOT)).at("mount an empty root")?;
    chdir(c"/proc").at("enter the empty root")?;
    let step = "fill the empty root";
    for directory in [c"empty", c"proc", c"proc/self", c"proc/self/fd"] {
        mkdirat(CWD, directory, Mode::from_raw_mode(0o555)).at(step)?;
    }
    let create = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    openat(CWD, c"proc/self/pagemap", create, Mode::RUSR).at(step)?;
    for (tree, at) in [(&handles, c"proc/self/fd"), (&pages, c"proc/self/pagemap")] {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(tree, c"", CWD, at, flags).at(step)?;
    }

    pivot_root(c".", c".").at("leave the machine's root")?;
    unmount(c".", UnmountFlags::DETACH).at("detach the machine's root")?;
    chdir(c"/").at("enter the empty root")?;
    let root = open(c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let root = root.at("open the empty root")?;
    set_mount(root.as_fd(), attr::RDONLY | HARMLESS, false).at("make the root read-only")
}

/// A mount of one entry of `/proc`, read-only. What its links lead to keeps the flags of its own mount.
fn proc_entry(path: &CStr) -> std::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, path, flags)?;
    set_mount(tree.as_fd(), attr::RDONLY | HARMLESS, false)?;
    Ok(tree)
}
