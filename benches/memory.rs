//! Memory: how much each further live instance adds to the process.

mod measure;

use measure::env::{self, BenchEnv};
use measure::{Result, Table, begin, times};
use skillrun::{Host, Live, Request, Skill};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Numbers of live instances at which memory is sampled.
const STEPS: [usize; 5] = [0, 1, 8, 16, 32];
const SCRIPTS: [&str; 4] = [
    "ready_then_sleep.py",
    "imports_then_sleep.py",
    "ready_then_sleep.js",
    "imports_then_sleep.mjs",
];

fn main() -> Result<()> {
    if !begin(
        "memory",
        "private memory of one process with many live instances",
    ) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    let skill = env.skill()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if Memory::of_this_process().is_err() {
        println!("no /proc/self/smaps_rollup: memory cannot be measured here");
        return Ok(());
    }
    let mut table = Table::new(["", "instances", "private", "pss"]);
    let mut slopes = Vec::new();
    for script in SCRIPTS {
        let host = Arc::new(env.host(None));
        let seen = runtime.block_on(async {
            // The runtime is loaded first: all instances share it.
            let warm = Request::typed(&skill, env::hello(script));
            env::run(&host, warm, Live::default()).await?;
            let mut live: Vec<JoinHandle<()>> = Vec::new();
            let mut seen = Vec::new();
            for step in STEPS {
                while live.len() < step {
                    live.push(sleeping(&host, &skill, script).await?);
                }
                seen.push((step, Memory::of_this_process()?));
            }
            for run in live {
                run.abort();
                let _ = run.await;
            }
            Result::Ok(seen)
        })?;
        for (instances, memory) in &seen {
            table.row([
                script.to_owned(),
                instances.to_string(),
                mib(memory.private),
                mib(memory.pss),
            ]);
        }
        slopes.extend(slope(script, &seen));
    }
    table.print();
    println!();
    let mut table = Table::new(["each further instance", "private", "pss", "÷ the first"]);
    for Slope {
        script,
        private,
        pss,
        first,
    } in &slopes
    {
        table.row([
            (*script).to_owned(),
            mib(*private),
            mib(*pss),
            times(private / first),
        ]);
    }
    table.print();
    Ok(())
}

/// How much one instance adds, from the third sample to the last, when everything that they share is
/// loaded; `first` is what the first one added.
struct Slope {
    script: &'static str,
    private: f64,
    pss: f64,
    first: f64,
}

fn slope(script: &'static str, seen: &[(usize, Memory)]) -> Option<Slope> {
    let [(_, none), (_, one), (from, few), .., (to, most)] = seen else {
        return None;
    };
    let more = (to - from) as f64;
    Some(Slope {
        script,
        private: (most.private - few.private) / more,
        pss: (most.pss - few.pss) / more,
        first: one.private - none.private,
    })
}

/// Starts a script and waits until it reports that it sleeps.
async fn sleeping(host: &Arc<Host>, skill: &Arc<Skill>, script: &str) -> Result<JoinHandle<()>> {
    let (output, mut said) = mpsc::channel(4);
    let live = Live {
        output: Some(output),
        ..Live::default()
    };
    let (host, request) = (Arc::clone(host), Request::typed(skill, script));
    let run = tokio::spawn(async move {
        let _ = env::run(&host, request, live).await;
    });
    match said.recv().await {
        Some(_) => Ok(run),
        None => Err(format!("`{script}` ended before it slept").into()),
    }
}

/// The memory counters of this process, in KiB.
struct Memory {
    private: f64,
    pss: f64,
}

impl Memory {
    fn of_this_process() -> Result<Self> {
        let text = std::fs::read_to_string("/proc/self/smaps_rollup")?;
        let sum = |names: &[&str]| -> f64 {
            text.lines()
                .filter_map(|line| line.split_once(':'))
                .filter(|(name, _)| names.contains(name))
                .filter_map(|(_, value)| value.trim().trim_end_matches("kB").trim().parse().ok())
                .fold(0.0, |sum, value: f64| sum + value)
        };
        Ok(Self {
            private: sum(&["Private_Clean", "Private_Dirty"]),
            pss: sum(&["Pss"]),
        })
    }
}

fn mib(kib: f64) -> String {
    format!("{:.2} MiB", kib / 1024.0)
}
