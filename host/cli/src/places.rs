//! Where things are on this machine: the one part that reads the user's environment.

use crate::failure::Failure;
use skillrun::{AuditLog, Host, Library, Policy, Settings};
use std::env;
use std::path::{Path, PathBuf};

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

fn config() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_CONFIG_HOME", ".config")?.join("skillrun"))
}

/// The host of this user. What steers it is sealed against the scripts it runs.
pub(crate) fn host(policy: &Policy) -> Result<Host, Failure> {
    let mut sealed: Vec<PathBuf> = config().into_iter().collect();
    sealed.extend(policy.source().map(Path::to_owned));
    // A script that could write this file would write the next run's policy.
    sealed.extend(
        env::current_dir()
            .ok()
            .map(|here| here.join("skillrun.toml")),
    );
    let log = audit()?;
    sealed.extend(log.parent().map(Path::to_owned));
    Ok(Host::new(Settings {
        cache: cache()?,
        audit: AuditLog::file(log),
        sealed,
        slots: None,
    }))
}

/// The policy: the named one, or the first that is there, or the empty one.
///
/// Nothing below `skill` is read unless it was named: a caller may stand in the skill's folder, and a
/// skill must not widen its own policy.
pub(crate) fn policy(named: Option<&Path>, skill: Option<&Path>) -> Result<Policy, Failure> {
    if let Some(path) = named {
        return Ok(Policy::load(path)?);
    }
    let usual = [
        Some(PathBuf::from("skillrun.toml")),
        config().ok().map(|folder| folder.join("skillrun.toml")),
    ];
    match usual
        .into_iter()
        .flatten()
        // An empty file says nothing; one stands where a script that is running must not make one.
        .filter(|path| {
            let meta = path.symlink_metadata();
            meta.is_ok_and(|meta| !meta.is_file() || meta.len() > 0)
        })
        .find(|path| !skill.is_some_and(|skill| lies_in(path, skill)))
    {
        Some(path) => Ok(Policy::load(&path)?),
        None => Ok(Policy::default()),
    }
}

/// Whether a file, or the folder it is in, is really below `folder`.
fn lies_in(file: &Path, folder: &Path) -> bool {
    let around = file
        .parent()
        .filter(|around| !around.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    [file, around]
        .into_iter()
        .filter_map(|path| path.canonicalize().ok())
        .any(|path| path.starts_with(folder))
}

/// The folders that are searched for skills, the named ones first.
pub(crate) fn library(named: &[PathBuf]) -> Library {
    let here = [
        ".agents/skills",
        ".claude/skills",
        ".chorus/skills",
        "skills",
    ]
    .map(PathBuf::from);
    let at_home = [".agents/skills", ".claude/skills", ".r9s/skills"];
    let at_home = home()
        .into_iter()
        .flat_map(|home| at_home.map(|folder| home.join(folder)));
    Library::new(named.iter().cloned().chain(here).chain(at_home))
}
