//! CPU time and page faults of this process and of all processes below it.
//!
//! The kernel keeps CPU time in steps of a hundredth of a second, so it is measured over blocks of runs. The counters of a
//! child are added to those of the process that waits for it. Nobody waits for a worker that is replaced, nor for the first
//! process of a sandbox of bubblewrap, because the process that started it ends first. The kernel gives such a process to this
//! one. Between blocks of runs, it waits for them: the counters of a single short process would be rounded down to nothing.

use super::{Result, in_turn, ms, times};
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};
use std::fs;

/// How long a tick of the kernel's counters is, in milliseconds: `USER_HZ` is 100 on all common processors.
const TICK: f64 = 10.0;

/// What a run costs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// CPU time in milliseconds.
    pub(crate) cpu: f64,
    pub(crate) faults: f64,
}

impl Cost {
    /// The cost of one of many runs.
    pub(crate) fn per(self, runs: usize) -> Self {
        Self {
            cpu: self.cpu / runs as f64,
            faults: self.faults / runs as f64,
        }
    }

    /// CPU time and page faults as cells of a table.
    pub(crate) fn cells(&self) -> [String; 2] {
        [ms(self.cpu), format!("{:.0}", self.faults)]
    }

    /// The CPU time compared with that of another side.
    pub(crate) fn cpu_of(&self, other: &Self) -> String {
        let ratio = self.cpu / other.cpu;
        match ratio.is_finite() {
            true => times(ratio),
            false => "-".into(),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu + other.cpu,
            faults: self.faults + other.faults,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            cpu: self.cpu - other.cpu,
            faults: self.faults - other.faults,
        }
    }
}

/// Does `work`, and returns what it cost.
pub(crate) fn cost_of<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Cost)> {
    set_child_subreaper(Some(getpid()))?;
    // In this order, so that reading is not counted.
    let others = below()?;
    let own = of_process("self")?;
    let value = work()?;
    let own = of_process("self")?.minus(own);
    let others = below()?.minus(others);
    Ok((value, own.plus(others)))
}

/// The cost of a run of each side, over blocks of runs, in turn; `lengths` has the number of runs in a block of each side.
/// What a run starts has ended, and been waited for, when the run is over, except for orphans.
pub(crate) fn in_blocks<T>(
    lengths: &[usize],
    blocks: usize,
    mut run: impl FnMut(usize) -> Result<T>,
) -> Result<Vec<Cost>> {
    let all = in_turn(lengths.len(), blocks, |side| {
        let block = || {
            (0..lengths[side]).try_for_each(|_| run(side).map(drop))?;
            reap_orphans();
            Ok(())
        };
        let ((), cost) = cost_of(block)?;
        Ok(cost)
    })?;
    let sum = |costs: Vec<Cost>| costs.into_iter().fold(Cost::default(), Cost::plus);
    let runs = lengths.iter().map(|length| length * blocks);
    let sides = all.into_iter().zip(runs);
    Ok(sides.map(|(costs, runs)| sum(costs).per(runs)).collect())
}

/// Waits for the processes that were given to this one and have ended.
fn reap_orphans() {
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// The sum of all processes below this one.
fn below() -> Result<Cost> {
    let costs = processes()?.into_iter().filter_map(|id| {
        // It may have ended in the meantime, and then somebody waited for it.
        of_process(&id.to_string()).ok()
    });
    Ok(costs.fold(Cost::default(), Cost::plus))
}

/// The ids of all processes below this one.
pub(crate) fn processes() -> Result<Vec<u32>> {
    let mut found = children("self")?;
    let mut next = 0;
    while let Some(id) = found.get(next) {
        found.extend(children(&id.to_string()).unwrap_or_default());
        next += 1;
    }
    Ok(found)
}

fn children(process: &str) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let children = thread?.path().join("children");
        // A thread may end at any time.
        let children = fs::read_to_string(children).unwrap_or_default();
        found.extend(children.split_whitespace().flat_map(str::parse::<u32>));
    }
    Ok(found)
}

/// The counters of a process, with those of the children that it waited for.
fn of_process(process: &str) -> Result<Cost> {
    let text = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, fields) = text.rsplit_once(')').ok_or("no fields")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // As numbered in proc_pid_stat(5); the fields begin with the third.
    let sum = |numbers: [usize; 4]| -> Result<f64> {
        let fields = numbers.map(|number| fields.get(number - 3).ok_or("too few fields"));
        let values = fields.into_iter().map(|field| Ok(field?.parse::<f64>()?));
        values.sum()
    };
    Ok(Cost {
        cpu: sum([14, 15, 16, 17])? * TICK,
        faults: sum([10, 11, 12, 13])?,
    })
}
