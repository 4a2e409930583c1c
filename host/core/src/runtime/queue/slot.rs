//! A place in the queue, and the slot that it becomes.

use super::quota::{Cost, Rejected};
use super::{Slots, State, lock};
use crate::error::Error;
use crate::runtime::BoxFuture;
use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Instant;
use tokio::sync::oneshot;

/// A place in the queue. Dropping it gives the place up.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(super) started: oneshot::Receiver<Result<(), Rejected>>,
    pub(super) slot: Slot,
}

/// How the wait for a slot ended.
pub(crate) enum Waited {
    /// With a slot.
    Slot(Slot),
    /// The caller stopped waiting.
    Stopped,
    /// The tenant may run nothing any more.
    Rejected(Rejected),
}

impl Ticket {
    /// Waits for a free slot, until `stop` resolves. Fails if so many runs are stuck that none may become free.
    pub(crate) async fn wait(
        mut self,
        slots: &Slots,
        stop: &mut Option<BoxFuture<'static, ()>>,
    ) -> Result<Waited, Error> {
        let mut stuck = slots.stuck.subscribe();
        let mut stuck = pin!(stuck.wait_for(|stuck| *stuck >= slots.max_stuck));
        let started = &mut self.started;
        let started = poll_fn(|cx| {
            let stopped = stop
                .as_mut()
                .is_some_and(|stop| stop.as_mut().poll(cx).is_ready());
            if stopped {
                return Poll::Ready(Ok(None));
            }
            if stuck.as_mut().poll(cx).is_ready() {
                let count = slots.max_stuck;
                return Poll::Ready(Err(Error::Stuck { count }));
            }
            Pin::new(&mut *started)
                .poll(cx)
                .map(|started| Ok(started.ok()))
        });
        Ok(match started.await? {
            Some(Ok(())) => {
                self.slot.since = Some(Instant::now());
                Waited::Slot(self.slot)
            }
            Some(Err(rejected)) => Waited::Rejected(rejected),
            None => Waited::Stopped,
        })
    }
}

/// A slot, until it is dropped; inside a [`Ticket`], still a place in the queue.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(super) state: Arc<Mutex<State>>,
    pub(super) tenant: Arc<str>,
    pub(super) runtime: usize,
    pub(super) id: u64,
    pub(super) cost: Cost,
    pub(super) since: Option<Instant>,
    pub(super) has_ended: bool,
}

impl Slot {
    /// The run no longer counts for its tenant's quota. Called before its outcome is returned, so that the tenant can start
    /// the next run; the slot itself is free when this is dropped.
    pub(crate) fn set_ended(&mut self) {
        if !std::mem::replace(&mut self.has_ended, true) {
            let mut state = lock(&self.state);
            state.end(self);
            state.start_waiting();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        // A ticket that gives up may have started at that moment.
        let has_no_slot = self.since.is_none()
            && (state.give_up(&self.tenant, self.runtime, self.id)
                || state.rejected.remove(&self.id));
        if !has_no_slot {
            if !self.has_ended {
                state.end(self);
            }
            state.release(self);
        }
        state.start_waiting();
    }
}
