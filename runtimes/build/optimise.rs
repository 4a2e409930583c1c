//! Optimises a module that was merged from libraries.
//!
//! The compilers of the libraries saw one of them at a time, and so did not inline functions of another. The engine could inline when it
//! compiles the guest, but that takes it five times as long, on every machine that runs it. Here it is done once: busy Python programs
//! take 7 % less time, and the build a minute more.

use crate::tools::{Result, Tools, read, run, write};
use std::path::Path;

/// What the compilers used. Without these, the optimiser refuses the module, and with all that it knows, it uses some that
/// the engine does not.
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-simd",
];

/// Optimises `module` with Binaryen, as `source` pins it. `out` is for its packages and files.
pub(crate) fn optimise(module: &[u8], source: &Path, out: &Path, tools: &Tools) -> Result<Vec<u8>> {
    let folder = out.join("optimiser");
    tools.packages_from_npm(source, &folder, "install the optimiser of the guests")?;
    let (before, after) = (folder.join("before.wasm"), folder.join("after.wasm"));
    write(&before, module)?;
    let mut command = tools.node()?;
    command
        // It recurses as deep as code is nested.
        .arg("--stack-size=4000")
        .arg(folder.join("node_modules/binaryen/bin/wasm-opt"))
        .args(FEATURES)
        .args(["-O3", "--directize", "--simplify-globals"])
        .arg(&before)
        .arg("--output")
        .arg(&after);
    run(command, "optimise a guest", &[])?;
    read(&after)
}
