//! The interpreters of this machine, and what a process costs.

use super::place::Place;
use super::{Result, Samples, in_turn};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// An interpreter of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Python {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
}

impl Python {
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.path.display(), self.version)
    }
}

/// Every `python3` on the `PATH`, each by the program it really is: a shim in front of it would be
/// measured too.
pub(crate) fn pythons() -> Vec<Python> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found: Vec<Python> = Vec::new();
    for folder in std::env::split_paths(&path) {
        let asked = Command::new(folder.join("python3"))
            .args([
                "-c",
                "import sys; print(sys.executable); print(sys.version.split()[0])",
            ])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        let Ok(answer) = asked else { continue };
        let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut lines = answer.lines();
        let (Some(program), Some(version)) = (lines.next(), lines.next()) else {
            continue;
        };
        let Ok(path) = PathBuf::from(program).canonicalize() else {
            continue;
        };
        if found.iter().all(|known| known.path != path) {
            let version = version.to_owned();
            found.push(Python { path, version });
        }
    }
    found
}

/// The interpreter that starts fastest: the one to be measured against. An installation may load
/// things of its own at every start.
pub(crate) fn fastest(place: &Place) -> Result<Option<Python>> {
    let found = pythons();
    let spent = in_turn(found.len(), 9, |side| {
        spend(place.run_native(&found[side].path, "hello.py"))
    })?;
    let p50 = |spent: &[f64]| Samples::new(spent.to_vec()).p50();
    let best = found
        .into_iter()
        .zip(&spent)
        .min_by(|(_, a), (_, b)| p50(a).total_cmp(&p50(b)));
    let best = best.map(|(python, _)| python);
    match &best {
        Some(python) => println!("against {}", python.name()),
        None => println!("no python3 on the PATH: what compares with it is left out"),
    }
    Ok(best)
}

/// Runs a command to its end, without input and output; returns how long it took, in milliseconds.
pub(crate) fn spend(mut command: Command) -> Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let status = command.status()?;
    let wall = began.elapsed().as_secs_f64() * 1e3;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(wall)
}
