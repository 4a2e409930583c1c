//! SQLite for the Python guest, as a shared library that componentize-py links in.
//!
//! The interpreter in the wheel contains its own SQLite, built without full-text search and linked statically
//! into the interpreter's library. Its functions still have their names, so `merge` replaces them with
//! these.

use crate::extension::{compile, file_name};
use crate::tools::{Inputs, Result, Tools, crate_source};
use std::path::{Path, PathBuf};

/// The name of the extension module.
pub(crate) const MODULE: &str = "_skillrun_sqlite";

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
    let library = out.join(file_name(MODULE));
    let mut inputs = Inputs::new(concat!(
        include_str!("sqlite.rs"),
        include_str!("extension.rs"),
        include_str!("tools.rs")
    ));
    inputs = inputs
        .file(&source.join("requirements.txt"))?
        .file(&source.join("python/extension.h"))?
        .file(&include.join("sqlite3.h"))?;
    for file in &files {
        inputs = inputs.file(file)?;
    }
    let mut arguments: Vec<String> = OPTIONS.iter().map(|name| format!("-D{name}")).collect();
    arguments.extend(["-I".to_owned(), include.display().to_string()]);
    inputs.make(&library, || compile(&files, &arguments, &library, tools))?;
    Ok(library)
}
