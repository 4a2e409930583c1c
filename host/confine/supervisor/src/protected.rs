//! Protected paths inside writable mounts: each is covered by a read-only mount of itself, and
//! watched.
//!
//! Such a mount lasts only as long as the file or directory under it. If another process removes or
//! replaces that, the kernel drops the mount. So protected paths are polled, and a run ends if one of
//! them was replaced.
//!
//! A path that does not exist cannot be covered: see [`skillrun_supervisor::GuardedPaths`].

use crate::error::{ConfineError, Step as _};
use crate::handles::Handles;
use crate::root;
use rustix::fs::{Stat, fstat, lstat};
use skillrun_supervisor::Plan;
use std::ffi::CString;
use std::os::fd::AsRawFd as _;

type Identity = (u64, u64);

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// The protected paths of one run on the machine, with their identities.
#[derive(Default)]
pub(crate) struct ProtectedPaths(Vec<(CString, Identity)>);

impl ProtectedPaths {
    pub(crate) fn of(plan: &Plan, handles: &Handles) -> Result<Self, ConfineError> {
        let mut protected = Vec::new();
        for (mount, handle) in plan.mounts.iter().zip(&handles.mounts) {
            let is_protected = root::nested(plan).any(|(inner, _)| inner == mount);
            let Some(handle) = handle.as_ref().filter(|_| is_protected) else {
                continue;
            };
            let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
            let path = rustix::fs::readlink(link, []).step_on("find", &mount.at)?;
            let stat = fstat(handle).step_on("inspect", &mount.at)?;
            protected.push((path, identity(&stat)));
        }
        Ok(Self(protected))
    }

    pub(crate) fn were_replaced(&self) -> bool {
        let current = |path: &CString| lstat(path).ok().map(|stat| identity(&stat));
        self.0
            .iter()
            .any(|(path, original)| current(path) != Some(*original))
    }
}
