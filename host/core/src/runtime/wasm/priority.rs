//! Long runs give way to short ones.
//!
//! A guest that computes for seconds would delay every short run on the same processor by a whole time slice of the
//! scheduler, however fair the queue is: a thread that wakes up waits until the slice of the running one ends, which is
//! 3 to 4 ms. So once a run has used some CPU time, its thread gets a lower priority, and it offers the processor to
//! others several times a millisecond.
//!
//! Some kernels count such an offer as if the whole slice had been used. Beside another busy program, a long run would
//! then hardly advance, so a run that gets less than half of a processor offers it to nobody.
//!
//! Rejected, because it did not help: a longer time slice (`sched_setattr`), with which the kernel prefers threads that
//! have shorter ones.

use rustix::process::nice;
use rustix::thread::sched_yield;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The CPU time after which a run is a long one: most scripts end before.
const LONG: Duration = Duration::from_millis(5);
/// A third of the share of a thread with normal priority, if both want the processor. A larger value would hardly help short
/// runs, and a busy machine could then let long ones run out of time.
const NICE: i32 = 5;
/// How long the share of a long run is measured before it counts.
const WINDOW: Duration = Duration::from_millis(10);

thread_local! {
    static IS_LOWERED: Cell<bool> = const { Cell::new(false) };
}

/// Lets the thread of a run give way to others once the run is a long one.
pub(super) enum Priority {
    /// The run may be a long one at this time.
    Short(Instant),
    Long(Share),
    /// The priority stays as the process has it.
    Unchanged,
}

/// The share of a processor that a long run gets.
pub(super) struct Share {
    /// When the window began, and the CPU time that the run had used by then.
    began: (Instant, Duration),
    /// Whether it was at least a half in the window before.
    is_large: bool,
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
                        began: (now, used),
                        is_large: true,
                    });
                }
            },
            Self::Long(share) => {
                share.update(now, used);
                if share.is_large {
                    sched_yield();
                }
            }
            Self::Short(_) | Self::Unchanged => {}
        }
    }
}

impl Share {
    fn update(&mut self, now: Instant, used: impl FnOnce() -> Duration) {
        let window = now.saturating_duration_since(self.began.0);
        if window >= WINDOW {
            let used = used();
            self.is_large = used.saturating_sub(self.began.1) * 2 >= window;
            self.began = (now, used);
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
    fn a_run_that_gets_less_than_half_of_a_processor_offers_it_to_nobody() {
        let began = Instant::now();
        let mut share = Share {
            began: (began, LONG),
            is_large: true,
        };
        let ms = Duration::from_millis;
        // The time since the beginning, the CPU time used since then, and whether the share is large.
        for (time, used, is_large) in [(5, 0, true), (10, 4, false), (15, 9, false), (20, 9, true)]
        {
            share.update(began + ms(time), || LONG + ms(used));
            assert_eq!(share.is_large, is_large, "{time}");
        }
    }
}
