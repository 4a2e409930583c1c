//! Ends a guest's call on its own thread: when it returns, at the deadline, or on a signal.
//!
//! The clock is checked on every poll, that is each time the guest yields after a slice of fuel. A guest
//! that sleeps is woken by the task that waits for it ([`super::threads`]). That task's timer is exact
//! because no guest keeps its thread busy.

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
    cpu: Duration,
}

impl<F: Future> Deadline<F> {
    pub(crate) fn new(work: F, at: Instant, signal: Signal) -> Self {
        Self {
            work: Box::pin(work),
            at,
            signal,
            cpu: Duration::ZERO,
        }
    }
}

impl<F: Future> Future for Deadline<F> {
    type Output = (End<F::Output>, Duration);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if Instant::now() >= self.at {
            return Poll::Ready((End::TimedOut, self.cpu));
        }
        // A dropped sender means the same as a sent signal.
        if Pin::new(&mut self.signal).poll(cx).is_ready() {
            return Poll::Ready((End::Stopped, self.cpu));
        }
        let before = thread_time();
        let polled = self.work.as_mut().poll(cx);
        self.cpu += thread_time().saturating_sub(before);
        polled.map(|output| (End::Returned(output), self.cpu))
    }
}

/// CPU time of this thread; a poll begins and ends on the same thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or(0),
        time.tv_nsec.try_into().unwrap_or(0),
    )
}
