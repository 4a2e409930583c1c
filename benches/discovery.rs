//! Discovery: loading a skill of 50 scripts and finding them, compared with plainly listing
//! the same folders and reading the same files.

mod measure;

use measure::{Result, Samples, Table, begin, in_turn, ms, rounds, times};
use skillrun::Skill;
use std::path::Path;
use std::time::Instant;

const SCRIPTS: usize = 50;
const ROUNDS: usize = 300;

fn main() -> Result<()> {
    if !begin("discovery", "a skill of 50 scripts in 5 folders") {
        return Ok(());
    }
    let folder = tempfile::Builder::new()
        .prefix("skillrun-bench-")
        .tempdir()?;
    let path = folder.path().join("many");
    make(&path)?;
    let sides: [(&str, &dyn Fn() -> Result<usize>); 4] = [
        ("load + scripts()", &|| {
            Ok(Skill::load(&path)?.scripts().len())
        }),
        ("plain listing", &|| Ok(list(&path)?.len())),
        ("load + scripts() + descriptions", &|| {
            let skill = Skill::load(&path)?;
            let described = skill.scripts().iter().map(|script| skill.describe(script));
            Ok(described.filter(|text| !text.is_empty()).count())
        }),
        ("plain listing and reading", &|| {
            let read = list(&path)?.into_iter().map(std::fs::read);
            Ok(read.filter_map(std::result::Result::ok).count())
        }),
    ];
    let spent = in_turn(sides.len(), rounds(ROUNDS), |side| {
        let (name, run) = sides[side];
        let began = Instant::now();
        let found = run()?;
        let took = began.elapsed().as_secs_f64() * 1e3;
        if found == SCRIPTS {
            Ok(took)
        } else {
            Err(format!("{name} found {found} scripts of {SCRIPTS}").into())
        }
    })?;
    let spent: Vec<Samples> = spent.into_iter().map(Samples::new).collect();
    let mut table = Table::new(["", "p50", "p95", "÷ plain"]);
    for (index, ((name, _), own)) in sides.iter().zip(&spent).enumerate() {
        let plain = spent.get(index + 1).filter(|_| index % 2 == 0);
        table.row([
            (*name).to_owned(),
            ms(own.p50()),
            ms(own.p95()),
            plain.map_or_else(String::new, |plain| times(own.p50() / plain.p50())),
        ]);
    }
    table.print();
    println!("{} rounds in turn, files in the page cache", rounds(ROUNDS));
    Ok(())
}

fn make(skill: &Path) -> Result<()> {
    for index in 0..SCRIPTS {
        let folder = match index % 5 {
            0 => skill.join("scripts"),
            part => skill.join(format!("scripts/part{part}")),
        };
        std::fs::create_dir_all(&folder)?;
        let body = format!(
            "#!/usr/bin/env python3\n\"\"\"Script number {index} of many.\"\"\"\n\n{}",
            "print('a line of some length, as scripts have')\n".repeat(40)
        );
        std::fs::write(folder.join(format!("script{index}.py")), body)?;
    }
    std::fs::write(
        skill.join("SKILL.md"),
        "---\nname: many\ndescription: Fifty scripts.\n---\n\nRun them.\n",
    )?;
    Ok(())
}

/// Every Python file below a folder.
fn list(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else if entry.path().extension().is_some_and(|end| end == "py") {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}
