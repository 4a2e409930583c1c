//! SQLite for the Python guest, as a shared library that componentize-py links in.
//!
//! The interpreter in the wheel contains its own SQLite, built without full-text search and linked statically
//! into the interpreter's library. Its functions still have their names, so `merge` replaces them with
//! these.

use crate::tools::{Inputs, Result, Tools, crate_source, run};
use std::path::{Path, PathBuf};

/// The name by which componentize-py knows an extension module for its interpreter.
pub(crate) const FILE: &str = "_skillrun_sqlite.cpython-314-wasm32-wasi.so";

const COMPILER: [&str; 12] = [
    "-target",
    "wasm32-wasi",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-sanitize=undefined",
    "-O2",
    "-g0",
    "-DNDEBUG",
    "-D_WASI_EMULATED_GETPID",
    "-D_WASI_EMULATED_MMAN",
    "-D_WASI_EMULATED_PROCESS_CLOCKS",
    "-D_WASI_EMULATED_SIGNAL",
];

/// The options of Linux distributions, as far as they make sense without threads, processes and
/// shared memory; local time comes from `module.c`.
const OPTIONS: [&str; 16] = [
    "HAVE_LOCALTIME_R=0",
    "SQLITE_API=__attribute__((visibility(\"default\")))",
    "SQLITE_ENABLE_COLUMN_METADATA",
    "SQLITE_ENABLE_DBSTAT_VTAB",
    "SQLITE_ENABLE_FTS3",
    "SQLITE_ENABLE_FTS3_PARENTHESIS",
    "SQLITE_ENABLE_FTS4",
    "SQLITE_ENABLE_FTS5",
    "SQLITE_ENABLE_MATH_FUNCTIONS",
    "SQLITE_ENABLE_PERCENTILE",
    "SQLITE_ENABLE_RTREE",
    "SQLITE_OMIT_LOAD_EXTENSION",
    "SQLITE_OMIT_SHARED_CACHE",
    "SQLITE_SOUNDEX",
    "SQLITE_THREADSAFE=0",
    "localtime=skillrun_localtime",
];

/// Compiles the library, unless it exists and its inputs have not changed.
pub(crate) fn make(source: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    let crate_ = crate_source(&source.join("sources/Cargo.toml"), "libsqlite3-sys")?;
    let include = crate_.join("sqlite3");
    let files = [
        include.join("sqlite3.c"),
        source.join("python/sqlite/module.c"),
    ];
    let library = out.join(FILE);
    let mut inputs = Inputs::new(concat!(include_str!("sqlite.rs"), include_str!("tools.rs")));
    inputs = inputs
        .file(&source.join("requirements.txt"))?
        .file(&include.join("sqlite3.h"))?;
    for file in &files {
        inputs = inputs.file(file)?;
    }
    inputs.make(&library, || compile(&files, &include, &library, tools))?;
    Ok(library)
}

fn compile(files: &[PathBuf], include: &Path, library: &Path, tools: &Tools) -> Result<()> {
    let mut link = tools.zig("wasm-ld");
    link.args(["-shared", "-s", "--experimental-pic"])
        .arg("--unresolved-symbols=import-dynamic")
        .arg("-o")
        .arg(library);
    for file in files {
        let name = file.file_name().unwrap_or_default();
        let object = library.with_file_name(name).with_extension("o");
        let mut command = tools.zig("cc");
        command
            .args(COMPILER)
            .args(OPTIONS.iter().map(|option| format!("-D{option}")))
            .arg("-I")
            .arg(include)
            .arg("-c")
            .arg(file)
            .arg("-o")
            .arg(&object);
        run(command, "compile SQLite for the guest", &[])?;
        link.arg(object);
    }
    run(link, "link SQLite for the guest", &[])?;
    Ok(())
}
