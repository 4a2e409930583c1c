//! The private directories of runs, and their removal.
//!
//! A script can nest directories as deep as its budget has entries, by moving one chain into the last
//! directory of another. Removing such a tree by recursion overflows the stack, which ends the process,
//! or runs out of file handles. So the path down is kept as names, one directory is open at a time, and
//! on the way up each parent is checked to be the directory that was entered on the way down.
//!
//! Removing everything that a budget allows can take longer than the run did, and a caller who set a time
//! limit should not wait for it. A few entries are removed immediately, the rest on a background thread. A
//! process that is killed, or that ends before its thread is done, leaves its directories behind. Each is
//! locked by its owner, and the kernel releases the locks of dead processes. So a directory that is not
//! locked has no owner, and the next process removes it.

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fs;
use std::future::Future as _;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Wake, Waker};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::watch;

/// Our directories are named by this prefix and some random letters, so that we remove no others.
const NAME: &str = "skillrun-scratch-";
const RANDOM: usize = 12;
/// Entries that are removed while the caller waits: most runs leave fewer.
const MAX_INLINE: usize = 16;
/// Directories that may wait for the remover thread. If the queue is full, the run removes its own directory.
const MAX_QUEUED: usize = 16;
/// Entries that a sweep removes before it checks the queue again.
const BATCH: usize = 64;
/// Entries left by killed processes that [`Scratches::clean_up`] waits for.
const MAX_SWEEP_WAIT: usize = 1000;
/// Names that a sweep reads: a shared directory may contain millions.
const MAX_SWEPT_NAMES: usize = 10_000;
/// How often we make another directory after another process mistook ours for an orphan.
const MAX_ATTEMPTS: usize = 8;
/// How long a process that is about to end waits for the removal of its own directories. On a slow disk, 16,000
/// directories took 47 s.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(10);

/// A directory that is empty and stays so: it has no name any more, so nothing can be created in it.
pub(crate) fn empty_directory() -> io::Result<fs::File> {
    static EMPTY: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(empty) = EMPTY.get() {
        return Ok(empty.try_clone()?.into());
    }
    for _ in 0..MAX_ATTEMPTS {
        // Named like a scratch directory, so that a sweep removes what a killed process leaves here. The sweep of another
        // process may also be faster than we are.
        let made = new_directory()?;
        let opened = open(CWD, &made);
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match (fs::remove_dir(&made), opened) {
            (Err(error), _) if !is_gone(&error) => return Err(error),
            (_, Err(error)) if !is_gone(&error) => return Err(error),
            (_, Err(_)) => {}
            (_, Ok(opened)) => return Ok(EMPTY.get_or_init(|| opened).try_clone()?.into()),
        }
    }
    Err(io::Error::other(
        "another process keeps deleting the scratch directory",
    ))
}

/// A new directory with one of our names, for its owner only.
fn new_directory() -> io::Result<PathBuf> {
    let made = tempfile::Builder::new()
        .prefix(NAME)
        .rand_bytes(RANDOM)
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir();
    made.map(TempDir::keep)
}

/// Makes private directories and removes them.
pub(crate) struct Scratches {
    shared: Arc<Shared>,
    /// The remover thread, started with the first run; `None` if it could not be started.
    remover: OnceLock<Option<JoinHandle<()>>>,
    clean_up_timeout: Duration,
}

struct Shared {
    /// Directories to remove; `None` before the remover has started and after it has ended.
    queue: Mutex<Option<SyncSender<Queued>>>,
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    queued: usize,
    sweeping: bool,
    failed: Option<String>,
}

impl Scratches {
    pub(crate) fn new() -> Self {
        let shared = Shared {
            queue: Mutex::new(None),
            state: watch::Sender::new(State::default()),
        };
        Self {
            shared: Arc::new(shared),
            remover: OnceLock::new(),
            clean_up_timeout: CLEAN_UP_TIMEOUT,
        }
    }

    /// A private directory for one run. It is made when it is first used.
    pub(crate) fn scratch(self: &Arc<Self>) -> Scratch {
        // Also removes what killed processes left, whether or not this run uses its own.
        self.remover
            .get_or_init(|| self.start(&std::env::temp_dir()));
        Scratch {
            owner: Arc::clone(self),
            removal: Mutex::new(None),
            ended: AtomicBool::new(false),
        }
    }

    /// Makes a private directory.
    fn make(&self) -> io::Result<Removal> {
        for _ in 0..MAX_ATTEMPTS {
            let made = new_directory()?;
            // Another process may see it before it is locked and mistake it for an orphan.
            if let Some(removal) = Removal::lock(made)? {
                return Ok(removal);
            }
        }
        Err(io::Error::other(
            "another process keeps deleting the scratch directory",
        ))
    }

    fn start(&self, around: &Path) -> Option<JoinHandle<()>> {
        let (sender, queue) = sync_channel(MAX_QUEUED);
        let remover = Remover {
            queue,
            sweep: Some(Sweep::new(around)),
            shared: Arc::clone(&self.shared),
        };
        self.shared.state.send_modify(|state| state.sweeping = true);
        let thread = std::thread::Builder::new().name("skillrun-remover".into());
        // Without the thread, each run removes its own directory.
        let thread = thread.spawn(move || remover.run()).ok()?;
        *self.shared.queue() = Some(sender);
        Some(thread)
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

impl Shared {
    fn queue(&self) -> std::sync::MutexGuard<'_, Option<SyncSender<Queued>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues the removal, or returns it if the queue is full.
    fn enqueue(self: &Arc<Self>, removal: Removal) -> Option<Removal> {
        let queue = self.queue();
        let Some(queue) = queue.as_ref() else {
            return Some(removal);
        };
        self.state.send_modify(|state| state.queued += 1);
        let queued = Queued {
            removal: Some(removal),
            shared: Arc::clone(self),
        };
        match queue.try_send(queued) {
            Ok(()) => None,
            Err(TrySendError::Full(mut back) | TrySendError::Disconnected(mut back)) => {
                back.removal.take()
            }
        }
    }
}

/// A directory in the queue, or being removed; it is counted until this is dropped.
struct Queued {
    removal: Option<Removal>,
    shared: Arc<Shared>,
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.shared.state.send_modify(|state| state.queued -= 1);
    }
}

/// The background thread that removes directories.
struct Remover {
    queue: Receiver<Queued>,
    sweep: Option<Sweep>,
    shared: Arc<Shared>,
}

impl Remover {
    fn run(mut self) {
        loop {
            // The sweep continues only while the queue is empty.
            let next = match &self.sweep {
                Some(_) => self.queue.try_recv(),
                None => self.queue.recv().map_err(|_| TryRecvError::Disconnected),
            };
            match (next, &mut self.sweep) {
                (Ok(mut queued), _) => {
                    let removed = queued.removal.take().map_or(Ok(()), Removal::finish);
                    if let Err(error) = removed {
                        let why = crate::files::plain(&error);
                        let failed = |state: &mut State| state.failed = Some(why);
                        self.shared.state.send_modify(failed);
                    }
                }
                (Err(TryRecvError::Empty), Some(sweep)) => {
                    let more = sweep.step();
                    if !more || sweep.removed >= MAX_SWEEP_WAIT {
                        self.end_sweep_wait();
                    }
                    if !more {
                        self.sweep = None;
                    }
                }
                _ => return,
            }
        }
    }

    /// Lets [`Scratches::clean_up`] return although the sweep may not be finished.
    fn end_sweep_wait(&self) {
        self.shared
            .state
            .send_if_modified(|state| std::mem::take(&mut state.sweeping));
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.end_sweep_wait();
    }
}

/// The private directory of one run. Dropping it removes the directory with everything in it: a few entries immediately,
/// more of them in the background. [`Scratches::clean_up`] reports if that fails.
pub(crate) struct Scratch {
    owner: Arc<Scratches>,
    /// The directory, once it was used.
    removal: Mutex<Option<Removal>>,
    /// Whether [`Scratches::clean_up`] waits for it.
    ended: AtomicBool,
}

impl Scratch {
    /// The path of the directory. It may lead elsewhere by now: a script that can write the parent directory can put a
    /// link there.
    pub(crate) fn path(&self) -> io::Result<PathBuf> {
        self.with(|removal| Ok(removal.top.clone()))
    }

    /// Opens the directory that was made, wherever its path leads by now.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        self.with(|removal| open(&removal.dir, "."))
    }

    #[cfg(test)]
    pub(crate) fn is_made(&self) -> bool {
        let removal = self.removal.lock();
        removal.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Calls `work` with the directory, which is made before if necessary.
    fn with<T>(&self, work: impl FnOnce(&Removal) -> io::Result<T>) -> io::Result<T> {
        let mut removal = self.removal.lock().unwrap_or_else(PoisonError::into_inner);
        if removal.is_none() {
            *removal = Some(self.owner.make()?);
        }
        match &*removal {
            Some(removal) => work(removal),
            None => Err(Errno::NOENT.into()),
        }
    }

    /// Marks the run as ended: from now on, [`Scratches::clean_up`] waits until this is dropped.
    pub(crate) fn set_ended(&self) {
        if !self.ended.swap(true, Ordering::SeqCst) {
            let state = &self.owner.shared.state;
            state.send_modify(|state| state.queued += 1);
        }
    }

    fn remove(&mut self) -> io::Result<()> {
        let removal = self.removal.get_mut();
        let removal = removal.unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut removal) = removal else {
            return Ok(());
        };
        if removal.remove_up_to(MAX_INLINE)? {
            return Ok(());
        }
        match self.owner.shared.enqueue(removal) {
            // The queue of removals is full. This run removes its own directory and keeps its slot until then, so that
            // later runs wait and the number of directories stays bounded.
            Some(removal) => removal.finish(),
            None => Ok(()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let removed = self.remove();
        self.owner.shared.state.send_if_modified(|state| {
            if let Err(error) = &removed {
                state.failed = Some(crate::files::plain(error));
            }
            state.queued -= usize::from(*self.ended.get_mut());
            true
        });
    }
}

/// A directory of ours, and how far its removal has come.
pub(crate) struct Removal {
    top: PathBuf,
    /// The directory itself, locked so that other processes do not mistake it for an orphan.
    dir: OwnedFd,
    /// The directory to continue in, once the removal has started.
    current: Option<OwnedFd>,
    /// The path from the top down to `current`: each name, and the identity of the directory it is in.
    path_down: Vec<(CString, (u64, u64))>,
}

impl Removal {
    /// Locks a directory; `None` if another process has locked or removed it.
    fn lock(top: PathBuf) -> io::Result<Option<Self>> {
        let dir = match open(CWD, &top) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let _ = fs::remove_dir(&top);
                return Err(error);
            }
        };
        // Any other error means a file system without locks, where no process mistakes it for an orphan.
        if flock(&dir, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Ok(None);
        }
        let there = open(CWD, &top).and_then(|there| identity(&there));
        if there.ok() != Some(identity(&dir)?) {
            return Ok(None);
        }
        Ok(Some(Self {
            top,
            dir,
            current: None,
            path_down: Vec::new(),
        }))
    }

    /// Locks a directory that a killed process may have left. Only this user may have access to it. On a file system
    /// without locks we cannot tell whether it has an owner, so it stays.
    fn lock_orphan(top: PathBuf) -> Option<Self> {
        let dir = open(CWD, &top).ok()?;
        let Stat {
            st_uid, st_mode, ..
        } = fstat(&dir).ok()?;
        if st_uid != rustix::process::geteuid().as_raw() || st_mode & 0o077 != 0 {
            return None;
        }
        flock(&dir, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Self {
            top,
            dir,
            current: None,
            path_down: Vec::new(),
        })
    }

    /// Removes everything that is left.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.remove_up_to(usize::MAX).map(drop)
    }

    /// Removes up to `max` entries; returns whether the directory is gone.
    fn remove_up_to(&mut self, mut max: usize) -> io::Result<bool> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => {
                rustix::fs::fchmod(&self.dir, Mode::RWXU)?;
                open(&self.dir, ".")?
            }
        };
        loop {
            let emptied = match max {
                0 => Emptied::NotYet,
                _ => empty(&current, &mut max)?,
            };
            match emptied {
                Emptied::NotYet => {
                    self.current = Some(current);
                    return Ok(false);
                }
                Emptied::UpTo(name) => {
                    let below = enter(&current, &name)?;
                    self.path_down.push((name, identity(&current)?));
                    current = below;
                }
                Emptied::Whole => {
                    let Some((name, parent)) = self.path_down.pop() else {
                        return match fs::remove_dir(&self.top) {
                            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                            _ => Ok(true),
                        };
                    };
                    max = max.saturating_sub(1);
                    let up = open(&current, "..")?;
                    // Another process moved the directory: the new parent is not ours to change.
                    if identity(&up)? != parent {
                        return Err(io::Error::other("it was changed while it was removed"));
                    }
                    unlinkat(&up, name, AtFlags::REMOVEDIR)?;
                    current = up;
                }
            }
        }
    }
}

/// Finds and removes the directories that killed processes left.
struct Sweep {
    names: Option<std::iter::Take<fs::ReadDir>>,
    current: Option<Removal>,
    removed: usize,
}

impl Sweep {
    fn new(directory: &Path) -> Self {
        let names = fs::read_dir(directory).ok();
        Self {
            names: names.map(|names| names.take(MAX_SWEPT_NAMES)),
            current: None,
            removed: 0,
        }
    }

    /// Reads some names or removes some entries; returns whether there may be more.
    fn step(&mut self) -> bool {
        if let Some(removal) = &mut self.current {
            self.removed += BATCH;
            if !matches!(removal.remove_up_to(BATCH), Ok(false)) {
                self.current = None;
            }
            return true;
        }
        let Some(names) = &mut self.names else {
            return false;
        };
        for _ in 0..BATCH {
            match names.next() {
                None => return false,
                Some(Ok(entry)) if is_ours(&entry.file_name()) => {
                    self.current = Removal::lock_orphan(entry.path());
                    break;
                }
                Some(_) => {}
            }
        }
        true
    }
}

fn is_ours(name: &std::ffi::OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(NAME));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|letter| letter.is_ascii_alphanumeric())
    })
}

fn open(at: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

/// Opens a directory that is to be emptied, even if its mode denies access to its owner.
fn enter(at: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let opened = match open(at, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            rustix::fs::chmodat(at, name, Mode::RWXU, AtFlags::empty())?;
            open(at, name)?
        }
        opened => opened?,
    };
    if !Mode::from_raw_mode(fstat(&opened)?.st_mode).contains(Mode::WUSR | Mode::XUSR) {
        rustix::fs::fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

fn identity(dir: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstat(dir)?;
    Ok((stat.st_dev, stat.st_ino))
}

enum Emptied {
    /// The directory is empty.
    Whole,
    /// It contains a directory of this name that is not empty.
    UpTo(CString),
    /// The maximum number of entries was removed.
    NotYet,
}

/// Removes the files and empty directories in a directory, up to the first directory that is not empty.
fn empty(dir: &OwnedFd, max: &mut usize) -> io::Result<Emptied> {
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if *max == 0 {
            return Ok(Emptied::NotYet);
        }
        *max -= 1;
        let removed = match entry.file_type() {
            FileType::Directory => Err(Errno::ISDIR),
            _ => unlinkat(dir, name, AtFlags::empty()),
        };
        match removed {
            Err(Errno::ISDIR) => match unlinkat(dir, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => return Ok(Emptied::UpTo(name.to_owned())),
                removed => removed?,
            },
            removed => removed?,
        }
    }
    Ok(Emptied::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_tree_of_any_depth_is_removed_and_the_targets_of_its_links_are_not() {
        let kept = tempfile::tempdir().unwrap();
        fs::write(kept.path().join("a"), "a").unwrap();
        let scratch = Arc::new(Scratches::new()).scratch();
        let top = scratch.path().unwrap();
        for chain in 0..8 {
            let mut path = top.join(format!("c{chain}"));
            fs::create_dir(&path).unwrap();
            for _ in 0..1000 {
                path.push("d");
                fs::create_dir(&path).unwrap();
            }
            fs::write(path.join("f"), "f").unwrap();
            std::os::unix::fs::symlink(kept.path(), path.join("l")).unwrap();
            if chain > 0 {
                fs::rename(top.join(format!("c{}", chain - 1)), path.join("d")).unwrap();
            }
        }
        // On a thread with a small stack, which recursion would overflow.
        let removal = scratch.removal.lock().unwrap().take().unwrap();
        let remove = std::thread::Builder::new().stack_size(64 * 1024);
        let removed = remove.spawn(move || removal.finish()).unwrap().join();
        assert!(removed.unwrap().is_ok());
        assert!(!top.exists() && kept.path().join("a").exists());
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
        let scratches = Scratches::new();
        assert!(scratches.remover.set(None).is_ok());
        let (sender, queue) = sync_channel(capacity);
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
        ended.set_ended();
        ended.set_ended();
        assert_eq!(scratches.shared.state.borrow().queued, 1);
        let waiting = Arc::clone(&scratches);
        let waits = std::thread::spawn(move || waiting.wait_for_ended());
        drop(ended);
        waits.join().unwrap();
        assert!(!top.exists());
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

    #[test]
    fn a_run_removes_its_own_directory_if_the_queue_is_full() {
        let (scratches, queue) = without_remover(1);
        let all = [(); 3].map(|()| filled(&scratches, 10 * MAX_INLINE));
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
        let mut removal = Removal::lock_orphan(top.clone()).unwrap();
        assert!(removal.remove_up_to(usize::MAX).unwrap());
        assert!(!top.exists());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.join("a/b")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let left = make("skillrun-scratch-abcdefghijkl", 0o700);
        let kept = [
            make("skillrun-scratch-abcdefghijk", 0o700),
            make("skillrun-abcdefghijkl", 0o700),
            make("skillrun-scratch-readbyothers", 0o755),
            make("skillrun-scratch-notes_of_us_", 0o700),
        ];
        let live = make("skillrun-scratch-012345678901", 0o700);
        let owner = Removal::lock(live.clone()).unwrap();
        let link = folder.path().join("skillrun-scratch-linklinklink");
        std::os::unix::fs::symlink(&kept[0], &link).unwrap();
        let sweep = || {
            let mut sweep = Sweep::new(folder.path());
            while sweep.step() {}
        };
        sweep();
        assert!(!left.exists() && live.join("a/b").exists() && link.is_symlink());
        assert!(kept.iter().all(|path| path.join("a/b").exists()));
        // What another process is removing is locked, too.
        assert!(Removal::lock_orphan(live.clone()).is_none());
        drop(owner);
        sweep();
        assert!(!live.exists());
    }
}
