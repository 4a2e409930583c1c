//! Builds the supervisor for the target and puts it where the library embeds it.
//!
//! It is linked statically where possible, so that it starts without a dynamic loader. With musl it is half as large as with
//! the GNU C library, whose start alone takes longer than the whole of a small program: on a virtual machine the
//! hypervisor answers each of the many questions that it asks the processor. The supervisor is copied into memory
//! and started for every run, so both count.

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
    let built = with_musl(&target)
        .ok_or_else(String::new)
        .and_then(|musl| build(&here, &out, &musl, ""))
        .or_else(|_| build(&here, &out, &target, "-C target-feature=+crt-static"))
        .or_else(|_| build(&here, &out, &target, ""))?;
    let supervisor = out.join("supervisor.elf");
    std::fs::copy(&built, &supervisor)
        .map_err(|error| format!("copy `{}`: {error}", built.display()))?;
    Ok(())
}

/// The same target with musl, if Rust's standard library for it is installed or `rustup` can install it.
fn with_musl(target: &str) -> Option<String> {
    let musl = target
        .strip_suffix("-gnu")
        .map(|rest| format!("{rest}-musl"))?;
    let is_installed = || {
        let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        command.args(["--print", "target-libdir", "--target", &musl]);
        command.output().is_ok_and(|done| {
            let folder = String::from_utf8_lossy(&done.stdout);
            done.status.success() && Path::new(folder.trim()).is_dir()
        })
    };
    if !is_installed() {
        // Without `rustup`, or without a network, there is none.
        let _ = Command::new("rustup")
            .args(["target", "add", &musl])
            .output();
    }
    is_installed().then_some(musl)
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
