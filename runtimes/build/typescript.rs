//! Builds the TypeScript guest: the crate in `typescript/`, for WebAssembly, with the versions of its own
//! lock file.
//!
//! It needs Rust's standard library for that target. Where rustup manages Rust and the library is missing,
//! it is added: that is the same release from the same place as the compiler, and takes seconds.

use super::{Failure, Result, read, run, variable, write};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";

/// For the part of the stack that lives in the guest's memory; the engine bounds the other.
const STACK: usize = 8 << 20;

/// Makes `typescript.wasm` from the crate in `recipe`.
pub(crate) fn make(recipe: &Path, out: &Path) -> Result<PathBuf> {
    find_target()?;
    let built = out.join("typescript");
    let mut command = Command::new(variable("CARGO")?);
    command
        .args(["build", "--release", "--locked", "--target", TARGET])
        .arg("--manifest-path")
        .arg(recipe.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&built)
        // The settings of the build that this is a part of are for another target.
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("CARGO_ENCODED_RUSTFLAGS", flags(recipe));
    run(
        command,
        &["cargo needs a network or its cache for the packages in typescript/Cargo.lock"],
    )?;
    let module = read(&built.join(TARGET).join("release/skillrun_typescript.wasm"))?;
    let component = encode(module, &recipe.join("wit")).map_err(|error| Failure {
        what: format!("cannot make a component of the TypeScript guest: {error:#}"),
        hints: Vec::new(),
    })?;
    let path = out.join("typescript.wasm");
    write(&path, &component)?;
    Ok(path)
}

/// Makes sure that the standard library for the target is there.
fn find_target() -> Result<()> {
    let mut command = Command::new(variable("RUSTC")?);
    command.args(["--print", "target-libdir", "--target", TARGET]);
    let found = command.output().is_ok_and(|done| {
        let folder = String::from_utf8_lossy(&done.stdout);
        done.status.success() && Path::new(folder.trim()).is_dir()
    });
    if found {
        return Ok(());
    }
    let mut command = Command::new("rustup");
    command.args(["target", "add", TARGET]);
    run(
        command,
        &["the TypeScript guest needs Rust's standard library for wasm32-unknown-unknown"],
    )
}

/// Room to recurse, and no path of this machine in the guest: the same packages make the same bytes.
fn flags(recipe: &Path) -> String {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")));
    let mut flags = vec![format!("-Clink-arg=-zstack-size={STACK}")];
    for (path, name) in [(Some(recipe.to_owned()), "typescript"), (home, "cargo")] {
        if let Some(path) = path {
            flags.push(format!("--remap-path-prefix={}={name}", path.display()));
        }
    }
    flags.join("\x1f")
}

fn encode(mut module: Vec<u8>, wit: &Path) -> anyhow::Result<Vec<u8>> {
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir(wit)?;
    let world = resolve.select_world(&[package], Some("typescript"))?;
    let encoding = wit_component::StringEncoding::UTF8;
    wit_component::embed_component_metadata(&mut module, &resolve, world, encoding)?;
    wit_component::ComponentEncoder::default()
        .module(&module)?
        .validate(true)
        .encode()
}
