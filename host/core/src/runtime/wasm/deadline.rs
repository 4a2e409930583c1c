//! Ends a guest's call on its own thread: when it returns, at the deadline, or on a signal.
//!
//! The clock is checked on every poll, that is each time the guest yields after a slice of fuel. A guest
//! that sleeps is woken by the task that waits for it ([`super::threads`]). That task's timer is exact
//! because no guest keeps its thread busy.

use super::priority::Priority;
use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Resolves when a guest has to stop.
pub(crate) type Signal = oneshot::Receiver<()>;

/// How a guest's call ended.
pub(crate) enum End<T> {
    Returned(T),
    TimedOut,
    Stopped,
}

/// Runs a future until it returns, the deadline passes or the signal resolves, and measures its CPU time.
pub(crate) struct Deadline<F> {
    work: Pin<Box<F>>,
    at: Instant,
    signal: Signal,
    priority: Priority,
    /// The CPU time of this thread at the first poll.
    began: Option<Duration>,
}

impl<F: Future> Deadline<F> {
    pub(crate) fn new(work: F, at: Instant, signal: Signal, priority: Priority) -> Self {
        Self {
            work: Box::pin(work),
            at,
            signal,
            priority,
            began: None,
        }
    }
}

impl<F: Future> Future for Deadline<F> {
    type Output = (End<F::Output>, Duration);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // A guest has its thread for itself, so this is its CPU time. Reading it takes a system call.
        let began = *self.began.get_or_insert_with(thread_time);
        // A dropped sender means the same as a sent signal. The clock is read after that: at the deadline the signal is sent,
        // too, and the run has timed out even if this thread was not scheduled between the two.
        let is_stopped = Pin::new(&mut self.signal).poll(cx).is_ready();
        let now = Instant::now();
        self.priority
            .update(now, || thread_time().saturating_sub(began));
        let end = if now >= self.at {
            End::TimedOut
        } else if is_stopped {
            End::Stopped
        } else {
            match self.work.as_mut().poll(cx) {
                Poll::Ready(output) => End::Returned(output),
                Poll::Pending => return Poll::Pending,
            }
        };
        Poll::Ready((end, thread_time().saturating_sub(began)))
    }
}

/// The CPU time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or(0),
        time.tv_nsec.try_into().unwrap_or(0),
    )
}
