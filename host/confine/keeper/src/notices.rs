//! Notices of the kernel that a name was created on the way to a protected path.
//!
//! They make the time short in which such a path exists while the program runs; nothing depends on
//! them. The kernel limits how many a user may ask for, and a program of the same user can use them up.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use skillrun_keeper::AbsentPaths;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Bytes of notices that are read at once: some hundred of them.
const PIECE: usize = 16 << 10;

/// How long notices wait after some were taken, at least, and in times of what that took: a program that
/// creates names in a loop does not have the supervisor take them all the time.
const REST: Duration = Duration::from_micros(200);
const REST_TIMES: u32 = 10;

/// Notices about the directories that lead to protected paths.
pub(crate) struct Notices {
    handle: OwnedFd,
    rest_until: Option<Instant>,
}

impl Notices {
    /// Asks for notices; there are none if there is nothing to look at, or the kernel gives none.
    pub(crate) fn of(absent: &AbsentPaths) -> Option<Self> {
        if absent.is_empty() {
            return None;
        }
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let notices = Self {
            handle: inotify::init(flags).ok()?,
            rest_until: None,
        };
        notices.ask(absent);
        Some(notices)
    }

    /// Until when nobody is to wait for the next ones.
    pub(crate) fn rest_until(&self) -> Option<Instant> {
        self.rest_until
    }

    /// Takes what there is, and tells whether one of the paths has appeared.
    pub(crate) fn tell_of(&mut self, absent: &mut AbsentPaths) -> bool {
        let began = Instant::now();
        let appeared = self.concern(absent) && absent.have_appeared();
        self.rest_until = Some(Instant::now() + REST.max(began.elapsed() * REST_TIMES));
        appeared
    }

    fn ask(&self, absent: &AbsentPaths) {
        let created = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        absent.visit_folders(&mut |folder| {
            let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
            // What is not noticed is found by the next lookup.
            let _ = inotify::add_watch(&self.handle, path, created);
        });
    }

    /// Takes one piece of what there is to read, and tells whether it is about a name on the way to a protected path.
    /// What the program creates beside it costs no lookup.
    fn concern(&self, absent: &AbsentPaths) -> bool {
        let mut piece = [MaybeUninit::uninit(); PIECE];
        let mut reader = inotify::Reader::new(&self.handle, &mut piece);
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
        self.handle.as_fd()
    }
}
