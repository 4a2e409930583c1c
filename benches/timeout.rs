//! The time limit: how late a script that spins, sleeps, waits for input or allocates is stopped, alone and with 200 runs in
//! flight.

mod measure;

use measure::env::{self, BenchEnv};
use measure::eryx::Eryx;
use measure::{Result, Samples, Table, begin, ms, rounds};
use skillrun::runtime::Workers;
use skillrun::{Host, Limits, Live, Outcome, Request, Skill, Status};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

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
/// Runs in flight, and what they do.
const CROWD: usize = 200;
const CROWDS: [(&str, &[&str]); 3] = [
    ("200 sleep", &["endless_sleep.py"]),
    ("200 compute", &["endless_loop.py"]),
    (
        "half compute, half JavaScript",
        &[
            "endless_sleep.py",
            "endless_loop.py",
            "endless_sleep.js",
            "endless_loop.js",
        ],
    ),
];
/// Each crowd, on each side, in turn.
const CROWD_ROUNDS: usize = 3;

fn main() -> Result<()> {
    if !begin(
        "timeout",
        "how late a run returns after its limit of 1 s; memory beyond 64 MiB is given back after that",
    ) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    let skill = env.skill()?;
    alone(&env, &skill)?;
    println!();
    crowds(&env, &skill)
}

fn alone(env: &BenchEnv, skill: &Arc<Skill>) -> Result<()> {
    let host = env.host(Some(4));
    let mut table = Table::new(["", "p50", "p95", "most", "of the limit"]);
    for pair in PAIRS {
        let late = std::thread::scope(|scope| {
            let workers = pair.map(|script| scope.spawn(|| lateness(&host, skill, script)));
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
        "{} runs of each, one that computes beside one that waits; the last column is p95",
        rounds(RUNS)
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
    for _ in 0..rounds(RUNS) {
        let (took, _) = runtime.block_on(limited(host, skill, script))?;
        late.push(after_limit(took));
    }
    Ok(Samples::new(late))
}

/// Runs a script until the limit stops it; returns how long that took.
async fn limited(host: &Host, skill: &Arc<Skill>, script: &str) -> Result<(Duration, Outcome)> {
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
    let outcome = env::run(host, request, live).await?;
    let took = began.elapsed();
    match outcome.status {
        Status::TimedOut => Ok((took, outcome)),
        _ => Err(format!("`{script}` was not stopped: {outcome:?}").into()),
    }
}

/// Milliseconds after the limit.
fn after_limit(time: Duration) -> f64 {
    (time.as_secs_f64() - LIMIT.as_secs_f64()) * 1e3
}

/// Lateness with many runs in flight.
#[derive(Default)]
struct Late {
    /// From the start of the script to its end.
    stopped: Vec<f64>,
    /// From the request to the outcome: with the wait for the start of the script.
    returned: Vec<f64>,
}

fn crowds(env: &BenchEnv, skill: &Arc<Skill>) -> Result<()> {
    let mut eryx = Eryx::find();
    let slots = u32::try_from(CROWD).ok();
    let program = env!("CARGO_BIN_EXE_skillrun").into();
    let hosts = [
        ("in process", env.host(slots)),
        (
            "in workers",
            env.host_with(slots, Workers::Processes(program)),
        ),
    ];
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut table = Table::new([
        "in flight",
        "returned late, p50",
        "p99",
        "most",
        "stopped late, p50",
        "p99",
        "most",
    ]);
    for (name, scripts) in CROWDS {
        let mut all: [Late; 3] = Default::default();
        for _ in 0..rounds(CROWD_ROUNDS) {
            for ((_, host), all) in hosts.iter().zip(&mut all) {
                let late = runtime.block_on(crowd(host, skill, scripts))?;
                all.stopped.extend(late.stopped);
                all.returned.extend(late.returned);
            }
            if let (Some(eryx), [script]) = (&mut eryx, scripts) {
                let script = env.script(script);
                all[2].returned.extend(eryx.late(&script, CROWD, LIMIT)?);
            }
        }
        let sides = hosts.iter().map(|(side, _)| *side).chain(["pyeryx"]);
        for (side, late) in sides.zip(all) {
            if late.returned.is_empty() {
                continue;
            }
            let cells = |late: Vec<f64>| {
                let late = Samples::new(late);
                let values = [late.p50(), late.p99(), late.max()];
                values.map(|value| {
                    if value.is_nan() {
                        "-".into()
                    } else {
                        ms(value)
                    }
                })
            };
            let ([p50, p99, most], stopped) = (cells(late.returned), cells(late.stopped));
            let [stopped_p50, stopped_p99, stopped_most] = stopped;
            let name = format!("{name}, {side}");
            table.row([name, p50, p99, most, stopped_p50, stopped_p99, stopped_most]);
        }
    }
    table.print();
    println!(
        "`returned`: from the request to the outcome, with the start of the script; `stopped`: from its start to its end"
    );
    Ok(())
}

/// Runs in flight all the time: each caller makes three runs, one after the other, of which the second counts, because then
/// all the others run too. Callers begin one after the other within the time of a limit, so that their limits do not all end at once.
async fn crowd(host: &Host, skill: &Arc<Skill>, scripts: &'static [&str]) -> Result<Late> {
    let mut callers = JoinSet::new();
    for index in 0..CROWD {
        let (host, skill) = (host.clone(), Arc::clone(skill));
        let script = scripts[index % scripts.len()];
        callers.spawn(async move {
            tokio::time::sleep(LIMIT * u32::try_from(index)? / u32::try_from(CROWD)?).await;
            limited(&host, &skill, script).await?;
            let (took, outcome) = limited(&host, &skill, script).await?;
            // While the last callers finish, the load must not fall.
            limited(&host, &skill, script).await?;
            Result::Ok((
                outcome.execution_time_ms - LIMIT.as_secs_f64() * 1e3,
                after_limit(took),
            ))
        });
    }
    let mut late = Late::default();
    for caller in callers.join_all().await {
        let (stopped, returned) = caller?;
        late.stopped.push(stopped);
        late.returned.push(returned);
    }
    Ok(late)
}
