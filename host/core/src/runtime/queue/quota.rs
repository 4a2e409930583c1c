//! How much a tenant may use, and what one run counts for.

use std::time::Duration;

/// How much one tenant may use at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// Runs at the same time; `None` for as many as there are slots. With 0, waiting runs are refused.
    pub running: Option<u32>,
    /// Runs that may wait. One more is refused.
    pub waiting: u32,
    /// The sum of the memory limits of its runs.
    pub memory: Option<u64>,
    /// The sum of the CPU time that its runs may use at most: the time limit of each, for a native script times the
    /// processors that its processes can keep busy.
    pub cpu_time: Option<Duration>,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            running: None,
            // A burst of an agent with many tools. Each waiting run keeps its directories open.
            waiting: 1000,
            memory: None,
            cpu_time: None,
        }
    }
}

impl Quota {
    /// What of the quota a run exceeds alone.
    pub(super) fn exceeded_by(&self, cost: Cost) -> Option<&'static str> {
        if self.running == Some(0) {
            Some("running")
        } else if self.memory.is_some_and(|most| cost.memory > most) {
            Some("memory")
        } else if self.cpu_time.is_some_and(|most| cost.cpu_time > most) {
            Some("cpu_time")
        } else {
            None
        }
    }
}

/// What one run counts against its tenant's quota.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) memory: u64,
    pub(crate) cpu_time: Duration,
}

/// Why a run may not wait, or no longer.
#[derive(Debug)]
pub(crate) enum Rejected {
    /// As many runs of the tenant wait as may. The time is an estimate.
    Waiting { retry_after: Duration },
    /// The run alone exceeds the quota.
    TooLarge { what: &'static str },
}
