//! Closes questions when their time is up.
//!
//! One task of a host sleeps until the next question expires. It starts with a question and ends when none is open. A
//! program without a tokio runtime has no such task; its questions are closed with the next call.

use super::Inner;
use crate::approval::Approvals;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long to wait after an expired question could not be closed: the audit log could not be written, or its answer is
/// about to be taken.
const RETRY: Duration = Duration::from_secs(1);

impl Inner {
    /// Makes sure that open questions are closed in time.
    pub(super) fn watch_questions(&self) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && self.approvals.begin_watch()
        {
            let watch = Watch {
                host: Weak::clone(&self.this),
                approvals: Arc::downgrade(&self.approvals),
            };
            runtime.spawn(watch.run());
        }
    }
}

/// The task. It keeps neither the host nor the approvals alive.
struct Watch {
    host: Weak<Inner>,
    approvals: Weak<Approvals>,
}

impl Watch {
    async fn run(mut self) {
        let mut min_wait = Duration::ZERO;
        loop {
            let Some(approvals) = self.approvals.upgrade() else {
                return;
            };
            let Some(next) = approvals.next_expiry() else {
                // Another task may already watch the next question.
                self.approvals = Weak::new();
                return;
            };
            let sleep = approvals.sleep(next.max(min_wait));
            drop(approvals);
            sleep.await;
            let host = Weak::clone(&self.host);
            // The last host may be dropped there too, which may block.
            let expire = move || host.upgrade().map(|host| host.expire());
            // An error leaves the questions open, and they are tried again.
            let _ = tokio::task::spawn_blocking(expire).await;
            min_wait = RETRY;
        }
    }
}

impl Drop for Watch {
    /// The runtime may drop the task at any time; the next question starts another.
    fn drop(&mut self) {
        if let Some(approvals) = self.approvals.upgrade() {
            approvals.end_watch();
        }
    }
}
