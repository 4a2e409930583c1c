//! A warm host: deciding and running a script inside one long-lived process, as an embedding server does, compared with a
//! process of a native interpreter for each run.

mod measure;

use measure::cost::in_blocks;
use measure::env::BenchEnv;
use measure::peer::{Peer, fastest_node, fastest_python, spend};
use measure::runs::{once, runtime};
use measure::{Result, Samples, Table, begin, in_turn, ms, rounds, times};

const SCRIPTS: [&str; 5] = [
    "hello.py",
    "imports.py",
    "hello.js",
    "imports.mjs",
    "hello.ts",
];
const ROUNDS: usize = 200;
/// Blocks of runs, for what a run costs, and how many runs of a native interpreter cost as much time as one block of ours.
const BLOCKS: usize = 6;
const BLOCK: usize = 100;
const NATIVE_BLOCK: usize = 10;

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
    let warm = in_turn(SCRIPTS.len(), rounds(ROUNDS), |side| {
        runtime.block_on(once(&host, &skill, SCRIPTS[side]))
    })?;
    // A process costs much more than a warm run, so fewer are enough.
    let pair = |side: usize| {
        let (script, peer) = compared[side / 2];
        if side.is_multiple_of(2) {
            runtime.block_on(once(&host, &skill, script))
        } else {
            spend(env.run_native(peer, script))
        }
    };
    let native = in_turn(compared.len() * 2, rounds(ROUNDS / 10), pair)?;
    let lengths = [BLOCK, NATIVE_BLOCK].repeat(compared.len());
    let costs = in_blocks(&lengths, rounds(BLOCKS), pair)?;
    let mut table = Table::new([
        "",
        "÷ native process",
        "CPU ÷ native",
        "p50",
        "p95",
        "least",
        "CPU",
        "faults",
        "native CPU",
        "faults",
    ]);
    let warm: Vec<Samples> = warm.into_iter().map(Samples::new).collect();
    let native: Vec<Samples> = native.into_iter().map(Samples::new).collect();
    for (script, own) in SCRIPTS.iter().zip(&warm) {
        let pair = compared.iter().position(|(name, _)| name == script);
        let [ratio, cpu_ratio, cpu, faults, native_cpu, native_faults] = match pair {
            None => std::array::from_fn(|_| "-".into()),
            Some(pair) => {
                let (inside, process) = (2 * pair, 2 * pair + 1);
                let [cpu, faults] = costs[inside].cells();
                let [native_cpu, native_faults] = costs[process].cells();
                [
                    times(native[inside].p50() / native[process].p50()),
                    costs[inside].cpu_of(&costs[process]),
                    cpu,
                    faults,
                    native_cpu,
                    native_faults,
                ]
            }
        };
        table.row([
            (*script).to_owned(),
            ratio,
            cpu_ratio,
            ms(own.p50()),
            ms(own.p95()),
            ms(own.min()),
            cpu,
            faults,
            native_cpu,
            native_faults,
        ]);
    }
    table.print();
    Ok(())
}
