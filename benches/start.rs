//! Starting: `skillrun run` as a whole process compared with `python3`, `node`, `bash` and bubblewrap, for scripts that print
//! a word and for scripts with the usual imports.

mod measure;

use measure::cost::in_blocks;
use measure::env::BenchEnv;
use measure::peer::{BASH, Peer, bubblewrap, has_bubblewrap, nodes, pythons, spend};
use measure::{Result, Samples, Table, begin, in_turn, ms, rounds, times};
use std::process::Command;

const ROUNDS: usize = 40;
/// Blocks of runs, for what a run costs. Those of shells are longer because a run is shorter.
const BLOCKS: usize = 6;
const BLOCK: usize = 10;
const BLOCK_OF_SHELL: usize = 40;

/// What runs a script.
type Side<'a> = (String, Box<dyn Fn(&str) -> Command + 'a>);

fn main() -> Result<()> {
    if !begin(
        "start",
        "a whole process, `skillrun run SKILL x.py` ÷ `python3 x.py`, and the same with `node`, `bash` and bubblewrap",
    ) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    for script in ["hello.py", "imports.py"] {
        compare(&env, script, interpreters(&env, &pythons(), script))?;
    }
    let nodes = nodes();
    for script in ["hello.js", "imports.mjs", "hello.ts"] {
        compare(&env, script, interpreters(&env, &nodes, script))?;
    }
    compare(&env, "hello.sh", shells(&env))?;
    println!(
        "÷ is skillrun against that one; {} rounds in turn",
        rounds(ROUNDS)
    );
    Ok(())
}

fn interpreters<'a>(env: &'a BenchEnv, peers: &[Peer], script: &str) -> Vec<Side<'a>> {
    let peers = peers.iter().filter(|peer| peer.runs(script)).cloned();
    peers
        .map(|peer| -> Side<'a> {
            let name = peer.name();
            (name, Box::new(move |script| env.run_native(&peer, script)))
        })
        .collect()
}

fn shells(env: &BenchEnv) -> Vec<Side<'_>> {
    let mut sides: Vec<Side<'_>> = vec![(
        "bash".into(),
        Box::new(|script| {
            let mut command = Command::new(BASH);
            command.arg(env.script(script)).current_dir(env.folder());
            command
        }),
    )];
    if has_bubblewrap() {
        sides.push((
            "bubblewrap with bash".into(),
            Box::new(|script| {
                let script = env.script(script);
                let mut command = bubblewrap(script.parent());
                command.arg(BASH).arg(script).current_dir(env.folder());
                command
            }),
        ));
    }
    sides
}

fn compare(env: &BenchEnv, script: &str, peers: Vec<Side<'_>>) -> Result<()> {
    let mut sides: Vec<Side<'_>> = vec![("skillrun".into(), Box::new(|script| env.run(script)))];
    sides.extend(peers);
    let run = |side: usize| spend(sides[side].1(script));
    let walls = in_turn(sides.len(), rounds(ROUNDS), run)?;
    let block = match script.ends_with(".sh") {
        true => BLOCK_OF_SHELL,
        false => BLOCK,
    };
    let costs = in_blocks(&vec![block; sides.len()], rounds(BLOCKS), run)?;
    let walls: Vec<Samples> = walls.into_iter().map(Samples::new).collect();
    let mut table = Table::new([
        script, "÷ p50", "÷ least", "÷ CPU", "p50", "p95", "least", "CPU", "faults",
    ]);
    for (index, ((name, _), wall)) in sides.iter().zip(&walls).enumerate() {
        let (own, cost) = (&walls[0], &costs[index]);
        let ratios = match index {
            0 => Default::default(),
            _ => [
                times(own.p50() / wall.p50()),
                times(own.min() / wall.min()),
                costs[0].cpu_of(cost),
            ],
        };
        let [p50, least, cpu] = ratios;
        let [cpu_time, faults] = cost.cells();
        table.row([
            name.clone(),
            p50,
            least,
            cpu,
            ms(wall.p50()),
            ms(wall.p95()),
            ms(wall.min()),
            cpu_time,
            faults,
        ]);
    }
    table.print();
    println!();
    Ok(())
}
