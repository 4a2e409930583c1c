//! A quiet tenant beside a hostile one: the time of a small run, alone and while another tenant floods the host with
//! endless loops, allocations, output and files. On a host with guests in its own process, and on one with workers.

mod measure;

use measure::env::BenchEnv;
use measure::{Result, Samples, Table, begin, ms, rounds, times};
use skillrun::running::RunEvent;
use skillrun::runtime::Workers;
use skillrun::tenant::{Quota, Tenant, TenantSettings};
use skillrun::{Decision, Host, Limits, Permit, Request, RunError, Skill};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const QUIET: [&str; 2] = ["hello.py", "hello.js"];
const HOSTILE: [&str; 5] = [
    "endless_loop.py",
    "endless_loop.js",
    "endless_allocation.py",
    "endless_output.py",
    "endless_files.py",
];
/// Alone and beside, in turn.
const ROUNDS: usize = 10;
/// Runs of each quiet script in a round.
const RUNS: usize = 200;
/// Runs that the hostile tenant wants at the same time.
const WANTED: usize = 50;
/// What is left of a flood after it was stopped ends within this time, and is no part of what follows.
const PAUSE: Duration = Duration::from_millis(100);

fn main() -> Result<()> {
    let what = "a quiet tenant's runs, alone and beside a hostile tenant";
    if !begin("tenants", what) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    let program = env!("CARGO_BIN_EXE_skillrun").into();
    let skill = env.skill()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut sides = Vec::new();
    for (name, workers) in [
        ("in process", Workers::InProcess),
        ("in workers", Workers::Processes(program)),
    ] {
        sides.push(Side::new(name, &env.host_with(Some(4), workers))?);
    }
    // The first round warms up.
    for round in 0..=rounds(ROUNDS) {
        for side in &mut sides {
            runtime.block_on(side.round(&skill, round > 0))?;
        }
    }

    let mut table = Table::new(["", "p50 ÷ alone", "p99 ÷ alone", "p50", "p99"]);
    for side in sides {
        for (script, times_of) in QUIET.iter().zip(side.times) {
            let [alone, beside] = times_of.map(Samples::new);
            for (name, samples) in [("alone", &alone), ("beside", &beside)] {
                table.row([
                    format!("{script}, {}, {name}", side.name),
                    times(samples.p50() / alone.p50()),
                    times(samples.p99() / alone.p99()),
                    ms(samples.p50()),
                    ms(samples.p99()),
                ]);
            }
        }
    }
    table.print();
    Ok(())
}

/// A host and its two tenants.
struct Side {
    name: &'static str,
    quiet: Tenant,
    hostile: Tenant,
    /// Of each quiet script, alone and beside the hostile tenant.
    times: [[Vec<f64>; 2]; 2],
}

impl Side {
    fn new(name: &'static str, host: &Host) -> Result<Self> {
        let hostile = host.tenant("hostile");
        // On two processors, one stays for others.
        let processors = std::thread::available_parallelism()?.get();
        hostile.configure(TenantSettings {
            quota: Quota {
                running: Some(u32::try_from(processors / 2)?.max(1)),
                ..Quota::default()
            },
            ..TenantSettings::default()
        })?;
        Ok(Self {
            name,
            quiet: host.tenant("quiet"),
            hostile,
            times: Default::default(),
        })
    }

    async fn round(&mut self, skill: &Arc<Skill>, counts: bool) -> Result<()> {
        for is_beside in [false, true] {
            let flood = match is_beside {
                false => None,
                true => Some(Flood::start(&self.hostile, skill).await?),
            };
            for _ in 0..RUNS {
                for (script, times) in QUIET.iter().zip(&mut self.times) {
                    let time = once(&self.quiet, skill, script).await?;
                    if counts {
                        times[usize::from(is_beside)].push(time);
                    }
                }
            }
            if let Some(flood) = flood {
                flood.stop().await;
                tokio::time::sleep(PAUSE).await;
            }
        }
        Ok(())
    }
}

/// The time of one run in milliseconds.
async fn once(tenant: &Tenant, skill: &Arc<Skill>, script: &str) -> Result<f64> {
    let began = Instant::now();
    let permit = permitted(tenant, Request::typed(skill, script)).await?;
    let outcome = tenant.run(permit).await?;
    match outcome.success {
        true => Ok(began.elapsed().as_secs_f64() * 1e3),
        false => Err(format!("`{script}` failed: {}", outcome.stderr).into()),
    }
}

async fn permitted(tenant: &Tenant, request: Request) -> Result<Permit> {
    match tenant.decide(request).await? {
        Decision::Permitted(permit) => Ok(permit),
        other => Err(format!("not permitted: {other:?}").into()),
    }
}

/// Hostile runs, as many as the tenant wants, until they are stopped.
struct Flood(JoinSet<Result<()>>);

impl Flood {
    /// Returns once a hostile script runs.
    async fn start(tenant: &Tenant, skill: &Arc<Skill>) -> Result<Self> {
        let (started, mut first) = tokio::sync::mpsc::channel::<()>(1);
        let mut tasks = JoinSet::new();
        for number in 0..WANTED {
            let (tenant, skill, started) = (tenant.clone(), Arc::clone(skill), started.clone());
            tasks.spawn(async move {
                loop {
                    let request = Request {
                        limits: Some(Limits {
                            time: Duration::from_secs(1),
                            ..Limits::default()
                        }),
                        ..Request::typed(&skill, HOSTILE[number % HOSTILE.len()])
                    };
                    let mut run = tenant.start(permitted(&tenant, request).await?)?;
                    while let Some(event) = run.next_event().await {
                        if event == RunEvent::Started {
                            let _ = started.try_send(());
                        }
                    }
                    match run.wait().await {
                        Ok(_) | Err(RunError::Refused(_)) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            });
        }
        first.recv().await;
        Ok(Self(tasks))
    }

    async fn stop(mut self) {
        self.0.shutdown().await;
    }
}
