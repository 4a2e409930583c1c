//! What a run in progress shares with its handle.

use crate::outcome::Denial;
use std::sync::Arc;
use tokio::sync::{SetOnce, mpsc, oneshot, watch};

/// Receives what happens during a run, besides its output.
#[derive(Default)]
pub(super) struct Observer {
    /// Notified when the script gets its slot.
    pub(super) began: Option<oneshot::Sender<()>>,
    /// What the script is denied.
    pub(super) denied: Option<mpsc::UnboundedSender<Denial>>,
    /// Set when the handle of the run is dropped.
    pub(super) abandoned: Arc<SetOnce<Abandoned>>,
}

/// Counts a run whose handle was dropped until its end.
#[derive(Debug)]
pub(super) struct Abandoned(Arc<watch::Sender<usize>>);

impl Abandoned {
    pub(super) fn new(count: &Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(Arc::clone(count))
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
