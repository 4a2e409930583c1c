//! A warm host: deciding and running a script inside one process that goes on, as an embedding
//! server does, and how many runs a second that gives on one thread and on two.

mod measure;

use measure::peer::{Peer, fastest_node, fastest_python, spend};
use measure::place::{self, Place};
use measure::{Result, Samples, Table, begin, in_turn, ms, times};
use skillrun::{Host, Live, Request, Skill};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const SCRIPTS: [&str; 5] = [
    "hello.py",
    "imports.py",
    "hello.js",
    "imports.mjs",
    "hello.ts",
];
const ROUNDS: usize = 200;
/// How long runs are counted for one number; the numbers are taken in turn, this many times.
const WINDOW: Duration = Duration::from_millis(800);
const WINDOWS: usize = 3;

fn main() -> Result<()> {
    if !begin(
        "warm",
        "decide + run inside one process, one fresh instance a run",
    ) {
        return Ok(());
    }
    let place = Place::new()?;
    // Room reserved ahead, as a server would.
    let host = place.host(Some(8));
    let skill = place.skill()?;
    let (python, node) = (fastest_python(&place)?, fastest_node(&place)?);
    let compared: Vec<(&str, &Peer)> = SCRIPTS
        .iter()
        .filter_map(|script| {
            let python_script = script.ends_with(".py");
            let peer = if python_script { &python } else { &node };
            let peer = peer.as_ref().filter(|peer| peer.runs(script))?;
            Some((*script, peer))
        })
        .collect();

    let runtime = runtime()?;
    let warm = in_turn(SCRIPTS.len(), ROUNDS, |side| {
        runtime.block_on(once(&host, &skill, SCRIPTS[side]))
    })?;
    // A process costs much more than a warm run, so fewer of them do.
    let native = in_turn(compared.len() * 2, ROUNDS / 10, |side| {
        let (script, peer) = compared[side / 2];
        if side % 2 == 0 {
            runtime.block_on(once(&host, &skill, script))
        } else {
            spend(place.run_native(peer, script))
        }
    })?;
    let mut table = Table::new(["", "p50", "p95", "least", "÷ native process"]);
    let warm: Vec<Samples> = warm.into_iter().map(Samples::new).collect();
    let native: Vec<Samples> = native.into_iter().map(Samples::new).collect();
    for (script, own) in SCRIPTS.iter().zip(&warm) {
        let pair = compared.iter().zip(native.chunks(2));
        let pair = pair.into_iter().find(|((name, _), _)| name == script);
        let process = match pair {
            Some((_, [own, process])) => times(own.p50() / process.p50()),
            _ => "-".into(),
        };
        table.row([
            (*script).to_owned(),
            ms(own.p50()),
            ms(own.p95()),
            ms(own.min()),
            process,
        ]);
    }
    table.print();

    println!();
    let loads: Vec<(&str, usize)> = SCRIPTS
        .iter()
        .flat_map(|script| [(*script, 1), (*script, 2)])
        .collect();
    let rates = in_turn(loads.len(), WINDOWS, |side| {
        let (script, threads) = loads[side];
        rate(&host, &skill, script, threads)
    })?;
    let rates: Vec<Samples> = rates.into_iter().map(Samples::new).collect();
    let mut table = Table::new(["", "runs/s, 1 thread", "runs/s, 2 threads", "2 threads ÷ 1"]);
    for (script, pair) in SCRIPTS.iter().zip(rates.chunks(2)) {
        table.row([
            (*script).to_owned(),
            format!("{:.0}", pair[0].p50()),
            format!("{:.0}", pair[1].p50()),
            times(pair[1].p50() / pair[0].p50()),
        ]);
    }
    table.print();
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

/// Milliseconds of one run.
async fn once(host: &Host, skill: &Arc<Skill>, script: &str) -> Result<f64> {
    let began = Instant::now();
    let outcome = place::run(host, Request::typed(skill, script), Live::default()).await?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    if outcome.success {
        Ok(took)
    } else {
        Err(format!("`{script}` failed: {}", outcome.stderr).into())
    }
}

/// Runs a second, with as many threads as said, each with a runtime of its own and one shared host.
fn rate(host: &Host, skill: &Arc<Skill>, script: &str, threads: usize) -> Result<f64> {
    let done = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let runtime = runtime()?;
                    while began.elapsed() < WINDOW {
                        runtime.block_on(once(host, skill, script))?;
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Result::Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err("a worker panicked".into()))
        })
    })?;
    Ok(done.into_inner() as f64 / began.elapsed().as_secs_f64())
}
