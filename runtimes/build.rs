//! Makes the guests: turns pinned packages into WASI components and compresses them for `src/lib.rs` to embed.
//!
//! The recipe runs in a private Python virtual environment inside the build's own folder, installs wheels
//! by hash and nothing else, and never writes into the source tree. It takes half a minute, so it
//! runs again only when something it reads has changed. It names no package index: where wheels
//! come from is for the machine's own pip settings to say.
//!
//! A machine without Python or without a network builds too: `SKILLRUN_RUNTIMES_DIR` names a directory
//! with ready-made guests. Downloading one from here instead was rejected: it would be one more
//! place to trust, and one that no lock file pins.

#[path = "build/graph.rs"]
mod graph;
#[path = "build/merge.rs"]
mod merge;
#[path = "build/typescript.rs"]
mod typescript;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

/// Of CPython, as `componentize-py` in `python/requirements.txt` carries it. The guest checks it.
const PYTHON_VERSION: &str = "3.14.0";

/// Of oxc, as `typescript/Cargo.toml` pins it.
const OXC_VERSION: &str = "0.146.0";

/// Level 12 takes about three seconds for the 40 MB of a guest; 15 takes five times as long for one per
/// cent less.
const COMPRESSION: i32 = 12;

/// How much of a failed command's output is shown: enough for pip's or Python's last words.
const LAST_LINES: usize = 25;

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

/// What went wrong, and what the reader can do about it.
struct Failure {
    what: String,
    hints: Vec<String>,
}

type Result<T> = std::result::Result<T, Failure>;

const READY_MADE: &str = "without Python or a network, set SKILLRUN_RUNTIMES_DIR to a directory that holds ready-made guests";

fn build() -> Result<()> {
    for name in ["SKILLRUN_RUNTIMES_DIR", "SKILLRUN_PYTHON"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    for path in [
        "build.rs",
        "build",
        "python/requirements.txt",
        "python/wit",
        "python/guest",
        "typescript/Cargo.toml",
        "typescript/Cargo.lock",
        "typescript/src",
        "typescript/wit",
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    let out = PathBuf::from(variable("OUT_DIR")?);
    let source = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let ready_made = env::var_os("SKILLRUN_RUNTIMES_DIR").map(PathBuf::from);
    let guests: [(&str, &str, Recipe); 2] = [
        ("python", PYTHON_VERSION, make_python),
        ("typescript", OXC_VERSION, typescript::make),
    ];
    for (name, version, make) in guests {
        let component = match &ready_made {
            Some(directory) => {
                let file = directory.join(format!("{name}.wasm"));
                println!("cargo::rerun-if-changed={}", file.display());
                file
            }
            None => make(&source.join(name), &out)?,
        };
        embed(name, version, &component, &out)?;
    }
    Ok(())
}

/// Makes a guest from the recipe in a directory, somewhere in another; returns the file.
type Recipe = fn(&Path, &Path) -> Result<PathBuf>;

fn variable(name: &str) -> Result<std::ffi::OsString> {
    env::var_os(name).ok_or_else(|| Failure {
        what: format!("`{name}` is not set"),
        hints: vec!["this is a build script: run `cargo build`".into()],
    })
}

/// Makes `python.wasm` from the recipe in `python/`.
fn make_python(recipe: &Path, out: &Path) -> Result<PathBuf> {
    let environment = environment(&recipe.join("requirements.txt"), out)?;

    // The interpreter writes its caches beside what it imports: give it copies.
    let guest = out.join("guest");
    remove(&guest)?;
    copy(&recipe.join("guest"), &guest)?;
    copy(
        &site_packages(&environment)?.join("tzdata"),
        &guest.join("tzdata"),
    )?;

    let component = out.join("python.wasm");
    let mut command = Command::new(program(&environment, "componentize-py"));
    command
        .arg("--wit-path")
        .arg(recipe.join("wit"))
        .args(["--world", "python", "componentize", "_skillrun.app"])
        .arg("--python-path")
        .arg(&guest)
        .arg("--output")
        .arg(&component);
    // It asks the first `python3` on the path for more directories to take in: let that be ours.
    command.env("PATH", path_with(&environment)?);
    run(
        command,
        &["componentize-py could not make the Python guest"],
    )?;

    let merged = out.join("python.merged.wasm");
    let bytes = merge::merge(&read(&component)?).map_err(|error| Failure {
        what: format!(
            "cannot merge the modules of `{}`: {error:#}",
            component.display()
        ),
        hints: vec![READY_MADE.into()],
    })?;
    write(&merged, &bytes)?;
    Ok(merged)
}

/// The virtual environment with the pinned wheels, kept as long as they are the same.
fn environment(requirements: &Path, out: &Path) -> Result<PathBuf> {
    let environment = out.join("venv");
    let wanted = read(requirements)?;
    let installed = environment.join("installed.txt");
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok(environment);
    }
    remove(&environment)?;

    let mut command = Command::new(find_python()?);
    command.args(["-m", "venv"]).arg(&environment);
    run(
        command,
        &["on Debian and Ubuntu the module is a package of its own: apt install python3-venv"],
    )?;

    let mut command = Command::new(program(&environment, "python"));
    command
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args([
            "--require-hashes",
            "--only-binary",
            ":all:",
            "--no-deps",
            "-r",
        ])
        .arg(requirements);
    run(
        command,
        &[
            "pip needs a network or a local wheel directory, and a platform the wheels in python/requirements.txt exist for",
        ],
    )?;
    write(&installed, &wanted)?;
    Ok(environment)
}

/// The Python to make the environment with. Any that has `venv` will do: the guest brings its own.
fn find_python() -> Result<std::ffi::OsString> {
    let named = env::var_os("SKILLRUN_PYTHON").filter(|name| !name.is_empty());
    let candidates = match &named {
        Some(name) => vec![name.clone()],
        None => vec!["python3".into(), "python".into()],
    };
    for candidate in &candidates {
        let mut command = Command::new(candidate);
        command.args(["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]);
        if clean(&mut command)
            .output()
            .is_ok_and(|done| done.status.success())
        {
            return Ok(candidate.clone());
        }
    }
    let tried: Vec<_> = candidates
        .iter()
        .map(|name| format!("`{}`", name.display()))
        .collect();
    Err(Failure {
        what: format!("no Python 3.9 or newer found, tried {}", tried.join(", ")),
        hints: vec![
            "install Python, or set SKILLRUN_PYTHON to its path".into(),
            READY_MADE.into(),
        ],
    })
}

/// Compresses the component and writes the constants that `src/lib.rs` includes.
fn embed(name: &str, version: &str, component: &Path, out: &Path) -> Result<()> {
    let bytes = fs::read(component).map_err(|error| Failure {
        what: format!("cannot read `{}`: {error}", component.display()),
        hints: vec![format!(
            "SKILLRUN_RUNTIMES_DIR must name a directory that holds {name}.wasm"
        )],
    })?;
    let compressed = zstd::bulk::compress(&bytes, COMPRESSION).map_err(|error| Failure {
        what: format!("cannot compress `{}`: {error}", component.display()),
        hints: Vec::new(),
    })?;
    write(&out.join(format!("{name}.wasm.zst")), &compressed)?;

    let mut digest = String::new();
    for byte in Sha256::digest(&bytes) {
        let _ = write!(digest, "{byte:02x}");
    }
    let constants = format!(
        "pub(super) const VERSION: &str = {version:?};\n\
         pub(super) const DIGEST: &str = {digest:?};\n\
         pub(super) const SIZE: usize = {};\n\
         pub(super) const COMPRESSED: &[u8] = include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.wasm.zst\"));\n",
        bytes.len()
    );
    write(&out.join(format!("{name}.rs")), constants.as_bytes())
}

/// Runs a command to its end; a failure shows the command line and its last words.
fn run(mut command: Command, hints: &[&str]) -> Result<()> {
    let line = command_line(&command);
    let hints = || {
        let mut all: Vec<String> = hints.iter().map(|&hint| hint.into()).collect();
        all.push(READY_MADE.into());
        all
    };
    let done = clean(&mut command).output().map_err(|error| Failure {
        what: format!("cannot start `{line}`: {error}"),
        hints: hints(),
    })?;
    if done.status.success() {
        return Ok(());
    }
    let printed = [done.stdout, done.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    let lines: Vec<&str> = printed.trim_end().lines().collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n  ");
    Err(Failure {
        what: format!("`{line}` failed with {}\n  {last}", done.status),
        hints: hints(),
    })
}

/// Another environment's settings would change what is installed or taken in, and a backtrace would
/// push the message out of sight. pip's own settings are left alone.
fn clean(command: &mut Command) -> &mut Command {
    for name in [
        "VIRTUAL_ENV",
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "RUST_BACKTRACE",
    ] {
        command.env_remove(name);
    }
    command
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.display().to_string()).collect();
    words.join(" ")
}

/// Where a virtual environment keeps its programs.
fn programs(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts" } else { "bin" })
}

fn program(environment: &Path, name: &str) -> PathBuf {
    programs(environment).join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

fn path_with(environment: &Path) -> Result<std::ffi::OsString> {
    let rest = env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(programs(environment)).chain(env::split_paths(&rest));
    env::join_paths(all).map_err(|error| Failure {
        what: format!("cannot put the build folder on the search path: {error}"),
        hints: vec!["build in a folder whose name has no colon".into()],
    })
}

/// `lib/python3.x/site-packages` of the environment, whichever version made it.
fn site_packages(environment: &Path) -> Result<PathBuf> {
    if cfg!(windows) {
        return Ok(environment.join("Lib").join("site-packages"));
    }
    let lib = environment.join("lib");
    for entry in fs::read_dir(&lib).map_err(|error| on(&lib, "read", &error))? {
        let candidate = entry
            .map_err(|error| on(&lib, "read", &error))?
            .path()
            .join("site-packages");
        if candidate.is_dir() {
            return Ok(candidate);
        }
    }
    Err(Failure {
        what: format!("no `site-packages` in `{}`", lib.display()),
        hints: vec![format!(
            "delete `{}` and build again",
            environment.display()
        )],
    })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(|error| on(to, "create", &error))?;
    for entry in fs::read_dir(from).map_err(|error| on(from, "read", &error))? {
        let entry = entry.map_err(|error| on(from, "read", &error))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name() == OsStr::new("__pycache__") {
            continue;
        }
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(|error| on(&source, "copy", &error))?;
        }
    }
    Ok(())
}

fn remove(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(on(directory, "remove", &error))
        }
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| on(path, "read", &error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| on(path, "write", &error))
}

fn on(path: &Path, what: &str, error: &io::Error) -> Failure {
    Failure {
        what: format!("cannot {what} `{}`: {error}", path.display()),
        hints: Vec::new(),
    }
}
