//! The interpreters of this machine, and the cost of a process.

use super::env::BenchEnv;
use super::{Result, Samples, in_turn};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// An interpreter of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
    /// The arguments before the script.
    pub(crate) flags: &'static [&'static str],
}

impl Peer {
    /// Whether it can run the script: Node 24 and newer strip types.
    pub(crate) fn runs(&self, script: &str) -> bool {
        let major = self.version.split('.').next();
        let major = major.and_then(|number| number.parse::<u32>().ok());
        !script.ends_with(".ts") || major.is_some_and(|major| major >= 24)
    }

    pub(crate) fn name(&self) -> String {
        let words = [self.path.display().to_string(), self.version.clone()];
        let flags = self.flags.iter().map(|flag| (*flag).to_owned());
        words.into_iter().chain(flags).collect::<Vec<_>>().join(" ")
    }
}

/// A language, and how to ask a program which interpreter it is.
struct Kind {
    program: &'static str,
    question: [&'static str; 2],
}

const PYTHON: Kind = Kind {
    program: "python3",
    question: [
        "-c",
        "import sys; print(sys.executable); print(sys.version.split()[0])",
    ],
};
const NODE: Kind = Kind {
    program: "node",
    question: ["-p", "process.execPath + '\\n' + process.versions.node"],
};

/// Every `python3` on the `PATH`.
pub(crate) fn pythons() -> Vec<Peer> {
    all(&PYTHON)
}

/// Every `node` on the `PATH`.
pub(crate) fn nodes() -> Vec<Peer> {
    all(&NODE)
}

/// The plain bash of this machine.
pub(crate) const BASH: &str = "/bin/bash";

/// The options by which bubblewrap shows as much and as little as we do.
const BUBBLEWRAP: &str = "--unshare-all --die-with-parent --new-session --clearenv \
    --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
    --proc /proc --dev /dev --tmpfs /tmp";

/// bubblewrap, to which a program is to be added; with `shown`, the program sees this directory too.
pub(crate) fn bubblewrap(shown: Option<&Path>) -> Command {
    let mut command = Command::new("bwrap");
    command.args(BUBBLEWRAP.split_whitespace());
    if let Some(shown) = shown {
        command.arg("--ro-bind").args([shown, shown]);
    }
    command.arg("--");
    command
}

/// Whether bubblewrap works here. Prints why it is left out if it does not.
pub(crate) fn has_bubblewrap() -> bool {
    let mut command = bubblewrap(None);
    command.args([BASH, "-c", ":"]);
    let works = spend(command);
    if let Err(error) = &works {
        println!("no bubblewrap: what compares with it is left out: {error}");
    }
    works.is_ok()
}

/// Each by the path of the real program: a shim in front of it would be measured too.
fn all(kind: &Kind) -> Vec<Peer> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found: Vec<Peer> = Vec::new();
    for folder in std::env::split_paths(&path) {
        let asked = Command::new(folder.join(kind.program))
            .args(kind.question)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        let Ok(answer) = asked else { continue };
        let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
        let mut lines = answer.lines();
        let (Some(program), Some(version)) = (lines.next(), lines.next()) else {
            continue;
        };
        let Ok(path) = PathBuf::from(program).canonicalize() else {
            continue;
        };
        if found.iter().all(|known| known.path != path) {
            found.push(Peer {
                path,
                version: version.to_owned(),
                flags: &[],
            });
        }
    }
    if found.is_empty() {
        println!(
            "no {} on the PATH: what compares with it is left out",
            kind.program
        );
    }
    found
}

/// The python3 that starts fastest, which is the fair one to compare with. An installation may load
/// packages of its own at every start.
pub(crate) fn fastest_python(env: &BenchEnv) -> Result<Option<Peer>> {
    fastest(env, pythons(), "hello.py")
}

/// The node that starts fastest.
pub(crate) fn fastest_node(env: &BenchEnv) -> Result<Option<Peer>> {
    fastest(env, nodes(), "hello.js")
}

fn fastest(env: &BenchEnv, found: Vec<Peer>, hello: &str) -> Result<Option<Peer>> {
    let spent = in_turn(found.len(), 9, |side| {
        spend(env.run_native(&found[side], hello))
    })?;
    let p50 = |spent: &[f64]| Samples::new(spent.to_vec()).p50();
    let best = found
        .into_iter()
        .zip(&spent)
        .min_by(|(_, a), (_, b)| p50(a).total_cmp(&p50(b)));
    let best = best.map(|(peer, _)| peer);
    if let Some(peer) = &best {
        println!("against {}", peer.name());
    }
    Ok(best)
}

/// Runs a command to its end, without input and output; returns how long it took, in milliseconds.
pub(crate) fn spend(mut command: Command) -> Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let status = command.status()?;
    let wall = began.elapsed().as_secs_f64() * 1e3;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(wall)
}
