//! Makes the guests: turns pinned packages into WASI components and compresses them for `src/lib.rs` to embed.
//!
//! The recipes run in a private Python virtual environment inside the build directory, install wheels
//! by hash and take C sources by checksum, and never write into the source tree. They take a minute
//! or two, so they run again only when one of their inputs has changed. They name no package index:
//! the machine's own settings say where packages come from.
//!
//! A machine without Python or without a network can build as well: `SKILLRUN_RUNTIMES_DIR` names a directory
//! with ready-made guests. Letting this script download guests was rejected: it would be one more source to
//! trust, and one that no lock file pins.

#[path = "build/component.rs"]
mod component;
#[path = "build/extension.rs"]
mod extension;
#[path = "build/graph.rs"]
mod graph;
#[path = "build/image.rs"]
mod image;
#[path = "build/javascript.rs"]
mod javascript;
#[path = "build/merge.rs"]
mod merge;
#[path = "build/optimise.rs"]
mod optimise;
#[path = "build/patch.rs"]
mod patch;
#[path = "build/python.rs"]
mod python;
#[path = "build/snapshot.rs"]
mod snapshot;
#[path = "build/sqlite.rs"]
mod sqlite;
#[path = "build/tools.rs"]
mod tools;
#[path = "build/typescript.rs"]
mod typescript;

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};
use tools::{Failure, READY_MADE, Result, Tools, read, variable, write};

/// Level 12 takes about three seconds for the 40 MB of a guest; level 15 takes five times as long and saves
/// one per cent.
const COMPRESSION: i32 = 12;

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { what, hints }) => {
            eprintln!("error: {what}");
            for hint in hints {
                eprintln!("hint: {hint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<()> {
    for name in ["SKILLRUN_RUNTIMES_DIR", "SKILLRUN_PYTHON"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    for path in [
        "build.rs",
        "build",
        "requirements.txt",
        "hashes",
        "optimiser",
        "sources",
        "python",
        "javascript",
        "licenses",
        "typescript/Cargo.lock",
        "typescript/Cargo.toml",
        "typescript/no-clock",
        "typescript/src",
        "typescript/wit",
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    let source = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let guests: [(&str, &str, Recipe); 3] = [
        ("python", python::VERSION, python::make),
        ("javascript", javascript::VERSION, javascript::make),
        ("typescript", typescript::VERSION, typescript::make),
    ];
    let licenses = read(&source.join("licenses/THIRD-PARTY"))?;
    write(&out.join("licenses.zst"), &compress(&licenses)?)?;
    if let Some(directory) = env::var_os("SKILLRUN_RUNTIMES_DIR") {
        for (name, version, _) in guests {
            let file = Path::new(&directory).join(format!("{name}.wasm"));
            println!("cargo::rerun-if-changed={}", file.display());
            embed(name, version, &file, &out)?;
        }
        return Ok(());
    }
    let (tools, source, out) = (
        &Tools::install(&source.join("requirements.txt"), &out)?,
        &source,
        &out,
    );
    // The guests are independent of each other, and most steps use one processor.
    std::thread::scope(|scope| {
        let made = guests.map(|(name, version, make)| {
            scope.spawn(move || embed(name, version, &make(source, out, tools)?, out))
        });
        made.into_iter().try_for_each(|guest| {
            guest
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// Makes a guest from the sources in the first directory, inside the second one. Returns the file.
type Recipe = fn(&Path, &Path, &Tools) -> Result<PathBuf>;

/// Splits a component into code and memory image, compresses both and writes the constants that `src/lib.rs` includes.
fn embed(name: &str, version: &str, component: &Path, out: &Path) -> Result<()> {
    let bytes = fs::read(component).map_err(|error| Failure {
        what: format!("cannot read `{}`: {error}", component.display()),
        hints: vec![format!(
            "SKILLRUN_RUNTIMES_DIR must name a directory that contains {name}.wasm"
        )],
    })?;
    let (code, image) = image::split(&bytes).map_err(|error| Failure {
        what: format!(
            "cannot separate the memory of `{}` from its code: {error:#}",
            component.display()
        ),
        hints: vec![READY_MADE.into()],
    })?;
    write(&out.join(format!("{name}.wasm.zst")), &compress(&code)?)?;
    write(&out.join(format!("{name}.image.zst")), &compress(&image)?)?;

    let mut digest = String::new();
    for byte in Sha256::new()
        .chain_update(&code)
        .chain_update(&image)
        .finalize()
    {
        let _ = write!(digest, "{byte:02x}");
    }
    let include =
        |what| format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.{what}.zst\"))");
    let constants = format!(
        "pub(super) const VERSION: &str = {version:?};\n\
         pub(super) const DIGEST: &str = {digest:?};\n\
         pub(super) const COMPONENT_SIZE: usize = {};\n\
         pub(super) const COMPONENT: &[u8] = {};\n\
         pub(super) const IMAGE_SIZE: usize = {};\n\
         pub(super) const IMAGE: &[u8] = {};\n",
        code.len(),
        include("wasm"),
        image.len(),
        include("image"),
    );
    write(&out.join(format!("{name}.rs")), constants.as_bytes())
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(bytes, COMPRESSION).map_err(|error| Failure {
        what: format!("cannot compress {} bytes: {error}", bytes.len()),
        hints: Vec::new(),
    })
}
