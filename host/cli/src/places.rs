//! Where things are on this machine: the one part that reads the user's environment.

use crate::args::Skills;
use crate::failure::{Failure, REFUSED};
use crate::list::printable;
use skillrun::{
    Approvals, AuditLog, Host, Library, Policy, PolicyFile, Settings, Trust, TrustedPolicies,
};
use std::env;
use std::path::{Path, PathBuf};

/// The name under which policies are found.
pub(crate) const POLICY: &str = "skillrun.toml";

/// The environment variable if it is set to an absolute path, as the XDG rules say.
fn xdg(variable: &str, below_home: &str) -> Result<PathBuf, Failure> {
    let set = env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    match (set, home()) {
        (Some(path), _) => Ok(path),
        (None, Some(home)) => Ok(home.join(below_home)),
        (None, None) => Err(Failure::host(format!(
            "neither {variable} nor HOME names a directory"
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
pub(crate) fn audit() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_STATE_HOME", ".local/state")?.join("skillrun/audit.jsonl"))
}

/// What was approved.
pub(crate) fn approvals() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_STATE_HOME", ".local/state")?.join("skillrun/approvals.db"))
}

fn config() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_CONFIG_HOME", ".config")?.join("skillrun"))
}

/// The policies that a person has trusted.
pub(crate) fn trusted() -> Result<TrustedPolicies, Failure> {
    let folder = xdg("XDG_STATE_HOME", ".local/state")?.join("skillrun/trusted");
    Ok(TrustedPolicies::new(folder))
}

/// The policy of the user.
pub(crate) fn own_policy() -> Option<PathBuf> {
    config().ok().map(|folder| folder.join(POLICY))
}

/// The host of this user. What steers it, now or later, is protected against the scripts it runs: policies, records, and
/// the skills that a name or a section of the policy may mean.
pub(crate) fn host(policy: &Policy, skills: &Skills) -> Result<Host, Failure> {
    host_protecting(policy, skills, &[], Vec::new())
}

/// The same where scripts may write the directories `writable`, with further files that no script may write.
pub(crate) fn host_protecting(
    policy: &Policy,
    skills: &Skills,
    writable: &[PathBuf],
    further: Vec<PathBuf>,
) -> Result<Host, Failure> {
    let log = audit()?;
    let records = log.parent().map(Path::to_owned);
    let own: Vec<PathBuf> = config().into_iter().chain(records).collect();
    reject_own(writable, own.iter().chain(&[cache()?]))?;
    let mut protected = further;
    protected.extend(own);
    protected.extend(policy.source().map(Path::to_owned));
    protected.extend(policy.skill_paths());
    // The next run may be under any policy that counts, wherever this one was started. Where the records of trust are
    // not to be relied on, none of those policies counts.
    for known in trusted()?.list().unwrap_or_default() {
        protected.extend(
            known
                .path
                .parent()
                .into_iter()
                .flat_map(Policy::project_skill_dirs),
        );
        protected.extend(skills_of(&known.path));
        protected.push(known.path);
    }
    protected.extend(own_policy().iter().flat_map(|path| skills_of(path)));
    let here = env::current_dir()?;
    let search = library(&skills.folders);
    let search = search.folders().iter().chain(policy.skill_dirs());
    for folder in search {
        let folder = here.join(folder);
        // A skill may be a link to a folder elsewhere.
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        protected.extend(links.filter_map(|link| link.path().canonicalize().ok()));
        // Also directories that are not there: whoever makes one decides what a name means.
        protected.push(folder);
    }
    let projects = writable.iter().map(|folder| here.join(folder));
    protected.extend(projects.flat_map(|folder| {
        let folder = folder.canonicalize().unwrap_or(folder);
        Policy::project_skill_dirs(&folder).collect::<Vec<_>>()
    }));
    Ok(Host::new(Settings {
        cache: cache()?,
        audit: AuditLog::file(log),
        approvals: Approvals::file(approvals()?),
        sealed: protected,
        slots: None,
    }))
}

/// The skills that a policy file names by path; none if it cannot be read, since it does not count then.
fn skills_of(path: &Path) -> Vec<PathBuf> {
    let policy = PolicyFile::read(path).and_then(|file| Ok(at_home(file.parse()?, &file)));
    policy.map_or_else(|_| Vec::new(), |policy| policy.skill_paths().collect())
}

/// Refuses to let scripts write what skillrun keeps for itself: records of trust, approvals, compiled code.
fn reject_own<'a>(
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
                word: "refused",
                message: format!(
                    "`{}` is inside `{}`, a protected path",
                    printable(&folder.display().to_string()),
                    printable(&own.display().to_string())
                ),
                hint: Some("give the script another directory".into()),
            });
        }
    }
    Ok(())
}

/// What scripts may bring along or change, and what is therefore not read as policy, or only if a person trusts it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Untrusted<'a> {
    pub(crate) skills: &'a [&'a Path],
    pub(crate) workspace: Option<&'a Path>,
    /// Paths that a person granted for writing.
    pub(crate) writable: &'a [PathBuf],
}

/// The policy: the named one, or the first that is there and says something, or the empty one.
///
/// - Nothing in a skill is read: a caller may stand in there, and a skill must not widen a policy. One that a person
///   relies on is refused there instead of passed over: a script may have laid the `SKILL.md` around it.
/// - The one of the current directory counts if a person has trusted its bytes: it came with the directory.
/// - That of the user counts if nobody else may have written it.
/// - A named one is the person's word. In the workspace it must be trusted, too: a script may have written it.
pub(crate) fn policy(
    named: Option<&Path>,
    typed: &Skills,
    untrusted: Untrusted<'_>,
) -> Result<Policy, Failure> {
    let policy = match named {
        Some(path) => Some(named_policy(path, typed, untrusted)?),
        None => match policy_here(untrusted)? {
            Some(policy) => Some(policy),
            None => home_policy(untrusted)?,
        },
    };
    Ok(policy.unwrap_or_default().with_home(home()))
}

fn named_policy(path: &Path, typed: &Skills, untrusted: Untrusted<'_>) -> Result<Policy, Failure> {
    if untrusted.is_of_a_skill(path) {
        return Err(of_a_skill(path));
    }
    let file = PolicyFile::read(path)?;
    if untrusted.holds(path) {
        check_trust(path, &file, untrusted)?;
    }
    let policy = at_home(file.parse()?, &file);
    let here = env::current_dir()?;
    // Skills that were typed together with the policy are meant by its names.
    let typed = typed.folders.iter().map(|folder| here.join(folder));
    let dirs: Vec<PathBuf> = policy.skill_dirs().iter().cloned().chain(typed).collect();
    Ok(policy.with_skill_dirs(dirs))
}

/// A policy with the home directory it means, and, if it is that of the user, the skill directories there.
pub(crate) fn at_home(policy: Policy, file: &PolicyFile) -> Policy {
    let own = config().ok().and_then(|folder| folder.canonicalize().ok());
    let policy = policy.with_home(home());
    match own.is_some_and(|own| own.join(POLICY) == file.path()) {
        true => policy.with_skill_dirs(home_skill_dirs()),
        false => policy,
    }
}

/// The policy of the current directory.
fn policy_here(untrusted: Untrusted<'_>) -> Result<Option<Policy>, Failure> {
    let path = Path::new(POLICY);
    let Some(file) = found(path)? else {
        return Ok(None);
    };
    if untrusted.is_of_a_skill(path) {
        return match trusted()?.status(&file)? {
            Trust::Untrusted => Ok(None),
            Trust::Trusted | Trust::Changed => Err(of_a_skill(path)),
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
    let Some(file) = found(&path)? else {
        return Ok(None);
    };
    if untrusted.is_of_a_skill(&path) {
        return Err(of_a_skill(&path));
    }
    if let Some((why, hint)) = others_wrote(&path) {
        return Err(refused(format!("policy `{}` {why}", shown(&path)), hint));
    }
    if untrusted.holds(&path) {
        check_trust(&path, &file, untrusted)?;
    }
    Ok(Some(at_home(file.parse()?, &file)))
}

/// What is found at a usual place, unless it is empty and says nothing.
fn found(path: &Path) -> Result<Option<PolicyFile>, Failure> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    if let Err(error) = path.symlink_metadata()
        && matches!(error.kind(), NotFound | NotADirectory)
    {
        return Ok(None);
    }
    let file = PolicyFile::read(path)?;
    Ok(Some(file).filter(|file| !file.bytes().is_empty()))
}

/// Refuses a policy whose bytes nobody has trusted.
fn check_trust(path: &Path, file: &PolicyFile, untrusted: Untrusted<'_>) -> Result<(), Failure> {
    let inside = untrusted.holds(path);
    let why = match (trusted()?.status(file)?, inside) {
        (Trust::Trusted, _) => return Ok(()),
        (Trust::Changed, false) => "changed after it was trusted",
        (Trust::Untrusted, false) => "is not trusted",
        (Trust::Changed, true) => "is inside the workspace and changed after it was trusted",
        (Trust::Untrusted, true) => "is inside the workspace and not trusted",
    };
    let name = shown(path);
    let trust = match path == Path::new(POLICY) {
        true => "skillrun policy trust".to_owned(),
        false => format!("skillrun policy trust {name}"),
    };
    let hint = match inside {
        true => format!("run `{trust}` after reading it"),
        false => format!("run `{trust}` after reading it, or pass --policy {name}"),
    };
    Err(refused(format!("policy `{name}` {why}"), hint))
}

/// What is said of a policy that a skill brings along.
pub(crate) fn of_a_skill(path: &Path) -> Failure {
    let message = format!(
        "policy `{}` lies in a skill, which does not say what may run",
        shown(path)
    );
    refused(message, "move it elsewhere")
}

fn refused(message: String, hint: impl Into<String>) -> Failure {
    Failure {
        code: REFUSED,
        word: "refused",
        message,
        hint: Some(hint.into()),
    }
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

impl Untrusted<'_> {
    /// Whether a file lies in a skill.
    fn is_of_a_skill(&self, file: &Path) -> bool {
        is_of_a_skill(file) || self.skills.iter().any(|skill| lies_in(file, skill))
    }

    /// Whether a file lies in the workspace, or where a script may write by a grant.
    fn holds(&self, file: &Path) -> bool {
        let granted = self.writable.iter().map(PathBuf::as_path);
        let mut all = self.workspace.into_iter().chain(granted);
        all.any(|folder| lies_in(file, folder))
    }
}

/// Whether a file is somewhere below a folder with a `SKILL.md`.
pub(crate) fn is_of_a_skill(file: &Path) -> bool {
    let real = [
        file.canonicalize().ok(),
        folder_of(file).canonicalize().ok(),
    ];
    let folders = real.iter().flatten().flat_map(|path| path.ancestors());
    let names = ["SKILL.md", "skill.md"];
    folders
        .into_iter()
        .any(|folder| names.iter().any(|name| folder.join(name).is_file()))
}

/// Why a file may hold what somebody else wrote, if it may, and what helps.
///
/// Its directories count up to the home directory: whoever may write further up can replace all that the user has.
fn others_wrote(file: &Path) -> Option<(String, String)> {
    let real = file.canonicalize().ok()?;
    if let Some((why, hint)) = others_write(&real) {
        return Some((why.to_owned(), hint));
    }
    let home = home().and_then(|home| home.canonicalize().ok());
    let home = home.filter(|home| real.starts_with(home));
    let around = real.parent()?;
    let mut folders = around.ancestors().take_while(|folder| {
        let home = home.as_deref().unwrap_or(around);
        folder.starts_with(home)
    });
    folders.find_map(|folder| {
        let (why, hint) = others_write(folder)?;
        Some((format!("lies in `{}`, which {why}", shown(folder)), hint))
    })
}

/// Why somebody else may change a file, or replace what a directory holds, and what helps.
fn others_write(path: &Path) -> Option<(&'static str, String)> {
    use std::os::unix::fs::MetadataExt as _;
    // What cannot be looked at cannot be read either.
    let meta = path.metadata().ok()?;
    let own = rustix::process::geteuid().as_raw();
    if meta.uid() != own && meta.uid() != 0 {
        let hint = "look at it, and name it with --policy FILE if it is meant";
        return Some(("belongs to another user", hint.into()));
    }
    // In a directory with the sticky bit, others cannot replace what is not theirs.
    let sticky = meta.is_dir() && meta.mode() & 0o1000 != 0;
    let writes = meta.mode() & 0o022 != 0 && !sticky;
    let hint = || format!("look at it, then `chmod go-w {}`", shown(path));
    writes.then(|| ("may be written by other users", hint()))
}

fn folder_of(file: &Path) -> &Path {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Whether a file, or the folder it is in, is really below `folder`.
pub(crate) fn lies_in(file: &Path, folder: &Path) -> bool {
    [file, folder_of(file)]
        .into_iter()
        .filter_map(|path| path.canonicalize().ok())
        .any(|path| {
            folder
                .canonicalize()
                .is_ok_and(|folder| path.starts_with(folder))
        })
}

/// The folders that are searched for skills, the named ones first.
pub(crate) fn library(named: &[PathBuf]) -> Library {
    let here = Policy::project_skill_dirs(Path::new(""));
    Library::new(named.iter().cloned().chain(here).chain(home_skill_dirs()))
}

/// The skill directories of the user.
fn home_skill_dirs() -> impl Iterator<Item = PathBuf> {
    let at_home = [".agents/skills", ".claude/skills", ".r9s/skills"];
    let home = home().into_iter();
    home.flat_map(move |home| at_home.map(|folder| home.join(folder)))
}
