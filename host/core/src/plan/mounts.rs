//! The directories that a script will see, opened during the decision.

use crate::files::{self, show};
use crate::grant::Grant;
use crate::policy::EffectiveRules;
use crate::refusal::{Check, Refusal};
use crate::request::{Paths, Request, Target};
use crate::walk::{Links, WalkError, walk};
use cap_std::fs::Dir;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A directory that a script sees.
#[derive(Debug)]
pub struct Mount {
    pub(crate) dir: Dir,
    /// Its real path.
    pub(crate) host: PathBuf,
    /// The path at which the script sees it.
    pub(crate) guest: String,
    pub(crate) writable: bool,
    /// The only visible entry, if a single file was granted.
    pub(crate) only: Option<String>,
}

impl Mount {
    /// The directory, opened when the request was checked.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Its real path.
    pub fn host_path(&self) -> &Path {
        &self.host
    }

    /// The path at which the script sees it.
    pub fn guest_path(&self) -> &str {
        &self.guest
    }

    /// Whether the script may write there.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The only entry that the script may see, if a single file was granted.
    pub fn only(&self) -> Option<&str> {
        self.only.as_deref()
    }

    /// The real path of the directory or of the single file.
    fn real(&self) -> PathBuf {
        let only = self.only.as_ref();
        only.map_or_else(|| self.host.clone(), |name| self.host.join(name))
    }
}

/// The directories of one run.
pub(super) struct Mounts {
    pub(super) skill: Option<Mount>,
    pub(super) workspace: Option<Mount>,
    pub(super) granted: Vec<Mount>,
}

/// Opens every directory that a script or a command will see. Replaces the paths in `grants` by the real paths, so that
/// approvals and the audit log contain the target of a link and not its name.
pub(super) fn open_mounts(
    rules: &EffectiveRules<'_>,
    request: &Request,
    grants: &mut Vec<Grant>,
) -> Result<Mounts, Refusal> {
    let fail = |what: String, why: String| Refusal::new(Check::Request, format!("{what}: {why}"));
    let write_skill = grants
        .iter()
        .any(|g| matches!(g, Grant::Write(path) if path.as_os_str() == Grant::SKILL));
    let mut mounts = Mounts {
        skill: None,
        workspace: None,
        granted: Vec::new(),
    };
    if let Target::Script { skill, .. } = &request.target {
        let own = skill.root().try_clone();
        mounts.skill = Some(Mount {
            dir: own.map_err(|e| fail("skill".into(), files::plain(&e)))?,
            host: skill.path().to_owned(),
            guest: guest_path(request.paths, skill.path(), "/skill")?,
            writable: write_skill,
            only: None,
        });
    }
    let links = match request.follow {
        true => Links::All,
        false => Links::System,
    };
    if let Some(path) = &request.workspace {
        let what = || format!("workspace `{}`", show(&path.display().to_string()));
        let no_directory = || fail(what(), "must be a directory".into());
        let mount = open_mount(path, true, links).map_err(|why| match why {
            MountError::Special => no_directory(),
            other => other.refusal(&what()),
        })?;
        if mount.only.is_some() {
            return Err(no_directory());
        }
        let is_skill = |skill: &Mount| skill.host == mount.host;
        if mounts.skill.as_ref().is_some_and(is_skill) && !write_skill {
            return Err(Refusal::new(
                Check::Grants,
                format!("{} is the skill's own folder, which is read-only", what()),
            )
            .hint("omit --workspace if reading is enough, or pass --allow write:skill"));
        }
        // A directory of the skill's scripts is not for its scripts to change either.
        if let (Target::Script { skill, .. }, false) = (&request.target, write_skill)
            && skill.scripts().iter().any(|script| {
                let script = skill.path().join(script.path());
                mount.host.starts_with(skill.path()) && script.starts_with(&mount.host)
            })
        {
            return Err(Refusal::new(
                Check::Grants,
                format!(
                    "{} contains scripts of the skill, which is read-only",
                    what()
                ),
            )
            .hint("use another directory, or pass --allow write:skill"));
        }
        let guest = guest_path(request.paths, &mount.host, "/workspace")?;
        mounts.workspace = Some(Mount { guest, ..mount });
    }
    for grant in grants.iter_mut() {
        let (path, writable) = match &*grant {
            Grant::Read(path) => (path, false),
            Grant::Write(path) if path.as_os_str() != Grant::SKILL => (path, true),
            _ => continue,
        };
        // A grant of the policy file names a tree. The opened path must be inside it, whatever links led there.
        let links = match rules.typed().iter().any(|typed| typed.covers(grant)) {
            true => links,
            false => Links::All,
        };
        let mount = open_mount(path, writable, links);
        let mount = mount.map_err(|why| {
            let what = format!("`{}`", show(&grant.to_string()));
            let Some((file, line)) = rules.origin(grant) else {
                return why.refusal(&what);
            };
            let file = show(&file.display().to_string());
            let refusal = why.refusal(&format!("{what}, granted in line {line} of `{file}`"));
            match refusal.hint {
                Some(_) => refusal,
                None => refusal.hint("create it, or remove the grant from the policy"),
            }
        })?;
        let real = mount.real();
        if !really_covers(rules, grant, &real) {
            let (shown, real) = (show(&grant.to_string()), show(&real.display().to_string()));
            return Err(Refusal::new(
                Check::Grants,
                format!("`{shown}` resolves to `{real}`, which the policy does not grant"),
            )
            .hint(format!(
                "if that is intended, add \"{}:{real}\" to `allow` in skillrun.toml",
                if writable { "write" } else { "read" }
            )));
        }
        *grant = match writable {
            true => Grant::Write(real),
            false => Grant::Read(real),
        };
        // Two links may lead to the same directory.
        let shown = |mount: &Mount| (mount.guest.clone(), mount.only.clone(), mount.writable);
        let own = mounts.skill.iter().chain(&mounts.workspace);
        let mut others = own.chain(&mounts.granted);
        if !others.any(|other| shown(other) == shown(&mount)) {
            mounts.granted.push(mount);
        }
    }
    grants.sort();
    grants.dedup();
    Ok(mounts)
}

/// Whether the opened path is inside a grant. Grants of the policy file are compared without following links: a script
/// that may write there could have created one. A grant that a person typed counts as typed, because the walk has
/// checked its links.
fn really_covers(rules: &EffectiveRules<'_>, wanted: &Grant, real: &Path) -> bool {
    let mut covering = rules.grants().filter(|grant| grant.covers(wanted));
    covering.any(|grant| match grant {
        Grant::Read(path) | Grant::Write(path) => real.starts_with(path),
        _ => false,
    }) || rules.typed().contains(wanted)
}

/// Why a mount could not be opened.
enum MountError {
    Walk(WalkError),
    /// A pipe, a socket or a device.
    Special,
    Unsuitable(String),
}

impl MountError {
    fn refusal(self, what: &str) -> Refusal {
        match self {
            Self::Walk(WalkError::Link { ref target, .. }) => {
                let target = show(&target.display().to_string());
                let hint = format!("pass `{target}` itself, or --follow if the link is yours");
                Refusal::new(Check::Grants, format!("{what} {self}")).hint(hint)
            }
            other => Refusal::new(Check::Request, format!("{what}: {other}")),
        }
    }
}

impl std::fmt::Display for MountError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Walk(error) => error.fmt(f),
            Self::Special => f.write_str("neither a file nor a directory"),
            Self::Unsuitable(why) => f.write_str(why),
        }
    }
}

impl From<std::io::Error> for MountError {
    fn from(error: std::io::Error) -> Self {
        Self::Unsuitable(files::plain(&error))
    }
}

/// Opens a directory, or the directory around a single file.
fn open_mount(path: &Path, writable: bool, links: Links) -> Result<Mount, MountError> {
    let unsuitable = |why: &str| MountError::Unsuitable(why.to_owned());
    let mut walked = walk(path, links).map_err(MountError::Walk)?;
    let (is_dir, is_file) = (walked.metadata().is_dir(), walked.metadata().is_file());
    let (folder, only) = match walked.found.take() {
        _ if is_dir => (walked.into_handle(), None),
        Some((folder, name)) if is_file => {
            let name = name.into_string();
            (
                folder,
                Some(name.map_err(|_| unsuitable("its name is not UTF-8"))?),
            )
        }
        _ => return Err(MountError::Special),
    };
    let dir = Dir::from_std_file(File::from(folder));
    let host = files::real_path(&dir)?;
    let kernel_dirs = ["/proc", "/sys", "/dev"];
    if host == Path::new("/") || kernel_dirs.iter().any(|dir| host.starts_with(dir)) {
        return Err(unsuitable(
            "it contains the kernel's own files; grant only the directories that are needed",
        ));
    }
    let guest = host
        .to_str()
        .ok_or_else(|| unsuitable("its path is not UTF-8"))?;
    Ok(Mount {
        guest: guest.to_owned(),
        dir,
        host,
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
