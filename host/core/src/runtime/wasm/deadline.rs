//! The end of a run: by itself, by the clock, or because the caller says so.
//!
//! The clock is looked at on every poll, that is each time the guest yields after a slice of fuel,
//! and a timer wakes a guest that sleeps. A timer alone would be late: a runtime with one busy task
//! turns to its timers only now and then.

use crate::runtime::BoxFuture;
use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// How a guest's call came to its end.
pub(crate) enum End<T> {
    Returned(T),
    TimedOut,
    Stopped,
}

/// Runs a future until it returns, the deadline passes or `stop` resolves, and counts its processor
/// time.
pub(crate) struct Deadline<F> {
    work: Pin<Box<F>>,
    at: Instant,
    timer: Pin<Box<Sleep>>,
    stop: Option<BoxFuture<'static, ()>>,
    cpu: Duration,
}

impl<F: Future> Deadline<F> {
    pub(crate) fn new(work: F, limit: Duration, stop: Option<BoxFuture<'static, ()>>) -> Self {
        let at = Instant::now() + limit;
        let timer = Box::pin(tokio::time::sleep_until(at.into()));
        Self {
            work: Box::pin(work),
            at,
            timer,
            stop,
            cpu: Duration::ZERO,
        }
    }
}

impl<F: Future> Future for Deadline<F> {
    type Output = (End<F::Output>, Duration);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self
            .stop
            .as_mut()
            .is_some_and(|stop| stop.as_mut().poll(cx).is_ready())
        {
            return Poll::Ready((End::Stopped, self.cpu));
        }
        if Instant::now() >= self.at || self.timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready((End::TimedOut, self.cpu));
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

#[cfg(test)]
mod tests {
    use super::*;

    async fn run<F: Future>(work: F, limit_ms: u64) -> End<F::Output> {
        Deadline::new(work, Duration::from_millis(limit_ms), None)
            .await
            .0
    }

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn work_that_returns_in_time_returns() {
        assert!(matches!(
            block_on(run(async { 7 }, 60_000)),
            End::Returned(7)
        ));
    }

    #[test]
    fn sleeping_and_spinning_work_are_both_stopped() {
        let spin = async {
            loop {
                tokio::task::yield_now().await;
            }
        };
        assert!(matches!(
            block_on(run(std::future::pending::<()>(), 5)),
            End::TimedOut
        ));
        assert!(matches!(block_on(run(spin, 5)), End::TimedOut));
    }

    #[test]
    fn a_stop_ends_work_before_its_deadline() {
        let stop: BoxFuture<'static, ()> = Box::pin(std::future::ready(()));
        let limit = Duration::from_secs(60);
        let work = async {
            Deadline::new(std::future::pending::<()>(), limit, Some(stop))
                .await
                .0
        };
        assert!(matches!(block_on(work), End::Stopped));
    }
}
