//! Long runs give way to short ones.
//!
//! A guest that computes for seconds would delay every short run on the same processor by a whole time slice of the
//! scheduler, however fair the queue is: a thread that wakes up may wait until the slice of the running thread ends, 3 to
//! 4 ms. So once a run has used some CPU time, its thread gets a lower priority, and it yields (`sched_yield`) several
//! times a millisecond.
//!
//! Some kernels treat a yield as if the whole slice had been used. Next to another busy program, a long run would then
//! make hardly any progress, so a run that gets less than half of a processor does not yield. That includes runs that
//! wait or sleep half of the time, and long runs that share one processor.
//!
//! Rejected: a longer slice for long runs (`sched_setattr`). The kernel should then prefer threads with shorter slices,
//! but the delays did not change.

use rustix::process::nice;
use rustix::thread::sched_yield;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The CPU time after which a run is a long one: most scripts end before.
const LONG: Duration = Duration::from_millis(5);
/// A third of the share of a thread with normal priority, if both want the processor. A larger value would hardly help short
/// runs, and a busy machine could then let long ones run out of time.
const NICE: i32 = 5;
/// The interval over which the share of a long run is measured.
const SHARE_WINDOW: Duration = Duration::from_millis(10);

thread_local! {
    static IS_LOWERED: Cell<bool> = const { Cell::new(false) };
}

/// Lets the thread of a run give way to others once the run is a long one.
pub(super) enum Priority {
    /// The run is not known to be a long one. Its CPU time is checked at this time.
    Short(Instant),
    Long(Share),
    /// The priority stays as the process has it.
    Unchanged,
}

/// The share of a processor that a long run gets.
pub(super) struct Share {
    window_start: Instant,
    /// The CPU time that the run had used when the window began.
    used_before: Duration,
    /// Whether the share was at least half in the previous window.
    is_at_least_half: bool,
}

impl Priority {
    /// The priority of a run that shares the host with others.
    pub(super) fn lowered_for_long_runs() -> Self {
        Self::Short(Instant::now() + LONG)
    }

    /// The priority of the only run of a process.
    pub(super) fn unchanged() -> Self {
        Self::Unchanged
    }

    /// Called several times a millisecond while the run computes; `used` returns its CPU time.
    pub(super) fn update(&mut self, now: Instant, used: impl FnOnce() -> Duration) {
        match self {
            Self::Short(check_at) if now >= *check_at => match used() {
                used if used < LONG => *check_at = now + (LONG - used),
                used => {
                    // On Linux this concerns the calling thread only. A thread cannot raise its priority again.
                    if nice(NICE).is_ok() {
                        IS_LOWERED.set(true);
                    }
                    *self = Self::Long(Share {
                        window_start: now,
                        used_before: used,
                        is_at_least_half: true,
                    });
                }
            },
            Self::Long(share) => {
                share.update(now, used);
                if share.is_at_least_half {
                    sched_yield();
                }
            }
            Self::Short(_) | Self::Unchanged => {}
        }
    }
}

impl Share {
    fn update(&mut self, now: Instant, used: impl FnOnce() -> Duration) {
        let window = now.saturating_duration_since(self.window_start);
        if window >= SHARE_WINDOW {
            let used = used();
            self.is_at_least_half = used.saturating_sub(self.used_before) * 2 >= window;
            (self.window_start, self.used_before) = (now, used);
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

    #[test]
    fn a_run_that_gets_less_than_half_of_a_processor_does_not_yield() {
        let began = Instant::now();
        let mut share = Share {
            window_start: began,
            used_before: LONG,
            is_at_least_half: true,
        };
        let ms = Duration::from_millis;
        // The time since the beginning, the CPU time used since then, and whether the run would yield.
        for (time, used, would_yield) in
            [(5, 0, true), (10, 4, false), (15, 9, false), (20, 9, true)]
        {
            share.update(began + ms(time), || LONG + ms(used));
            assert_eq!(share.is_at_least_half, would_yield, "{time}");
        }
    }
}
