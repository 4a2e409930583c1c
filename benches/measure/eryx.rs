//! pyeryx, the nearest peer: CPython in wasm, embedded in a Python program. It is installed from PyPI into an environment of its
//! own below the target directory, and runs in one long-lived process, as our host does. It measures its runs itself, so
//! that no pipe is part of them.

use super::Result;
use super::cost::cost_of;
use super::runs::{WINDOW, Window};
use serde_json::{Value, from_value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const REQUIREMENTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../benches/measure/peers/pyeryx.txt"
);
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../benches/measure/peers/pyeryx.py"
);
/// The environment, kept from one benchmark to the next.
const ENVIRONMENT: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/pyeryx-0.11.0");
/// The names of a CPython that is new enough.
const PYTHONS: [&str; 4] = ["python3.14", "python3.13", "python3.12", "python3"];

/// A process that runs scripts in sandboxes of pyeryx.
pub(crate) struct Eryx {
    process: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// What callers reached.
struct Runs {
    /// Seconds to the result, and until the sandbox was gone.
    runs: Vec<(f64, f64)>,
    seconds: f64,
}

impl Eryx {
    /// Installs it if that is still to be done, and starts it.
    pub(crate) fn installed() -> Result<Self> {
        let mut process = Command::new(install()?)
            .arg(PROGRAM)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self {
            ask: process.stdin.take().ok_or("no pipe to pyeryx")?,
            answers: BufReader::new(process.stdout.take().ok_or("no pipe from pyeryx")?),
            process,
        })
    }

    /// The same, or prints why it is left out.
    pub(crate) fn find() -> Option<Self> {
        match Self::installed() {
            Ok(found) => {
                println!("against pyeryx 0.11.0");
                Some(found)
            }
            Err(error) => {
                println!("no pyeryx: what compares with it is left out: {error}");
                None
            }
        }
    }

    /// Milliseconds to the result of this script in a fresh sandbox. A `preloaded` one comes from a snapshot that has the imports of
    /// `imports.py`, which takes pyeryx twenty seconds to make.
    pub(crate) fn result(&mut self, script: &Path, preloaded: bool) -> Result<f64> {
        let runs = self.runs(script, preloaded, 1, Duration::ZERO)?.runs;
        let (took, _) = runs.first().ok_or("pyeryx ran nothing")?;
        Ok(took * 1e3)
    }

    /// The same by some callers for a while, at least once each, until each sandbox is gone.
    pub(crate) fn window(
        &mut self,
        script: &Path,
        preloaded: bool,
        callers: usize,
    ) -> Result<Window> {
        let (Runs { runs, seconds }, cost) =
            cost_of(|| self.runs(script, preloaded, callers, WINDOW))?;
        Ok(Window {
            cost,
            took: runs.into_iter().map(|(_, whole)| whole * 1e3).collect(),
            seconds,
        })
    }

    fn runs(
        &mut self,
        script: &Path,
        preloaded: bool,
        callers: usize,
        length: Duration,
    ) -> Result<Runs> {
        let question = json!(["window", script, preloaded, callers, length.as_secs_f64()]);
        let mut answer = self.answer(&question)?;
        Ok(Runs {
            runs: from_value(answer["runs"].take())?,
            seconds: from_value(answer["seconds"].take())?,
        })
    }

    /// Keeps this many sandboxes alive.
    pub(crate) fn live(&mut self, script: &Path, count: usize) -> Result<()> {
        let live: usize = from_value(self.answer(&json!(["live", script, count]))?)?;
        match live == count {
            true => Ok(()),
            false => Err(format!("{live} sandboxes of pyeryx are alive, not {count}").into()),
        }
    }

    /// Milliseconds between the limit and the return of a run, with this many sandboxes at the same time.
    pub(crate) fn late(
        &mut self,
        script: &Path,
        callers: usize,
        limit: Duration,
    ) -> Result<Vec<f64>> {
        let late = self.answer(&json!(["late", script, callers, limit.as_secs_f64()]))?;
        let late: Vec<f64> = from_value(late)?;
        Ok(late.into_iter().map(|late| late * 1e3).collect())
    }

    fn answer(&mut self, question: &Value) -> Result<Value> {
        writeln!(self.ask, "{question}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        serde_json::from_str(&answer).map_err(|error| format!("pyeryx answered: {error}").into())
    }
}

impl Drop for Eryx {
    fn drop(&mut self) {
        // If it has ended, there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The interpreter of an environment that has pyeryx.
fn install() -> Result<PathBuf> {
    let folder = Path::new(ENVIRONMENT);
    let python = folder.join("bin/python");
    let has_it = || output(Command::new(&python).args(["-c", "import eryx"])).is_ok();
    if has_it() {
        return Ok(python);
    }
    let base = new_enough()?;
    output(
        Command::new(base)
            .args(["-m", "venv", "--clear"])
            .arg(folder),
    )?;
    output(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--no-input"])
            .args([
                "--only-binary",
                ":all:",
                "--require-hashes",
                "-r",
                REQUIREMENTS,
            ]),
    )?;
    match has_it() {
        true => Ok(python),
        false => Err("it is installed, but `import eryx` fails".into()),
    }
}

/// A CPython that the wheels of pyeryx support: on the `PATH`, or installed by pyenv, whose shims find only the version in use.
fn new_enough() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(std::env::home_dir()?.join(".pyenv")));
    let versions = pyenv.and_then(|root| std::fs::read_dir(root.join("versions")).ok());
    let versions = versions.into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    let programs = PYTHONS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let question = "import sys, venv; sys.exit(sys.version_info < (3, 12))";
    programs
        .filter(|program| program.exists())
        .find(|program| output(Command::new(program).args(["-c", question])).is_ok())
        .ok_or_else(|| {
            let names = PYTHONS.join(", ");
            format!(
                "it needs CPython 3.12 or newer, and none of {names} on the PATH and of pyenv is"
            )
            .into()
        })
}

/// What a command prints. If it fails, the last line that it wrote about that.
fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().last().unwrap_or_default().to_owned();
    Err(format!("{command:?}: {}: {last}", output.status).into())
}
