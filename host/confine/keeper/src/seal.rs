//! What a program must not change although it lies in a place that it may: read-only mounts over
//! themselves, and what could take them off.
//!
//! A mount hides what it covers only as long as that is there: if another program removes or replaces it,
//! the kernel lets go of the mount. So what is sealed is looked at, and a run whose seal is gone ends.
//!
//! What does not exist cannot be covered: [`skillrun_keeper::AbsentPaths`] says what is done about that.

use crate::handles::Handles;
use crate::root;
use crate::unable::{Step as _, Unable};
use rustix::fs::{Stat, fstat, lstat};
use skillrun_keeper::Plan;
use std::ffi::CString;
use std::os::fd::AsRawFd as _;

type Identity = (u64, u64);

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// Where everything is that is sealed in one run.
#[derive(Default)]
pub(crate) struct Seals(Vec<(CString, Identity)>);

impl Seals {
    pub(crate) fn of(plan: &Plan, handles: &Handles) -> Result<Self, Unable> {
        let mut seals = Vec::new();
        for (place, handle) in plan.places.iter().zip(&handles.places) {
            let sealed = root::nested(plan).any(|(inner, _)| inner == place);
            let Some(handle) = handle.as_ref().filter(|_| sealed) else {
                continue;
            };
            let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
            let path = rustix::fs::readlink(link, []).step_on("find", &place.at)?;
            let stat = fstat(handle).step_on("look at", &place.at)?;
            seals.push((path, identity(&stat)));
        }
        Ok(Self(seals))
    }

    pub(crate) fn are_broken(&self) -> bool {
        let there = |path: &CString| lstat(path).ok().map(|stat| identity(&stat));
        self.0
            .iter()
            .any(|(path, sealed)| there(path) != Some(*sealed))
    }
}
