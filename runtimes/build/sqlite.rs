//! SQLite for the Python guest, as a shared library that componentize-py links in.
//!
//! The interpreter in the wheel has an SQLite of its own, built without full-text search and sealed into
//! the interpreter's library. Its functions still carry their names, so `merge` puts these in
//! their place.

use crate::tools::{Result, Tools, crate_source, read, run, write};
use sha2::{Digest, Sha256};
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

/// What Linux distributions switch on, as far as it makes sense without threads, processes and
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

/// Compiles the library, unless it was made before from the same.
pub(crate) fn make(source: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    let crate_ = crate_source(&source.join("sources/Cargo.toml"), "libsqlite3-sys")?;
    let include = crate_.join("sqlite3");
    let files = [
        include.join("sqlite3.c"),
        source.join("python/sqlite/module.c"),
    ];
    let options: Vec<String> = OPTIONS.iter().map(|option| format!("-D{option}")).collect();

    let mut made_from = Sha256::new();
    for file in &files {
        made_from.update(read(file)?);
    }
    made_from.update(format!("{COMPILER:?} {options:?}"));
    let made_from = made_from.finalize();
    let (library, stamp) = (out.join(FILE), out.join("sqlite.made"));
    if library.exists() && read(&stamp).is_ok_and(|found| found == made_from[..]) {
        return Ok(library);
    }

    let mut link = tools.zig("wasm-ld");
    link.args(["-shared", "-s", "--experimental-pic"])
        .arg("--unresolved-symbols=import-dynamic")
        .arg("-o")
        .arg(&library);
    for (file, object) in files.iter().zip(["sqlite3.o", "module.o"]) {
        let object = out.join(object);
        let mut command = tools.zig("cc");
        command
            .args(COMPILER)
            .args(&options)
            .arg("-I")
            .arg(&include)
            .arg("-c")
            .arg(file)
            .arg("-o")
            .arg(&object);
        run(command, &["SQLite could not be compiled for the guest"])?;
        link.arg(object);
    }
    run(link, &["SQLite could not be linked for the guest"])?;
    write(&stamp, &made_from)?;
    Ok(library)
}
