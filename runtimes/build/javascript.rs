//! The recipe of `javascript.wasm`.
//!
//! QuickJS-ng and the binding in `javascript/engine` are compiled to one core module; the Node layer in
//! `javascript/node` is bundled with the packages it uses and evaluated once; what the memory holds then
//! becomes the module's. An adapter turns the module's WASI preview 1 into the WASI 0.2 that the
//! host offers to every guest. The same inputs give the same bytes.

use crate::component::encode;
use crate::snapshot::snapshot;
use crate::tools::{
    Failure, Inputs, READY_MADE, Result, Tools, copy, crate_source, create, entries, read, remove,
    run, write,
};
use std::path::{Path, PathBuf};

/// Of QuickJS-ng, as the crate in `sources/Cargo.lock` carries it.
pub(crate) const VERSION: &str = "0.18.0";

const COMPILER: [&str; 13] = [
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
    "-w",
];

/// The stack in linear memory is the one the engine measures; the host's own must be larger.
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
    run(command, &["the Node layer could not be evaluated"])?;
    let module = snapshot(&read(&engine)?, read(&memory)?, &["_initialize", "prepare"]);
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

/// Compiles the engine, unless it was made before from the same.
fn engine(source: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    let crate_ = crate_source(&source.join("sources/Cargo.toml"), "libquickjs-ng-sys")?;
    let quickjs = crate_.join("embed/quickjs");
    let own = source.join("javascript/engine");
    // `quickjs.c` is taken in by our `interpreter.c`.
    let mut units: Vec<PathBuf> = ["libregexp.c", "libunicode.c", "dtoa.c"]
        .iter()
        .map(|name| quickjs.join(name))
        .collect();
    let is_unit = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "c");
    units.extend(entries(&own)?.into_iter().filter(is_unit));

    let changed = out.join("quickjs");
    let zones = source.join("javascript/build/zones.mjs");
    let tzdata = tools.packages()?.join("tzdata");
    let engine = out.join("engine.wasm");
    let steps = concat!(include_str!("javascript.rs"), include_str!("tools.rs"));
    Inputs::new(steps)
        .folder(&quickjs)?
        .folder(&own)?
        .file(&zones)?
        .file(&source.join("requirements.txt"))?
        .make(&engine, || {
            create(&changed)?;
            let interpreter = change(
                &read(&quickjs.join("quickjs.c"))?,
                &read(&own.join("quickjs.changes"))?,
            )?;
            write(&changed.join("quickjs.c"), interpreter.as_bytes())?;
            let mut command = tools.node()?;
            command.arg(zones).args([&tzdata, &changed.join("zones.h")]);
            run(command, &["the time zones could not be packed"])?;
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
                    .arg("-c")
                    .arg(&unit)
                    .arg("-o")
                    .arg(&object);
                run(command, &["the JavaScript engine could not be compiled"])?;
                link.arg(object);
            }
            run(link, &["the JavaScript engine could not be linked"])?;
            Ok(())
        })?;
    Ok(engine)
}

/// Applies `quickjs.changes`, whose head says how it is written.
fn change(source: &[u8], changes: &[u8]) -> Result<String> {
    let failed = |what: String| Failure {
        what: format!("cannot apply quickjs.changes: {what}"),
        hints: vec![READY_MADE.into()],
    };
    let text = |bytes: &[u8]| {
        String::from_utf8(bytes.to_owned()).map_err(|error| failed(error.to_string()))
    };
    let (mut source, changes) = (text(source)?, text(changes)?);
    for change in changes.split("\n<<<\n").skip(1) {
        let parts = change
            .split_once("===\n")
            .and_then(|(old, rest)| Some((old, rest.split_once(">>>")?.0)));
        let (old, new) = parts.ok_or_else(|| failed(format!("not a change:\n{change}")))?;
        let count = source.matches(old).count();
        if count != 1 {
            return Err(failed(format!("this occurs {count} times:\n{old}")));
        }
        source = source.replace(old, new);
    }
    Ok(source)
}

/// Installs the packages of the Node layer by its lock file, and bundles both.
fn bundle(recipe: &Path, out: &Path, tools: &Tools) -> Result<PathBuf> {
    // Packages are installed beside the sources that import them: into a copy.
    let layer = out.join("layer");
    let lists = ["package.json", "package-lock.json"];
    let mut inputs = Inputs::new("npm ci");
    for name in lists {
        inputs = inputs.file(&recipe.join(name))?;
    }
    inputs.make(&layer.join("node_modules"), || {
        remove(&layer)?;
        create(&layer)?;
        for name in lists {
            write(&layer.join(name), &read(&recipe.join(name))?)?;
        }
        let mut command = tools.npm()?;
        command
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .current_dir(&layer);
        run(command, &["npm needs a network or a filled cache"])?;
        Ok(())
    })?;
    remove(&layer.join("node"))?;
    copy(&recipe.join("node"), &layer.join("node"))?;

    let bundle = out.join("bundle.js");
    let mut command = tools.node()?;
    command
        .arg(recipe.join("build/bundle.mjs"))
        .args([&layer, &bundle]);
    run(command, &["the Node layer could not be bundled"])?;
    Ok(bundle)
}
