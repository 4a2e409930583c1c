//! The workers of a host: ready ones, busy ones, and those that are to be replaced.
//!
//! A worker has one job at a time. Its first one decides whom it serves from then on: nobody else, one tenant, or all those
//! that share workers. So a job of a tenant that does not share is never in a process that ran a job of another tenant, and none
//! of another tenant follows it there, whatever the policy of the other one says. A worker without namespaces serves one job.
//!
//! A worker is replaced after a number of jobs, after a run that ended in a way that the engine cannot
//! explain, and when it has been idle for a while. One more than is needed is kept ready, with the guests of the last run
//! loaded, so that no request waits for a process to start. All of that happens on a thread of the pool.

use super::super::compiled::GuestFile;
use super::super::threads::Remote as _;
use super::MOUNTS;
use super::client::{Worker, spawn};
use super::wire::LOAD;
use crate::policy::WorkerMode;
use rustix::fs::{AtFlags, StatxFlags, statx};
use skillrun_confine::wall::{self, Access, Detacher, WallKind};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Jobs after which a worker is replaced, so that nothing that a hostile guest may have prepared in it lasts.
const MAX_JOBS: u32 = 1000;
/// How often starting a worker is attempted.
const MAX_ATTEMPTS: u32 = 3;
/// How long a worker waits for its next job before it is ended.
const MAX_IDLE: Duration = Duration::from_secs(30);
/// How long a handle on a directory is kept. While it is, what is mounted below the directory is not noticed, and its file
/// system cannot be unmounted.
const MAX_AGE: Duration = Duration::from_secs(5);
/// Workers that wait for a job.
const MAX_WAITING: usize = 32;
/// Directories of which handles are kept.
const MAX_DIRECTORIES: usize = 64;

/// The workers of a host.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    keeper: OnceLock<()>,
}

pub(super) struct Shared {
    program: PathBuf,
    /// Set once it is known how workers are confined here.
    wall: OnceLock<WallKind>,
    /// `None` if none was found yet, or the last one failed.
    detacher: Mutex<Option<Arc<Detacher>>>,
    /// Handles on compiled guests, by name: their files may be removed while workers are started.
    guests: Mutex<HashMap<&'static str, Arc<OwnedFd>>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Workers that wait for a job, the one that was used last at the end.
    idle: Vec<Idle>,
    /// Workers that are to be ended.
    ending: Vec<Worker>,
    /// Handles on directories.
    directories: HashMap<Directory, Detached>,
    is_closed: bool,
    /// Whether a ready worker was taken and another one should be started.
    wants_spare: bool,
    /// The guests that it should load: those of the run that took the last one.
    spare_guests: Vec<GuestFile>,
}

struct Idle {
    worker: Worker,
    /// Whom it serves; `None` if it had no job yet.
    serves: Option<Serves>,
    since: Instant,
}

/// Whom a worker serves, from its first job on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::runtime::wasm) enum Serves {
    /// One job.
    OneRun,
    /// The jobs of a tenant.
    Tenant(String),
    /// The jobs of all tenants that share workers.
    Sharers,
}

impl Serves {
    pub(in crate::runtime::wasm) fn new(mode: WorkerMode, tenant: &str) -> Self {
        match mode {
            WorkerMode::PerRun => Self::OneRun,
            WorkerMode::PerTenant => Self::Tenant(tenant.to_owned()),
            WorkerMode::Shared => Self::Sharers,
        }
    }
}

/// A directory or a file on a mount.
#[derive(PartialEq, Eq, Hash)]
struct Directory {
    device: (u32, u32),
    inode: u64,
    /// The handle maps this owner to the worker's user.
    owner: (u32, u32),
    mount: u64,
    writable: bool,
}

struct Detached {
    handle: Arc<OwnedFd>,
    made: Instant,
}

impl Pool {
    /// Workers are started from `program` when they are needed.
    pub(crate) fn new(program: PathBuf) -> Self {
        Self {
            shared: Arc::new(Shared {
                program,
                wall: OnceLock::new(),
                detacher: Mutex::default(),
                guests: Mutex::default(),
                state: Mutex::default(),
                changed: Condvar::new(),
            }),
            keeper: OnceLock::new(),
        }
    }

    /// Why no worker can be confined here. May block.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.shared.wall().map(drop)
    }

    /// A worker for a job with these guests: one that serves the same, a fresh one that is ready, or a new one. May block.
    pub(super) fn take(&self, serves: &Serves, guests: &[GuestFile]) -> io::Result<Worker> {
        self.keep();
        loop {
            let taken = {
                let mut state = self.shared.lock();
                let same = |idle: &Idle| idle.serves.as_ref() == Some(serves);
                let position = state.idle.iter().rposition(same);
                let fresh = || state.idle.iter().rposition(|idle| idle.serves.is_none());
                let position = position.or_else(fresh);
                let taken = position.map(|position| state.idle.remove(position));
                if taken.as_ref().is_none_or(|idle| idle.serves.is_none()) {
                    state.wants_spare = true;
                    state.spare_guests = guests.to_vec();
                    self.shared.changed.notify_one();
                }
                taken
            };
            match taken {
                Some(Idle { worker, .. }) if worker.is_usable() => return Ok(worker),
                Some(Idle { worker, .. }) => self.shared.end(worker),
                None => return self.start(),
            }
        }
    }

    /// Starts a worker. Another program may kill it before it is ready, so that is attempted more than once.
    pub(super) fn start(&self) -> io::Result<Worker> {
        let mut attempt = 1;
        loop {
            match self.shared.start() {
                Err(_) if attempt < MAX_ATTEMPTS => attempt += 1,
                started => return started,
            }
        }
    }

    /// Ends the workers that wait for a job. Blocks for about a millisecond each.
    pub(crate) fn end_idle(&self) {
        let (idle, ending) = {
            let mut state = self.shared.lock();
            (
                std::mem::take(&mut state.idle),
                std::mem::take(&mut state.ending),
            )
        };
        drop((idle, ending));
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Starts the thread of the pool, once.
    fn keep(&self) {
        self.keeper.get_or_init(|| {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("skillrun-workers".into());
            // Without it, workers are started when they are needed, and end with the pool.
            let _ = thread.spawn(move || shared.serve());
        });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        {
            let mut state = self.shared.lock();
            state.is_closed = true;
            state.directories.clear();
        }
        self.shared.changed.notify_one();
        self.end_idle();
    }
}

impl Shared {
    /// What confines the workers, or why none can be confined here. May block.
    pub(super) fn wall(&self) -> Result<WallKind, String> {
        if let Some(known) = self.wall.get() {
            return Ok(*known);
        }
        let found = wall::probe().map_err(|error| error.to_string())?.kind;
        if found == WallKind::Namespaces {
            self.detacher()?;
        }
        // A failure is not kept: it may have been that of a busy machine.
        Ok(*self.wall.get_or_init(|| found))
    }

    fn start(&self) -> io::Result<Worker> {
        let wall = self.wall().map_err(io::Error::other)?;
        Worker::start(&self.program, wall)
    }

    /// Keeps a worker for the next job of those whom it serves, unless it has done enough.
    pub(super) fn give_back(&self, worker: Worker, serves: Serves) {
        let serves_more = serves != Serves::OneRun && worker.serves_many();
        match serves_more && worker.jobs < MAX_JOBS {
            true => self.keep_idle(worker, Some(serves)),
            false => self.end(worker),
        }
    }

    fn keep_idle(&self, worker: Worker, serves: Option<Serves>) {
        let mut state = self.lock();
        let since = Instant::now();
        state.idle.push(Idle {
            worker,
            serves,
            since,
        });
        let surplus = match state.is_closed {
            true => state.idle.pop(),
            // The one that has waited longest.
            false => (state.idle.len() > MAX_WAITING).then(|| state.idle.remove(0)),
        };
        drop(state);
        if let Some(surplus) = surplus {
            self.end(surplus.worker);
        }
    }

    /// Ends a worker; waits for that in the background.
    pub(super) fn end(&self, worker: Worker) {
        worker.control.kill();
        self.lock().ending.push(worker);
        self.changed.notify_one();
    }

    /// Makes a worker load the guests that it does not have.
    pub(super) fn load(&self, worker: &mut Worker, guests: &[GuestFile]) -> io::Result<()> {
        // The last one first: the interpreter may import the transpiler.
        for guest in guests.iter().rev() {
            if !worker.loaded.contains(&guest.name) {
                let handle = self.guest(guest)?;
                worker.send(LOAD, guest.name.as_bytes(), &[handle.as_fd()])?;
                worker.loaded.push(guest.name);
            }
        }
        Ok(())
    }

    /// A handle on a directory or a file from which nothing else can be reached.
    pub(super) fn detach(
        &self,
        handle: BorrowedFd<'_>,
        path: &Path,
        writable: bool,
    ) -> io::Result<Arc<OwnedFd>> {
        let flags = StatxFlags::INO | StatxFlags::UID | StatxFlags::GID | StatxFlags::MNT_ID;
        let found = statx(handle, "", AtFlags::EMPTY_PATH, flags)?;
        let key = Directory {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            owner: (found.stx_uid, found.stx_gid),
            mount: found.stx_mnt_id,
            writable,
        };
        if let Some(known) = self.lock().directories.get(&key)
            && known.made.elapsed() < MAX_AGE
        {
            return Ok(Arc::clone(&known.handle));
        }
        let detached = self.detach_once(handle, path, writable)?;
        let mut state = self.lock();
        if state.directories.len() < MAX_DIRECTORIES && !state.is_closed {
            let kept = Detached {
                handle: Arc::clone(&detached),
                made: Instant::now(),
            };
            state.directories.insert(key, kept);
        }
        Ok(detached)
    }

    /// The same for a directory that is passed on only once.
    pub(super) fn detach_once(
        &self,
        handle: BorrowedFd<'_>,
        path: &Path,
        writable: bool,
    ) -> io::Result<Arc<OwnedFd>> {
        let access = match writable {
            true => Access::Change,
            false => Access::Read,
        };
        self.detach_for(handle, path, access).map(Arc::new)
    }

    /// A handle on a compiled guest.
    pub(super) fn guest(&self, guest: &GuestFile) -> io::Result<Arc<OwnedFd>> {
        let mut guests = lock(&self.guests);
        if let Some(known) = guests.get(guest.name) {
            return Ok(Arc::clone(known));
        }
        let has_namespaces = self.wall().map_err(io::Error::other)? == WallKind::Namespaces;
        let handle = Arc::new(match &guest.path {
            Some(path) if has_namespaces => {
                self.detach_for(guest.file.as_fd(), path, Access::ReadCode)?
            }
            // Nobody can change a sealed file in memory, and a worker without namespaces no file that its run was not granted.
            _ => guest.file.as_fd().try_clone_to_owned()?,
        });
        guests.insert(guest.name, Arc::clone(&handle));
        Ok(handle)
    }

    /// A handle from which nothing else can be reached. If the process that makes them has died, another one is started.
    fn detach_for(
        &self,
        handle: BorrowedFd<'_>,
        path: &Path,
        access: Access,
    ) -> io::Result<OwnedFd> {
        let detacher = self.detacher().map_err(io::Error::other)?;
        match detacher.detach_for(handle, path, access) {
            Err(error) if detacher.has_helper() && is_broken(&error) => {
                let mut kept = lock(&self.detacher);
                // Another thread may have replaced it.
                if kept
                    .as_ref()
                    .is_some_and(|kept| Arc::ptr_eq(kept, &detacher))
                {
                    *kept = None;
                }
                drop(kept);
                let detacher = self.detacher().map_err(io::Error::other)?;
                detacher.detach_for(handle, path, access)
            }
            made => made,
        }
    }

    fn detacher(&self) -> Result<Arc<Detacher>, String> {
        let mut kept = lock(&self.detacher);
        if let Some(found) = &*kept {
            return Ok(Arc::clone(found));
        }
        let start = |socket| spawn(&self.program, &[MOUNTS], socket);
        let found = Detacher::find(&start).map_err(|error| error.to_string())?;
        Ok(Arc::clone(kept.insert(Arc::new(found))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Starts, ends and forgets in the background until the pool is closed.
    fn serve(&self) {
        let mut state = self.lock();
        loop {
            let ending = std::mem::take(&mut state.ending);
            let is_needed = state.wants_spare && !state.is_closed;
            state.wants_spare = false;
            let mut old = Vec::new();
            let now = Instant::now();
            let is_old = |since: Instant, most| now.saturating_duration_since(since) >= most;
            old.extend(
                state
                    .idle
                    .extract_if(.., |idle| is_old(idle.since, MAX_IDLE)),
            );
            state
                .directories
                .retain(|_, kept| !is_old(kept.made, MAX_AGE));
            let has_spare = state.idle.iter().any(|idle| idle.serves.is_none());
            let guests = std::mem::take(&mut state.spare_guests);
            let nothing = ending.is_empty() && old.is_empty() && (!is_needed || has_spare);
            if !nothing {
                drop(state);
                // First, because a request may wait for it.
                if is_needed && !has_spare {
                    // If it fails, the run that needs one reports why.
                    let started = self.start();
                    let loaded = started.and_then(|mut worker| {
                        self.load(&mut worker, &guests)?;
                        Ok(worker)
                    });
                    if let Ok(worker) = loaded {
                        self.keep_idle(worker, None);
                    }
                }
                drop((ending, old));
                state = self.lock();
                continue;
            }
            if state.is_closed {
                return;
            }
            let is_watched = !state.idle.is_empty() || !state.directories.is_empty();
            state = match is_watched {
                true => {
                    let waited = self.changed.wait_timeout(state, Duration::from_secs(1));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                false => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// Whether the process that makes handles is gone or does not answer.
fn is_broken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::TimedOut
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
