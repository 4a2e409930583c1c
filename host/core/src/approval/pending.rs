//! The questions that this process asked, with what a yes releases.

use super::group::Group;
use super::question::Question;
use crate::content::Content;
use crate::descriptors::Reservation;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Closed question ids that we remember, to report "already answered" instead of "unknown".
const MAX_CLOSED: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) pending: HashMap<String, PendingQuestion>,
    pub(super) closed: VecDeque<ClosedQuestion>,
    /// Whether a task closes questions that expire.
    pub(super) is_watched: bool,
}

/// A question that this process asked and that is not settled yet.
#[derive(Debug)]
pub(crate) struct PendingQuestion {
    pub(super) question: Arc<Question>,
    pub(super) group: Group,
    pub(super) content: Arc<Content>,
    /// The descriptors of the group.
    pub(super) _descriptors: Reservation,
    /// By the monotonic clock.
    pub(super) asked_at: Duration,
    /// How many callers wait for its answer. Each has a share, so that it counts down wherever the question is by then.
    pub(super) waiting: Arc<AtomicUsize>,
    /// Wakes them.
    pub(super) changed: Arc<Notify>,
}

/// A question that was answered or has expired.
#[derive(Debug)]
pub(super) struct ClosedQuestion {
    pub(super) id: String,
    pub(super) tenant: String,
    pub(super) how: Closed,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Closed {
    Answered,
    Expired,
}

impl State {
    pub(super) fn take(&mut self, id: &str) -> Option<PendingQuestion> {
        let pending = self.pending.remove(id)?;
        self.close(&pending.question, Closed::Answered);
        Some(pending)
    }

    pub(super) fn close(&mut self, question: &Question, how: Closed) {
        if self.closed.len() >= MAX_CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back(ClosedQuestion {
            id: question.id.clone(),
            tenant: question.tenant.clone(),
            how,
        });
    }
}

impl PendingQuestion {
    /// The question.
    pub(crate) fn question(&self) -> &Arc<Question> {
        &self.question
    }

    /// What a yes releases.
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    pub(crate) fn into_group(self) -> Group {
        self.group
    }

    /// Whether the skill is still what the question is about. A person may have taken minutes to answer, so the files are
    /// read again: a script could have changed them without changing their times.
    pub(crate) fn is_unchanged(&self) -> Result<bool, String> {
        self.group.first.is_unchanged()
    }

    /// Whether somebody waits for its answer.
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    pub(super) fn wake(&self) {
        // `notify_one` also wakes a caller that is about to wait; `notify_waiters` does not.
        self.changed.notify_waiters();
        self.changed.notify_one();
    }
}
