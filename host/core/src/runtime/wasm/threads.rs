//! The threads that guests run on, and the watchdog of each run.
//!
//! A host call can block in the kernel: on a network or FUSE mount, on a file under a lease. No other
//! thread can unblock it, and the guest cannot be interrupted before the call returns. So a guest
//! runs on a thread of its own, and the caller's task waits for it: until the deadline, or until the caller
//! stops it; and then for at most [`GRACE`]. A thread that has not returned by then is abandoned: for the
//! caller, the run is over. If the call does return, the guest cannot continue, because its handles are gone.
//! They are also gone if the caller's future is dropped. That does not wait: the thread frees what the guest has.
//!
//! Tokio's blocking pool was rejected: dropping a runtime waits for its blocking threads, so one stuck
//! call would keep a whole program from ending. Moving only the host calls to other threads was rejected too: a
//! run makes many of them, and each would cost more than moving the run once.

use super::deadline::Signal;
use super::priority::is_lowered;
use crate::runtime::BoxFuture;
use crate::runtime::stuck::{self, abandon_later};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SendError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};

/// How long a guest may take to stop before its thread is abandoned.
///
/// A guest checks the clock several times a millisecond, and file calls return immediately. The grace is for a
/// machine so busy that the thread is not scheduled: that must not be mistaken for a stuck call.
const GRACE: Duration = Duration::from_secs(1);

/// Idle threads that are kept for the next run; starting one costs about 0.05 ms.
const MAX_IDLE: usize = 16;

/// Runs guests, each on a thread of its own.
pub(super) struct Threads {
    idle: Arc<Mutex<Vec<Sender<Work>>>>,
    /// How many threads are abandoned and have not returned yet.
    stuck: Arc<watch::Sender<usize>>,
}

/// A job, and the channel through which its thread receives the next one.
struct Work {
    job: Box<dyn FnOnce() + Send>,
    next: Sender<Work>,
}

/// How the wait for a guest's thread ended.
pub(super) enum Watched<T> {
    Finished(T),
    /// The thread did not return in time after the deadline passed, or after the caller wanted the run to end.
    Stuck(Reason),
    /// The thread panicked.
    Failed,
}

/// Why a guest has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Deadline,
    Caller,
}

impl Threads {
    /// `stuck` counts the threads that are abandoned and have not returned yet.
    pub(super) fn new(stuck: Arc<watch::Sender<usize>>) -> Self {
        Self {
            idle: Arc::default(),
            stuck,
        }
    }

    /// For one run.
    pub(super) fn monitor(&self) -> Arc<Monitor> {
        Arc::new(Monitor {
            thread: stuck::Watched::new(&self.stuck),
            reach: Mutex::default(),
            began: OnceLock::new(),
            is_unwatched: AtomicBool::new(false),
        })
    }

    /// Runs the future that `start` makes on a thread of its own until it answers. The signal to stop is sent when `limit`
    /// is over, which counts from [`Returned::begin`], and when `stop` resolves; the thread is abandoned if the guest has
    /// not [`Returned`] soon after that. The work before the beginning and between the guest's return and the answer has no
    /// time limit. What the future returns beside its answer is dropped on the thread, after the answer was sent.
    ///
    /// Dropping this future sends the signal and does not wait. The thread is abandoned if it has not answered soon after that.
    pub(super) async fn run<F, Fut, T, R>(
        &self,
        monitor: Arc<Monitor>,
        limit: Duration,
        stop: &mut Option<BoxFuture<'static, ()>>,
        start: F,
    ) -> io::Result<Watched<T>>
    where
        F: FnOnce(Signal, Returned) -> Fut + Send + 'static,
        Fut: Future<Output = (T, R)>,
        T: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let (signal, stopped) = oneshot::channel();
        let (runtime, returned) = (Handle::current(), Returned(Arc::clone(&monitor)));
        self.start(Box::new(move || {
            let (done, rest) = runtime.block_on(start(stopped, returned));
            // If the caller is gone, the answer is dropped here.
            drop(answer.send(done));
            drop(rest);
        }))?;
        let mut watchdog = Watchdog {
            monitor: Arc::clone(&monitor),
            signal: Some(signal),
            answer: Some(answered),
            runtime: Handle::current(),
        };
        let mut reason = None;
        let mut timer = Box::pin(tokio::time::sleep(limit));
        poll_fn(|cx| {
            if let Poll::Ready(answer) = watchdog.poll_answer(cx) {
                return Poll::Ready(Ok(answer.map_or(Watched::Failed, Watched::Finished)));
            }
            if reason.is_none() {
                let is_stopped = |stop: &mut BoxFuture<'_, ()>| stop.as_mut().poll(cx).is_ready();
                if stop.as_mut().is_some_and(is_stopped) {
                    reason = Some(Reason::Caller);
                } else {
                    while timer.as_mut().poll(cx).is_ready() && reason.is_none() {
                        let now = Instant::now();
                        match monitor.deadline(limit).unwrap_or(now + GRACE) {
                            deadline if deadline <= now => reason = Some(Reason::Deadline),
                            deadline => timer.as_mut().reset(deadline.into()),
                        }
                    }
                }
                if reason.is_none() {
                    return Poll::Pending;
                }
                watchdog.signal = None;
                monitor.stop_remote();
                timer.as_mut().reset((Instant::now() + GRACE).into());
            }
            let over = timer.as_mut().poll(cx).is_ready();
            match reason {
                Some(reason) if over && monitor.abandon() => {
                    Poll::Ready(Ok(Watched::Stuck(reason)))
                }
                // Over, but it has just returned: its answer wakes this task.
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Gives a job to the thread that became idle last, whose caches are warm, or to a new one.
    fn start(&self, mut job: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        loop {
            let Some(thread) = lock(&self.idle).pop() else {
                break;
            };
            let next = thread.clone();
            match thread.send(Work { job, next }) {
                Ok(()) => return Ok(()),
                Err(SendError(back)) => job = back.job,
            }
        }
        let idle = Arc::downgrade(&self.idle);
        let thread = std::thread::Builder::new().name("skillrun-guest".into());
        thread.spawn(move || serve(job, &idle)).map(drop)
    }
}

/// Runs one job after the other on this thread, until the host is gone or too many threads are idle.
fn serve(first: Box<dyn FnOnce() + Send>, idle: &Weak<Mutex<Vec<Sender<Work>>>>) {
    let (mut own, jobs) = channel();
    let mut job = first;
    loop {
        job();
        if is_lowered() {
            return;
        }
        let Some(idle) = idle.upgrade() else {
            return;
        };
        let mut waiting = lock(&idle);
        if waiting.len() >= MAX_IDLE {
            return;
        }
        // The list now has the only sender to this thread, so the thread ends when the list is dropped.
        waiting.push(own);
        drop(waiting);
        drop(idle);
        let Ok(next) = jobs.recv() else {
            return;
        };
        Work { job, next: own } = next;
    }
}

/// A guest that runs in another process.
pub(super) trait Remote: Send + Sync {
    /// Tells it to stop.
    fn stop(&self);
    /// Ends the process.
    fn kill(&self);
}

/// How the watchdog reaches a guest in another process.
#[derive(Default)]
struct Reach {
    remote: Option<Arc<dyn Remote>>,
    has_to_stop: bool,
    /// Whether nobody waits for the outcome, so that the process can be ended at once.
    has_to_end: bool,
}

/// The state that a guest's thread shares with the task that waits for it.
pub(super) struct Monitor {
    thread: stuck::Watched,
    reach: Mutex<Reach>,
    /// When the guest began.
    began: OnceLock<Instant>,
    /// Whether nobody waits for the outcome any more.
    is_unwatched: AtomicBool,
}

impl Monitor {
    /// When the guest has to have ended, if it began.
    fn deadline(&self, limit: Duration) -> Option<Instant> {
        self.began.get().map(|began| *began + limit)
    }

    /// Whether somebody waits for the outcome. If not, the run is over although its thread has not returned: the guest may
    /// not do anything from then on.
    pub(super) fn has_caller(&self) -> bool {
        !self.is_unwatched.load(Ordering::Relaxed)
    }

    /// Abandons the thread unless the guest has ended; returns whether it is abandoned.
    fn abandon(&self) -> bool {
        let is_abandoned = self.thread.abandon();
        if is_abandoned {
            self.is_unwatched.store(true, Ordering::Relaxed);
            if let Some(remote) = &lock(&self.reach).remote {
                remote.kill();
            }
        }
        is_abandoned
    }

    /// Names the process in which the guest runs from now on, or none. It is stopped or ended at once if the run has to be
    /// already.
    pub(super) fn set_remote(&self, remote: Option<Arc<dyn Remote>>) {
        let mut reach = lock(&self.reach);
        if let Some(remote) = &remote {
            match (reach.has_to_end, reach.has_to_stop) {
                (true, _) => remote.kill(),
                (_, true) => remote.stop(),
                _ => {}
            }
        }
        reach.remote = remote;
    }

    /// Ends the process of a guest whose caller is gone.
    fn end_remote(&self) {
        let mut reach = lock(&self.reach);
        reach.has_to_end = true;
        if let Some(remote) = &reach.remote {
            remote.kill();
        }
    }

    /// Stops a guest in another process.
    fn stop_remote(&self) {
        let mut reach = lock(&self.reach);
        if !std::mem::replace(&mut reach.has_to_stop, true)
            && let Some(remote) = &reach.remote
        {
            remote.stop();
        }
    }
}

/// Records, when it is dropped, that the guest has returned.
pub(super) struct Returned(Arc<Monitor>);

impl Returned {
    /// Records that the guest begins now.
    pub(super) fn begin(&self) -> Instant {
        *self.0.began.get_or_init(Instant::now)
    }

    /// Records that the guest has returned before this is dropped. What follows has no time limit.
    pub(super) fn end(&self) {
        self.0.thread.set_returned();
    }
}

impl Drop for Returned {
    fn drop(&mut self) {
        self.0.thread.set_returned();
    }
}

/// The caller's wait for a guest's thread.
struct Watchdog<T: Send + 'static> {
    monitor: Arc<Monitor>,
    /// Dropped to make the guest stop.
    signal: Option<oneshot::Sender<()>>,
    /// `None` once it was received.
    answer: Option<oneshot::Receiver<T>>,
    runtime: Handle,
}

impl<T: Send + 'static> Watchdog<T> {
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let Some(answer) = &mut self.answer else {
            return Poll::Ready(None);
        };
        let answer = Pin::new(answer).poll(cx).map(Result::ok);
        if answer.is_ready() {
            self.answer = None;
        }
        answer
    }
}

impl<T: Send + 'static> Drop for Watchdog<T> {
    /// Without an answer, the caller has dropped its future, or the thread is abandoned.
    fn drop(&mut self) {
        // Before the signal, so that whoever receives it knows.
        self.monitor.is_unwatched.store(true, Ordering::Relaxed);
        self.signal = None;
        if let Some(answer) = self.answer.take()
            && !self.monitor.thread.is_abandoned()
        {
            self.monitor.end_remote();
            let monitor = Arc::clone(&self.monitor);
            let abandon = move || monitor.abandon();
            abandon_later(&self.runtime, GRACE, answer, abandon);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::deadline::{Deadline, End};
    use super::super::priority::Priority;
    use super::*;
    use std::future::{pending, ready};
    use std::sync::mpsc::Receiver;

    const FAR_DEADLINE: Duration = Duration::from_secs(600);

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(future)
    }

    /// Runs `work` under a deadline on one of the threads, as runs do.
    async fn run<Fut: Future<Output = u8> + 'static>(
        threads: &Threads,
        limit: Duration,
        mut stop: Option<BoxFuture<'static, ()>>,
        work: impl FnOnce() -> Fut + Send + 'static,
    ) -> Watched<End<u8>> {
        let start = move |signal, returned: Returned| async move {
            let deadline = returned.begin() + limit;
            let end = Deadline::new(work(), deadline, signal, Priority::unchanged())
                .await
                .0;
            drop(returned);
            (end, ())
        };
        let monitor = threads.monitor();
        let watched = threads.run(monitor, limit, &mut stop, start).await;
        watched.unwrap()
    }

    /// Work that drops `begin` when it starts and blocks its thread until the sender of `until` is dropped.
    async fn blocks(begin: oneshot::Sender<()>, until: Receiver<()>) -> u8 {
        drop(begin);
        let _ = until.recv();
        0
    }

    fn threads() -> Threads {
        Threads::new(Arc::new(watch::Sender::new(0)))
    }

    fn stuck(threads: &Threads) -> usize {
        *threads.stuck.borrow()
    }

    #[test]
    fn work_that_returns_in_time_is_answered() {
        let threads = threads();
        for n in 0..3 {
            let watched = block_on(run(&threads, FAR_DEADLINE, None, move || ready(n)));
            assert!(matches!(watched, Watched::Finished(End::Returned(m)) if m == n));
        }
    }

    #[test]
    fn sleeping_and_spinning_work_are_both_stopped() {
        let threads = threads();
        let short = Duration::from_millis(5);
        let spin = || async {
            loop {
                tokio::task::yield_now().await;
            }
        };
        let watched = block_on(run(&threads, short, None, pending));
        assert!(matches!(watched, Watched::Finished(End::TimedOut)));
        let watched = block_on(run(&threads, short, None, spin));
        assert!(matches!(watched, Watched::Finished(End::TimedOut)));
        assert_eq!(stuck(&threads), 0);
    }

    #[test]
    fn a_stop_ends_work_before_its_deadline() {
        let threads = threads();
        let stop: BoxFuture<'static, ()> = Box::pin(ready(()));
        let watched = block_on(run(&threads, FAR_DEADLINE, Some(stop), pending));
        assert!(matches!(watched, Watched::Finished(End::Stopped)));
    }

    #[test]
    fn an_answer_does_not_wait_for_what_is_freed_after_it() {
        struct Freed(Receiver<()>);
        impl Drop for Freed {
            fn drop(&mut self) {
                let _ = self.0.recv();
            }
        }
        let threads = threads();
        let (release, blocked) = channel::<()>();
        let start = |_signal, returned| async move {
            drop(returned);
            (1, Freed(blocked))
        };
        let monitor = threads.monitor();
        let watched = block_on(threads.run(monitor, FAR_DEADLINE, &mut None, start));
        assert!(matches!(watched, Ok(Watched::Finished(1))));
        drop(release);
    }

    #[test]
    fn a_thread_that_is_stuck_at_the_deadline_is_abandoned_until_it_returns() {
        let threads = threads();
        let (release, blocked) = channel::<()>();
        // Not polled under a deadline of its own: on a busy machine that could pass before it begins.
        let start = |_signal, returned: Returned| async move {
            returned.begin();
            blocks(oneshot::channel().0, blocked).await;
            drop(returned);
            ((), ())
        };
        let monitor = threads.monitor();
        let watched = block_on(threads.run(monitor.clone(), Duration::ZERO, &mut None, start));
        assert!(matches!(watched, Ok(Watched::Stuck(Reason::Deadline))));
        assert_eq!((stuck(&threads), monitor.has_caller()), (1, false));
        drop(release);
        block_on(async {
            let mut stuck = threads.stuck.subscribe();
            drop(stuck.wait_for(|stuck| *stuck == 0).await);
        });
    }

    #[test]
    fn the_time_before_the_beginning_does_not_count() {
        let threads = threads();
        let (release, blocked) = channel::<()>();
        let start = |signal, returned: Returned| async move {
            // The limit would be over by now if it counted from here on.
            let _ = blocked.recv();
            let deadline = returned.begin() + FAR_DEADLINE;
            let end = Deadline::new(ready(1), deadline, signal, Priority::unchanged()).await;
            drop(returned);
            (end.0, ())
        };
        let monitor = threads.monitor();
        let own = Arc::clone(&monitor);
        let watched = block_on(async {
            let mut stop = None;
            let mut run = Box::pin(threads.run(monitor, Duration::ZERO, &mut stop, start));
            let is_pending = poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx).is_pending()));
            assert!(is_pending.await);
            tokio::time::sleep(Duration::from_millis(5)).await;
            drop(release);
            run.await
        });
        assert!(matches!(watched, Ok(Watched::Finished(End::Returned(1)))));
        assert!(!own.thread.is_abandoned());
    }

    #[test]
    fn a_stop_and_a_dropped_future_abandon_a_stuck_thread() {
        let threads = threads();
        let (begin, begun) = oneshot::channel::<()>();
        let (release, blocked) = channel();
        let stop: BoxFuture<'static, ()> = Box::pin(async move { drop(begun.await) });
        let work = move || blocks(begin, blocked);
        let watched = block_on(run(&threads, FAR_DEADLINE, Some(stop), work));
        assert!(matches!(watched, Watched::Stuck(Reason::Caller)));
        assert_eq!(stuck(&threads), 1);

        let (begin, begun) = oneshot::channel::<()>();
        let (release_too, blocked) = channel();
        let work = move || blocks(begin, blocked);
        block_on(async {
            let mut run = Box::pin(run(&threads, FAR_DEADLINE, None, work));
            tokio::select! {
                _ = &mut run => panic!("it ended by itself"),
                _ = begun => {}
            }
        });
        assert_eq!(stuck(&threads), 2);
        drop((release, release_too));
        block_on(async {
            let mut stuck = threads.stuck.subscribe();
            drop(stuck.wait_for(|stuck| *stuck == 0).await);
        });
    }

    #[test]
    fn a_guest_that_has_to_stop_knows_whether_anybody_waits_for_it() {
        for is_dropped in [false, true] {
            let threads = threads();
            let monitor = threads.monitor();
            let own = Arc::clone(&monitor);
            let (begin, begun) = oneshot::channel::<()>();
            let (say, said) = channel();
            let start = move |signal: Signal, returned| async move {
                drop(begin);
                let _ = signal.await;
                say.send(own.has_caller()).unwrap();
                drop(returned);
                ((), ())
            };
            let (begun_too, mut stop): (_, Option<BoxFuture<'static, ()>>) = match is_dropped {
                true => (Some(begun), None),
                false => (None, Some(Box::pin(async move { drop(begun.await) }))),
            };
            block_on(async {
                let mut run = Box::pin(threads.run(monitor, FAR_DEADLINE, &mut stop, start));
                match begun_too {
                    Some(begun) => tokio::select! {
                        _ = &mut run => panic!("it ended by itself"),
                        _ = begun => {}
                    },
                    None => drop(run.await.unwrap()),
                }
            });
            assert_eq!(said.recv(), Ok(!is_dropped));
        }
    }

    #[test]
    fn work_that_panics_has_failed() {
        let threads = threads();
        let work = || async { panic!("on purpose") };
        let watched = block_on(run(&threads, FAR_DEADLINE, None, work));
        assert!(matches!(watched, Watched::Failed));
    }
}
