//! The test environment: a directory for each test, and the binary run in it with a clean environment.

use crate::attack_corpus::wait;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A run that takes this long hangs. It is killed, and the test fails. Compiling the interpreters takes half a minute of both
/// processors, which is minutes beside other work.
const HANG_TIMEOUT: Duration = Duration::from_secs(900);
/// In the environment of every run, so that a script that can see it prints it.
pub(crate) const SECRET: (&str, &str) = ("SKILLRUN_TEST_SECRET", "leaked");

/// A user to whom file modes apply, where the tests run as root.
const NOBODY: u32 = 65534;

/// Copies a program that is about to be started.
///
/// Not with `fs::copy`: while this process has the copy open for writing, another test may start a process, which has it
/// open as well until it executes its own program. Until then, the copy cannot be executed (`ETXTBSY`).
pub(crate) fn copy_program(from: &str, to: &Path) {
    let status = Command::new("cp").arg("--").arg(from).arg(to).status();
    assert!(status.unwrap().success(), "cannot copy `{from}`");
}

/// A minimal `SKILL.md`, for tests that are not about it.
pub(crate) const SKILL_MD: &str = "---\nname: skill\ndescription: A skill of a test.\n---\n";

/// The flags of `unshare` for a mount namespace in which this user may mount.
const OWN_MOUNTS: [&str; 3] = ["--user", "--map-root-user", "--mount"];

/// Whether this user may mount file systems in a namespace of their own.
pub(crate) fn may_mount() -> bool {
    let output = Command::new("unshare")
        .args(OWN_MOUNTS)
        .arg("true")
        .output();
    output.is_ok_and(|output| output.status.success())
}

/// The cache that all tests share, so that the interpreter is compiled once.
pub(crate) fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// The compiled interpreter of the tested binary; older ones may be beside it.
pub(crate) fn cached_file() -> PathBuf {
    cached_file_of("python")
}

/// The compiled interpreter of this name.
fn cached_file_of(runtime: &str) -> PathBuf {
    let end = TestEnv::new().end(&["runtimes", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    let mut listed = listed.as_array().unwrap().iter();
    let found = listed.find(|one| one["name"] == runtime).unwrap();
    PathBuf::from(found["file"].as_str().unwrap())
}

/// Compiles the interpreter before the first test, so that no test waits for it.
pub(crate) fn prepare_runtimes() {
    let env = TestEnv::new();
    let end = env.end(&["runtimes", "prepare"]);
    assert_eq!(end.code, 0, "{}", end.stderr);
}

/// A fresh directory with a home, a temporary directory and optionally a skill.
pub(crate) struct TestEnv {
    root: TempDir,
}

/// How a process ended and what it wrote, with placeholders for the paths of the test environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

impl TestEnv {
    /// An empty test environment.
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("skillrun-test-")
            .tempdir()
            .unwrap();
        let env = Self { root };
        for folder in ["home", "state", "tmp"] {
            fs::create_dir(env.path(folder)).unwrap();
        }
        env
    }

    /// A test environment with a skill whose `scripts/main.py` is `script`.
    pub(crate) fn with_script(script: &str) -> Self {
        let env = Self::new();
        env.write("skill/SKILL.md", SKILL_MD);
        env.write("skill/scripts/main.py", script);
        env
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// A path in the test environment.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root().join(relative)
    }

    /// A path in the test environment as text.
    pub(crate) fn text(&self, relative: &str) -> String {
        self.path(relative).to_str().unwrap().to_owned()
    }

    /// Writes a file, and creates its parent directories.
    pub(crate) fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes an executable file that is about to be started; see [`copy_program`].
    pub(crate) fn write_program(&self, relative: &str, content: &str, mode: u32) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let written = self.write(&format!("{relative}.written"), content);
        let path = self.path(relative);
        let _ = fs::remove_file(&path);
        copy_program(written.to_str().unwrap(), &path);
        fs::remove_file(written).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    /// The binary with a clean environment, started in this directory.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(&self, words: &[S]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_skillrun"));
        command.args(words);
        command
    }

    /// Any program with a clean environment, started in this directory.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CACHE_HOME", shared_cache())
            .env("TMPDIR", self.path("tmp"))
            .env(SECRET.0, SECRET.1)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The binary in a mount namespace of its own. `shell` mounts, and then runs `"$0" "$@"`.
    pub(crate) fn command_in_mounts(&self, shell: &str, words: &[&str]) -> Command {
        let mut command = self.program_in_mounts(shell, Path::new(env!("CARGO_BIN_EXE_skillrun")));
        command.args(words);
        command
    }

    /// Any program in a mount namespace of its own. `shell` mounts, and then runs `"$0" "$@"`.
    pub(crate) fn program_in_mounts(&self, shell: &str, program: &Path) -> Command {
        let mut command = self.program("unshare");
        command
            .args(OWN_MOUNTS)
            .args(["sh", "-c", shell])
            .arg(program)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// The binary run by a user to whom file modes apply: for root, a user who owns this directory
    /// and has copies of the binary and of the compiled interpreter.
    pub(crate) fn unprivileged_command(&self, words: &[&str]) -> Command {
        use std::os::unix::process::CommandExt as _;
        if !rustix::process::geteuid().is_root() {
            return self.command(words);
        }
        let binary = self.path("skillrun");
        // It may be there, and still run.
        let _ = fs::remove_file(&binary);
        copy_program(env!("CARGO_BIN_EXE_skillrun"), &binary);
        self.copy_cache("cache");
        chown_all(self.root());
        let template = self.command(words);
        let mut command = Command::new(binary);
        command
            .args(words)
            .current_dir(self.root())
            .env_clear()
            .envs(template.get_envs().filter_map(|(k, v)| Some((k, v?))))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .uid(NOBODY)
            .gid(NOBODY);
        command
    }

    /// Copies the shared cache to `relative`, for tests that damage it; returns the compiled file.
    pub(crate) fn copy_cache(&self, relative: &str) -> PathBuf {
        self.copy_cache_of("python", relative)
    }

    /// The same for the interpreter of this name.
    pub(crate) fn copy_cache_of(&self, runtime: &str, relative: &str) -> PathBuf {
        use std::os::unix::fs::DirBuilderExt as _;
        let from = cached_file_of(runtime);
        let to = self.path(relative).join("skillrun");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&to)
            .unwrap();
        for extension in ["cwasm", "checksum"] {
            let file = from.with_extension(extension);
            fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
        }
        to.join(from.file_name().unwrap())
    }

    /// Runs the binary to its end.
    pub(crate) fn end<S: AsRef<std::ffi::OsStr>>(&self, words: &[S]) -> End {
        self.end_of(&mut self.command(words))
    }

    /// Runs the binary on the skill's `main.py` with further arguments.
    pub(crate) fn run(&self, words: &[&str]) -> End {
        let start: Vec<&str> = ["run", "./skill", "main.py"]
            .into_iter()
            .chain(words.iter().copied())
            .collect();
        self.end(&start)
    }

    /// Trusts a policy, as a person who has read it does.
    pub(crate) fn trust(&self, policy: &str) {
        let end = self.end(&["policy", "trust", "--yes", policy]);
        assert_eq!(end.code, 0, "{}", end.stderr);
    }

    /// The same with `--json`: the outcome, or the error.
    pub(crate) fn outcome(&self, words: &[&str]) -> serde_json::Value {
        let words: Vec<&str> = ["--json"]
            .into_iter()
            .chain(words.iter().copied())
            .collect();
        let End { stdout, stderr, .. } = self.run(&words);
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("no JSON: {stdout}\n{stderr}"))
    }

    /// Runs a command to its end.
    pub(crate) fn end_of(&self, command: &mut Command) -> End {
        self.end_of_child(command.spawn().unwrap())
    }

    /// Waits for a process and for everything it writes; a process that does not end is killed and
    /// fails the test.
    pub(crate) fn end_of_child(&self, child: Child) -> End {
        let (status, stdout, stderr) = wait(child, HANG_TIMEOUT).unwrap();
        let Some(status) = status else {
            panic!(
                "the process did not end within {HANG_TIMEOUT:?}; it wrote:\n{}{}",
                String::from_utf8_lossy(&stdout),
                String::from_utf8_lossy(&stderr)
            )
        };
        End {
            stdout: self.named(&stdout),
            stderr: self.named(&stderr),
            code: code(status),
        }
    }

    /// Output with the paths of this environment replaced by `{skill}`, `{workspace}` and `{root}`.
    pub(crate) fn named(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let mut named = String::with_capacity(text.len());
        let mut rest = text.as_ref();
        while let Some((before, after)) = rest.split_once(self.root().to_str().unwrap()) {
            let known = ["skill", "workspace"].into_iter().find_map(|name| {
                let after = after.strip_prefix('/')?.strip_prefix(name)?;
                let longer = after.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c));
                (!longer).then_some((name, after))
            });
            let (name, after) = known.unwrap_or(("root", after));
            named.push_str(before);
            named.push_str(&format!("{{{name}}}"));
            rest = after;
        }
        named.push_str(rest);
        named
    }

    /// The lines of the audit log.
    pub(crate) fn audit(&self) -> Vec<serde_json::Value> {
        let log = fs::read_to_string(self.path("state/skillrun/audit.jsonl")).unwrap_or_default();
        log.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// What must be true after any run: no scratch directory is left, every started run has ended, and
    /// the audit log verifies.
    pub(crate) fn check_left_behind(&self) -> Result<(), String> {
        let left: Vec<_> = fs::read_dir(self.path("tmp"))
            .map_err(|error| error.to_string())?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())?;
        if !left.is_empty() {
            return Err(format!("left in the temporary directory: {left:?}"));
        }
        let mut runs: HashMap<String, i32> = HashMap::new();
        for line in self.audit() {
            let change = match line["event"].as_str() {
                Some("started") => 1,
                Some("finished" | "aborted") => -1,
                _ => 0,
            };
            *runs.entry(line["run_id"].to_string()).or_default() += change;
        }
        if let Some((run, _)) = runs.iter().find(|(_, open)| **open != 0) {
            return Err(format!("the audit log has no end of run {run}"));
        }
        let log = skillrun::audit::AuditFiles::of(self.path("state/skillrun/audit.jsonl"));
        let verified = log.verify(None).map_err(|error| error.to_string())?;
        match (verified.findings.first(), verified.notes.first()) {
            (None, None) => Ok(()),
            wrong => Err(format!("the audit log does not verify: {wrong:?}")),
        }
    }
}

/// Changes the owner of a tree to [`NOBODY`].
pub(crate) fn chown_all(path: &Path) {
    std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.symlink_metadata().unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            chown_all(&entry.unwrap().path());
        }
    }
}

/// The exit code, or 128+N as a shell reports it.
fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
