//! Waiting for answers, and the expiry of questions that got none.

use super::pending::{Closed, PendingQuestion};
use super::{AnswerError, Approvals, Scope};
use crate::files::show;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// How often we look for an answer from another process. A person takes seconds to answer, so one more second goes
/// unnoticed; a poll takes less than a millisecond.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

impl Approvals {
    /// Registers a caller that waits for the answer to a question of this process.
    pub(crate) fn wait(&self, scope: Scope<'_>, id: &str) -> Result<Waiting<'_>, AnswerError> {
        self.check_pending(scope, id)?;
        let state = self.state();
        let Some(pending) = state.pending.get(id) else {
            return Err(AnswerError::Answered { id: show(id) });
        };
        pending.waiting.fetch_add(1, Ordering::SeqCst);
        Ok(Waiting {
            approvals: self,
            count: Arc::clone(&pending.waiting),
            changed: Arc::clone(&pending.changed),
        })
    }

    /// Whether a task is needed that closes questions when they expire. If so, the caller starts it.
    pub(crate) fn begin_watch(&self) -> bool {
        !std::mem::replace(&mut self.state().is_watched, true)
    }

    /// How long until the next question expires. `None` ends the task: nothing is pending.
    pub(crate) fn next_expiry(&self) -> Option<Duration> {
        let mut state = self.state();
        let now = self.clock.monotonic();
        let pending = state.pending.values();
        let expiries = pending.map(|one| (one.asked_at + self.timeout).saturating_sub(now));
        let next = expiries.min();
        state.is_watched = next.is_some();
        next
    }

    /// The task has ended, although something may be pending.
    pub(crate) fn end_watch(&self) {
        self.state().is_watched = false;
    }

    pub(crate) fn sleep(&self, time: Duration) -> impl Future<Output = ()> + use<> {
        self.clock.sleep(time)
    }

    /// Takes the expired questions. One whose answer came in time stays if somebody waits for it.
    pub(crate) fn take_expired(&self) -> Vec<PendingQuestion> {
        let ids: Vec<(String, bool)> = {
            let state = self.state();
            let expired = state.pending.iter().filter(|(_, one)| self.is_expired(one));
            let expired = expired.map(|(id, one)| (id.clone(), one.is_awaited()));
            expired.collect()
        };
        let mut expired = Vec::new();
        for (id, is_awaited) in ids {
            let is_answered = || matches!(self.questions.answer_to(&id), Ok(Some(_)));
            let keep = is_awaited && is_answered();
            let mut state = self.state();
            if keep {
                state
                    .pending
                    .get(&id)
                    .into_iter()
                    .for_each(PendingQuestion::wake);
            } else if let Some(pending) = state.pending.remove(&id) {
                state.close(&pending.question, Closed::Expired);
                expired.push(pending);
            }
        }
        expired
    }

    /// Whether a question that was taken has an answer in the store.
    pub(crate) fn is_answered(&self, pending: &PendingQuestion) -> bool {
        matches!(self.questions.answer_to(&pending.question.id), Ok(Some(_)))
    }

    pub(super) fn is_expired(&self, pending: &PendingQuestion) -> bool {
        self.clock.monotonic() >= pending.asked_at + self.timeout
    }
}

/// A caller that waits for an answer, until it is dropped.
pub(crate) struct Waiting<'a> {
    approvals: &'a Approvals,
    /// Of all callers that wait for this answer.
    count: Arc<AtomicUsize>,
    changed: Arc<Notify>,
}

impl Waiting<'_> {
    /// Returns when there may be an answer.
    pub(crate) async fn changed(&self) {
        tokio::select! {
            () = self.changed.notified() => {}
            // Another process does not notify us.
            () = self.approvals.sleep(POLL_INTERVAL) => {}
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}
