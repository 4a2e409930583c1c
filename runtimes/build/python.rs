//! The recipe of `python.wasm`.

use crate::tools::{Failure, READY_MADE, Result, Tools, copy, read, remove, run, write};
use crate::{merge, sqlite};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of CPython, as `componentize-py` in `requirements.txt` carries it. The guest checks it.
pub(crate) const VERSION: &str = "3.14.0";

pub(crate) fn make(source: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    let recipe = source.join("python");
    // The interpreter writes its caches beside what it imports: give it copies.
    let guest = out.join("guest");
    remove(&guest)?;
    copy(&recipe.join("guest"), &guest)?;
    copy(&tools.packages()?.join("tzdata"), &guest.join("tzdata"))?;
    let library = sqlite::make(source, out, tools)?;
    write(&guest.join(sqlite::FILE), &read(&library)?)?;

    let component = out.join("python.parts.wasm");
    let mut command = Command::new(tools.program("componentize-py"));
    command
        .arg("--wit-path")
        .arg(recipe.join("wit"))
        .args(["--world", "python", "componentize", "_skillrun.app"])
        .arg("--python-path")
        .arg(&guest)
        .arg("--output")
        .arg(&component);
    // It asks the first `python3` on the path for more directories to take in: let that be ours.
    command.env("PATH", tools.path()?);
    run(
        command,
        &["componentize-py could not make the Python guest"],
    )?;

    let bytes = merge::merge(&read(&component)?).map_err(|error| Failure {
        what: format!(
            "cannot merge the modules of `{}`: {error:#}",
            component.display()
        ),
        hints: vec![READY_MADE.into()],
    })?;
    let merged = out.join("python.wasm");
    write(&merged, &bytes)?;
    Ok(merged)
}
