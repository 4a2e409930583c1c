//! What happens to questions, as a stream for a front end.

use super::answer::Answer;
use super::question::Question;
use super::{Approver, Scope};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::broadcast;

/// Events that a slow receiver may be behind: as many as one tenant has open questions at most.
const CAPACITY: usize = 256;

/// Something happened to a question that this host asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuestionEvent {
    /// It waits for an answer.
    Asked(Arc<Question>),
    /// It was answered, here or in another process, and the answer is recorded.
    Answered {
        /// The question.
        question: Arc<Question>,
        /// The answer.
        answer: Answer,
        /// Who gave it.
        approver: Approver,
    },
    /// It was closed because nobody could be asked.
    Declined(Arc<Question>),
    /// Nobody answered in time. The refusal is recorded.
    Expired(Arc<Question>),
    /// Events are missing here, because this receiver was too slow. [`Host::questions`](crate::Host::questions) has the open
    /// ones.
    Missed,
}

impl QuestionEvent {
    fn question(&self) -> Option<&Question> {
        match self {
            Self::Asked(question)
            | Self::Answered { question, .. }
            | Self::Declined(question)
            | Self::Expired(question) => Some(question),
            Self::Missed => None,
        }
    }
}

/// Passes events on: to the operator all of them, to a tenant its own. Each tenant has its own channel, so that nobody
/// misses an event because of another's, or learns from a gap how much another asks.
#[derive(Debug)]
pub(super) struct Events {
    all: broadcast::Sender<QuestionEvent>,
    /// Of the tenants that listen.
    tenants: Mutex<HashMap<String, broadcast::Sender<QuestionEvent>>>,
}

impl Events {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            all: broadcast::Sender::new(CAPACITY),
            tenants: Mutex::default(),
        })
    }

    pub(super) fn subscribe(self: &Arc<Self>, scope: Scope<'_>) -> QuestionEvents {
        let receiver = match scope {
            Scope::All => self.all.subscribe(),
            Scope::Tenant(tenant) => {
                let mut tenants = self.tenants();
                let sender = tenants.entry(tenant.to_owned());
                sender
                    .or_insert_with(|| broadcast::Sender::new(CAPACITY))
                    .subscribe()
            }
        };
        QuestionEvents {
            receiver: Some(receiver),
            tenant: scope.tenant().map(ToOwned::to_owned),
            events: Arc::downgrade(self),
        }
    }

    /// Nobody has to listen.
    pub(super) fn emit(&self, event: QuestionEvent) {
        let tenant = event.question().map(|question| &question.tenant);
        if let Some(sender) = tenant.and_then(|tenant| self.tenants().get(tenant).cloned()) {
            let _ = sender.send(event.clone());
        }
        let _ = self.all.send(event);
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<String, broadcast::Sender<QuestionEvent>>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events of a host's questions from now on.
#[derive(Debug)]
pub struct QuestionEvents {
    /// Until it is dropped.
    receiver: Option<broadcast::Receiver<QuestionEvent>>,
    /// Of one tenant only.
    tenant: Option<String>,
    events: Weak<Events>,
}

impl QuestionEvents {
    /// Waits for the next event. `None` when the host is gone. It may be dropped without losing an event.
    pub async fn next(&mut self) -> Option<QuestionEvent> {
        match self.receiver.as_mut()?.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(QuestionEvent::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

impl Drop for QuestionEvents {
    fn drop(&mut self) {
        let (Some(tenant), Some(events)) = (&self.tenant, self.events.upgrade()) else {
            return;
        };
        let mut tenants = events.tenants();
        self.receiver = None;
        let sender = tenants.get(tenant);
        if sender.is_some_and(|sender| sender.receiver_count() == 0) {
            tenants.remove(tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_of_a_tenant_is_removed_with_its_last_listener() {
        let events = Events::new();
        let listen = || events.subscribe(Scope::Tenant("a"));
        let (first, second) = (listen(), listen());
        drop(first);
        assert_eq!(events.tenants().len(), 1);
        drop(second);
        assert_eq!(events.tenants().len(), 0);
    }
}
