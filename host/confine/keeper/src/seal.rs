//! What a program must not change although it lies in a place that it may: read-only mounts over
//! themselves, and what could take them off.
//!
//! A mount hides what it covers only as long as that is there: if another program removes or replaces it,
//! the kernel lets go of the mount. So what is sealed is looked at, and a run whose seal is gone ends.
//!
//! What is not there cannot be covered. A stand-in is made for it, an empty file or directory that nobody
//! may write, and goes with the last run that needs it: each holds a lock on it.

use crate::handles::Handles;
use crate::root;
use crate::unable::{Step as _, Unable};
use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, lstat};
use skillrun_keeper::{Missing, Plan};
use std::ffi::CString;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// The modes by which a stand-in is known, with its being empty.
const FILE: Mode = Mode::RUSR;
const FOLDER: Mode = Mode::RUSR.union(Mode::XUSR);

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

/// The stand-ins of one run; those that nobody else needs are removed when it is dropped.
#[derive(Default)]
pub(crate) struct StandIns(Vec<(Missing, OwnedFd)>);

impl StandIns {
    /// Makes those that the plan asks for, and a handle on each.
    pub(crate) fn make(plan: &Plan, handles: &mut Handles) -> Result<Self, Unable> {
        let mut made = Self::default();
        for (place, handle) in plan.places.iter().zip(&mut handles.places) {
            if let Some(missing) = &place.missing {
                *handle = Some(made.one(missing).step_on("keep away", &missing.path)?);
            }
        }
        Ok(made)
    }

    fn one(&mut self, missing: &Missing) -> rustix::io::Result<OwnedFd> {
        let path = missing.path.as_slice();
        // If somebody else has made it, it is that one which is kept from changes.
        let _ = match missing.folder {
            true => rustix::fs::mkdir(path, FOLDER),
            false => {
                let flags = OFlags::RDONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                rustix::fs::openat(CWD, path, flags, FILE).map(drop)
            }
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())?;
        if is_stand_in(&fstat(&handle)?) {
            flock(&handle, FlockOperation::NonBlockingLockShared)?;
            self.0.push((
                missing.clone(),
                handle.try_clone().map_err(|_| rustix::io::Errno::MFILE)?,
            ));
        }
        Ok(handle)
    }
}

fn is_stand_in(stat: &Stat) -> bool {
    let mode = Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => mode == FILE && stat.st_size == 0,
        FileType::Directory => mode == FOLDER,
        _ => false,
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        for (missing, handle) in self.0.iter().rev() {
            let path = missing.path.as_slice();
            let (Ok(held), Ok(there)) = (fstat(handle), lstat(path)) else {
                continue;
            };
            let alone = flock(handle, FlockOperation::NonBlockingLockExclusive).is_ok();
            if !alone || identity(&held) != identity(&there) || !is_stand_in(&there) {
                continue;
            }
            let _ = match missing.folder {
                // One that is in use is not empty, and stays.
                true => rustix::fs::rmdir(path),
                false => rustix::fs::unlink(path),
            };
        }
    }
}
