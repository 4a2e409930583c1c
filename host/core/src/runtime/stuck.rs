//! Threads that do not return from a host call.
//!
//! Nothing can end such a call. So whoever waits for the thread does so for a grace at most, and then abandons it: the
//! thread counts as stuck until it returns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

/// Whether a thread has returned, or was abandoned.
pub(super) struct Watched {
    phase: Mutex<Phase>,
    /// How many threads are abandoned and have not returned yet.
    stuck: Arc<watch::Sender<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Working,
    Abandoned,
    Returned,
}

impl Watched {
    pub(super) fn new(stuck: &Arc<watch::Sender<usize>>) -> Self {
        Self {
            phase: Mutex::new(Phase::Working),
            stuck: Arc::clone(stuck),
        }
    }

    /// Abandons the thread unless it has returned; returns whether it is abandoned.
    pub(super) fn abandon(&self) -> bool {
        let mut phase = self.phase();
        if *phase == Phase::Working {
            *phase = Phase::Abandoned;
            self.stuck.send_modify(|stuck| *stuck += 1);
        }
        *phase == Phase::Abandoned
    }

    /// Records that the thread has returned.
    pub(super) fn set_returned(&self) {
        let before = std::mem::replace(&mut *self.phase(), Phase::Returned);
        if before == Phase::Abandoned {
            self.stuck.send_modify(|stuck| *stuck -= 1);
        }
    }

    pub(super) fn is_abandoned(&self) -> bool {
        *self.phase() == Phase::Abandoned
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `abandon` when the grace is over or the thread has answered, without blocking the caller. An answer until then is
/// dropped in a task of `runtime`, a later one on the thread itself. If the runtime ends first, so does the grace.
pub(super) fn abandon_later<T: Send + 'static>(
    runtime: &Handle,
    grace: Duration,
    answer: oneshot::Receiver<T>,
    abandon: impl FnOnce() -> bool + Send + 'static,
) {
    let abandon = CallOnDrop(Some(abandon));
    runtime.spawn(async move {
        let _ = tokio::time::timeout(grace, answer).await;
        drop(abandon);
    });
}

struct CallOnDrop<F: FnOnce() -> bool>(Option<F>);

impl<F: FnOnce() -> bool> Drop for CallOnDrop<F> {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}
