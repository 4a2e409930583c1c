//! Computing: CPU-bound programs, in the sandbox and in native interpreters, with the same output.

mod measure;

use measure::env::BenchEnv;
use measure::peer::{Peer, fastest_node, fastest_python};
use measure::{Result, Samples, Table, begin, geometric_mean, in_turn, ms, rounds, times};
use std::process::{Command, Stdio};
use std::time::Instant;

const PYTHON: [&str; 9] = [
    "bodies.py",
    "pancakes.py",
    "json_trip.py",
    "regex_scan.py",
    "text_index.py",
    "digests.py",
    "sorting.py",
    "objects.py",
    "big_numbers.py",
];
const JAVASCRIPT: [&str; 6] = [
    "bodies.js",
    "json_trip.js",
    "regex_scan.js",
    "text_index.js",
    "sorting.js",
    "objects.js",
];
const ROUNDS: usize = 3;

fn main() -> Result<()> {
    if !begin(
        "cpu",
        "busy programs, whole processes, skillrun ÷ python3 and ÷ node",
    ) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    if let Some(python) = fastest_python(&env)? {
        compare(&env, &python, &PYTHON)?;
    }
    if let Some(node) = fastest_node(&env)? {
        // Compares with an interpreter first, then with a JIT compiler.
        for flags in [&["--jitless"][..], &[]] {
            let peer = Peer {
                flags,
                ..node.clone()
            };
            compare(&env, &peer, &JAVASCRIPT)?;
        }
    }
    println!(
        "{} rounds in turn; both sides printed the same",
        rounds(ROUNDS)
    );
    Ok(())
}

fn compare(env: &BenchEnv, peer: &Peer, programs: &[&str]) -> Result<()> {
    let name = peer.name();
    let mut table = Table::new(["", "skillrun", &name, "÷ p50", "÷ least"]);
    let mut ratios = [vec![], vec![]];
    for program in programs {
        let mut printed = [String::new(), String::new()];
        let spent = in_turn(2, rounds(ROUNDS), |side| {
            let command = match side {
                0 => env.run(program),
                _ => env.run_native(peer, program),
            };
            let (took, output) = timed(command)?;
            printed[side] = output;
            Ok(took)
        })?;
        let [inside, outside] = &printed;
        if inside != outside {
            return Err(
                format!("`{program}` printed `{inside}` inside and `{outside}` outside").into(),
            );
        }
        let spent: Vec<Samples> = spent.into_iter().map(Samples::new).collect();
        let (own, native) = (&spent[0], &spent[1]);
        let (p50, least) = (own.p50() / native.p50(), own.min() / native.min());
        ratios[0].push(p50);
        ratios[1].push(least);
        table.row([
            (*program).to_owned(),
            ms(own.p50()),
            ms(native.p50()),
            times(p50),
            times(least),
        ]);
    }
    let [p50, least] = &ratios;
    table.row([
        "geometric mean".into(),
        String::new(),
        String::new(),
        times(geometric_mean(p50)),
        times(geometric_mean(least)),
    ]);
    table.print();
    println!();
    Ok(())
}

/// The time of a whole process in milliseconds, and its output.
fn timed(mut command: Command) -> Result<(f64, String)> {
    command.stdin(Stdio::null());
    let began = Instant::now();
    let output = command.output()?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}\n{said}", output.status).into());
    }
    Ok((took, String::from_utf8(output.stdout)?))
}
