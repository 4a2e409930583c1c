//! The paths of the user's files. Only this module reads HOME and the XDG variables.

use crate::args::Skills;
use crate::failure::{Failure, NOT_FOUND, REFUSED, plain};
use crate::text::shown;
use skillrun::ownership::{OtherWriter, Ownership, other_replacer, other_writer};
use skillrun::policy::{PolicyFile, Trust, TrustedPolicies};
use skillrun::runtime::Workers;
use skillrun::skill::Library;
use skillrun::{Approvals, AuditLog, Host, Policy, Settings, Skill};
use skillrun_skill::text::shell_path;
use std::env;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file name of a policy.
pub(crate) const POLICY: &str = "skillrun.toml";

/// The value of an XDG variable if it is an absolute path, as the XDG specification requires; otherwise the default.
fn xdg(variable: &str, below_home: &str) -> Result<PathBuf, Failure> {
    let set = env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    match (set, home()) {
        (Some(path), _) => Ok(path),
        (None, Some(home)) => Ok(home.join(below_home)),
        (None, None) => Err(Failure::host(format!(
            "neither {variable} nor HOME is an absolute path"
        ))),
    }
}

fn home() -> Option<PathBuf> {
    env::home_dir().filter(|path| path.is_absolute())
}

/// The directory of compiled guests.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_CACHE_HOME", ".cache")?.join("skillrun"))
}

/// The audit log.
pub(crate) fn audit_log() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_STATE_HOME", ".local/state")?.join("skillrun/audit.jsonl"))
}

/// The approvals database.
pub(crate) fn approvals() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_STATE_HOME", ".local/state")?.join("skillrun/approvals.db"))
}

fn config() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_CONFIG_HOME", ".config")?.join("skillrun"))
}

/// The records of the policies that a person has trusted.
pub(crate) fn trusted_policies() -> Result<TrustedPolicies, Failure> {
    let folder = xdg("XDG_STATE_HOME", ".local/state")?.join("skillrun/trusted");
    Ok(TrustedPolicies::new(folder))
}

/// The policy of the user.
pub(crate) fn own_policy() -> Option<PathBuf> {
    config().ok().map(|folder| folder.join(POLICY))
}

/// Which process runs the scripts of the wasm tier.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RunIn<'a> {
    /// This one.
    ThisProcess,
    /// Processes of their own, which take some milliseconds to start, if they can be confined here and can use these skills.
    Workers(&'a [Arc<Skill>]),
}

/// The host of this user. Every file that decides what may run, now or later, is a protected path for the scripts it
/// runs: policies, records, and the skills that a name or a section of the policy may refer to.
pub(crate) fn host(policy: &Policy, skills: &Skills) -> Result<Host, Failure> {
    host_protecting(policy, skills, &[], Vec::new(), RunIn::ThisProcess)
}

/// Like [`host`], for scripts that may write the directories `writable`. `extra` are further protected paths.
pub(crate) fn host_protecting(
    policy: &Policy,
    skills: &Skills,
    writable: &[PathBuf],
    extra: Vec<PathBuf>,
    run_in: RunIn<'_>,
) -> Result<Host, Failure> {
    let log = audit_log()?;
    let records = log.parent().map(Path::to_owned);
    let own: Vec<PathBuf> = config().into_iter().chain(records).collect();
    own.iter().try_for_each(|folder| reject_shared(folder))?;
    reject_inside_own_dirs(writable, own.iter().chain(&[cache()?]))?;
    let mut protected = extra;
    protected.extend(own);
    protected.extend(policy.source().map(Path::to_owned));
    protected.extend(policy.skill_paths());
    // The next run may use any trusted policy, wherever this one was started. If the trust records cannot be read, no
    // such policy is used.
    let mut skill_dirs = Vec::new();
    for known in trusted_policies()?.list().unwrap_or_default() {
        let project = known.path.parent().into_iter();
        skill_dirs.extend(project.flat_map(Policy::project_skill_dirs));
        protected.extend(named_skill_paths(&known.path));
        protected.push(known.path);
    }
    protected.extend(own_policy().iter().flat_map(|path| named_skill_paths(path)));
    let here = env::current_dir()?;
    let search = library(&skills.folders)?;
    let workers = match run_in {
        RunIn::ThisProcess => Workers::InProcess,
        RunIn::Workers(skills) => {
            // Not the whole search path: strangers may have written what is on it.
            let skills = skills.iter().map(|skill| skill.path().to_owned());
            let own = [cache()?, env::temp_dir()];
            let needed = skills.chain(writable.iter().cloned()).chain(own);
            Workers::if_confined("/proc/self/exe", needed)
        }
    };
    let search = search.folders().iter().chain(policy.skill_dirs());
    skill_dirs.extend(search.map(|folder| here.join(folder)));
    for folder in writable {
        let folder = here.join(folder);
        let folder = folder.canonicalize().unwrap_or(folder);
        skill_dirs.extend(Policy::project_skill_dirs(&folder));
    }
    protected.extend(Library::new(skill_dirs).paths_to_protect());
    Ok(Host::new(Settings {
        cache: cache()?,
        audit: AuditLog::file(log),
        approvals: Approvals::file(approvals()?),
        protected,
        slots: None,
        workers,
    }))
}

/// The skills that a policy file names by path; none if it cannot be read, since it is not used then.
fn named_skill_paths(path: &Path) -> Vec<PathBuf> {
    let policy = PolicyFile::read(path).and_then(|file| Ok(with_home_dirs(file.parse()?, &file)));
    policy.map_or_else(|_| Vec::new(), |policy| policy.skill_paths().collect())
}

/// Whether a real directory is the home directory or one of skillrun's own, or contains one of them.
pub(crate) fn is_around_own(directory: &Path) -> bool {
    let state = audit_log().ok();
    let state = state.as_deref().and_then(Path::parent).map(Path::to_owned);
    let own = [home(), config().ok(), state, cache().ok()];
    let real = |own: PathBuf| own.canonicalize().unwrap_or(own);
    let mut own = own.into_iter().flatten().map(real);
    own.any(|own| own.starts_with(directory))
}

/// Refuses to let scripts write skillrun's own directories: trust records, approvals, compiled code.
fn reject_inside_own_dirs<'a>(
    writable: &[PathBuf],
    own: impl Iterator<Item = &'a PathBuf> + Clone,
) -> Result<(), Failure> {
    for folder in writable {
        let Ok(real) = folder.canonicalize() else {
            continue;
        };
        let real_own = |own: &PathBuf| own.canonicalize().unwrap_or_else(|_| own.clone());
        if let Some(own) = own.clone().map(real_own).find(|own| real.starts_with(own)) {
            return Err(Failure {
                code: REFUSED,
                label: "refused",
                message: format!(
                    "`{}` is inside `{}`, a protected path",
                    shown(folder),
                    shown(&own)
                ),
                hint: Some("choose another directory for the script".into()),
            });
        }
    }
    Ok(())
}

/// Refuses a file in skillrun's own directories, a policy and a `SKILL.md`: events appended there would damage it, or
/// would be read as instructions.
pub(crate) fn reject_own_file(what: &str, path: &Path, policy: &Policy) -> Result<(), Failure> {
    let state = audit_log()?.parent().map(Path::to_owned);
    let own = [Some(config()?), state, Some(cache()?)];
    let real = path.canonicalize().ok();
    let has_name = |name: &str| {
        let names = [Some(path), real.as_deref()].into_iter().flatten();
        let mut names = names.filter_map(Path::file_name);
        names.any(|found| found.eq_ignore_ascii_case(name))
    };
    let in_use = policy.source().and_then(|path| path.canonicalize().ok());
    let why = if let Some(own) = own.iter().flatten().find(|own| is_inside(path, own)) {
        format!("is inside `{}`, a protected path", shown(own))
    } else if has_name(POLICY) || real.is_some() && real == in_use {
        "is a policy".to_owned()
    } else if has_name("SKILL.md") {
        "is the text of a skill".to_owned()
    } else {
        return Ok(());
    };
    let message = format!("{what} file `{}` {why}", shown(path));
    Err(refused(message, "choose a file in another directory"))
}

/// Refuses a directory of skillrun that other users may write: they could approve, trust and rewrite the audit log in the
/// user's name. Its parents are checked up to the home directory, as for a policy.
pub(crate) fn reject_shared(folder: &Path) -> Result<(), Failure> {
    let Ok(real) = folder.canonicalize() else {
        // It does not exist. We create it for its owner alone.
        return Ok(());
    };
    // Here a sticky bit does not help: other users could add records.
    let own = Ownership::at(&real).ok().and_then(|own| other_writer(&own));
    let own = own.map(|other| SharedPath {
        why: other.to_string(),
        other,
        path: real.clone(),
    });
    let Some(shared) = own.or_else(|| shared_path_of(&real)) else {
        return Ok(());
    };
    let hint = match shared.other {
        OtherWriter::Owner => "set XDG_STATE_HOME or XDG_CONFIG_HOME to another directory".into(),
        OtherWriter::Mode => shared.chmod(),
    };
    let message = format!("skillrun's directory `{}` {}", shown(&real), shared.why);
    Err(refused(message, hint))
}

/// Directories that authors of skills or scripts may have written. A policy there is not read, or only if trusted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Untrusted<'a> {
    pub(crate) skills: &'a [&'a Path],
    pub(crate) workspace: Option<&'a Path>,
    /// Paths with a typed `write:` grant.
    pub(crate) writable: &'a [PathBuf],
}

/// The policy: the named one, or the first that exists and is not empty, or the empty policy.
///
/// - No policy inside a skill is read: the current directory may be inside one, and a skill must not widen a policy. A
///   trusted policy is refused there instead of skipped: a script may have created the `SKILL.md` around it.
/// - The policy of the current directory must be trusted: it may have come with the directory.
/// - The policy of the user is used if no other user may have written it.
/// - A named policy needs no trust. Inside the workspace it does: a script may have written it.
///
/// It comes with its ceilings.
pub(crate) fn policy(
    named: Option<&Path>,
    typed: &Skills,
    untrusted: Untrusted<'_>,
) -> Result<Policy, Failure> {
    let policy = match named {
        Some(path) => Some(named_policy(path, typed, untrusted)?),
        None => match current_dir_policy(untrusted)? {
            Some(policy) => Some(policy),
            None => home_policy(untrusted)?,
        },
    };
    let policy = policy.unwrap_or_default().with_home(home());
    with_ceilings(policy, named.is_some())
}

/// Adds what a policy cannot widen: the other policies of the user that say `enforce = true`, and the policy of root.
/// `is_named` if a person named the policy, so that the one of the current directory was not considered.
///
/// A ceiling can only narrow, so it is used wherever it is. One that cannot be read is an error: it may forbid the run.
pub(crate) fn with_ceilings(policy: Policy, is_named: bool) -> Result<Policy, Failure> {
    let mut files = Vec::new();
    if let Some(path) = own_policy() {
        files.extend(read_if_exists(&path)?);
    }
    if is_named {
        files.extend(trusted_here()?);
    }
    let mut bounded = policy;
    for file in files {
        let ceiling = with_home_dirs(file.parse()?, &file);
        if ceiling.enforces() && ceiling.source() != bounded.source() {
            bounded = bounded.bounded_by(ceiling);
        }
    }
    Ok(bounded.bounded_by_machine()?)
}

/// The policy of the current directory, if it is trusted. If it was, and has changed or cannot be read, that is an error: it
/// may forbid the run. One that no person has trusted is nobody's ceiling.
fn trusted_here() -> Result<Option<PolicyFile>, Failure> {
    let path = Path::new(POLICY);
    let trusted = trusted_policies()?;
    match read_if_exists(path) {
        Ok(None) => Ok(None),
        Ok(Some(file)) if trusted.status(&file)? == Trust::Untrusted => Ok(None),
        Ok(Some(file)) => {
            check_trust(path, &file, Untrusted::default())?;
            Ok(Some(file))
        }
        Err(failure) => {
            match trusted.has_record(&env::current_dir()?.canonicalize()?.join(path))? {
                true => Err(failure),
                false => Ok(None),
            }
        }
    }
}

fn named_policy(path: &Path, typed: &Skills, untrusted: Untrusted<'_>) -> Result<Policy, Failure> {
    if untrusted.is_inside_skill(path) {
        return Err(inside_skill(path));
    }
    let file = PolicyFile::read(path)?;
    if untrusted.contains(path) {
        check_trust(path, &file, untrusted)?;
    }
    let policy = with_home_dirs(file.parse()?, &file);
    // A flag must not decide which skill an enforcing policy means.
    if policy.enforces() {
        return Ok(policy);
    }
    let here = env::current_dir()?;
    // The policy's skill names also refer to skills in the directories typed with it.
    let typed = typed.folders.iter().map(|folder| here.join(folder));
    let dirs: Vec<PathBuf> = policy.skill_dirs().iter().cloned().chain(typed).collect();
    Ok(policy.with_skill_dirs(dirs))
}

/// Adds the home directory to a policy and, if it is the user's own, the skill directories there.
pub(crate) fn with_home_dirs(policy: Policy, file: &PolicyFile) -> Policy {
    let own = config().ok().and_then(|folder| folder.canonicalize().ok());
    let policy = policy.with_home(home());
    match own.is_some_and(|own| own.join(POLICY) == file.path()) {
        true => policy.with_skill_dirs(home_skill_dirs()),
        false => policy,
    }
}

/// The policy of the current directory.
fn current_dir_policy(untrusted: Untrusted<'_>) -> Result<Option<Policy>, Failure> {
    let path = Path::new(POLICY);
    let Some(file) = read_if_exists(path)? else {
        return Ok(None);
    };
    // An empty file is skipped, unless a person has trusted it: then it is a policy that grants nothing.
    if file.bytes().is_empty() && trusted_policies()?.status(&file)? == Trust::Untrusted {
        return Ok(None);
    }
    if untrusted.is_inside_skill(path) {
        return match trusted_policies()?.status(&file)? {
            Trust::Untrusted => Ok(None),
            Trust::Trusted | Trust::Changed => Err(inside_skill(path)),
        };
    }
    check_trust(path, &file, untrusted)?;
    Ok(Some(file.parse()?))
}

/// The policy of the user.
fn home_policy(untrusted: Untrusted<'_>) -> Result<Option<Policy>, Failure> {
    let Some(path) = own_policy() else {
        return Ok(None);
    };
    let Some(file) = read_if_exists(&path)? else {
        return Ok(None);
    };
    if untrusted.is_inside_skill(&path) {
        return Err(inside_skill(&path));
    }
    if let Some(shared) = shared_path_of(&path) {
        let hint = match shared.other {
            OtherWriter::Owner => "read it, then pass --policy FILE to use it".into(),
            OtherWriter::Mode => shared.chmod(),
        };
        let message = format!("policy `{}` {}", shown(&path), shared.why);
        return Err(refused(message, hint));
    }
    if untrusted.contains(&path) {
        check_trust(&path, &file, untrusted)?;
    }
    Ok(Some(with_home_dirs(file.parse()?, &file)))
}

/// Reads a policy at a default path, if there is one.
fn read_if_exists(path: &Path) -> Result<Option<PolicyFile>, Failure> {
    if let Err(error) = path.symlink_metadata()
        && matches!(error.kind(), NotFound | NotADirectory)
    {
        return Ok(None);
    }
    Ok(Some(PolicyFile::read(path)?))
}

/// Refuses a policy whose bytes no person has trusted.
fn check_trust(path: &Path, file: &PolicyFile, untrusted: Untrusted<'_>) -> Result<(), Failure> {
    let inside = untrusted.contains(path);
    let why = match (trusted_policies()?.status(file)?, inside) {
        (Trust::Trusted, _) => return Ok(()),
        (Trust::Changed, false) => "changed after it was trusted",
        (Trust::Untrusted, false) => "is not trusted",
        (Trust::Changed, true) => "is inside the workspace and changed after it was trusted",
        (Trust::Untrusted, true) => "is inside the workspace and not trusted",
    };
    let message = format!("policy `{}` {why}", shown(path));
    if file.is_link() {
        let hint =
            "a link cannot be trusted: replace it with the file, or name the file with --policy";
        return Err(refused(message, hint));
    }
    let hint = match (path == Path::new(POLICY), shell_path(path)) {
        (true, _) => "run `skillrun policy trust` after reading it".to_owned(),
        (false, Some(path)) => format!("run `skillrun policy trust {path}` after reading it"),
        (false, None) => "trust it after reading it".to_owned(),
    };
    Err(refused(message, hint))
}

/// The refusal of a policy inside a skill.
pub(crate) fn inside_skill(path: &Path) -> Failure {
    let message = format!(
        "policy `{}` is inside a skill, where no policy is read",
        shown(path)
    );
    let hint = match skill_md_around(path) {
        Some(file) => format!(
            "move it elsewhere, or remove `{}` if that is no skill",
            shown(&file)
        ),
        None => "move it elsewhere".to_owned(),
    };
    refused(message, hint)
}

fn refused(message: String, hint: impl Into<String>) -> Failure {
    Failure {
        code: REFUSED,
        label: "refused",
        message,
        hint: Some(hint.into()),
    }
}

impl Untrusted<'_> {
    /// Whether a file is inside a skill.
    fn is_inside_skill(&self, file: &Path) -> bool {
        is_inside_skill(file) || self.skills.iter().any(|skill| is_inside(file, skill))
    }

    /// Whether a file is inside the workspace or a path with a `write:` grant.
    fn contains(&self, file: &Path) -> bool {
        let granted = self.writable.iter().map(PathBuf::as_path);
        let mut all = self.workspace.into_iter().chain(granted);
        all.any(|folder| is_inside(file, folder))
    }
}

/// Whether a file is anywhere below a folder with a `SKILL.md`.
pub(crate) fn is_inside_skill(file: &Path) -> bool {
    skill_md_around(file).is_some()
}

/// The `SKILL.md` in a folder around a file, if there is one.
fn skill_md_around(file: &Path) -> Option<PathBuf> {
    let real = [
        file.canonicalize().ok(),
        folder_of(file).canonicalize().ok(),
    ];
    let folders = real.iter().flatten().flat_map(|path| path.ancestors());
    let names = ["SKILL.md", "skill.md"];
    let mut files = folders.flat_map(|folder| names.map(|name| folder.join(name)));
    files.find(|file| file.is_file())
}

/// A path that another user may write, so that they may have written or replaced a file.
struct SharedPath {
    why: String,
    other: OtherWriter,
    /// The file, or the directory around it.
    path: PathBuf,
}

impl SharedPath {
    fn chmod(&self) -> String {
        match shell_path(&self.path) {
            Some(path) => format!("inspect it, then run `chmod go-w {path}`"),
            None => "inspect it, then remove the write permission of others".to_owned(),
        }
    }
}

/// The path by which another user may have written a file, if there is one.
///
/// Its directories are checked up to the home directory: a user who may write further up can replace everything the
/// user has.
fn shared_path_of(file: &Path) -> Option<SharedPath> {
    let real = file.canonicalize().ok()?;
    // A path whose metadata we cannot read is not readable either.
    let other = |path: &Path| other_replacer(&Ownership::at(path).ok()?);
    if let Some(other) = other(&real) {
        return Some(SharedPath {
            why: other.to_string(),
            other,
            path: real,
        });
    }
    let home = home().and_then(|home| home.canonicalize().ok());
    let home = home.filter(|home| real.starts_with(home));
    let around = real.parent()?;
    let mut folders = around.ancestors().take_while(|folder| {
        let home = home.as_deref().unwrap_or(around);
        folder.starts_with(home)
    });
    folders.find_map(|folder| {
        let other = other(folder)?;
        Some(SharedPath {
            why: format!("is in `{}`, which {other}", shown(folder)),
            other,
            path: folder.to_owned(),
        })
    })
}

fn folder_of(file: &Path) -> &Path {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Whether a file, or the directory it is in, is below `folder` after resolving links.
pub(crate) fn is_inside(file: &Path, folder: &Path) -> bool {
    [file, folder_of(file)]
        .into_iter()
        .filter_map(|path| path.canonicalize().ok())
        .any(|path| {
            folder
                .canonicalize()
                .is_ok_and(|folder| path.starts_with(folder))
        })
}

/// The directories that are searched for skills, the named ones first. A named one must exist: a skill of the same name
/// in another directory is not the one the person meant.
pub(crate) fn library(named: &[PathBuf]) -> Result<Library, Failure> {
    for folder in named {
        let why = match folder.metadata() {
            Ok(meta) if meta.is_dir() => continue,
            Ok(_) => "not a directory".to_owned(),
            Err(error) => plain(&error),
        };
        return Err(Failure {
            code: NOT_FOUND,
            label: "error",
            message: format!("skills `{}`: {why}", shown(folder)),
            hint: Some("--skills takes a directory that contains skill folders".into()),
        });
    }
    let here = Policy::project_skill_dirs(Path::new(""));
    let all = named.iter().cloned().chain(here).chain(home_skill_dirs());
    Ok(Library::new(all))
}

/// The skill directories of the user.
fn home_skill_dirs() -> impl Iterator<Item = PathBuf> {
    let at_home = [".agents/skills", ".claude/skills", ".r9s/skills"];
    let home = home().into_iter();
    home.flat_map(move |home| at_home.map(|folder| home.join(folder)))
}
