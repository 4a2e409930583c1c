//! Builds the supervisor for the target and puts it where the library embeds it.
//!
//! It is linked statically where possible, so that it starts without a dynamic loader.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), String> {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rerun-if-changed={}",
        here.join("supervisor").display()
    );
    if variable("CARGO_CFG_TARGET_OS")? != "linux" {
        return Ok(());
    }
    let out = PathBuf::from(variable("OUT_DIR")?);
    let target = variable("TARGET")?;
    let built = build(&here, &out, &target, "-C target-feature=+crt-static")
        .or_else(|_| build(&here, &out, &target, ""))?;
    let supervisor = out.join("supervisor.elf");
    std::fs::copy(&built, &supervisor)
        .map_err(|error| format!("copy `{}`: {error}", built.display()))?;
    Ok(())
}

fn build(here: &Path, out: &Path, target: &str, flags: &str) -> Result<PathBuf, String> {
    let folder = out.join("supervisor");
    let output = Command::new(variable("CARGO")?)
        .args(["build", "--quiet", "--profile", "supervisor", "--locked"])
        .args(["--bin", "skillrun-supervisor", "--target", target])
        .arg("--manifest-path")
        .arg(here.join("supervisor/Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        // Flags for the package being built do not apply to this one.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("RUSTFLAGS", flags)
        .output()
        .map_err(|error| format!("start cargo: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the supervisor was not built:\n{errors}"));
    }
    Ok(folder.join(target).join("supervisor/skillrun-supervisor"))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}: {error}"))
}
