//! The time limit: how late a script that spins, sleeps, waits for input or allocates is stopped.

mod measure;

use measure::env::{self, BenchEnv};
use measure::{Result, Samples, Table, begin, ms};
use skillrun::{Host, Limits, Live, Request, Skill, Status};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(1);
const RUNS: usize = 30;
/// A script that keeps a CPU busy and one that waits run side by side, which halves the time.
const PAIRS: [[&str; 2]; 5] = [
    ["endless_loop.py", "endless_sleep.py"],
    ["endless_allocation.py", "endless_read.py"],
    ["endless_loop.js", "endless_sleep.js"],
    ["endless_allocation.js", "endless_read.js"],
    ["endless_loop.sh", "endless_daemons.sh"],
];

fn main() -> Result<()> {
    if !begin(
        "timeout",
        "how late a run returns after its limit of 1 s; memory beyond 64 MiB is given back after that",
    ) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    let host = env.host(Some(4));
    let skill = env.skill()?;
    let mut table = Table::new(["", "p50", "p95", "most", "of the limit"]);
    for pair in PAIRS {
        let late = std::thread::scope(|scope| {
            let workers = pair.map(|script| scope.spawn(|| lateness(&host, &skill, script)));
            workers.map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err("a worker panicked".into()))
            })
        });
        for (script, late) in pair.into_iter().zip(late) {
            let late = late?;
            table.row([
                script.to_owned(),
                ms(late.p50()),
                ms(late.p95()),
                ms(late.max()),
                format!("{:.3}×", 1.0 + late.p95() / LIMIT.as_secs_f64() / 1e3),
            ]);
        }
    }
    table.print();
    println!(
        "{RUNS} runs of each, one that computes beside one that waits; the last column is p95"
    );
    Ok(())
}

/// Milliseconds from the limit to the return of the run, for each of many runs.
fn lateness(host: &Host, skill: &Arc<Skill>, script: &str) -> Result<Samples> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut late = Vec::with_capacity(RUNS);
    // The first run of a host loads the runtime, which is not part of the limit.
    runtime.block_on(env::run(
        host,
        Request::typed(skill, env::hello(script)),
        Live::default(),
    ))?;
    for _ in 0..RUNS {
        let request = Request {
            limits: Some(Limits {
                time: LIMIT,
                ..Limits::default()
            }),
            ..Request::typed(skill, script)
        };
        // Nothing is ever written to the other end.
        let (silence, _other_end) = tokio::io::duplex(64);
        let live = Live {
            stdin: Some(Box::new(silence)),
            ..Live::default()
        };
        let began = Instant::now();
        let outcome = runtime.block_on(env::run(host, request, live))?;
        let took = began.elapsed();
        if outcome.status != Status::TimedOut {
            return Err(format!("`{script}` was not stopped: {outcome:?}").into());
        }
        late.push((took.as_secs_f64() - LIMIT.as_secs_f64()) * 1e3);
    }
    Ok(Samples::new(late))
}
