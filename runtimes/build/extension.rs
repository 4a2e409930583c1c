//! Extension modules of the Python guest: C sources in, a shared library that componentize-py links in out.

use crate::tools::{Result, Tools, run};
use std::path::{Path, PathBuf};

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

/// The file name by which the interpreter knows the extension module with this name.
pub(crate) fn file_name(module: &str) -> String {
    format!("{module}.cpython-314-wasm32-wasi.so")
}

/// Compiles and links `files` into `library`.
pub(crate) fn compile(
    files: &[PathBuf],
    arguments: &[String],
    library: &Path,
    tools: &Tools,
) -> Result<()> {
    let what = format!("compile `{}`", library.display());
    let mut link = tools.zig("wasm-ld");
    link.args(["-shared", "-s", "--experimental-pic"])
        .arg("--unresolved-symbols=import-dynamic")
        .arg("-o")
        .arg(library);
    for (index, file) in files.iter().enumerate() {
        let object = library.with_extension(format!("{index}.o"));
        let mut command = tools.zig("cc");
        command
            .args(COMPILER)
            .args(arguments)
            .arg("-c")
            .arg(file)
            .arg("-o")
            .arg(&object);
        run(command, &what, &[])?;
        link.arg(object);
    }
    run(link, &what, &[])?;
    Ok(())
}
