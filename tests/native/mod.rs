//! The escape battery of the native tier: each script in `attempts/` tries to escape, in every
//! backend and as every user that this machine offers, and its whole output is compared with the
//! expected one there. `README.md` explains how to add one.
//!
//! Each test has its own host process, which is this test binary started again, as an ordinary user
//! if necessary. So a host can be killed, and what it finds afterwards belongs to one run alone. Each
//! test uses a different ordinary user, so that none counts the processes of another.

mod checked;
mod ends;
mod host;
mod outside;
mod protected;
mod readings;
pub(crate) mod scripts;

pub(crate) use host::{ROLE, main as host};
pub(crate) use scripts::without_namespaces;

use libtest_mimic::{Failed, Trial};
use rustix::fs::OFlags;
use skillrun_confine::{Backend, Confinement};
use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// The first of the ordinary users that root switches to; they need not exist in any list of users.
const FIRST_USER: u32 = 23456;

/// Who runs the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Root,
    User,
}

/// One backend and user to test.
#[derive(Debug, Clone, Copy)]
struct Variant {
    backend: Backend,
    who: Who,
}

impl Variant {
    const ALL: [Self; 4] = [
        Self::new(Backend::Namespaces, Who::Root),
        Self::new(Backend::Namespaces, Who::User),
        Self::new(Backend::Landlock, Who::Root),
        Self::new(Backend::Landlock, Who::User),
    ];

    const fn new(backend: Backend, who: Who) -> Self {
        Self { backend, who }
    }

    fn who(self) -> &'static str {
        match self.who {
            Who::Root => "root",
            Who::User => "user",
        }
    }

    fn words(self) -> String {
        let backend = match self.backend {
            Backend::Namespaces => "in_namespaces",
            Backend::Landlock => "under_landlock",
        };
        let who = match self.who {
            Who::Root => "as_root",
            Who::User => "as_a_user",
        };
        format!("{backend}_{who}")
    }

    /// Why this machine does not offer it.
    fn missing(self) -> Option<String> {
        let is_root = rustix::process::geteuid().is_root();
        if self.who == Who::Root && !is_root {
            return Some("the tests do not run as root".into());
        }
        if is_root && self.who == Who::User {
            let env = NativeEnv::new(self);
            let output = env.host("probe").output().unwrap();
            return (!output.status.success())
                .then(|| String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        Confinement::with(self.backend)
            .err()
            .map(|unable| unable.to_string())
    }
}

/// One test for each script, backend and user. Those that cannot run here are ignored, and their kind
/// gives the reason.
pub(crate) fn tests() -> Vec<Trial> {
    let mut trials = scripts::tests();
    trials.extend(checked::tests());
    for variant in Variant::ALL {
        let missing = variant.missing();
        let mut add =
            |name: &str, lacks: Option<String>, run: Box<dyn Fn() -> Result<(), Failed> + Send>| {
                let trial = Trial::test(format!("{name}_{}", variant.words()), run);
                let why = missing.clone().or(lacks);
                trials.push(match why {
                    Some(why) => trial
                        .with_kind(format!("native: {why}"))
                        .with_ignored_flag(true),
                    None => trial.with_kind("native"),
                });
            };
        for script in scripts() {
            let name = script.file_stem().unwrap().to_string_lossy().into_owned();
            let lacks = interpreter(&script).err();
            add(&name, lacks, Box::new(move || attempt(&script, variant)));
        }
        for (name, run) in ends::ALL.into_iter().chain(protected::ALL) {
            add(
                name,
                None,
                Box::new(move || run(variant).map_err(Failed::from)),
            );
        }
        let by_code = ends::BY_CODE.map(|(name, run)| (name, run, cfg!(target_arch = "x86_64")));
        let by_python = ends::BY_PYTHON.map(|(name, run)| (name, run, true));
        for (name, run, has_code) in by_python.into_iter().chain(by_code) {
            let lacks = !Path::new(ends::PYTHON).is_file();
            let lacks = lacks.then(|| "python3 is not installed".into());
            let lacks = lacks.or((!has_code).then(|| "its code is that of x86_64".into()));
            add(
                name,
                lacks,
                Box::new(move || run(variant).map_err(Failed::from)),
            );
        }
        let is_root = rustix::process::geteuid().is_root();
        for (name, run) in ends::BY_ROOT {
            let lacks = (!is_root).then(|| "the tests do not run as root".into());
            add(
                name,
                lacks,
                Box::new(move || run(variant).map_err(Failed::from)),
            );
        }
    }
    trials
}

fn attempts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/native/attempts")
}

fn scripts() -> Vec<PathBuf> {
    let entries = fs::read_dir(attempts()).unwrap();
    let mut scripts: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| interpreter_name(path).is_some())
        .collect();
    scripts.sort();
    scripts
}

fn interpreter_name(script: &Path) -> Option<&'static str> {
    match script.extension()?.to_str()? {
        "py" => Some("python3"),
        "sh" => Some("bash"),
        "pl" => Some("perl"),
        _ => None,
    }
}

/// The interpreter of a script, or why it cannot run here.
fn interpreter(script: &Path) -> Result<PathBuf, String> {
    let name = interpreter_name(script).ok_or("no interpreter")?;
    let text = fs::read_to_string(script).map_err(|error| error.to_string())?;
    if text.contains("\n# x86_64 only") && !cfg!(target_arch = "x86_64") {
        return Err("its calls are those of x86_64".into());
    }
    let folders = ["/usr/local/bin", "/usr/bin", "/bin"].iter();
    let mut paths = folders.map(|folder| Path::new(folder).join(name));
    paths
        .find(|path| path.is_file() && skillrun_confine::is_shown(path))
        .ok_or(format!("{name} is not installed"))
}

/// Runs one script in its own host and compares the result.
fn attempt(script: &Path, variant: Variant) -> Result<(), Failed> {
    let env = NativeEnv::new(variant);
    let mut text = String::new();
    if script.extension().is_some_and(|kind| kind == "py") {
        text.push_str(include_str!("attempt.py"));
    }
    text.push_str(&fs::read_to_string(script)?);
    let name = script.file_name().unwrap();
    env.write(&format!("skill/{}", name.to_string_lossy()), &text);
    let output = env
        .host("attempt")
        .arg(interpreter(script)?)
        .arg(env.path("skill").join(name))
        .output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !stderr.is_empty() {
        return Err(format!("the host failed: {}\n{stderr}", output.status).into());
    }
    let got = String::from_utf8_lossy(&output.stdout);
    let got = got.replace(env.root.path().to_str().unwrap(), "{root}");
    compare(script, variant, &got)
}

/// Compares with the most specific of the expected outputs; with `UPDATE=1` writes it instead.
fn compare(script: &Path, variant: Variant, got: &str) -> Result<(), Failed> {
    let backend = variant.backend.word();
    let names = [
        format!("{backend}.{}", variant.who()),
        backend.into(),
        "all".into(),
    ];
    let path = |name: &String| script.with_extension(name);
    let found = names.iter().map(path).find(|path| path.is_file());
    let wanted = found.as_ref().map(fs::read_to_string).transpose()?;
    if wanted.as_deref() == Some(got) {
        return Ok(());
    }
    if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
        return Ok(fs::write(path(&names[0]), got)?);
    }
    let wanted = wanted.unwrap_or_default();
    Err(crate::folder::difference(&wanted, got).into())
}

/// The directory of one test, which belongs to the user of its host.
struct NativeEnv {
    root: TempDir,
    variant: Variant,
    user: Option<u32>,
}

impl NativeEnv {
    fn new(variant: Variant) -> Self {
        static USERS: AtomicU32 = AtomicU32::new(FIRST_USER);
        let becomes_user = variant.who == Who::User && rustix::process::geteuid().is_root();
        let user = becomes_user.then(|| USERS.fetch_add(1, Ordering::SeqCst));
        let root = tempfile::Builder::new().prefix("skillrun-test-").tempdir();
        let env = Self {
            root: root.unwrap(),
            variant,
            user,
        };
        env.give(env.root.path());
        for folder in ["skill", "workspace", "scratch"] {
            fs::create_dir(env.path(folder)).unwrap();
            env.give(&env.path(folder));
        }
        env
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    fn write(&self, relative: &str, text: &str) {
        fs::write(self.path(relative), text).unwrap();
        self.give(&self.path(relative));
    }

    fn give(&self, path: &Path) {
        if let Some(user) = self.user {
            std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
        }
    }

    /// A host with a role. The binary may be where that user has no access, so it is opened here.
    fn host(&self, role: &str) -> Command {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let own = rustix::fs::open("/proc/self/exe", flags, rustix::fs::Mode::empty()).unwrap();
        let mut command = Command::new(format!("/proc/self/fd/{}", own.as_raw_fd()));
        // Needed until the command has been started, which the caller does at once.
        std::mem::forget(own);
        command
            .env_clear()
            .env(ROLE, role)
            .arg(self.variant.backend.word())
            .current_dir(self.root.path())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }
}
