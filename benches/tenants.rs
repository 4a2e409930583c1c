//! A quiet tenant beside a hostile one: the time of a small run, alone and while another tenant floods the host with
//! endless loops, allocations, output and files.

mod measure;

use measure::env::BenchEnv;
use measure::{Result, Samples, Table, begin, ms, times};
use skillrun::running::RunEvent;
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

fn main() -> Result<()> {
    let what = "a quiet tenant's runs, alone and beside a hostile tenant";
    if !begin("tenants", what) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    let host = env.host(Some(4));
    let skill = env.skill()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let samples = runtime.block_on(measure(&host, &skill))?;

    let mut table = Table::new(["", "p50", "p99", "p50 ÷ alone", "p99 ÷ alone"]);
    for (script, [alone, beside]) in QUIET.iter().zip(samples) {
        for (name, samples) in [("alone", &alone), ("beside", &beside)] {
            table.row([
                format!("{script}, {name}"),
                ms(samples.p50()),
                ms(samples.p99()),
                times(samples.p50() / alone.p50()),
                times(samples.p99() / alone.p99()),
            ]);
        }
    }
    table.print();
    Ok(())
}

async fn measure(host: &Host, skill: &Arc<Skill>) -> Result<Vec<[Samples; 2]>> {
    let (quiet, hostile) = (host.tenant("quiet"), host.tenant("hostile"));
    // On two processors, one stays for others.
    let processors = std::thread::available_parallelism()?.get();
    hostile.configure(TenantSettings {
        quota: Quota {
            running: Some(u32::try_from(processors / 2)?.max(1)),
            ..Quota::default()
        },
        ..TenantSettings::default()
    })?;
    let mut times = QUIET.map(|_| [Vec::new(), Vec::new()]);
    for round in 0..=ROUNDS {
        for side in [0, 1] {
            let flood = match side {
                0 => None,
                _ => Some(Flood::start(&hostile, skill).await?),
            };
            for _ in 0..RUNS {
                for (script, times) in QUIET.iter().zip(&mut times) {
                    let time = once(&quiet, skill, script).await?;
                    // The first round warms up.
                    if round > 0 {
                        times[side].push(time);
                    }
                }
            }
            if let Some(flood) = flood {
                flood.stop().await;
            }
        }
    }
    Ok(times.map(|sides| sides.map(Samples::new)).into())
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
