//! The recipe for `python.wasm`.

use crate::extension::{self, file_name};
use crate::optimise::optimise;
use crate::tools::{
    Failure, Inputs, READY_MADE, Result, Tools, copy, create, read, remove, run, write,
};
use crate::{merge, sqlite};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of CPython in `componentize-py`, which `requirements.txt` pins. The guest checks it.
pub(crate) const VERSION: &str = "3.14.0";

pub(crate) fn make(source: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    let sources = Sources {
        recipe: &source.join("python"),
        hashes: &source.join("hashes"),
        optimiser: &source.join("optimiser"),
        out: &out.join("python"),
    };
    create(sources.out)?;
    let library = sqlite::make(source, sources.out, tools)?;
    let component = sources.out.join("python.wasm");
    let steps = concat!(
        include_str!("python.rs"),
        include_str!("extension.rs"),
        include_str!("graph.rs"),
        include_str!("merge.rs"),
        include_str!("optimise.rs"),
        include_str!("tools.rs")
    );
    Inputs::new(steps)
        .file(&source.join("requirements.txt"))?
        .folder(sources.recipe)?
        .folder(sources.hashes)?
        .folder(sources.optimiser)?
        .file(&library)?
        .make(&component, || build(&sources, &library, &component, tools))?;
    Ok(component)
}

/// Where things are.
struct Sources<'a> {
    recipe: &'a Path,
    hashes: &'a Path,
    optimiser: &'a Path,
    /// The folder for what is made.
    out: &'a Path,
}

fn build(sources: &Sources<'_>, library: &Path, component: &Path, tools: &Tools) -> Result<()> {
    let Sources { recipe, hashes, .. } = sources;
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
    let files = [recipe.join("hashes/module.c"), hashes.join("blocks.c")];
    let arguments = ["-msimd128".to_owned(), format!("-I{}", hashes.display())];
    extension::compile(&files, &arguments, &library, tools)?;

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

    let failed = |error: anyhow::Error| Failure {
        what: format!(
            "cannot merge the modules of `{}`: {error:#}",
            parts.display()
        ),
        hints: vec![READY_MADE.into()],
    };
    let made = read(&parts)?;
    let merged = merge::merge(&made).map_err(failed)?;
    let module = optimise(&merged, sources.optimiser, sources.out, tools)?;
    write(component, &merge::encode(module, &made).map_err(failed)?)
}
