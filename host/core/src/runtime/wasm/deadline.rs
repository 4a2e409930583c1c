//! The end of a guest's call on its own thread: by itself, by the clock, or because it is told to stop.
//!
//! The clock is looked at on every poll, that is each time the guest yields after a slice of fuel. A guest
//! that sleeps is woken by whoever waits for it ([`super::threads`]), whose timer is exact because no guest
//! keeps that thread busy.

use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Resolves when a guest has to look whether it may go on.
pub(crate) type Signal = oneshot::Receiver<()>;

/// How a guest's call came to its end.
pub(crate) enum End<T> {
    Returned(T),
    TimedOut,
    Stopped,
}

/// Runs a future until it returns, the deadline passes or the signal comes, and counts its processor
/// time.
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
        // Sent or dropped, it means the same.
        if Pin::new(&mut self.signal).poll(cx).is_ready() {
            return Poll::Ready((End::Stopped, self.cpu));
        }
        let before = thread_time();
        let polled = self.work.as_mut().poll(cx);
        self.cpu += thread_time().saturating_sub(before);
        polled.map(|output| (End::Returned(output), self.cpu))
    }
}

/// Processor time of this thread; a poll begins and ends on one.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap_or(0),
        time.tv_nsec.try_into().unwrap_or(0),
    )
}
