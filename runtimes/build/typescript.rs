//! Builds the TypeScript guest: the crate in `typescript/`, for WebAssembly, with the versions of its own
//! lock file.
//!
//! It needs Rust's standard library for that target. If it is missing and rustup manages Rust, it is added:
//! it is the same release from the same source as the compiler, and takes seconds.

use crate::component::encode;
use crate::tools::{Result, Tools, create, read, run, variable, write};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of oxc that `typescript/Cargo.toml` pins.
pub(crate) const VERSION: &str = "0.146.0";

const TARGET: &str = "wasm32-unknown-unknown";

/// Bytes for the part of the stack that is in the guest's memory. The engine limits the other part.
const STACK: usize = 8 << 20;

/// Makes `typescript.wasm` from the crate in `typescript/`.
pub(crate) fn make(source: &Path, out: &Path, _: &Tools) -> Result<PathBuf> {
    let recipe = source.join("typescript");
    let out = out.join("typescript");
    create(&out)?;
    ensure_target()?;
    let mut command = Command::new(variable("CARGO")?);
    command
        .args(["build", "--release", "--locked", "--target", TARGET])
        .arg("--manifest-path")
        .arg(recipe.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&out)
        // The settings of the outer build are for another target.
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("CARGO_ENCODED_RUSTFLAGS", flags(&recipe));
    run(
        command,
        "compile the TypeScript guest",
        &["cargo needs a network or its cache for the packages in typescript/Cargo.lock"],
    )?;
    let module = read(&out.join(TARGET).join("release/skillrun_typescript.wasm"))?;
    let component = out.join("typescript.wasm");
    let bytes = encode(module, &recipe.join("wit"), "typescript")?;
    write(&component, &bytes)?;
    Ok(component)
}

/// Makes sure that the standard library for the target is installed.
fn ensure_target() -> Result<()> {
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
        "add the target of the TypeScript guest",
        &["the TypeScript guest needs Rust's standard library for wasm32-unknown-unknown"],
    )?;
    Ok(())
}

/// A larger stack, and no path of this machine in the guest, so that the same packages produce the same bytes.
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
