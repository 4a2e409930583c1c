//! What is left of a run after its end, freed in one place for all runtimes.

use super::queue::Slot;
use super::scratch::{Ending, Scratch};
use crate::private::Reachable;
use std::sync::Arc;

/// The scratch directory and the slot of a run, and what its script can reach. A runtime keeps it until nothing of the run can
/// touch anything any more, even if its caller is gone.
///
/// Dropping it frees the slot after the scratch directory is removed, on a thread that may block: that can take longer than
/// the run did.
pub(crate) struct Teardown(Option<Parts>);

/// In the order in which they are dropped.
struct Parts {
    reachable: Option<Reachable>,
    scratch: Arc<Scratch>,
    slot: Slot,
}

impl Teardown {
    pub(crate) fn new(scratch: Scratch, slot: Slot, reachable: Reachable) -> Self {
        Self(Some(Parts {
            reachable: Some(reachable),
            scratch: Arc::new(scratch),
            slot,
        }))
    }

    /// The private directory of the run.
    pub(crate) fn scratch(&self) -> Option<&Arc<Scratch>> {
        self.0.as_ref().map(|parts| &parts.scratch)
    }

    /// Lets the host wait for a run whose caller is gone.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.scratch().map(|scratch| scratch.ending().clone())
    }

    /// Marks the run as ended. Called before its outcome is returned: the tenant can start the next run, and files can be
    /// unpacked where the script was able to reach them.
    pub(crate) fn set_ended(&mut self) {
        if let Some(parts) = &mut self.0 {
            parts.scratch.ending().begin();
            parts.slot.set_ended();
            parts.reachable = None;
        }
    }
}

impl Drop for Teardown {
    fn drop(&mut self) {
        self.set_ended();
        let parts = self.0.take();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(parts))),
            Err(_) => drop(parts),
        }
    }
}
