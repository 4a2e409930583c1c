//! Where things are on this machine: the one part that reads the user's environment.

use crate::failure::{Failure, REFUSED};
use crate::list::printable;
use skillrun::{Approvals, AuditLog, Host, Library, Policy, Settings};
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

/// What was approved.
pub(crate) fn approvals() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_STATE_HOME", ".local/state")?.join("skillrun/approvals.db"))
}

fn config() -> Result<PathBuf, Failure> {
    Ok(xdg("XDG_CONFIG_HOME", ".config")?.join("skillrun"))
}

/// The host of this user. What steers it is sealed against the scripts it runs.
pub(crate) fn host(policy: &Policy) -> Result<Host, Failure> {
    host_protecting(policy, Vec::new())
}

/// The same with further files that no script may write.
pub(crate) fn host_protecting(policy: &Policy, further: Vec<PathBuf>) -> Result<Host, Failure> {
    let mut sealed: Vec<PathBuf> = config().into_iter().collect();
    sealed.extend(further);
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
        approvals: Approvals::file(approvals()?),
        sealed,
        slots: None,
    }))
}

/// What scripts may bring along or change, and what is therefore never read as policy.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Untrusted<'a> {
    pub(crate) skills: &'a [&'a Path],
    pub(crate) workspace: Option<&'a Path>,
}

/// The policy: the named one, or the first that is there, or the empty one.
///
/// One in the folder of any skill is passed over unless it was named: a caller may stand in there, and a skill must
/// not widen a policy. One in the workspace is refused: it may be the caller's, with restrictions that he relies on,
/// or a script's. So is one that was found and that another user may have written.
pub(crate) fn policy(named: Option<&Path>, untrusted: Untrusted<'_>) -> Result<Policy, Failure> {
    let Untrusted { skills, workspace } = untrusted;
    let usual = || {
        let usual = [
            Some(PathBuf::from("skillrun.toml")),
            config().ok().map(|folder| folder.join("skillrun.toml")),
        ];
        let mut there = usual.into_iter().flatten().filter(|path| {
            // An empty file says nothing; one stands where a script that is running must not make one.
            let meta = path.symlink_metadata();
            meta.is_ok_and(|meta| !meta.is_file() || meta.len() > 0)
        });
        there.find(|path| !is_of_a_skill(path) && !skills.iter().any(|skill| lies_in(path, skill)))
    };
    let refused = |message: String, hint: &str| Failure {
        code: REFUSED,
        word: "refused",
        message,
        hint: Some(hint.into()),
    };
    let shown = |path: &Path| printable(&path.display().to_string());
    let path = match (named, usual()) {
        (Some(path), _) if is_of_a_skill(path) => {
            let message = format!(
                "policy `{}` lies in a skill, which does not say what may run",
                shown(path)
            );
            return Err(refused(message, "move it elsewhere"));
        }
        (Some(path), _) => path.to_owned(),
        (None, Some(path)) => {
            if let Some(why) = others_wrote(&path) {
                let message = format!("policy `{}` {why}", shown(&path));
                return Err(refused(
                    message,
                    "look at it, and name it with --policy FILE if it is meant",
                ));
            }
            path
        }
        (None, None) => return Ok(Policy::default()),
    };
    let skills = skills.iter().map(|skill| ("skill", *skill));
    let around = skills.chain(workspace.map(|folder| ("workspace", folder)));
    let around = around
        .into_iter()
        .find(|(_, folder)| lies_in(&path, folder));
    if let Some((word, _)) = around {
        let message = format!(
            "policy `{}` lies in the {word}, which is not trusted to say what it may do",
            shown(&path)
        );
        let hint =
            "move it elsewhere and name it with --policy FILE, or hand over a folder without it";
        return Err(refused(message, hint));
    }
    Ok(Policy::load(&path)?)
}

/// Whether a file is somewhere below a folder with a `SKILL.md`.
fn is_of_a_skill(file: &Path) -> bool {
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

/// Why a file may hold what somebody else wrote, if it may.
fn others_wrote(file: &Path) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt as _;
    // What cannot be looked at, or is no file, cannot be read either.
    let meta = file.metadata().ok().filter(|meta| meta.is_file())?;
    let own = rustix::process::geteuid().as_raw();
    if meta.uid() != own && meta.uid() != 0 {
        return Some("belongs to another user");
    }
    (meta.mode() & 0o002 != 0).then_some("may be written by every user")
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
