//! Notices of the kernel that a name was created on the way to a protected path.
//!
//! They make the time short in which such a path exists while the program runs; nothing depends on
//! them. The kernel limits how many a user may ask for, and a program of the same user can use them up.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use skillrun_keeper::AbsentPaths;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

/// Bytes of notices that are read at once: some hundred of them.
const PIECE: usize = 16 << 10;

/// Notices about the directories that lead to protected paths.
pub(crate) struct Notices(OwnedFd);

impl Notices {
    /// Asks for notices; there are none if there is nothing to look at, or the kernel gives none.
    pub(crate) fn of(absent: &AbsentPaths) -> Option<Self> {
        if absent.is_empty() {
            return None;
        }
        let notices = Self(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?);
        notices.ask(absent);
        Some(notices)
    }

    fn ask(&self, absent: &AbsentPaths) {
        let created = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        absent.visit_folders(&mut |folder| {
            let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
            // What is not noticed is found by the next lookup.
            let _ = inotify::add_watch(&self.0, path, created);
        });
    }

    /// Takes one piece of what there is to read, and tells whether it is about a name on the way to a protected path.
    /// What the program creates beside it costs no lookup.
    pub(crate) fn concern(&self, absent: &AbsentPaths) -> bool {
        let mut piece = [MaybeUninit::uninit(); PIECE];
        let mut reader = inotify::Reader::new(&self.0, &mut piece);
        let mut concerns = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    let lost = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                    let named = event.file_name().is_some_and(|name| absent.has_name(name));
                    concerns |= lost || named;
                }
                Err(Errno::INTR) => continue,
                Err(_) => break,
            }
            if reader.is_buffer_empty() {
                break;
            }
        }
        if concerns {
            self.ask(absent);
        }
        concerns
    }
}

impl AsFd for Notices {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
