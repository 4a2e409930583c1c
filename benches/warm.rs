//! A warm host: deciding and running a script inside one long-lived process, as an embedding
//! server does, and how many runs per second one thread and two threads reach.

mod measure;

use measure::env::BenchEnv;
use measure::peer::{Peer, fastest_node, fastest_python, spend};
use measure::runs::{once, rate, runtime};
use measure::{Result, Samples, Table, begin, in_turn, ms, times};

const SCRIPTS: [&str; 5] = [
    "hello.py",
    "imports.py",
    "hello.js",
    "imports.mjs",
    "hello.ts",
];
const ROUNDS: usize = 200;
/// How often each rate is measured, in turn.
const WINDOWS: usize = 3;

fn main() -> Result<()> {
    if !begin(
        "warm",
        "decide + run inside one process, one fresh instance a run",
    ) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    // Slots reserved in advance, as a server would.
    let host = env.host(Some(8));
    let skill = env.skill()?;
    let (python, node) = (fastest_python(&env)?, fastest_node(&env)?);
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
    // A process costs much more than a warm run, so fewer are enough.
    let native = in_turn(compared.len() * 2, ROUNDS / 10, |side| {
        let (script, peer) = compared[side / 2];
        if side % 2 == 0 {
            runtime.block_on(once(&host, &skill, script))
        } else {
            spend(env.run_native(peer, script))
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
