//! Notices that something blocks the thread of a tokio runtime.
//!
//! A thread that blocks gives up its processor by itself, which the kernel counts. The thread of a runtime does so when it
//! parks, and nowhere else: in a call, while a future is polled, or in a drop, it may not. Whatever the call would wait for
//! is made to hang until the call has returned, so a call that waits cannot escape. A lock that two threads want at the same
//! moment, or a page that is not in memory, is counted too, so several attempts are made: one that waits fails all of them.
//!
//! A file that is read or written on the thread need not block it. The kernel counts those bytes, too.

use std::fs;
use std::sync::{Arc, Mutex, MutexGuard};

const ATTEMPTS: usize = 20;
/// Bytes that the thread of a runtime may read and write: wake-ups, and these counters. Tests move more.
const MAX_BYTES: u64 = 256 * 1024;

/// Watches the thread of a runtime.
#[derive(Clone, Default)]
pub(crate) struct Watchdog(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_watching: bool,
    /// How often the thread had blocked when it was unparked, or when the watch began.
    since: u64,
    blocked: u64,
    bytes: u64,
}

impl Watchdog {
    /// Runs `attempt` on a runtime with a single thread. It must not block that thread while it is watched.
    pub(crate) fn check<F: Future<Output = ()>>(attempt: impl Fn(Self) -> F) {
        let mut counts = Vec::new();
        for _ in 0..ATTEMPTS {
            let watchdog = Self::default();
            watchdog.runtime().block_on(attempt(watchdog.clone()));
            let state = watchdog.state();
            assert!(state.bytes < MAX_BYTES, "{} bytes", state.bytes);
            if state.blocked == 0 {
                return;
            }
            counts.push(state.blocked);
        }
        panic!("the thread blocked in all attempts: {counts:?}");
    }

    fn runtime(&self) -> tokio::runtime::Runtime {
        let (park, unpark) = (self.clone(), self.clone());
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || park.state().count())
            .on_thread_unpark(move || unpark.state().since = times_blocked())
            .build()
            .unwrap()
    }

    /// What `work` returns. From its beginning to its end, nothing may block.
    pub(crate) async fn watch<T>(&self, work: impl Future<Output = T>) -> T {
        self.begin();
        let done = work.await;
        self.end();
        done
    }

    /// The same for a call that is not async.
    pub(crate) fn watch_call<T>(&self, call: impl FnOnce() -> T) -> T {
        self.begin();
        let done = call();
        self.end();
        done
    }

    fn begin(&self) {
        let mut state = self.state();
        state.is_watching = true;
        state.bytes = state.bytes.wrapping_sub(bytes());
        state.since = times_blocked();
    }

    fn end(&self) {
        let mut state = self.state();
        state.count();
        state.is_watching = false;
        state.bytes = state.bytes.wrapping_add(bytes());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    fn count(&mut self) {
        if self.is_watching {
            self.blocked += times_blocked() - self.since;
        }
    }
}

/// How often this thread has blocked.
fn times_blocked() -> u64 {
    value("/proc/thread-self/status", "voluntary_ctxt_switches:")
}

/// How much this thread has read and written.
fn bytes() -> u64 {
    value("/proc/thread-self/io", "rchar:") + value("/proc/thread-self/io", "wchar:")
}

fn value(file: &str, key: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(key));
    value.unwrap().trim().parse().unwrap()
}
