//! Builds the keeper for the target and leaves it where the library embeds it.
//!
//! It is linked statically where the machine can, so that it starts without a loader.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), String> {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", here.join("keeper").display());
    if variable("CARGO_CFG_TARGET_OS")? != "linux" {
        return Ok(());
    }
    let out = PathBuf::from(variable("OUT_DIR")?);
    let target = variable("TARGET")?;
    let built = build(&here, &out, &target, "-C target-feature=+crt-static")
        .or_else(|_| build(&here, &out, &target, ""))?;
    let keeper = out.join("keeper.elf");
    std::fs::copy(&built, &keeper)
        .map_err(|error| format!("copy `{}`: {error}", built.display()))?;
    Ok(())
}

fn build(here: &Path, out: &Path, target: &str, flags: &str) -> Result<PathBuf, String> {
    let folder = out.join("keeper");
    let output = Command::new(variable("CARGO")?)
        .args(["build", "--quiet", "--profile", "keeper", "--locked"])
        .args(["--bin", "skillrun-keeper", "--target", target])
        .arg("--manifest-path")
        .arg(here.join("keeper/Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        // What holds for the package being built need not hold for this one.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("RUSTFLAGS", flags)
        .output()
        .map_err(|error| format!("start cargo: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the keeper was not built:\n{errors}"));
    }
    Ok(folder.join(target).join("keeper/skillrun-keeper"))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}
