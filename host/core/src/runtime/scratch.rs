//! The private directories of runs, and their removal.
//!
//! A script can nest directories as deep as its budget has entries, by moving one chain into the last
//! directory of another. Removing such a tree by recursion ends in a stack overflow, which is the end
//! of the process, or without file handles. So the way down is kept as names, one directory is open at
//! a time, and the way back up is checked to be the one that was taken down.
//!
//! Removing all that a budget allows can take longer than the run did, and nobody who set a time
//! limit should wait for it: a few entries go at once, the rest on a thread of its own. A process that
//! is killed leaves its directories behind. Each is locked by its owner, and the kernel gives up the
//! locks of the dead, so what is not locked belongs to nobody and the next process removes it.

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use tempfile::TempDir;
use tokio::sync::watch;

/// What our directories are called, and nobody else's: this and some random letters.
const NAME: &str = "skillrun-scratch-";
const RANDOM: usize = 12;
/// Entries that are removed at once, while the caller waits: most runs leave fewer.
const AT_ONCE: usize = 16;
/// Directories that may wait for their removal. Whoever leaves one more removes it himself.
const WAITING: usize = 16;
/// Entries removed between two looks at what else there is to do.
const STEP: usize = 64;
/// Entries of killed processes that are worth waiting for at the end of one that only ran a script.
const WORTH_WAITING: usize = 1000;
/// Names looked at in search of what killed processes left: a shared directory may hold millions.
const LOOKED_AT: usize = 10_000;
/// How often a directory is made anew if another process takes it for left behind.
const TRIES: usize = 8;

/// Makes private directories and removes them.
pub(crate) struct Scratches {
    shared: Arc<Shared>,
    /// Started with the first directory; `None` if it could not be.
    remover: OnceLock<Option<JoinHandle<()>>>,
}

struct Shared {
    /// Where directories wait; `None` before the remover has started and after it has ended.
    queue: Mutex<Option<SyncSender<Waiting>>>,
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
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
        }
    }

    /// Makes a private directory.
    pub(crate) fn make(&self) -> io::Result<Scratch> {
        for _ in 0..TRIES {
            let made = tempfile::Builder::new()
                .prefix(NAME)
                .rand_bytes(RANDOM)
                .permissions(fs::Permissions::from_mode(0o700))
                .tempdir()
                .map(TempDir::keep)?;
            self.remover.get_or_init(|| self.start(made.parent()?));
            // Another process may see it before it is locked and take it for left behind.
            if let Some(removal) = Removal::own(made)? {
                return Ok(Scratch {
                    shared: Arc::clone(&self.shared),
                    removal: Some(removal),
                });
            }
        }
        Err(io::Error::other("somebody removes it again and again"))
    }

    fn start(&self, around: &Path) -> Option<JoinHandle<()>> {
        let (sender, queue) = sync_channel(WAITING);
        let remover = Remover {
            queue,
            sweep: Some(Sweep::new(around)),
            shared: Arc::clone(&self.shared),
        };
        self.shared.state.send_modify(|state| state.sweeping = true);
        let thread = std::thread::Builder::new().name("skillrun-remover".into());
        // Without the thread everybody removes his own.
        let thread = thread.spawn(move || remover.run()).ok()?;
        *self.shared.queue() = Some(sender);
        Some(thread)
    }

    /// Waits until everything is removed, and for a while that what killed processes left is; says
    /// what could not be.
    pub(crate) async fn clean_up(&self) -> Option<String> {
        let mut state = self.shared.state.subscribe();
        let done = state.wait_for(|state| state.waiting == 0 && !state.sweeping);
        drop(done.await);
        let mut failed = None;
        self.shared.state.send_if_modified(|state| {
            failed = state.failed.take();
            false
        });
        failed
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
    fn queue(&self) -> std::sync::MutexGuard<'_, Option<SyncSender<Waiting>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves the removal to the remover, or gives it back if as many wait as may.
    fn hand_over(self: &Arc<Self>, removal: Removal) -> Option<Removal> {
        let queue = self.queue();
        let Some(queue) = queue.as_ref() else {
            return Some(removal);
        };
        self.state.send_modify(|state| state.waiting += 1);
        let waiting = Waiting {
            removal: Some(removal),
            shared: Arc::clone(self),
        };
        match queue.try_send(waiting) {
            Ok(()) => None,
            Err(TrySendError::Full(mut back) | TrySendError::Disconnected(mut back)) => {
                back.removal.take()
            }
        }
    }
}

/// A directory that waits; counted as long as it is there.
struct Waiting {
    removal: Option<Removal>,
    shared: Arc<Shared>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.state.send_modify(|state| state.waiting -= 1);
    }
}

/// The thread that removes.
struct Remover {
    queue: Receiver<Waiting>,
    sweep: Option<Sweep>,
    shared: Arc<Shared>,
}

impl Remover {
    fn run(mut self) {
        loop {
            // What others left is only seen to while nothing of ours waits.
            let next = match &self.sweep {
                Some(_) => self.queue.try_recv(),
                None => self.queue.recv().map_err(|_| TryRecvError::Disconnected),
            };
            match (next, &mut self.sweep) {
                (Ok(mut waiting), _) => {
                    let removed = waiting.removal.take().map_or(Ok(()), Removal::finish);
                    if let Err(error) = removed {
                        let why = crate::files::plain(&error);
                        let failed = |state: &mut State| state.failed = Some(why);
                        self.shared.state.send_modify(failed);
                    }
                }
                (Err(TryRecvError::Empty), Some(sweep)) => {
                    let more = sweep.go_on();
                    if !more || sweep.removed >= WORTH_WAITING {
                        self.swept();
                    }
                    if !more {
                        self.sweep = None;
                    }
                }
                _ => return,
            }
        }
    }

    fn swept(&self) {
        self.shared
            .state
            .send_if_modified(|state| std::mem::take(&mut state.sweeping));
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.swept();
    }
}

/// A private directory; what is in it when this is dropped is removed.
pub(crate) struct Scratch {
    shared: Arc<Shared>,
    removal: Option<Removal>,
}

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        self.removal
            .as_ref()
            .map_or(Path::new(""), |removal| &removal.top)
    }

    /// Removes it if that takes no time and leaves it to the remover otherwise; gives it back if
    /// that has enough to do.
    pub(crate) fn leave(mut self) -> io::Result<Option<Removal>> {
        self.give_up()
    }

    fn give_up(&mut self) -> io::Result<Option<Removal>> {
        let Some(mut removal) = self.removal.take() else {
            return Ok(None);
        };
        match removal.go_on(AT_ONCE)? {
            true => Ok(None),
            false => Ok(self.shared.hand_over(removal)),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Ok(Some(removal)) = self.give_up() {
            let _ = removal.finish();
        }
    }
}

/// A directory of ours on its way out.
pub(crate) struct Removal {
    top: PathBuf,
    /// Holds the lock that tells others it is not left behind.
    owned: OwnedFd,
    /// Where the removal stands, and the way there from the top.
    here: Option<OwnedFd>,
    way: Vec<(CString, (u64, u64))>,
}

impl Removal {
    /// Locks a directory; `None` if somebody else has, or has removed it.
    fn own(top: PathBuf) -> io::Result<Option<Self>> {
        let owned = match open(CWD, &top) {
            Ok(owned) => owned,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let _ = fs::remove_dir(&top);
                return Err(error);
            }
        };
        // Any other error is a file system without locks, where nobody can take it for left behind.
        if flock(&owned, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Ok(None);
        }
        let there = open(CWD, &top).and_then(|there| identity(&there));
        if there.ok() != Some(identity(&owned)?) {
            return Ok(None);
        }
        Ok(Some(Self {
            top,
            owned,
            here: None,
            way: Vec::new(),
        }))
    }

    /// The same for a directory that a killed process may have left: it must be this user's alone,
    /// and where there are no locks there is no telling.
    fn left_behind(top: PathBuf) -> Option<Self> {
        let owned = open(CWD, &top).ok()?;
        let Stat {
            st_uid, st_mode, ..
        } = fstat(&owned).ok()?;
        if st_uid != rustix::process::geteuid().as_raw() || st_mode & 0o077 != 0 {
            return None;
        }
        flock(&owned, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Self {
            top,
            owned,
            here: None,
            way: Vec::new(),
        })
    }

    /// Removes all that is left of it.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.go_on(usize::MAX).map(drop)
    }

    /// Removes up to `most` entries; tells whether it is gone.
    fn go_on(&mut self, mut most: usize) -> io::Result<bool> {
        let mut here = match self.here.take() {
            Some(here) => here,
            None => {
                rustix::fs::fchmod(&self.owned, Mode::RWXU)?;
                open(&self.owned, ".")?
            }
        };
        loop {
            let emptied = match most {
                0 => Emptied::NotYet,
                _ => empty(&here, &mut most)?,
            };
            match emptied {
                Emptied::NotYet => {
                    self.here = Some(here);
                    return Ok(false);
                }
                Emptied::UpTo(name) => {
                    let below = enter(&here, &name)?;
                    self.way.push((name, identity(&here)?));
                    here = below;
                }
                Emptied::Whole => {
                    let Some((name, above)) = self.way.pop() else {
                        return match fs::remove_dir(&self.top) {
                            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                            _ => Ok(true),
                        };
                    };
                    most = most.saturating_sub(1);
                    let up = open(&here, "..")?;
                    // Moved meanwhile by somebody else: what is there is not ours to remove.
                    if identity(&up)? != above {
                        return Err(io::Error::other("it was changed while it was removed"));
                    }
                    unlinkat(&up, name, AtFlags::REMOVEDIR)?;
                    here = up;
                }
            }
        }
    }
}

/// The search for what killed processes left.
struct Sweep {
    names: Option<std::iter::Take<fs::ReadDir>>,
    current: Option<Removal>,
    removed: usize,
}

impl Sweep {
    fn new(folder: &Path) -> Self {
        let names = fs::read_dir(folder).ok();
        Self {
            names: names.map(|names| names.take(LOOKED_AT)),
            current: None,
            removed: 0,
        }
    }

    /// Does a piece of it; tells whether there may be more.
    fn go_on(&mut self) -> bool {
        if let Some(removal) = &mut self.current {
            self.removed += STEP;
            if !matches!(removal.go_on(STEP), Ok(false)) {
                self.current = None;
            }
            return true;
        }
        let Some(names) = &mut self.names else {
            return false;
        };
        for _ in 0..STEP {
            match names.next() {
                None => return false,
                Some(Ok(entry)) if is_ours(&entry.file_name()) => {
                    self.current = Removal::left_behind(entry.path());
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

/// Opens a directory that is to be emptied, also one that closed itself to its owner.
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
    /// Nothing is in it any more.
    Whole,
    /// A directory of this name is in it that is not empty.
    UpTo(CString),
    /// As many entries were removed as may be.
    NotYet,
}

/// Removes the files of a directory and its empty directories, up to the first that is not empty.
fn empty(dir: &OwnedFd, most: &mut usize) -> io::Result<Emptied> {
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if *most == 0 {
            return Ok(Emptied::NotYet);
        }
        *most -= 1;
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
    fn a_tree_of_any_depth_goes_and_what_its_links_name_stays() {
        let kept = tempfile::tempdir().unwrap();
        fs::write(kept.path().join("a"), "a").unwrap();
        let scratches = Scratches::new();
        let mut scratch = scratches.make().unwrap();
        let top = scratch.path().to_owned();
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
        // A thread with little stack, as recursion would need much.
        let removal = scratch.removal.take().unwrap();
        let remove = std::thread::Builder::new().stack_size(64 * 1024);
        let removed = remove.spawn(move || removal.finish()).unwrap().join();
        assert!(removed.unwrap().is_ok());
        assert!(!top.exists() && kept.path().join("a").exists());
    }

    #[test]
    fn a_directory_that_is_closed_to_its_owner_goes() {
        let scratch = Scratches::new().make().unwrap();
        let top = scratch.path().to_owned();
        for mode in [0o000, 0o111, 0o333, 0o555] {
            let folder = top.join(format!("{mode:o}"));
            fs::create_dir_all(folder.join("below")).unwrap();
            fs::write(folder.join("file"), "").unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(&top, fs::Permissions::from_mode(0o000)).unwrap();
        drop(scratch);
        assert!(!top.exists());
    }

    /// A scratch directory with so many entries in it.
    fn filled(scratches: &Scratches, entries: usize) -> Scratch {
        let scratch = scratches.make().unwrap();
        for n in 0..entries {
            fs::create_dir(scratch.path().join(n.to_string())).unwrap();
        }
        scratch
    }

    /// Scratches whose remover never comes, and what waits for it.
    fn without_remover(room: usize) -> (Scratches, Receiver<Waiting>) {
        let scratches = Scratches::new();
        assert!(scratches.remover.set(None).is_ok());
        let (sender, queue) = sync_channel(room);
        *scratches.shared.queue() = Some(sender);
        (scratches, queue)
    }

    #[test]
    fn a_little_goes_at_once_and_nobody_waits_for_much() {
        let (scratches, queue) = without_remover(1);
        let little = filled(&scratches, AT_ONCE - 1);
        let much = filled(&scratches, 10 * AT_ONCE);
        let (gone, there) = (little.path().to_owned(), much.path().to_owned());
        assert!(little.leave().unwrap().is_none() && !gone.exists());
        assert!(much.leave().unwrap().is_none() && there.exists());
        let mut waiting = queue.recv().unwrap();
        assert!(waiting.removal.take().unwrap().finish().is_ok());
        assert!(!there.exists());
    }

    #[test]
    fn whoever_leaves_more_than_may_wait_removes_it_himself() {
        let (scratches, queue) = without_remover(1);
        let mut all: Vec<_> = (0..3).map(|_| filled(&scratches, 10 * AT_ONCE)).collect();
        let tops: Vec<_> = all.iter().map(|one| one.path().to_owned()).collect();
        assert!(all.remove(0).leave().unwrap().is_none());
        let back = all.remove(0).leave().unwrap().unwrap();
        assert!(back.finish().is_ok());
        // A run that is dropped has nobody who could wait.
        drop(all);
        assert_eq!(scratches.shared.state.borrow().waiting, 1);
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
        assert_eq!(scratches.shared.state.borrow().waiting, 0);
    }

    #[test]
    fn cleaning_up_and_dropping_wait_until_everything_is_removed() {
        let scratches = Scratches::new();
        let leave = || {
            let scratch = filled(&scratches, 10 * AT_ONCE);
            let top = scratch.path().to_owned();
            assert!(scratch.leave().unwrap().is_none());
            top
        };
        let tops = [leave(), leave(), leave()];
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        assert_eq!(runtime.block_on(scratches.clean_up()), None);
        assert!(tops.iter().all(|top| !top.exists()));
        let tops = [leave(), leave(), leave()];
        drop(scratches);
        assert!(tops.iter().all(|top| !top.exists()));
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
        let owner = Removal::own(live.clone()).unwrap();
        let link = folder.path().join("skillrun-scratch-linklinklink");
        std::os::unix::fs::symlink(&kept[0], &link).unwrap();
        let sweep = || {
            let mut sweep = Sweep::new(folder.path());
            while sweep.go_on() {}
        };
        sweep();
        assert!(!left.exists() && live.join("a/b").exists() && link.is_symlink());
        assert!(kept.iter().all(|path| path.join("a/b").exists()));
        // Nobody owns what is being removed by another either.
        assert!(Removal::left_behind(live.clone()).is_none());
        drop(owner);
        sweep();
        assert!(!live.exists());
    }
}
