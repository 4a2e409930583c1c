//! Guests in worker processes against guests on threads of one process: the time of a run, and how many runs per second one
//! and two threads reach.

mod measure;

use measure::env::BenchEnv;
use measure::runs::{once, rate, runtime};
use measure::{Result, Samples, Table, begin, in_turn, ms, times};
use skillrun::Host;
use skillrun::runtime::Workers;

const SCRIPTS: [&str; 3] = ["hello.py", "imports.py", "hello.js"];
const ROUNDS: usize = 200;
/// How often each rate is measured, in turn.
const WINDOWS: usize = 5;

fn main() -> Result<()> {
    if !begin(
        "workers",
        "guests in worker processes against guests in one process",
    ) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    let skill = env.skill()?;
    let program = env!("CARGO_BIN_EXE_skillrun").into();
    let hosts = [
        env.host_with(Some(8), Workers::InProcess),
        env.host_with(Some(8), Workers::Processes(program)),
    ];
    let sides: Vec<(&str, &Host)> = SCRIPTS
        .iter()
        .flat_map(|script| hosts.iter().map(move |host| (*script, host)))
        .collect();

    let runtime = runtime()?;
    let took = in_turn(sides.len(), ROUNDS, |side| {
        let (script, host) = sides[side];
        runtime.block_on(once(host, &skill, script))
    })?;
    let took: Vec<Samples> = took.into_iter().map(Samples::new).collect();
    let mut table = Table::new([
        "",
        "in process p50",
        "p95",
        "in a worker p50",
        "p95",
        "worker ÷ process",
    ]);
    for (script, pair) in SCRIPTS.iter().zip(took.chunks(2)) {
        table.row([
            (*script).to_owned(),
            ms(pair[0].p50()),
            ms(pair[0].p95()),
            ms(pair[1].p50()),
            ms(pair[1].p95()),
            times(pair[1].p50() / pair[0].p50()),
        ]);
    }
    table.print();

    println!();
    let loads: Vec<(&str, &Host, usize)> = sides
        .iter()
        .flat_map(|(script, host)| [1, 2].map(|threads| (*script, *host, threads)))
        .collect();
    let rates = in_turn(loads.len(), WINDOWS, |side| {
        let (script, host, threads) = loads[side];
        rate(host, &skill, script, threads)
    })?;
    let rates: Vec<Samples> = rates.into_iter().map(Samples::new).collect();
    let mut table = Table::new([
        "runs/s",
        "1 thread",
        "2 threads",
        "÷ 1",
        "1 worker",
        "2 workers",
        "÷ 1",
    ]);
    for (script, rate) in SCRIPTS.iter().zip(rates.chunks(4)) {
        let number = |index: usize| format!("{:.0}", rate[index].p50());
        table.row([
            (*script).to_owned(),
            number(0),
            number(1),
            times(rate[1].p50() / rate[0].p50()),
            number(2),
            number(3),
            times(rate[3].p50() / rate[2].p50()),
        ]);
    }
    table.print();
    Ok(())
}
