//! The thread that removes directories, and its queue.

use super::removal::Removal;
use super::sweep::Sweep;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SendError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::watch;

/// Directories that may wait for the remover thread. If the queue is full, a run removes its own directory.
const MAX_QUEUED: usize = 16;
/// Entries left by killed processes that [`Scratches::clean_up`](super::Scratches::clean_up) waits for.
const MAX_SWEEP_WAIT: usize = 1000;

/// What the owners of directories share with the thread that removes them.
pub(super) struct Shared {
    /// Directories to remove; `None` before the remover has started and after it has ended.
    queue: Mutex<Option<Sender<Queued>>>,
    /// How many of them may wait if another run ends.
    pub(super) capacity: usize,
    pub(super) state: watch::Sender<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Directories to remove, and runs that have ended and are not dropped yet.
    pub(super) queued: usize,
    /// The directories among them.
    removals: usize,
    pub(super) sweeping: bool,
    pub(super) failed: Option<String>,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            queue: Mutex::new(None),
            capacity: MAX_QUEUED,
            state: watch::Sender::new(State::default()),
        }
    }

    /// Starts the thread, which first removes what killed processes left in the directories `around`; `None` if that fails:
    /// then each run removes its own directory.
    pub(super) fn start_remover(self: &Arc<Self>, around: Vec<PathBuf>) -> Option<JoinHandle<()>> {
        let (sender, queue) = channel();
        let remover = Remover {
            queue,
            sweep: None,
            shared: Arc::clone(self),
        };
        self.state.send_modify(|state| state.sweeping = true);
        let thread = std::thread::Builder::new().name("skillrun-remover".into());
        let thread = thread.spawn(move || remover.run(around)).ok()?;
        *self.queue() = Some(sender);
        Some(thread)
    }

    pub(super) fn queue(&self) -> MutexGuard<'_, Option<Sender<Queued>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues the removal. Returns it if there is no remover, or if it is of a run and the queue is full.
    pub(super) fn enqueue(self: &Arc<Self>, removal: Removal, is_of_run: bool) -> Option<Removal> {
        let queue = self.queue();
        let queue = queue.as_ref();
        let is_full = || is_of_run && self.state.borrow().removals >= self.capacity;
        let Some(queue) = queue.filter(|_| !is_full()) else {
            return Some(removal);
        };
        self.state.send_modify(|state| {
            state.queued += 1;
            state.removals += 1;
        });
        let queued = Queued {
            removal: Some(removal),
            shared: Arc::clone(self),
        };
        match queue.send(queued) {
            Ok(()) => None,
            Err(SendError(mut back)) => back.removal.take(),
        }
    }
}

/// A directory in the queue, or being removed; it is counted until this is dropped.
pub(super) struct Queued {
    pub(super) removal: Option<Removal>,
    shared: Arc<Shared>,
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.shared.state.send_modify(|state| {
            state.queued -= 1;
            state.removals -= 1;
        });
    }
}

/// The background thread that removes directories.
struct Remover {
    queue: Receiver<Queued>,
    sweep: Option<Sweep>,
    shared: Arc<Shared>,
}

impl Remover {
    /// Removes what killed processes left in the directories `around`, and what is queued, until nothing more can be.
    fn run(mut self, around: Vec<PathBuf>) {
        self.sweep = Some(Sweep::new(around));
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

    /// Lets [`Scratches::clean_up`](super::Scratches::clean_up) return although the sweep may not be finished.
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

/// Lets [`Scratches::clean_up`](super::Scratches::clean_up) wait until a scratch directory is gone, and does not keep it.
#[derive(Clone)]
pub(crate) struct Ending {
    phase: Arc<Mutex<Phase>>,
    shared: Arc<Shared>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Used,
    /// Counted among those that `clean_up` waits for.
    Ending,
    Gone,
}

impl Ending {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            phase: Arc::default(),
            shared: Arc::clone(shared),
        }
    }

    /// From now on, [`Scratches::clean_up`](super::Scratches::clean_up) waits until the directory is gone: its run has ended, or nobody waits for it any
    /// more.
    pub(crate) fn begin(&self) {
        let mut phase = self.phase();
        if *phase == Phase::Used {
            *phase = Phase::Ending;
            let state = &self.shared.state;
            state.send_modify(|state| state.queued += 1);
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        *self.phase() == Phase::Ending
    }

    pub(super) fn finish(&self) {
        let before = std::mem::replace(&mut *self.phase(), Phase::Gone);
        if before == Phase::Ending {
            let state = &self.shared.state;
            state.send_modify(|state| state.queued -= 1);
        }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
