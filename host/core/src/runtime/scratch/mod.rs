//! The private directories of runs, and their removal.
//!
//! Removing everything that a budget allows can take longer than the run did, and a caller who set a time
//! limit should not wait for it. A few entries are removed immediately, the rest on a background thread. A
//! process that is killed, or that ends before its thread is done, leaves its directories behind. Each is
//! locked by its owner, and the kernel releases the locks of dead processes. So a directory that is not
//! locked has no owner, and the next process removes it.
//!
//! From the bottom up: `location`, `removal`, `sweep`, `remover`, and what runs use.

mod location;
mod removal;
mod remover;
mod sweep;

pub(crate) use location::empty_directory;
pub(crate) use remover::Ending;

use location::{LockedDirectory, SHARED_MEMORY};
use removal::Removal;
use remover::Shared;
use std::future::Future as _;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Wake, Waker};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// Entries that are removed while the caller waits: most runs leave fewer.
const MAX_INLINE: usize = 16;
/// How long a process that is about to end waits for the removal of its own directories. On a slow disk, 16,000
/// directories took 47 s.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes private directories and removes them.
pub(crate) struct Scratches {
    shared: Arc<Shared>,
    /// The remover thread, started with the first run; `None` if it could not be started.
    remover: OnceLock<Option<JoinHandle<()>>>,
    clean_up_timeout: Duration,
}

impl Scratches {
    pub(crate) fn new() -> Self {
        Self {
            shared: Arc::new(Shared::new()),
            remover: OnceLock::new(),
            clean_up_timeout: CLEAN_UP_TIMEOUT,
        }
    }

    /// A private directory for one run. It is made when it is first used.
    pub(crate) fn scratch(self: &Arc<Self>) -> Scratch {
        // Also removes what killed processes left, whether or not this run uses its own.
        self.remover.get_or_init(|| {
            let around = vec![SHARED_MEMORY.into(), std::env::temp_dir()];
            self.shared.start_remover(around)
        });
        Scratch {
            owner: Arc::clone(self),
            directory: Mutex::new(None),
            ending: Ending::new(&self.shared),
        }
    }

    /// Waits until our own directories and some of those that killed processes left are removed, but no longer than
    /// [`CLEAN_UP_TIMEOUT`]: the next process removes the rest. Returns why a directory could not be removed.
    pub(crate) async fn clean_up(&self) -> Option<String> {
        let mut state = self.shared.state.subscribe();
        let done = state.wait_for(|state| state.queued == 0 && !state.sweeping);
        drop(tokio::time::timeout(self.clean_up_timeout, done).await);
        let mut failed = None;
        self.shared.state.send_if_modified(|state| {
            failed = state.failed.take();
            false
        });
        failed
    }
}

/// Lets a thread sleep until a future is ready.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Scratches {
    /// Waits until everything of the runs that have ended is freed and removed, at most as long as
    /// [`Scratches::clean_up`]. Blocks the thread.
    pub(crate) fn wait_for_ended(&self) {
        let deadline = Instant::now() + self.clean_up_timeout;
        let mut state = self.shared.state.subscribe();
        // Without tokio's budget for cooperating tasks: this thread waits in any case.
        let done = state.wait_for(|state| state.queued == 0);
        let mut done = pin!(tokio::task::unconstrained(done));
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut cx = Context::from_waker(&waker);
        while done.as_mut().poll(&mut cx).is_pending() {
            match deadline.checked_duration_since(Instant::now()) {
                Some(left) => std::thread::park_timeout(left),
                None => return,
            }
        }
    }
}

impl Drop for Scratches {
    fn drop(&mut self) {
        drop(self.shared.queue().take());
        if let Some(thread) = self.remover.take().flatten() {
            let _ = thread.join();
        }
    }
}

/// The private directory of one run, or of a skill or workspace that was given as bytes. Dropping it removes the directory with
/// everything in it: a few entries immediately unless that could block async code, more of them in the background.
/// [`Scratches::clean_up`] reports if that fails.
pub(crate) struct Scratch {
    owner: Arc<Scratches>,
    /// The directory, once it was used.
    directory: Mutex<Option<LockedDirectory>>,
    ending: Ending,
}

impl Scratch {
    /// The path of the directory. It may lead elsewhere by now: a script that can write the parent directory can put a
    /// link there.
    pub(crate) fn path(&self) -> io::Result<PathBuf> {
        self.with(|directory| Ok(directory.path().to_owned()))
    }

    /// Opens the directory that was made, wherever its path leads by now.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        self.with(|directory| directory.open())
    }

    /// The same for files that no request may name until the directory is gone.
    pub(crate) fn open_private(&self) -> io::Result<OwnedFd> {
        self.with(LockedDirectory::open_private)
    }

    #[cfg(test)]
    pub(crate) fn is_made(&self) -> bool {
        self.directory().is_some()
    }

    /// Calls `work` with the directory, which is made before if necessary.
    fn with<T>(&self, work: impl FnOnce(&mut LockedDirectory) -> io::Result<T>) -> io::Result<T> {
        let mut directory = self.directory();
        match &mut *directory {
            Some(directory) => work(directory),
            none => work(none.insert(LockedDirectory::create()?)),
        }
    }

    fn directory(&self) -> MutexGuard<'_, Option<LockedDirectory>> {
        let directory = self.directory.lock();
        directory.unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the host wait until it is gone.
    pub(crate) fn ending(&self) -> &Ending {
        &self.ending
    }

    fn remove(&mut self) -> io::Result<()> {
        let Some(directory) = self.directory().take() else {
            return Ok(());
        };
        let mut removal = Removal::new(directory);
        // A directory without a run is one of a skill or workspace. Whoever drops that may be async code, which may not block.
        let is_of_run = self.ending.has_begun();
        let may_block = is_of_run || Handle::try_current().is_err();
        if may_block && removal.remove_up_to(MAX_INLINE)? {
            return Ok(());
        }
        match self.owner.shared.enqueue(removal, is_of_run) {
            // The queue of removals is full. This run removes its own directory and keeps its slot until then, so that
            // later runs wait and the number of directories stays bounded.
            Some(removal) => removal.finish(),
            None => Ok(()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            let failed = Some(crate::files::plain(&error));
            let state = &self.owner.shared.state;
            state.send_modify(|state| state.failed = failed);
        }
        self.ending.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::location::Location;
    use super::remover::Queued;
    use super::*;
    use crate::private::Privates;
    use rustix::fs::Dir;
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::sync::mpsc::{Receiver, channel};

    fn is_private(path: &Path) -> bool {
        Privates::now().overlap(path)
    }

    #[test]
    fn a_link_that_replaces_the_directory_is_not_followed() {
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("secret"), "").unwrap();
        let scratch = Arc::new(Scratches::new()).scratch();
        fs::write(scratch.path().unwrap().join("own"), "").unwrap();
        let moved = elsewhere.path().with_extension("moved");
        fs::rename(scratch.path().unwrap(), &moved).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), scratch.path().unwrap()).unwrap();
        let opened = Dir::read_from(scratch.open().unwrap()).unwrap();
        let names = opened.map(|entry| entry.unwrap().file_name().to_owned());
        let names: Vec<CString> = names
            .filter(|name| !name.to_bytes().starts_with(b"."))
            .collect();
        assert_eq!(names, [c"own".to_owned()]);
        fs::remove_file(scratch.path().unwrap()).unwrap();
        fs::rename(&moved, scratch.path().unwrap()).unwrap();
    }

    #[test]
    fn a_directory_that_denies_its_owner_access_is_removed() {
        let scratch = Arc::new(Scratches::new()).scratch();
        let top = scratch.path().unwrap();
        for mode in [0o000, 0o111, 0o333, 0o555] {
            let inner = top.join(format!("{mode:o}"));
            fs::create_dir_all(inner.join("below")).unwrap();
            fs::write(inner.join("file"), "").unwrap();
            fs::set_permissions(&inner, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(&top, fs::Permissions::from_mode(0o000)).unwrap();
        drop(scratch);
        assert!(!top.exists());
    }

    #[test]
    fn a_private_directory_is_private_until_its_last_file_is_removed() {
        let (scratches, queue) = without_remover(1);
        let scratch = filled(&scratches, MAX_INLINE + 1);
        let top = scratch.path().unwrap().canonicalize().unwrap();
        drop(scratch.open_private().unwrap());
        assert!(is_private(&top));
        drop(scratch);
        assert!(top.exists() && is_private(&top));
        drop(queue.recv().unwrap().removal.take().unwrap().finish());
        assert!(!top.exists() && !is_private(&top));
    }

    #[test]
    fn a_private_directory_that_cannot_be_removed_stays_private() {
        let scratch = Arc::new(Scratches::new()).scratch();
        drop(scratch.open_private().unwrap());
        let top = scratch.path().unwrap().canonicalize().unwrap();
        // The path leads to a directory with a file that is not ours, which makes the last step fail.
        let moved = top.with_extension("moved");
        fs::rename(&top, &moved).unwrap();
        fs::create_dir(&top).unwrap();
        fs::write(top.join("file"), "").unwrap();
        drop(scratch);
        assert!(is_private(&top));
        fs::remove_dir_all(&top).unwrap();
        fs::remove_dir(&moved).unwrap();
    }

    /// A scratch directory with this number of entries.
    fn filled(scratches: &Arc<Scratches>, entries: usize) -> Scratch {
        let scratch = scratches.scratch();
        for n in 0..entries {
            fs::create_dir(scratch.path().unwrap().join(n.to_string())).unwrap();
        }
        scratch
    }

    /// Scratches without a remover thread, and their queue.
    fn without_remover(capacity: usize) -> (Arc<Scratches>, Receiver<Queued>) {
        let mut scratches = Scratches::new();
        assert!(scratches.remover.set(None).is_ok());
        Arc::get_mut(&mut scratches.shared).unwrap().capacity = capacity;
        let (sender, queue) = channel();
        *scratches.shared.queue() = Some(sender);
        (Arc::new(scratches), queue)
    }

    #[test]
    fn a_directory_that_is_never_used_is_never_made() {
        let scratches = Arc::new(Scratches::new());
        let scratch = scratches.scratch();
        assert!(!scratch.is_made());
        assert!(scratch.path().unwrap().is_dir());
        drop((scratch, scratches.scratch()));
    }

    #[test]
    fn a_run_that_has_ended_is_waited_for_until_it_is_dropped() {
        let scratches = Arc::new(Scratches::new());
        let (ended, _running) = (scratches.scratch(), scratches.scratch());
        let top = ended.path().unwrap();
        ended.ending().begin();
        ended.ending().begin();
        assert_eq!(scratches.shared.state.borrow().queued, 1);
        let waiting = Arc::clone(&scratches);
        let waits = std::thread::spawn(move || waiting.wait_for_ended());
        drop(ended);
        waits.join().unwrap();
        assert!(!top.exists());
        assert_eq!(scratches.shared.state.borrow().queued, 0);
    }

    #[test]
    fn a_run_that_is_gone_is_not_waited_for() {
        let scratches = Arc::new(Scratches::new());
        let scratch = scratches.scratch();
        let ending = scratch.ending().clone();
        drop(scratch);
        ending.begin();
        assert_eq!(scratches.shared.state.borrow().queued, 0);
    }

    #[test]
    fn few_entries_are_removed_at_once_and_many_are_queued() {
        let (scratches, queue) = without_remover(1);
        let few = filled(&scratches, MAX_INLINE - 1);
        let many = filled(&scratches, 10 * MAX_INLINE);
        let (gone, there) = (few.path().unwrap(), many.path().unwrap());
        drop((few, many));
        assert!(!gone.exists() && there.exists());
        let mut queued = queue.recv().unwrap();
        assert!(queued.removal.take().unwrap().finish().is_ok());
        assert!(!there.exists());
    }

    #[tokio::test]
    async fn async_code_removes_nothing_of_a_skill_or_workspace_itself() {
        let (scratches, queue) = without_remover(1);
        let scratch = filled(&scratches, 1);
        let top = scratch.path().unwrap();
        drop(scratch);
        assert!(top.join("0").exists());
        let removal = queue.recv().unwrap().removal.take();
        removal.unwrap().finish().unwrap();
        assert!(!top.exists());
    }

    #[test]
    fn a_skill_or_workspace_is_queued_even_if_the_queue_is_full() {
        let (scratches, queue) = without_remover(1);
        let all = [(); 3].map(|()| filled(&scratches, 10 * MAX_INLINE));
        let tops: Vec<_> = all.iter().map(|one| one.path().unwrap()).collect();
        drop(all);
        assert!(tops.iter().all(|top| top.exists()));
        for mut queued in queue.try_iter() {
            queued.removal.take().unwrap().finish().unwrap();
        }
        assert!(!tops.iter().any(|top| top.exists()));
        assert_eq!(scratches.shared.state.borrow().queued, 0);
    }

    #[test]
    fn a_run_removes_its_own_directory_if_the_queue_is_full() {
        let (scratches, queue) = without_remover(1);
        let all = [(); 3].map(|()| filled(&scratches, 10 * MAX_INLINE));
        all.iter().for_each(|one| one.ending().begin());
        let tops: Vec<_> = all.iter().map(|one| one.path().unwrap()).collect();
        drop(all);
        assert_eq!(scratches.shared.state.borrow().queued, 1);
        let there: Vec<_> = tops.iter().map(|top| top.exists()).collect();
        assert_eq!(there, [true, false, false]);
        queue
            .recv()
            .unwrap()
            .removal
            .take()
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(scratches.shared.state.borrow().queued, 0);
    }

    #[test]
    fn cleaning_up_and_dropping_wait_until_everything_is_removed() {
        let scratches = Arc::new(Scratches::new());
        let leave = || {
            let scratch = filled(&scratches, 10 * MAX_INLINE);
            let top = scratch.path().unwrap();
            drop(scratch);
            top
        };
        let tops = [leave(), leave(), leave()];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        assert_eq!(runtime.block_on(scratches.clean_up()), None);
        assert!(tops.iter().all(|top| !top.exists()));
        let tops = [leave(), leave(), leave()];
        drop(scratches);
        assert!(tops.iter().all(|top| !top.exists()));
    }

    #[test]
    fn cleaning_up_ends_at_its_timeout_and_the_next_process_removes_the_rest() {
        let (mut scratches, queue) = without_remover(1);
        Arc::get_mut(&mut scratches).unwrap().clean_up_timeout = Duration::ZERO;
        let scratch = filled(&scratches, 10 * MAX_INLINE);
        let top = scratch.path().unwrap();
        drop(scratch);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        // The remover never comes. The outer timeout makes a wait without bound fail instead of hang.
        let ended = runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(60), scratches.clean_up()).await
        });
        assert_eq!(ended, Ok(None));
        assert!(top.exists());
        // The end of a process releases its lock.
        drop((queue, scratches));
        let orphan = LockedDirectory::lock_orphan(Location::at(&top)).unwrap();
        let mut removal = Removal::new(orphan);
        assert!(removal.remove_up_to(usize::MAX).unwrap());
        assert!(!top.exists());
    }
}
