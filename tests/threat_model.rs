//! `docs/threat-model.md` names the test for each promise. This test looks the names up, so that no promise
//! outlives its test.
//!
//! In the last column of a table whose header ends in `tried by`, a name in backticks is a test of this binary, the
//! beginning of several if it ends in `…`, a unit test as `unit/NAME`, or a fuzz target as `fuzz/NAME`.

use libtest_mimic::{Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};

/// The one test, which gets the names of all others.
pub(crate) fn tests(names: Vec<String>) -> Vec<Trial> {
    vec![Trial::test(
        "every_promise_of_the_threat_model_names_an_existing_test",
        move || check(&names),
    )]
}

fn check(names: &[String]) -> Result<(), Failed> {
    let text = fs::read_to_string(top().join("docs/threat-model.md"))?;
    let promises = promises(&text);
    // If the tables were not found, any document would pass.
    if promises.len() < 30 {
        return Err(format!("only {} promises were found", promises.len()).into());
    }
    let units = units(&top().join("host"))?;
    let mut wrong = Vec::new();
    for (promise, tests) in promises {
        if tests.is_empty() {
            wrong.push(format!("`{promise}` names no test"));
        }
        for test in tests {
            let there = if let Some(unit) = test.strip_prefix("unit/") {
                units.contains(&format!("fn {unit}("))
            } else if let Some(target) = test.strip_prefix("fuzz/") {
                let target = format!("tests/fuzz/targets/{target}.rs");
                top().join(target).is_file()
            } else if let Some(beginning) = test.strip_suffix('…') {
                names.iter().any(|name| name.starts_with(beginning))
            } else {
                names.iter().any(|name| name == test)
            };
            if !there {
                wrong.push(format!("`{promise}`: there is no test `{test}`"));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n").into()),
    }
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The first cell and the names in the last cell of each row of the tables with tests.
fn promises(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut all = Vec::new();
    let mut in_table = false;
    for line in text.lines().map(str::trim) {
        let Some(row) = line.strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
            in_table = false;
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
            continue;
        };
        if *last == "tried by" {
            in_table = true;
        } else if in_table && !last.starts_with("---") {
            let names = last.split('`').skip(1).step_by(2);
            all.push((*first, names.collect()));
        }
    }
    all
}

/// The lines with the functions of unit tests in all sources below a folder.
fn units(folder: &Path) -> std::io::Result<String> {
    let mut all = String::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all += &units(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path)?;
            let mut after_test = false;
            for line in source.lines().map(str::trim) {
                let line = line.strip_prefix("async ").unwrap_or(line);
                if after_test && line.starts_with("fn ") {
                    all += line;
                    all.push('\n');
                }
                // Between the attribute and the function there may be comments and other attributes.
                after_test = line.starts_with("#[test]")
                    || line.starts_with("#[tokio::test")
                    || (after_test && (line.starts_with('#') || line.starts_with("//")));
            }
        }
    }
    Ok(all)
}
