//! Tells the linker to write relocations in their short form, where the C library can read it.
//!
//! The dynamic loader adds its address to some 36,000 pointers of the program before `main`. As `RELA` entries they take
//! 860 KB, which it has to read at every start; as `RELR` they take 10 KB. The rejected alternative is a program at a fixed
//! address, which needs none of them and has no address space randomisation.

use std::env;
use std::process::Command;

/// The first version of the GNU C library whose loader reads `RELR`. A program with it does not start under an older one.
const FIRST_WITH_RELR: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_native = env::var("HOST").is_ok() && env::var("HOST") == env::var("TARGET");
    let is_gnu = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_native && is_gnu && libc_version().is_some_and(|version| version >= FIRST_WITH_RELR) {
        // A linker that does not know it warns and ignores it.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's GNU C library.
fn libc_version() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
