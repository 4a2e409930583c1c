//! The environment of a benchmark: a temporary directory for everything that a run writes, and a prepared runtime.

use super::Result;
use super::peer::Peer;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use skillrun::runtime::Workers;
use skillrun::{
    Approvals, AuditLog, Decision, Host, Live, Outcome, Policy, Request, Settings, Skill,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// The skill whose scripts are the loads.
const LOAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/load");
/// Kept from one benchmark to the next, because compiling the runtime takes many seconds.
const CACHE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");

/// The directory in which a benchmark runs scripts.
pub(crate) struct BenchEnv {
    folder: TempDir,
    load: PathBuf,
}

impl BenchEnv {
    /// Creates the directory, and compiles the runtime if it is not in the cache.
    pub(crate) fn new() -> Result<Self> {
        raise_open_files()?;
        let env = Self {
            folder: tempfile::Builder::new()
                .prefix("skillrun-bench-")
                .tempdir()?,
            load: Path::new(LOAD).canonicalize()?,
        };
        let mut prepare = env.skillrun();
        prepare
            .args(["runtimes", "prepare"])
            .stdout(Stdio::null())
            .stdin(Stdio::null());
        if prepare.status()?.success() {
            Ok(env)
        } else {
            Err("`skillrun runtimes prepare` failed".into())
        }
    }

    /// The temporary directory.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A script of the load.
    pub(crate) fn script(&self, name: &str) -> PathBuf {
        self.load.join("scripts").join(name)
    }

    /// `skillrun run` of a script of the load.
    pub(crate) fn run(&self, script: &str) -> Command {
        let mut command = self.skillrun();
        command.arg("run").arg(&self.load).arg(script);
        command
    }

    /// The same run by an interpreter of this machine.
    pub(crate) fn run_native(&self, peer: &Peer, script: &str) -> Command {
        let mut command = Command::new(&peer.path);
        command
            .args(peer.flags)
            .arg(self.script(script))
            .current_dir(self.folder());
        command
    }

    /// A host in this process, with `slots` slots reserved in advance.
    pub(crate) fn host(&self, slots: Option<u32>) -> Host {
        self.host_with(slots, Workers::InProcess)
    }

    /// The same, with guests in these workers.
    pub(crate) fn host_with(&self, slots: Option<u32>, workers: Workers) -> Host {
        Host::new(Settings {
            cache: Path::new(CACHE).join("skillrun"),
            audit: AuditLog::file(self.folder().join("audit.jsonl")),
            approvals: Approvals::memory(),
            protected: vec![],
            slots,
            workers,
        })
    }

    /// The load as a loaded skill.
    pub(crate) fn skill(&self) -> Result<Arc<Skill>> {
        Ok(Skill::load(&self.load)?.into())
    }

    fn skillrun(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skillrun"));
        command
            .env("XDG_CACHE_HOME", CACHE)
            .env("XDG_STATE_HOME", self.folder().join("state"))
            .env("XDG_CONFIG_HOME", self.folder().join("config"))
            .current_dir(self.folder());
        command
    }
}

/// Raises the limit on open files as far as it goes: the usual 1,024 are too few for a thousand workers.
fn raise_open_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// The script that prints a word, in the language of `script`.
pub(crate) fn hello(script: &str) -> &'static str {
    if script.ends_with(".py") {
        "hello.py"
    } else {
        "hello.js"
    }
}

/// Decides and runs, as an embedding program does.
pub(crate) async fn run(host: &Host, request: Request, live: Live) -> Result<Outcome> {
    run_under(&Policy::default(), host, request, live).await
}

/// The same under a policy.
pub(crate) async fn run_under(
    policy: &Policy,
    host: &Host,
    request: Request,
    live: Live,
) -> Result<Outcome> {
    match host.decide(policy, request).await? {
        Decision::Permitted(permit) => Ok(host.run_live(permit, live).await?),
        other => Err(format!("not permitted: {other:?}").into()),
    }
}
