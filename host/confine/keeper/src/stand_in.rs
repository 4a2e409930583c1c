//! Stand-ins for what is not there and must not be made by the program: an empty file or directory,
//! mounted read-only over itself, and gone after the run.

use crate::linux::Handles;
use crate::unable::{Step as _, Unable};
use rustix::fs::{CWD, Mode, OFlags};
use skillrun_keeper::{Missing, Plan};
use std::os::fd::OwnedFd;

/// The stand-ins of one run; removed when dropped.
#[derive(Default)]
pub(crate) struct StandIns(Vec<(Missing, (u64, u64))>);

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
        // If somebody has made it meanwhile, that is what is kept from changes.
        let made = match missing.folder {
            true => rustix::fs::mkdir(path, Mode::RWXU),
            false => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                rustix::fs::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR).map(drop)
            }
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())?;
        if made.is_ok() {
            let stat = rustix::fs::fstat(&handle)?;
            self.0.push((missing.clone(), (stat.st_dev, stat.st_ino)));
        }
        Ok(handle)
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        for (missing, identity) in self.0.iter().rev() {
            let path = missing.path.as_slice();
            let Ok(stat) = rustix::fs::lstat(path) else {
                continue;
            };
            let ours = (stat.st_dev, stat.st_ino) == *identity;
            let _ = match missing.folder {
                // One that is in use is not empty, and stays.
                true if ours => rustix::fs::rmdir(path),
                false if ours && stat.st_size == 0 => rustix::fs::unlink(path),
                _ => Ok(()),
            };
        }
    }
}
