//! Whether a request may run.
//!
//! The checks come in the order of the contract and the first that fails is the answer. A [`Permit`]
//! is made here and nowhere else; it holds everything a run needs, opened and read, so that what was
//! checked is what runs: the directories are handles, the script is its bytes.

use crate::audit::Asked;
use crate::files::{self, ReadError, show};
use crate::grant::Grant;
use crate::limits::{Limits, show_bytes, show_duration};
use crate::policy::Policy;
use crate::request::{Paths, Request, Tier};
use crate::skill::{Language, NoScript, Script, Skill};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Far above any script that was written by hand or by a model.
const MAX_SCRIPT: u64 = 10 * 1024 * 1024;

/// The answer to a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum Decision {
    /// It may run.
    Permitted(Permit),
    /// It may not, and nothing ran.
    Refused(Refusal),
}

/// The right to one run. Only a decision under a [`Policy`] makes one.
///
/// ```compile_fail
/// let permit = skillrun::Permit { run_id: "mine".into(), ..todo!() };
/// ```
#[derive(Debug)]
pub struct Permit {
    pub(crate) run_id: String,
    pub(crate) skill: Arc<Skill>,
    pub(crate) script: Script,
    /// The script's path below the skill with its links resolved.
    pub(crate) real: PathBuf,
    pub(crate) source: Vec<u8>,
    pub(crate) source_hash: String,
    pub(crate) args: Vec<String>,
    pub(crate) input: Vec<u8>,
    pub(crate) limits: Limits,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) workspace: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) world: String,
    pub(crate) chat: String,
}

impl Permit {
    /// Names the run in the outcome and in the audit log.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The script that will run.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// The script's real, absolute path.
    pub fn script_path(&self) -> PathBuf {
        self.skill.path().join(&self.real)
    }

    /// The SHA-256 of the bytes that will run.
    pub fn script_hash(&self) -> &str {
        &self.source_hash
    }

    /// How much the run may use.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn asked(&self) -> Asked<'_> {
        Asked {
            run_id: &self.run_id,
            world: &self.world,
            chat: &self.chat,
            skill: self.skill.name(),
            script: self.script.path(),
            args: &self.args,
            grants: &self.grants,
        }
    }

    /// Where the script sees the skill's folder.
    pub(crate) fn skill_base(&self) -> &str {
        &self.mounts[0].guest
    }
}

/// A directory that a script sees.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) dir: Dir,
    /// Where it really is.
    pub(crate) host: PathBuf,
    /// Where the script sees it.
    pub(crate) guest: String,
    pub(crate) writable: bool,
    /// The one entry that shows, where a single file was granted.
    pub(crate) only: Option<String>,
}

/// Why a request may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The check that failed.
    pub check: Check,
    /// What failed, on what.
    pub message: String,
    /// What would help, if anything would.
    pub hint: Option<String>,
}

/// The checks before a run, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Check {
    /// The script is there and its name means one script.
    Script,
    /// Its path stays inside the skill.
    Path,
    /// It carries no setuid or setgid bit.
    Permission,
    /// Its interpreter is allowed.
    Interpreter,
    /// The skill's `allowed-tools` allow it.
    AllowedTools,
    /// There is a runtime for it.
    Runtime,
    /// Arguments, input and limits are within what any run may ask for.
    Request,
    /// The limits are within what the policy allows.
    Limits,
    /// Every grant is in the policy.
    Grants,
}

impl Refusal {
    fn new(check: Check, message: impl Into<String>) -> Self {
        Self {
            check,
            message: message.into(),
            hint: None,
        }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The word that a message of it starts with: `refused` where somebody could allow it.
    pub fn word(&self) -> &'static str {
        match self.check {
            Check::Script | Check::Runtime | Check::Request => "error",
            _ => "refused",
        }
    }

    /// The exit code that stands for it: 127 not found, 125 not a valid request, 126 refused.
    pub fn exit_code(&self) -> u8 {
        match self.check {
            Check::Script | Check::Runtime => 127,
            Check::Request => 125,
            _ => 126,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.word(), self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

/// Makes the decision. `runs` says whether a runtime exists for a language in a tier.
pub(crate) fn decide(
    policy: &Policy,
    request: Request,
    run_id: String,
    runs: impl Fn(Language, Tier) -> bool,
) -> Result<Permit, Refusal> {
    let skill = Arc::clone(&request.skill);
    let script = find_script(&skill, &request.script)?;
    let (source, real) = read_script(&skill, &script)?;
    check_interpreter(policy, &skill, &script)?;
    check_allowed_tools(&skill, &script, &request.args)?;
    check_runtime(&script, request.tier, runs)?;
    let limits = check_limits(policy, &request)?;
    let input = check_arguments(&request, &limits)?;
    let mut grants = request.grants.clone();
    grants.extend(request.env.iter().map(|(name, _)| Grant::Env(name.clone())));
    grants.sort();
    grants.dedup();
    check_grants(policy, &skill, &grants)?;
    check_env(&request.env)?;
    let (mounts, workspace) = open_mounts(&request, &grants)?;

    let source_hash = hex(&Sha256::digest(&source));
    let Request {
        args,
        env,
        world,
        chat,
        ..
    } = request;
    Ok(Permit {
        run_id,
        skill,
        script,
        real,
        source,
        source_hash,
        args,
        input,
        limits,
        mounts,
        workspace,
        env,
        grants,
        world,
        chat,
    })
}

fn find_script(skill: &Skill, wanted: &str) -> Result<Script, Refusal> {
    let name = show(wanted);
    let of = show(skill.name());
    let there = || {
        let all: Vec<_> = skill
            .scripts()
            .iter()
            .take(20)
            .map(|s| show(s.path()))
            .collect();
        match (all.len(), skill.scripts().len()) {
            (0, _) => "this skill has no scripts".to_owned(),
            (n, all_of) if n < all_of => {
                format!("there are: {}, … ({all_of} in all)", all.join(", "))
            }
            _ => format!("there are: {}", all.join(", ")),
        }
    };
    match skill.find_script(wanted) {
        Ok(script) => Ok(script.clone()),
        Err(NoScript::Missing { nearest }) => {
            let nearest = nearest
                .map(|name| format!("did you mean `{}`? ", show(&name)))
                .unwrap_or_default();
            Err(Refusal::new(
                Check::Script,
                format!("script `{name}` not found in skill `{of}`"),
            )
            .hint(format!("{nearest}{}", there())))
        }
        Err(NoScript::Ambiguous { candidates }) => {
            let all: Vec<_> = candidates
                .iter()
                .map(|path| format!("`{}`", show(path)))
                .collect();
            Err(Refusal::new(
                Check::Script,
                format!(
                    "script `{name}` is ambiguous in skill `{of}`: {}",
                    all.join(", ")
                ),
            )
            .hint("name it by its path"))
        }
        Err(NoScript::Outside) => Err(outside(&of, &name)),
        Err(NoScript::Unfit { path, why }) => Err(Refusal::new(
            Check::Script,
            format!("`{}` of skill `{of}` {why}", show(&path)),
        )
        .hint(there())),
    }
}

fn outside(skill: &str, script: &str) -> Refusal {
    Refusal::new(
        Check::Path,
        format!("script `{script}` leads out of skill `{skill}`"),
    )
    .hint("a script is named by its path inside the skill, and links must stay inside")
}

/// Reads the script once, from the handle that is checked; returns its path with links resolved too.
fn read_script(skill: &Skill, script: &Script) -> Result<(Vec<u8>, PathBuf), Refusal> {
    let (name, of) = (show(script.path()), show(skill.name()));
    let fail = |error: ReadError| match error {
        ReadError::Outside => outside(&of, &name),
        error => Refusal::new(
            Check::Script,
            format!("script `{name}` of skill `{of}` {error}"),
        ),
    };
    let path = skill
        .root()
        .canonicalize(script.path())
        .map_err(files::escape_or_io)
        .map_err(fail)?;
    let (source, meta) = files::read(skill.root(), &path, MAX_SCRIPT).map_err(fail)?;
    for (bit, word) in [(0o4000, "setuid"), (0o2000, "setgid")] {
        if meta.mode() & bit != 0 {
            return Err(Refusal::new(
                Check::Permission,
                format!("script `{name}` of skill `{of}` has the {word} bit"),
            )
            .hint("remove it: a script never needs the rights of its owner"));
        }
    }
    Ok((source, path))
}

fn check_interpreter(policy: &Policy, skill: &Skill, script: &Script) -> Result<(), Refusal> {
    let allowed = policy.interpreters(skill.name());
    let wanted = script.interpreter();
    if allowed.iter().any(|name| name == wanted) {
        return Ok(());
    }
    Err(Refusal::new(
        Check::Interpreter,
        format!(
            "interpreter `{wanted}` is not allowed for skill `{}` (allowed: {})",
            show(skill.name()),
            allowed.join(", ")
        ),
    )
    .hint(format!(
        "add \"{wanted}\" to `interpreters` in skillrun.toml, or pass --allow interpreter:{wanted}"
    )))
}

fn check_allowed_tools(skill: &Skill, script: &Script, args: &[String]) -> Result<(), Refusal> {
    let Some(tools) = skill.allowed_tools() else {
        return Ok(());
    };
    if tools.allow_script(&command_lines(skill, script, args)) {
        return Ok(());
    }
    let (of, list) = (show(skill.name()), show(&tools.to_string()));
    let message = if tools.entries().any(|entry| entry.starts_with("Bash")) {
        format!(
            "the command line `{} {}` matches none of the tools that skill `{of}` allows itself: {list}",
            script.interpreter(),
            show(script.path())
        )
    } else {
        format!("Tool 'Bash' not allowed for skill `{of}`: its allowed-tools are {list}")
    };
    Err(Refusal::new(Check::AllowedTools, message)
        .hint("`allowed-tools` in SKILL.md is the skill's own word; a script needs `Bash` or a matching `Bash(…)` there"))
}

/// The ways in which a skill may have written the command that this run stands for.
fn command_lines(skill: &Skill, script: &Script, args: &[String]) -> Vec<String> {
    let path = script.path();
    let folder = skill
        .path()
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let places = [
        path.to_owned(),
        format!("./{path}"),
        format!("{folder}/{path}"),
        format!("skills/{folder}/{path}"),
        format!("{{baseDir}}/{path}"),
        format!("${{CLAUDE_SKILL_DIR}}/{path}"),
        format!("${{CLAUDE_PLUGIN_ROOT}}/{path}"),
        skill.path().join(path).display().to_string(),
    ];
    let mut tail = String::new();
    for arg in args {
        tail.push(' ');
        tail.push_str(arg);
    }
    let interpreters = std::iter::once(script.interpreter())
        .chain(script.language().other_names().iter().copied());
    let mut lines: Vec<String> = interpreters
        .flat_map(|interpreter| {
            let quoted = places
                .iter()
                .map(move |place| format!("{interpreter} \"{place}\""));
            places
                .iter()
                .map(move |place| format!("{interpreter} {place}"))
                .chain(quoted)
        })
        .collect();
    lines.extend(places);
    lines.iter_mut().for_each(|line| line.push_str(&tail));
    lines
}

fn check_runtime(
    script: &Script,
    tier: Tier,
    runs: impl Fn(Language, Tier) -> bool,
) -> Result<(), Refusal> {
    let language = script.language();
    if runs(language, tier) {
        return Ok(());
    }
    let (name, word) = (show(script.path()), language.word());
    let refusal = match (language, tier) {
        (Language::PowerShell | Language::Batch, _) => Refusal::new(
            Check::Runtime,
            format!("no interpreter for {word} script `{name}` on this system"),
        ),
        (_, Tier::Native) => Refusal::new(
            Check::Runtime,
            format!("no native runtime for {word} script `{name}`"),
        ),
        (_, Tier::Wasm) => Refusal::new(
            Check::Runtime,
            format!("no wasm runtime for {word} script `{name}`"),
        ),
        (_, Tier::Auto) => Refusal::new(
            Check::Runtime,
            format!("no runtime for {word} script `{name}`"),
        ),
    };
    Err(refusal.hint("`skillrun runtimes list` shows what can run here"))
}

fn check_limits(policy: &Policy, request: &Request) -> Result<Limits, Refusal> {
    let most = policy.limits(request.skill.name());
    let Some(limits) = &request.limits else {
        return Ok(most);
    };
    limits
        .check()
        .map_err(|error| Refusal::new(Check::Request, error.to_string()))?;
    let over = [
        ("time", limits.time > most.time, show_duration(most.time)),
        (
            "memory",
            limits.memory > most.memory,
            show_bytes(most.memory),
        ),
        (
            "output",
            limits.output > most.output,
            show_bytes(most.output),
        ),
        (
            "arguments",
            limits.arguments > most.arguments,
            show_bytes(most.arguments),
        ),
        (
            "scratch",
            limits.scratch > most.scratch,
            show_bytes(most.scratch),
        ),
        ("disk", limits.disk > most.disk, show_bytes(most.disk)),
        (
            "open_files",
            limits.open_files > most.open_files,
            most.open_files.to_string(),
        ),
        (
            "fuel",
            limits.fuel.unwrap_or(u64::MAX) > most.fuel.unwrap_or(u64::MAX),
            most.fuel.unwrap_or(0).to_string(),
        ),
    ];
    match over.into_iter().find(|(_, over, _)| *over) {
        None => Ok(limits.clone()),
        Some((name, _, most)) => Err(Refusal::new(
            Check::Limits,
            format!("the policy allows at most `{most}` of {name}"),
        )
        .hint(format!("raise `{name}` under [limits] in skillrun.toml"))),
    }
}

/// Checks the sizes and returns the bytes for standard input.
fn check_arguments(request: &Request, limits: &Limits) -> Result<Vec<u8>, Refusal> {
    let too_large = |what: &str, bytes: u64| {
        Refusal::new(
            Check::Request,
            format!(
                "arguments too large: {what} of {bytes} bytes, at most {}",
                show_bytes(limits.arguments)
            ),
        )
        .hint("pass large data as a file in the workspace")
    };
    let bytes: u64 = request.args.iter().map(|arg| arg.len() as u64 + 1).sum();
    if bytes > limits.arguments {
        return Err(too_large("a command line", bytes));
    }
    if let Some(at) = request.args.iter().position(|arg| arg.contains('\0')) {
        return Err(Refusal::new(
            Check::Request,
            format!("argument {} holds a NUL byte", at + 1),
        ));
    }
    let Some(input) = &request.input else {
        return Ok(Vec::new());
    };
    let input = serde_json::to_vec(input)
        .map_err(|error| Refusal::new(Check::Request, format!("input: {error}")))?;
    if input.len() as u64 > limits.arguments {
        return Err(too_large("an input", input.len() as u64));
    }
    Ok(input)
}

fn check_grants(policy: &Policy, skill: &Skill, grants: &[Grant]) -> Result<(), Refusal> {
    match grants
        .iter()
        .find(|grant| !policy.allows(skill.name(), grant))
    {
        None => Ok(()),
        Some(grant) => Err(Refusal::new(
            Check::Grants,
            format!("`{grant}` is not granted to skill `{}`", show(skill.name())),
        )
        .hint(format!(
            "add \"{grant}\" to `allow` in skillrun.toml, or pass --allow {grant}"
        ))),
    }
}

/// The variables that say where a script is are not the caller's to change.
fn check_env(env: &[(String, String)]) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal::new(Check::Grants, message));
    for (name, value) in env {
        if OWN_VARIABLES.contains(&name.as_str()) {
            return refuse(format!("the variable `{name}` is set by skillrun"));
        }
        if value.contains('\0') || name.contains(['\0', '=']) || name.is_empty() {
            return refuse(format!("the variable `{}` holds a NUL byte", show(name)));
        }
    }
    Ok(())
}

/// Variables that every script gets.
pub(crate) const OWN_VARIABLES: [&str; 10] = [
    "SKILL_NAME",
    "SKILL_BASE_DIR",
    "SKILL_VERSION",
    "SKILLKIT_VERSION",
    "SKILLRUN_VERSION",
    "HOME",
    "TMPDIR",
    "PATH",
    "LANG",
    "PYTHONPATH",
];

/// Opens every directory that the script will see; the skill's own comes first.
fn open_mounts(
    request: &Request,
    grants: &[Grant],
) -> Result<(Vec<Mount>, Option<String>), Refusal> {
    let skill = &request.skill;
    let fail = |what: String, why: String| Refusal::new(Check::Grants, format!("{what}: {why}"));
    let write_skill = grants
        .iter()
        .any(|g| matches!(g, Grant::Write(path) if path.as_os_str() == Grant::SKILL));
    let own = skill
        .root()
        .try_clone()
        .map_err(|e| fail("skill".into(), files::plain(&e)))?;
    let mut mounts = vec![Mount {
        dir: own,
        host: skill.path().to_owned(),
        guest: guest_path(request.paths, skill.path(), "/skill")?,
        writable: write_skill,
        only: None,
    }];
    let mut workspace = None;
    if let Some(path) = &request.workspace {
        let what = || format!("workspace `{}`", show(&path.display().to_string()));
        let mount = open_mount(path, true).map_err(|why| fail(what(), why))?;
        if mount.only.is_some() {
            return Err(fail(what(), "not a directory".into()));
        }
        if mount.host == skill.path() && !write_skill {
            return Err(Refusal::new(
                Check::Grants,
                format!("{} is the skill's own folder, which is read-only", what()),
            )
            .hint("leave --workspace out to read it, or pass --allow write:skill"));
        }
        let guest = guest_path(request.paths, &mount.host, "/workspace")?;
        workspace = Some(guest.clone());
        mounts.push(Mount { guest, ..mount });
    }
    for grant in grants {
        let (path, writable) = match grant {
            Grant::Read(path) => (path, false),
            Grant::Write(path) if path.as_os_str() != Grant::SKILL => (path, true),
            _ => continue,
        };
        let mount = open_mount(path, writable).map_err(|why| fail(format!("`{grant}`"), why))?;
        mounts.push(mount);
    }
    Ok((mounts, workspace))
}

/// Opens a directory, or the directory around a single file.
fn open_mount(path: &Path, writable: bool) -> Result<Mount, String> {
    let plain = |error: std::io::Error| files::plain(&error);
    let host = path.canonicalize().map_err(plain)?;
    let meta = host.metadata().map_err(plain)?;
    let (host, only) = if meta.is_dir() {
        (host, None)
    } else if meta.is_file() {
        let name = host
            .file_name()
            .and_then(|name| name.to_str())
            .map(str::to_owned);
        let parent = host.parent().map(Path::to_owned);
        (
            parent.ok_or("not a directory")?,
            Some(name.ok_or("its name is not UTF-8")?),
        )
    } else {
        return Err("neither a file nor a directory".into());
    };
    let dir = Dir::open_ambient_dir(&host, ambient_authority()).map_err(plain)?;
    let guest = host.to_str().ok_or("its path is not UTF-8")?.to_owned();
    Ok(Mount {
        dir,
        host,
        guest,
        writable,
        only,
    })
}

fn guest_path(paths: Paths, host: &Path, name: &str) -> Result<String, Refusal> {
    match (paths, host.to_str()) {
        (Paths::Virtual, _) => Ok(name.to_owned()),
        (Paths::Real, Some(path)) => Ok(path.to_owned()),
        (Paths::Real, None) => Err(Refusal::new(
            Check::Path,
            format!(
                "the path `{}` is not UTF-8",
                show(&host.display().to_string())
            ),
        )
        .hint("pass --virtual-paths")),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
