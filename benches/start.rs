//! Starting: `skillrun run` as a whole process compared with `python3` and `node`, for scripts that print
//! a word and for scripts with the usual imports.

mod measure;

use measure::env::BenchEnv;
use measure::peer::{Peer, nodes, pythons, spend};
use measure::{Result, Samples, Table, begin, in_turn, ms, times};

const ROUNDS: usize = 40;

fn main() -> Result<()> {
    if !begin(
        "start",
        "a whole process, `skillrun run SKILL x.py` ÷ `python3 x.py`, and the same with `node`",
    ) {
        return Ok(());
    }
    let env = BenchEnv::new()?;
    compare(&env, &pythons(), &["hello.py", "imports.py"])?;
    compare(&env, &nodes(), &["hello.js", "imports.mjs", "hello.ts"])?;
    println!("÷ is skillrun against that interpreter; {ROUNDS} rounds in turn");
    Ok(())
}

fn compare(env: &BenchEnv, peers: &[Peer], scripts: &[&str]) -> Result<()> {
    for script in scripts {
        let peers: Vec<&Peer> = peers.iter().filter(|peer| peer.runs(script)).collect();
        let spent = in_turn(peers.len() + 1, ROUNDS, |side| match side {
            0 => spend(env.run(script)),
            side => spend(env.run_native(peers[side - 1], script)),
        })?;
        let sides: Vec<Samples> = spent.into_iter().map(Samples::new).collect();
        let Some(own) = sides.first() else {
            continue;
        };
        let mut table = Table::new([script, "p50", "p95", "least", "÷ p50", "÷ least"]);
        for (index, wall) in sides.iter().enumerate() {
            let name = match index {
                0 => "skillrun".to_owned(),
                index => peers[index - 1].name(),
            };
            let ratio = |ratio: f64| match index {
                0 => String::new(),
                _ => times(ratio),
            };
            table.row([
                name,
                ms(wall.p50()),
                ms(wall.p95()),
                ms(wall.min()),
                ratio(own.p50() / wall.p50()),
                ratio(own.min() / wall.min()),
            ]);
        }
        table.print();
        println!();
    }
    Ok(())
}
