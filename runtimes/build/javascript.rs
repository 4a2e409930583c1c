//! The recipe for `javascript.wasm`.
//!
//! QuickJS-ng and the binding in `javascript/engine` are compiled to one core module. The Node layer in
//! `javascript/node` is bundled with the packages it uses and evaluated once; the resulting memory becomes
//! the initial memory of the module. An adapter turns the module's WASI preview 1 into the WASI 0.2 that the
//! host offers to every guest. The same inputs produce the same bytes.

use crate::component::encode;
use crate::patch::apply;
use crate::snapshot::snapshot;
use crate::tools::{
    Failure, Inputs, READY_MADE, Result, Tools, copy, crate_source, create, entries, read, remove,
    run, write,
};
use std::path::{Path, PathBuf};

/// The version of QuickJS-ng in the crate that `sources/Cargo.lock` pins.
pub(crate) const VERSION: &str = "0.18.0";

const COMPILER: [&str; 14] = [
    "-target",
    "wasm32-wasi",
    "-O3",
    "-DNDEBUG",
    "-D_GNU_SOURCE",
    "-D_WASI_EMULATED_PROCESS_CLOCKS",
    "-D_WASI_EMULATED_SIGNAL",
    "-fno-sanitize=undefined",
    "-fno-stack-protector",
    "-mbulk-memory",
    "-mnontrapping-fptoint",
    "-msign-ext",
    "-msimd128",
    "-w",
];

/// The interpreter measures the stack in linear memory; the host's own stack must be larger.
const LINKER: [&str; 7] = [
    "-target",
    "wasm32-wasi",
    "-mexec-model=reactor",
    "-Wl,-z,stack-size=8388608",
    "-lwasi-emulated-process-clocks",
    "-lwasi-emulated-signal",
    "-s",
];

pub(crate) fn make(source: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    let recipe = source.join("javascript");
    let out = out.join("javascript");
    create(&out)?;
    let engine = engine(source, &out, tools)?;
    let bundle = bundle(&recipe, &out, tools)?;

    let memory = out.join("memory");
    let mut command = tools.node()?;
    command
        .arg(recipe.join("build/snapshot.mjs"))
        .args([&engine, &bundle, &memory]);
    run(command, "evaluate the Node layer", &[])?;
    let initialisers = ["_initialize", "compile", "prepare"];
    let module = snapshot(&read(&engine)?, read(&memory)?, &initialisers);
    let module = module.map_err(|error| Failure {
        what: format!(
            "cannot put the snapshot into `{}`: {error:#}",
            engine.display()
        ),
        hints: vec![READY_MADE.into()],
    })?;
    let component = out.join("javascript.wasm");
    let bytes = encode(module, &recipe.join("wit"), "javascript")?;
    write(&component, &bytes)?;
    Ok(component)
}

/// Compiles the engine, unless it exists and its inputs have not changed.
fn engine(source: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    let crate_ = crate_source(&source.join("sources/Cargo.toml"), "libquickjs-ng-sys")?;
    let quickjs = crate_.join("embed/quickjs");
    let own = source.join("javascript/engine");
    let hashes = source.join("hashes");
    // Our `interpreter.c` includes `quickjs.c`.
    let mut units: Vec<PathBuf> = ["libregexp.c", "libunicode.c", "dtoa.c"]
        .iter()
        .map(|name| quickjs.join(name))
        .collect();
    let is_unit = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "c");
    for folder in [&own, &hashes] {
        units.extend(entries(folder)?.into_iter().filter(is_unit));
    }

    let changed = out.join("quickjs");
    let zones = source.join("javascript/build/zones.mjs");
    let tzdata = tools.packages()?.join("tzdata");
    let engine = out.join("engine.wasm");
    let steps = concat!(
        include_str!("javascript.rs"),
        include_str!("patch.rs"),
        include_str!("tools.rs")
    );
    Inputs::new(steps)
        .folder(&quickjs)?
        .folder(&own)?
        .folder(&hashes)?
        .file(&zones)?
        .file(&source.join("requirements.txt"))?
        .make(&engine, || {
            create(&changed)?;
            let interpreter = patch(
                &read(&quickjs.join("quickjs.c"))?,
                &read(&own.join("quickjs.patch"))?,
            )?;
            write(&changed.join("quickjs.c"), interpreter.as_bytes())?;
            let mut command = tools.node()?;
            command.arg(zones).args([&tzdata, &changed.join("zones.h")]);
            run(command, "pack the time zones", &[])?;
            let mut link = tools.zig("cc");
            link.args(LINKER).arg("-o").arg(&engine);
            for unit in units {
                let name = unit.file_name().unwrap_or_default();
                let object = out.join(name).with_extension("o");
                let mut command = tools.zig("cc");
                command
                    .args(COMPILER)
                    .arg("-I")
                    .arg(&changed)
                    .arg("-I")
                    .arg(&quickjs)
                    .arg("-I")
                    .arg(&own)
                    .arg("-I")
                    .arg(&hashes)
                    .arg("-c")
                    .arg(&unit)
                    .arg("-o")
                    .arg(&object);
                run(command, "compile the JavaScript engine", &[])?;
                link.arg(object);
            }
            run(link, "link the JavaScript engine", &[])?;
            Ok(())
        })?;
    Ok(engine)
}

/// Applies `quickjs.patch` to the interpreter.
fn patch(source: &[u8], patch: &[u8]) -> Result<String> {
    let failed = |what: String| Failure {
        what: format!("cannot apply quickjs.patch: {what}"),
        hints: vec![READY_MADE.into()],
    };
    let text = |bytes| std::str::from_utf8(bytes).map_err(|error| failed(error.to_string()));
    apply(text(source)?, text(patch)?).map_err(failed)
}

/// Installs the packages of the Node layer from its lock file, and bundles both.
fn bundle(recipe: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    // Packages must be installed beside the sources that import them, so both go into a copy.
    let layer = out.join("layer");
    tools.packages_from_npm(recipe, &layer, "install the packages of the Node layer")?;
    remove(&layer.join("node"))?;
    copy(&recipe.join("node"), &layer.join("node"))?;

    let bundle = out.join("bundle.js");
    let mut command = tools.node()?;
    command
        .arg(recipe.join("build/bundle.mjs"))
        .args([&layer, &bundle]);
    run(command, "bundle the Node layer", &[])?;
    Ok(bundle)
}
