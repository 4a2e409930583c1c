//! How many scripts run at the same time in one runtime.

use super::BoxFuture;
use crate::error::Error;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Runs stuck in host calls that a host tolerates: each keeps its memory and open files.
const MAX_STUCK: usize = 64;

/// The slots of one runtime. A run without a slot waits.
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    /// How many runs are stuck in host calls. They keep their slots until those calls return.
    stuck: Arc<watch::Sender<usize>>,
    /// How many runs may be stuck before no further run is started.
    max_stuck: usize,
}

/// The right to run now, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot(
    #[expect(dead_code, reason = "frees the slot when it is dropped")] OwnedSemaphorePermit,
);

impl Slots {
    /// `None` sets no limit.
    pub(crate) fn new(count: Option<u32>) -> Self {
        let count = count.map_or(Semaphore::MAX_PERMITS, |count| count as usize);
        Self {
            free: Arc::new(Semaphore::new(count)),
            stuck: Arc::new(watch::Sender::new(0)),
            max_stuck: count.min(MAX_STUCK),
        }
    }

    /// The number of stuck runs, for the runtime that can tell.
    pub(crate) fn stuck(&self) -> Arc<watch::Sender<usize>> {
        Arc::clone(&self.stuck)
    }

    /// Waits for a free slot; `None` if `stop` resolves first. Fails if so many runs are stuck that
    /// none may become free.
    pub(crate) async fn take(
        &self,
        stop: &mut Option<BoxFuture<'static, ()>>,
    ) -> Result<Option<Slot>, Error> {
        let mut free = pin!(Arc::clone(&self.free).acquire_owned());
        let mut stuck = self.stuck.subscribe();
        let mut stuck = pin!(stuck.wait_for(|stuck| *stuck >= self.max_stuck));
        poll_fn(|cx| {
            let stopped = stop
                .as_mut()
                .is_some_and(|stop| stop.as_mut().poll(cx).is_ready());
            if stopped {
                return Poll::Ready(Ok(None));
            }
            if stuck.as_mut().poll(cx).is_ready() {
                let max = self.max_stuck;
                let why = format!("the limit of {max} runs stuck in host calls is reached");
                return Poll::Ready(Err(Error::Sandbox(why)));
            }
            let slot = free.as_mut().poll(cx);
            slot.map(|slot| match slot {
                Ok(slot) => Ok(Some(Slot(slot))),
                Err(closed) => Err(Error::Sandbox(closed.to_string())),
            })
        })
        .await
    }
}
