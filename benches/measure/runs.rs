//! Runs in a long-lived process: how long one takes, and how many of them callers reach.

use super::cost::{Cost, cost_of};
use super::env;
use super::{Result, Samples};
use skillrun::{Host, Live, Policy, Request, Skill};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long runs are counted for one value.
pub(crate) const WINDOW: Duration = Duration::from_millis(200);

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

/// The time of one run in milliseconds.
pub(crate) async fn once(host: &Host, skill: &Arc<Skill>, script: &str) -> Result<f64> {
    once_under(&Policy::default(), host, skill, script).await
}

/// The same under a policy.
pub(crate) async fn once_under(
    policy: &Policy,
    host: &Host,
    skill: &Arc<Skill>,
    script: &str,
) -> Result<f64> {
    let began = Instant::now();
    let request = Request::typed(skill, script);
    let outcome = env::run_under(policy, host, request, Live::default()).await?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    if outcome.success {
        Ok(took)
    } else {
        Err(format!("`{script}` failed: {}", outcome.stderr).into())
    }
}

/// What callers reached in a while.
pub(crate) struct Window {
    /// Milliseconds to the result of each run.
    pub(crate) took: Vec<f64>,
    pub(crate) seconds: f64,
    /// Of all of them together.
    pub(crate) cost: Cost,
}

/// Runs by this many callers at the same time, each on a thread with its own async runtime, on one shared host.
pub(crate) fn window(
    host: &Host,
    skill: &Arc<Skill>,
    script: &str,
    callers: usize,
) -> Result<Window> {
    window_under(&Policy::default(), host, skill, script, callers)
}

/// The same under a policy.
pub(crate) fn window_under(
    policy: &Policy,
    host: &Host,
    skill: &Arc<Skill>,
    script: &str,
    callers: usize,
) -> Result<Window> {
    let began = Instant::now();
    let caller = || {
        let runtime = runtime()?;
        let mut took = Vec::new();
        while took.is_empty() || began.elapsed() < WINDOW {
            took.push(runtime.block_on(once_under(policy, host, skill, script))?);
        }
        Result::Ok(took)
    };
    let work = || {
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..callers).map(|_| scope.spawn(caller)).collect();
            let took = callers.into_iter().map(|caller| {
                let panicked = |_| Err("a caller panicked".into());
                caller.join().unwrap_or_else(panicked)
            });
            took.collect::<Result<Vec<_>>>()
        })
    };
    let (took, cost) = cost_of(work)?;
    let took = took.concat();
    Ok(Window {
        seconds: began.elapsed().as_secs_f64(),
        cost,
        took,
    })
}

/// What many windows show together.
pub(crate) struct Reached {
    /// Milliseconds to the result.
    pub(crate) took: Samples,
    /// Runs per second.
    pub(crate) rate: f64,
    /// Of a run, with everything that is freed after its result.
    pub(crate) cost: Cost,
}

impl Reached {
    pub(crate) fn new(windows: Vec<Window>) -> Self {
        let rates = windows
            .iter()
            .map(|window| window.took.len() as f64 / window.seconds);
        let costs = windows.iter().map(|window| window.cost);
        let runs = windows.iter().map(|window| window.took.len()).sum();
        Self {
            rate: Samples::new(rates.collect()).p50(),
            cost: costs.fold(Cost::default(), Cost::plus).per(runs),
            took: Samples::new(windows.into_iter().flat_map(|window| window.took).collect()),
        }
    }
}
