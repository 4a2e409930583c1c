//! Inotify events for names that are created on the way to a protected path.
//!
//! They shorten the time for which such a path can exist while the program runs; nothing depends on
//! them. The kernel limits the number of watches per user, and a program of the same user can use
//! them all up.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use skillrun_supervisor::GuardedPaths;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The size of one read: some hundred events.
const BUFFER_SIZE: usize = 16 << 10;

/// How long no events are read after some were: at least this long, and this many times as long as
/// reading them took. So a program that creates names in a loop does not keep the supervisor busy.
const MIN_PAUSE: Duration = Duration::from_micros(200);
const PAUSE_FACTOR: u32 = 10;

/// Inotify events for the directories that lead to protected paths.
pub(crate) struct CreationEvents {
    handle: OwnedFd,
    paused_until: Option<Instant>,
}

impl CreationEvents {
    /// Starts watching. Returns `None` if there is nothing to watch, or if the kernel refuses.
    pub(crate) fn of(guarded: &GuardedPaths) -> Option<Self> {
        if guarded.is_empty() {
            return None;
        }
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let creations = Self {
            handle: inotify::init(flags).ok()?,
            paused_until: None,
        };
        creations.add_watches(guarded);
        Some(creations)
    }

    /// The time until which no events should be read.
    pub(crate) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }

    /// Reads the pending events and returns whether one of the paths has appeared.
    pub(crate) fn detect_appearance(&mut self, guarded: &mut GuardedPaths) -> bool {
        let began = Instant::now();
        let appeared = self.read_events(guarded) && guarded.have_appeared();
        self.paused_until = Some(Instant::now() + MIN_PAUSE.max(began.elapsed() * PAUSE_FACTOR));
        appeared
    }

    fn add_watches(&self, guarded: &GuardedPaths) {
        let created = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        guarded.visit_directories(&mut |directory| {
            let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
            // What the events miss is found by the next lookup.
            let _ = inotify::add_watch(&self.handle, path, created);
        });
    }

    /// Reads one buffer of events and returns whether any is about a name on the way to a protected
    /// path. Other names that the program creates cost no lookup.
    fn read_events(&self, guarded: &GuardedPaths) -> bool {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_SIZE];
        let mut reader = inotify::Reader::new(&self.handle, &mut buffer);
        let mut relevant = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    let lost = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                    let named = event.file_name().is_some_and(|name| guarded.has_name(name));
                    relevant |= lost || named;
                }
                Err(Errno::INTR) => continue,
                Err(_) => break,
            }
            if reader.is_buffer_empty() {
                break;
            }
        }
        if relevant {
            self.add_watches(guarded);
        }
        relevant
    }
}

impl AsFd for CreationEvents {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
