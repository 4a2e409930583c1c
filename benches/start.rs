//! Starting: `skillrun run` as a whole process against `python3`, for a script that prints a word
//! and for one that imports what scripts import.

mod measure;

use measure::peer::{pythons, spend};
use measure::place::Place;
use measure::{Result, Samples, Table, begin, in_turn, ms, times};

const ROUNDS: usize = 40;

fn main() -> Result<()> {
    if !begin(
        "start",
        "a whole process, `skillrun run SKILL x.py` ÷ `python3 x.py`",
    ) {
        return Ok(());
    }
    let place = Place::new()?;
    let pythons = pythons();
    if pythons.is_empty() {
        println!("no python3 on the PATH: there is nothing to compare with");
    }
    for script in ["hello.py", "imports.py"] {
        let spent = in_turn(pythons.len() + 1, ROUNDS, |side| match side {
            0 => spend(place.run(script)),
            side => spend(place.run_native(&pythons[side - 1].path, script)),
        })?;
        let sides: Vec<Samples> = spent.into_iter().map(Samples::new).collect();
        let Some(own) = sides.first() else {
            continue;
        };
        let mut table = Table::new([script, "p50", "p95", "least", "÷ p50", "÷ least"]);
        for (index, wall) in sides.iter().enumerate() {
            let name = match index {
                0 => "skillrun".to_owned(),
                index => pythons[index - 1].name(),
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
    println!("÷ is skillrun against that interpreter; {ROUNDS} rounds in turn");
    Ok(())
}
