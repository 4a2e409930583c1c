//! Keeps a run that must have a process to itself from sharing the process of the host.
//!
//! Where guests run in the host's process, `workers = "per-run"` can be enforced for one run: the first one, if no other
//! follows. That is what `skillrun run` needs. Everything else is refused. It counts for the process, not for each host,
//! because the hosts of a process share its memory.
//!
//! Rejected: refusing the mode wherever guests run in this process. `skillrun run` would have to start another process for its
//! only script.

use crate::files::show;
use crate::plan::Plan;
use crate::policy::WorkerMode;
use crate::refusal::{Check, Refusal};
use std::sync::atomic::{AtomicU8, Ordering};

/// No guest has run in this process.
const UNUSED: u8 = 0;
/// Some have, and more may.
const SHARED: u8 = 1;
/// One has, and no other may.
const TAKEN: u8 = 2;

static THIS_PROCESS: AtomicU8 = AtomicU8::new(UNUSED);

/// Refuses a plan that cannot run in this process, as far as is known before it runs.
pub(super) fn check(plan: &Plan) -> Result<(), Refusal> {
    match allows(THIS_PROCESS.load(Ordering::Relaxed), plan.workers) {
        true => Ok(()),
        false => Err(refusal(plan)),
    }
}

/// Makes this process the one in which a plan runs, or refuses it.
pub(crate) fn enter(plan: &Plan) -> Result<(), Refusal> {
    let next = match plan.workers {
        WorkerMode::PerRun => TAKEN,
        WorkerMode::PerTenant | WorkerMode::Shared => SHARED,
    };
    let enter = |state| allows(state, plan.workers).then_some(next);
    match THIS_PROCESS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter) {
        Ok(_) => Ok(()),
        Err(_) => Err(refusal(plan)),
    }
}

fn allows(state: u8, mode: WorkerMode) -> bool {
    match mode {
        WorkerMode::PerRun => state == UNUSED,
        WorkerMode::PerTenant | WorkerMode::Shared => state != TAKEN,
    }
}

fn refusal(plan: &Plan) -> Refusal {
    let name = show(plan.script());
    let others = "run scripts in worker processes (`Workers::Processes`)";
    let (message, hint) = match (plan.workers, &plan.workers_by) {
        (WorkerMode::PerRun, (by, hint)) => {
            let demands = match by.as_str() {
                "" => format!("the policy demands a process of its own for `{name}`"),
                by => format!("a process of its own for `{name}` is demanded{by}"),
            };
            (
                format!("{demands}, and another script has run in this one"),
                format!("{others}, or {hint}"),
            )
        }
        _ => (
            format!(
                "`{name}` cannot run in this process: the policy demanded it for another script alone"
            ),
            others.to_owned(),
        ),
    };
    Refusal::new(Check::Isolation, message).hint(hint)
}
