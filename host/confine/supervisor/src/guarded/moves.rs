//! Finds out which directories on the way to a protected path were moved since the start.
//!
//! One that was moved and is back may have been in the workspace of another run, which may have it open. The kernel reports
//! moves by inotify. Its watches are limited for each user, so without them, a directory whose change time is another one
//! counts as moved: moving it changes that, too.

use super::entries::{Identity, identity, proc_path};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{Stat, fstat};
use rustix::io::Errno;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

/// Two changes within this time may have the same change time.
const RESOLUTION: Duration = Duration::from_secs(1);

/// The state of a directory at the start.
#[derive(Debug)]
pub(super) struct Original {
    pub(super) identity: Identity,
    changed: (i64, u64),
    /// Whether a later change has another change time.
    is_old: bool,
}

impl Original {
    pub(super) fn of(directory: &OwnedFd) -> Result<Self, Errno> {
        let stat = fstat(directory)?;
        let changed = changed(&stat);
        let seconds = u64::try_from(changed.0).unwrap_or(0);
        let changed_at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds + 1));
        let age = changed_at.and_then(|changed| SystemTime::now().duration_since(changed).ok());
        Ok(Self {
            identity: identity(&stat),
            changed,
            is_old: age.is_some_and(|age| age > RESOLUTION),
        })
    }
}

fn changed(stat: &Stat) -> (i64, u64) {
    (stat.st_ctime, stat.st_ctime_nsec)
}

/// The directories that are watched.
#[derive(Debug, Default)]
pub(super) struct Moves {
    events: Option<OwnedFd>,
    watched: Vec<(i32, Identity)>,
    moved: Vec<Identity>,
    /// Events were lost.
    is_lost: bool,
}

impl Moves {
    /// Starts watching a directory, if the kernel allows another watch.
    pub(super) fn watch(&mut self, directory: &OwnedFd) {
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        if self.events.is_none() {
            self.events = inotify::init(flags).ok();
        }
        let moved = WatchFlags::MOVE_SELF | WatchFlags::ONLYDIR;
        if let Some(events) = &self.events
            && let Ok(stat) = fstat(directory)
            && let Ok(watch) = inotify::add_watch(events, proc_path(directory), moved)
        {
            self.watched.push((watch, identity(&stat)));
        }
    }

    /// Reads the pending events.
    pub(super) fn read(&mut self) {
        let Some(events) = &self.events else {
            return;
        };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(events, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    self.is_lost = true;
                }
                Ok(event) if event.events().contains(ReadFlags::MOVE_SELF) => {
                    let watched = self.watched.iter();
                    let moved = watched.filter(|(watch, _)| *watch == event.wd());
                    self.moved.extend(moved.map(|(_, own)| *own));
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    self.is_lost = true;
                    return;
                }
            }
        }
    }

    /// Whether a directory may have been moved since the start.
    pub(super) fn has_moved(&self, directory: &OwnedFd, original: &Original) -> bool {
        let own = original.identity;
        let is_watched = self.watched.iter().any(|(_, watched)| *watched == own);
        match is_watched && !self.is_lost {
            true => self.moved.contains(&own),
            false => {
                let stat = fstat(directory);
                let same = stat.is_ok_and(|stat| changed(&stat) == original.changed);
                !(same && original.is_old)
            }
        }
    }
}
