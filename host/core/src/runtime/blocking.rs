//! Work that may block, for a run that must leave nothing behind.
//!
//! A call can block in the kernel for ever, on a network or FUSE mount that hangs. So work has a thread of its own, and
//! whoever stops waiting for it does so after a short time. Tokio's blocking pool was rejected: dropping a runtime waits
//! for its threads, so one such call would keep a whole program from ending.

use super::stuck::{Watched, abandon_later};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

/// Work on a thread of its own, where it may block.
///
/// Dropping it gives up without waiting: the work finds out that its caller is gone. After the grace, the thread counts as
/// stuck until it returns. The result is dropped.
pub(super) struct Work<T: Send + 'static> {
    /// `None` once it was received.
    result: Option<oneshot::Receiver<std::thread::Result<T>>>,
    caller: Arc<Caller>,
    grace: Duration,
    runtime: Handle,
}

/// The caller that waits for the result.
pub(super) struct Caller {
    is_gone: AtomicBool,
    thread: Watched,
}

impl Caller {
    /// Whether nobody waits any more, so that the work should end.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }
}

impl<T: Send + 'static> Work<T> {
    pub(super) fn start(
        stuck: &Arc<watch::Sender<usize>>,
        grace: Duration,
        work: impl FnOnce(&Caller) -> T + Send + 'static,
    ) -> io::Result<Self> {
        let (result, received) = oneshot::channel();
        let caller = Arc::new(Caller {
            is_gone: AtomicBool::new(false),
            thread: Watched::new(stuck),
        });
        let (runtime, own) = (Handle::current(), Arc::clone(&caller));
        let entered = runtime.clone();
        let thread = std::thread::Builder::new().name("skillrun-blocking".into());
        thread.spawn(move || {
            let _entered = entered.enter();
            let done = catch_unwind(AssertUnwindSafe(|| work(&own)));
            // If nobody waits any more, the result is dropped here.
            drop(result.send(done));
            own.thread.set_returned();
        })?;
        Ok(Self {
            result: Some(received),
            caller,
            grace,
            runtime,
        })
    }

    /// Waits for the result. This is cancel-safe.
    pub(super) async fn result(&mut self) -> io::Result<T> {
        // It is sent unless dropping something panics.
        let panicked = || io::Error::other("its thread panicked");
        let received = self.result.as_mut().ok_or_else(panicked)?.await;
        self.result = None;
        match received {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(panicked()),
        }
    }

    /// Gives up, and waits for the work until the grace is over. Returns the result if there is one by then.
    pub(super) async fn give_up(mut self) -> Option<T> {
        self.caller.is_gone.store(true, Ordering::Relaxed);
        match tokio::time::timeout(self.grace, self.result()).await {
            Ok(result) => result.ok(),
            Err(_) => {
                // A result that comes later is dropped on the thread.
                self.result = None;
                self.caller.thread.abandon();
                None
            }
        }
    }
}

impl<T: Send + 'static> Drop for Work<T> {
    fn drop(&mut self) {
        self.caller.is_gone.store(true, Ordering::Relaxed);
        if let Some(result) = self.result.take() {
            let caller = Arc::clone(&self.caller);
            let abandon = move || caller.thread.abandon();
            abandon_later(&self.runtime, self.grace, result, abandon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread::ThreadId;

    const LONG: Duration = Duration::from_secs(600);

    /// Says on which thread it was dropped.
    struct Dropped(mpsc::Sender<ThreadId>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send(std::thread::current().id());
        }
    }

    fn stuck() -> Arc<watch::Sender<usize>> {
        Arc::new(watch::Sender::new(0))
    }

    async fn wait_until_stuck(stuck: &watch::Sender<usize>, count: usize) {
        let mut changes = stuck.subscribe();
        drop(changes.wait_for(|stuck| *stuck == count).await);
    }

    #[tokio::test]
    async fn work_that_is_given_up_is_waited_for() {
        let stuck = stuck();
        let work = Work::start(&stuck, LONG, |caller| {
            while !caller.is_gone() {
                std::thread::yield_now();
            }
            42
        });
        assert_eq!(work.unwrap().give_up().await, Some(42));
        assert_eq!(*stuck.borrow(), 0);
    }

    #[tokio::test]
    async fn work_that_does_not_return_is_abandoned_and_counted_until_it_does() {
        for is_dropped in [false, true] {
            let (dropped, was_dropped) = mpsc::channel();
            let (release, blocked) = mpsc::channel::<()>();
            let stuck = stuck();
            let work = Work::start(&stuck, Duration::ZERO, move |caller| {
                let _ = blocked.recv();
                assert!(caller.is_gone());
                Dropped(dropped)
            });
            let work = work.unwrap();
            match is_dropped {
                // Does not wait: the thread cannot return yet.
                true => drop(work),
                false => assert!(work.give_up().await.is_none()),
            }
            wait_until_stuck(&stuck, 1).await;
            drop(release);
            wait_until_stuck(&stuck, 0).await;
            assert_ne!(was_dropped.recv().unwrap(), std::thread::current().id());
        }
    }

    #[tokio::test]
    async fn work_that_returns_in_the_grace_is_not_counted() {
        let stuck = stuck();
        let (dropped, was_dropped) = mpsc::channel();
        drop(Work::start(&stuck, LONG, |_| Dropped(dropped)).unwrap());
        let dropped = tokio::task::spawn_blocking(move || was_dropped.recv());
        dropped.await.unwrap().unwrap();
        assert_eq!(*stuck.borrow(), 0);
    }

    #[tokio::test]
    async fn a_result_is_returned() {
        let mut work = Work::start(&stuck(), LONG, |_| 42).unwrap();
        assert_eq!(work.result().await.unwrap(), 42);
    }

    #[tokio::test]
    #[should_panic(expected = "oh no")]
    async fn a_panic_reaches_the_caller() {
        let mut work = Work::start(&stuck(), LONG, |_| panic!("oh no")).unwrap();
        work.result().await.unwrap()
    }
}
