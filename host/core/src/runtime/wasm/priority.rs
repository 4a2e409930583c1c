//! Long runs give way to short ones.
//!
//! A guest that computes for seconds would delay every short run on the same processor by a whole time slice of the
//! scheduler, however fair the queue is. So its thread gets a lower priority once it has used some CPU time.

use rustix::process::nice;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The CPU time after which a run is a long one: most scripts end before.
const LONG: Duration = Duration::from_millis(20);
/// A third of the share of a thread with normal priority, if both want the processor. A larger value would hardly help short
/// runs, and a busy machine could then let long ones run out of time.
const NICE: i32 = 5;

thread_local! {
    static IS_LOWERED: Cell<bool> = const { Cell::new(false) };
}

/// Lowers the priority of this thread once its run is a long one.
pub(super) struct Priority {
    /// When to compare the CPU time with [`LONG`]; `None` if the priority stays as it is.
    check_at: Option<Instant>,
}

impl Priority {
    /// The priority of a run that shares the host with others.
    pub(super) fn lowered_for_long_runs() -> Self {
        Self {
            check_at: Some(Instant::now() + LONG),
        }
    }

    /// The priority of the only run of a process. It stays as the process has it.
    pub(super) fn unchanged() -> Self {
        Self { check_at: None }
    }

    /// Called while the run goes on; `used` returns its CPU time.
    pub(super) fn update(&mut self, now: Instant, used: impl FnOnce() -> Duration) {
        if self.check_at.is_none_or(|at| now < at) {
            return;
        }
        // On Linux this concerns the calling thread only. A thread cannot raise its priority again.
        self.check_at = match used() {
            used if used < LONG => Some(now + (LONG - used)),
            _ => None,
        };
        if self.check_at.is_none() && nice(NICE).is_ok() {
            IS_LOWERED.set(true);
        }
    }
}

/// Whether this thread must not be used for another run.
pub(super) fn is_lowered() -> bool {
    IS_LOWERED.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpriority_process;

    /// The priority of this thread after a run has used this much CPU time, and whether the thread can be used again.
    fn after(mut priority: Priority, used: Duration) -> (i32, bool) {
        let thread = std::thread::spawn(move || {
            let before = getpriority_process(None).unwrap();
            priority.update(Instant::now() + LONG * 2, || used);
            let after = getpriority_process(None).unwrap();
            (after - before, !is_lowered())
        });
        thread.join().unwrap()
    }

    #[test]
    fn only_a_thread_that_computed_for_long_is_lowered_and_not_used_again() {
        assert_eq!(
            after(Priority::lowered_for_long_runs(), LONG / 2),
            (0, true)
        );
        assert_eq!(
            after(Priority::lowered_for_long_runs(), LONG),
            (NICE, false)
        );
        assert_eq!(after(Priority::unchanged(), LONG * 10), (0, true));
    }
}
