//! The recipe for `python.wasm`.

use crate::extension::{self, file_name};
use crate::tools::{
    Failure, Inputs, READY_MADE, Result, Tools, copy, create, read, remove, run, write,
};
use crate::{merge, sqlite};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of CPython in `componentize-py`, which `requirements.txt` pins. The guest checks it.
pub(crate) const VERSION: &str = "3.14.0";

pub(crate) fn make(source: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    let recipe = source.join("python");
    let hashes = source.join("hashes");
    let out = out.join("python");
    create(&out)?;
    let library = sqlite::make(source, &out, tools)?;
    let component = out.join("python.wasm");
    let steps = concat!(
        include_str!("python.rs"),
        include_str!("extension.rs"),
        include_str!("graph.rs"),
        include_str!("merge.rs"),
        include_str!("tools.rs")
    );
    Inputs::new(steps)
        .file(&source.join("requirements.txt"))?
        .folder(&recipe)?
        .folder(&hashes)?
        .file(&library)?
        .make(&component, || {
            build(&recipe, &hashes, &library, &component, tools)
        })?;
    Ok(component)
}

fn build(
    recipe: &Path,
    hashes: &Path,
    library: &Path,
    component: &Path,
    tools: &Tools,
) -> Result<()> {
    // The interpreter writes its caches beside the modules it imports: give it copies.
    let guest = component.with_file_name("guest");
    remove(&guest)?;
    copy(&recipe.join("guest"), &guest)?;
    copy(&tools.packages()?.join("tzdata"), &guest.join("tzdata"))?;
    write(&guest.join(file_name(sqlite::MODULE)), &read(library)?)?;
    for name in ["immortal", "start"] {
        let library = guest.join(file_name(&format!("_skillrun_{name}")));
        let source = recipe.join(name).join("module.c");
        extension::compile(&[source], &[], &library, tools)?;
    }
    let library = guest.join(file_name("_skillrun_hashes"));
    let sources = [recipe.join("hashes/module.c"), hashes.join("blocks.c")];
    let arguments = ["-msimd128".to_owned(), format!("-I{}", hashes.display())];
    extension::compile(&sources, &arguments, &library, tools)?;

    let parts = component.with_file_name("python.parts.wasm");
    let mut command = Command::new(tools.program("componentize-py"));
    command
        .arg("--wit-path")
        .arg(recipe.join("wit"))
        .args(["--world", "python", "componentize", "_skillrun.app"])
        .arg("--python-path")
        .arg(&guest)
        .arg("--output")
        .arg(&parts);
    // It asks the first `python3` on the path for more directories to include: let that be ours.
    command.env("PATH", tools.path()?);
    run(command, "make the Python guest", &[])?;

    let bytes = merge::merge(&read(&parts)?).map_err(|error| Failure {
        what: format!(
            "cannot merge the modules of `{}`: {error:#}",
            parts.display()
        ),
        hints: vec![READY_MADE.into()],
    })?;
    write(component, &bytes)
}
