//! Which run starts next.
//!
//! Each runtime has slots, and each tenant has a quota. A run that finds no free slot, or whose tenant has used up its
//! quota, waits. Tenants take turns: every tenant has a tag, the turn in which its next run may start, and a free slot
//! goes to the tenant with the lowest tag, then to the run that came first. A start sets the tag to the turn after the
//! current one, and a tenant that comes without waiting runs gets the current turn. So it precedes every tenant that has
//! started a run in this turn: a tenant with a thousand waiting runs delays the next run of another by the rest of the run
//! that has the slot, not by a thousand runs. Each other tenant starts at most one run before it.
//!
//! Tenants that come for the first time would all get the current turn and, as long as there are more of them, keep those
//! waiting that had theirs. So a turn also ends when more runs have started in it than tenants wait.
//!
//! Rejected: a semaphore per runtime, which is fair between runs and therefore unfair between tenants; a share of the
//! slots per tenant, which leaves slots unused while most tenants are idle; and a list of tenants in the order of their
//! turns, in which a new tenant comes after the next run of one that already has a slot.

mod quota;
mod slot;
#[cfg(test)]
mod tests;

pub use quota::Quota;
pub(crate) use quota::{Cost, Rejected};
pub(crate) use slot::{Slot, Ticket, Waited};

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Runs stuck in host calls that a host tolerates: each keeps its memory and open files.
const MAX_STUCK: usize = 64;
/// The range of `retry_after`: a shorter time is busy waiting, a longer one is a guess.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

/// The slots of all runtimes, and the runs that wait for one.
pub(crate) struct Queue(Arc<Mutex<State>>);

/// The slots of one runtime.
pub(crate) struct Slots {
    index: usize,
    /// How many runs are stuck in host calls. They keep their slots until those calls return.
    stuck: Arc<watch::Sender<usize>>,
    /// How many runs may be stuck before no further run is started.
    max_stuck: usize,
}

impl Slots {
    /// The number of stuck runs, for the runtime that can tell.
    pub(crate) fn stuck(&self) -> Arc<watch::Sender<usize>> {
        Arc::clone(&self.stuck)
    }
}

#[derive(Default)]
struct State {
    runtimes: Vec<Turns>,
    /// The tenants that have runs, or that have had their turn.
    tenants: HashMap<Arc<str>, Load>,
    /// Runs that were refused while they waited, until their tickets are dropped.
    rejected: HashSet<u64>,
    next_id: u64,
    /// How long a slot is held, as a moving average.
    held: Duration,
}

/// The slots of one runtime, and whose turn it is to get one. Each runtime counts its own turns: otherwise runs of one
/// would end the turns of tenants that wait for another.
struct Turns {
    slots: usize,
    free: usize,
    /// Slots whose run has ended and is being torn down.
    ending: usize,
    /// The current turn. It never decreases, and no tag is higher than the turn after it.
    turn: u64,
    /// The runs that have started in it.
    started: usize,
}

/// What a tenant uses, and what it waits for.
#[derive(Default)]
struct Load {
    quota: Quota,
    running: u32,
    memory: u64,
    cpu_time: Duration,
    /// By runtime: a full one does not hold up runs of another.
    waiting: Vec<Line>,
}

/// The waiting runs of a tenant for one runtime.
#[derive(Default)]
struct Line {
    /// The oldest first.
    runs: VecDeque<Waiting>,
    /// The turn in which the next one may start.
    tag: u64,
}

struct Waiting {
    id: u64,
    cost: Cost,
    start: oneshot::Sender<Result<(), Rejected>>,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// The slots of one more runtime; `None` sets no limit.
    pub(crate) fn add_runtime(&self, slots: Option<u32>) -> Slots {
        let count = slots.map_or(usize::MAX, |count| count as usize);
        let mut state = lock(&self.0);
        state.runtimes.push(Turns {
            slots: count,
            free: count,
            ending: 0,
            turn: 0,
            started: 0,
        });
        Slots {
            index: state.runtimes.len() - 1,
            stuck: Arc::new(watch::Sender::new(0)),
            max_stuck: count.min(MAX_STUCK),
        }
    }

    /// Changes the quota of a tenant that has runs. If it may run nothing any more, its waiting runs are refused.
    pub(crate) fn set_quota(&self, tenant: &str, quota: &Quota) {
        let mut state = lock(&self.0);
        let state = &mut *state;
        if let Some(load) = state.tenants.get_mut(tenant) {
            load.quota = quota.clone();
            if quota.running == Some(0) {
                for run in load.waiting.iter_mut().flat_map(|line| line.runs.drain(..)) {
                    state.rejected.insert(run.id);
                    // If the run gave up at this moment, nobody has to be refused.
                    let _ = run.start.send(Err(Rejected::TooLarge { what: "running" }));
                }
            }
            state.forget_idle(tenant);
            state.start_waiting();
        }
    }

    /// Starts to wait for a slot.
    pub(crate) fn enter(
        &self,
        slots: &Slots,
        tenant: &str,
        quota: &Quota,
        cost: Cost,
    ) -> Result<Ticket, Rejected> {
        if let Some(what) = quota.exceeded_by(cost) {
            return Err(Rejected::TooLarge { what });
        }
        let mut state = lock(&self.0);
        let state = &mut *state;
        let name: Arc<str> = match state.tenants.get_key_value(tenant) {
            Some((name, _)) => Arc::clone(name),
            None => tenant.into(),
        };
        let load = state.tenants.entry(Arc::clone(&name)).or_default();
        load.quota = quota.clone();
        load.waiting
            .resize_with(state.runtimes.len(), Line::default);
        let line = &mut load.waiting[slots.index];
        if line.runs.is_empty() {
            line.tag = line.tag.max(state.runtimes[slots.index].turn);
        }
        let id = state.next_id;
        state.next_id += 1;
        let (start, started) = oneshot::channel();
        line.runs.push_back(Waiting { id, cost, start });
        state.start_waiting();
        if let Some(retry_after) = state.retry_after(&name, slots.index, cost)
            && state.give_up(&name, slots.index, id)
        {
            return Err(Rejected::Waiting { retry_after });
        }
        Ok(Ticket {
            started,
            slot: Slot {
                state: Arc::clone(&self.0),
                tenant: name,
                runtime: slots.index,
                id,
                cost,
                since: None,
                has_ended: false,
            },
        })
    }
}

impl State {
    /// Starts as many waiting runs as possible. A tenant that cannot start one, because its runtime is full or its quota is
    /// used up, keeps its tag.
    fn start_waiting(&mut self) {
        while self.runtimes.iter().any(|runtime| runtime.free > 0) {
            let tenants = self.tenants.iter();
            let next = tenants.filter_map(|(tenant, load)| {
                let (runtime, id) = load.next_run(&self.runtimes)?;
                Some((load.waiting[runtime].tag, id, runtime, tenant))
            });
            let next = next.min_by_key(|(tag, id, ..)| (*tag, *id));
            let Some((.., runtime, tenant)) = next else {
                return;
            };
            let tenant = Arc::clone(tenant);
            self.start(&tenant, runtime);
        }
    }

    /// Starts the oldest run of a tenant in a runtime, and sets the tenant's next turn.
    fn start(&mut self, tenant: &str, runtime: usize) {
        let waiting = self.tenants.values();
        let waiting = waiting.filter(|load| load.waits_for(runtime)).count();
        let Some(load) = self.tenants.get_mut(tenant) else {
            return;
        };
        let line = &mut load.waiting[runtime];
        let Some(run) = line.runs.pop_front() else {
            return;
        };
        let turns = &mut self.runtimes[runtime];
        let before = turns.turn;
        turns.free -= 1;
        turns.start(line.tag, waiting);
        // A tenant that could not start for long has one run at once, not one for each turn that it missed.
        line.tag = turns.turn + 1;
        load.running += 1;
        load.memory = load.memory.saturating_add(run.cost.memory);
        load.cpu_time = load.cpu_time.saturating_add(run.cost.cpu_time);
        // If the run gave up at this moment, its ticket returns the slot.
        let _ = run.start.send(Ok(()));
        if self.runtimes[runtime].turn > before {
            self.forget_all_idle();
        }
    }

    /// If more runs of a tenant wait than may, now that one of this cost has entered: when to try again.
    fn retry_after(&self, tenant: &str, runtime: usize, cost: Cost) -> Option<Duration> {
        let load = self.tenants.get(tenant)?;
        let waiting = load.waiting.iter().map(|line| line.runs.len());
        let waiting = waiting.sum::<usize>();
        // Whoever starts a run after receiving the outcome of another waits for the teardown of that one, not in the queue.
        let for_teardown = match load.fits(cost) {
            true => self.runtimes[runtime].ending,
            false => 0,
        };
        if waiting <= (load.quota.waiting as usize).saturating_add(for_teardown) {
            return None;
        }
        // By then about as many runs have ended as wait now.
        let turns = u32::try_from(waiting).unwrap_or(u32::MAX) / load.running.max(1);
        let (least, most) = RETRY_AFTER;
        Some(self.held.saturating_mul(turns.max(1)).clamp(least, most))
    }

    /// Removes a waiting run; returns whether it was still waiting.
    fn give_up(&mut self, tenant: &str, runtime: usize, id: u64) -> bool {
        let Some(load) = self.tenants.get_mut(tenant) else {
            return false;
        };
        let runs = &mut load.waiting[runtime].runs;
        let Some(place) = runs.iter().position(|run| run.id == id) else {
            return false;
        };
        runs.remove(place);
        self.forget_idle(tenant);
        true
    }

    /// Stops counting a run that has ended. Its slot is not free yet.
    fn end(&mut self, slot: &Slot) {
        self.runtimes[slot.runtime].ending += 1;
        if let Some(load) = self.tenants.get_mut(&slot.tenant) {
            load.running -= 1;
            load.memory = load.memory.saturating_sub(slot.cost.memory);
            load.cpu_time = load.cpu_time.saturating_sub(slot.cost.cpu_time);
        }
        self.forget_idle(&slot.tenant);
    }

    /// Frees the slot of a run that has ended.
    fn release(&mut self, slot: &Slot) {
        if let Some(since) = slot.since {
            // The last eight runs count most.
            self.held = (self.held * 7 + since.elapsed()) / 8;
        }
        let turns = &mut self.runtimes[slot.runtime];
        turns.ending -= 1;
        turns.free = turns.free.saturating_add(1);
        let is_unused = turns.free == turns.slots;
        if is_unused
            && !self
                .tenants
                .values()
                .any(|load| load.waits_for(slot.runtime))
        {
            // Nobody is left whom a tenant could precede because its turn was forgotten.
            self.runtimes[slot.runtime].next_turn();
            self.forget_all_idle();
        }
    }

    /// Forgets a tenant that has no runs and no tag that still counts.
    fn forget_idle(&mut self, tenant: &str) {
        let load = self.tenants.get(tenant);
        if load.is_some_and(|load| load.is_forgettable(&self.runtimes)) {
            self.tenants.remove(tenant);
        }
    }

    fn forget_all_idle(&mut self) {
        self.tenants
            .retain(|_, load| !load.is_forgettable(&self.runtimes));
    }
}

impl Turns {
    /// Counts a run that starts with this tag, one of those of `waiting` tenants.
    fn start(&mut self, tag: u64, waiting: usize) {
        if tag > self.turn || self.started >= waiting {
            self.next_turn();
        }
        self.started += 1;
    }

    fn next_turn(&mut self) {
        self.turn += 1;
        self.started = 0;
    }
}

impl Load {
    fn waits_for(&self, runtime: usize) -> bool {
        let line = self.waiting.get(runtime);
        line.is_some_and(|line| !line.runs.is_empty())
    }

    /// Whether it has no runs, and would get the same tags if it came for the first time.
    fn is_forgettable(&self, runtimes: &[Turns]) -> bool {
        let mut lines = self.waiting.iter().zip(runtimes);
        self.running == 0
            && lines.all(|(line, turns)| line.runs.is_empty() && line.tag <= turns.turn)
    }

    fn fits(&self, cost: Cost) -> bool {
        let Quota {
            running,
            memory,
            cpu_time,
            ..
        } = &self.quota;
        if self.running == 0 {
            // It fitted when it entered the queue. If the quota was lowered since, it runs alone.
            return *running != Some(0);
        }
        running.is_none_or(|most| self.running < most)
            && memory.is_none_or(|most| self.memory.saturating_add(cost.memory) <= most)
            && cpu_time.is_none_or(|most| self.cpu_time.saturating_add(cost.cpu_time) <= most)
    }

    /// The runtime and the id of its oldest run whose runtime has a free slot, if the quota allows it. A smaller one behind
    /// it does not overtake it: otherwise a large run might never start.
    fn next_run(&self, runtimes: &[Turns]) -> Option<(usize, u64)> {
        let lines = self.waiting.iter().zip(runtimes).enumerate();
        let oldest = lines.filter_map(|(runtime, (line, turns))| {
            let first = line.runs.front().filter(|_| turns.free > 0)?;
            Some((runtime, first.id, first.cost))
        });
        let (runtime, id, cost) = oldest.min_by_key(|(_, id, _)| *id)?;
        self.fits(cost).then_some((runtime, id))
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
