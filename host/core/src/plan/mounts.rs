//! The directories that a script will see, opened during the decision.

use super::request::add_to_allow;
use crate::files::{self, show};
use crate::grant::Grant;
use crate::policy::EffectiveRules;
use crate::private::{Directory, Identity, Privates, identity};
use crate::refusal::{Check, Refusal, Remedy};
use crate::request::{Paths, Request, Target};
use crate::text::shell_path;
use crate::walk::{Links, WalkError, walk};
use crate::workspace::Workspace;
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory that a script sees.
#[derive(Debug)]
pub struct Mount {
    pub(crate) dir: Arc<File>,
    /// Which directory that is, wherever it is moved.
    pub(crate) identity: Identity,
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
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
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

    /// The directory with its identity; `None` for a single file, which contains no directories.
    pub(super) fn directory(&self) -> Option<Directory> {
        self.only.is_none().then(|| Directory {
            path: self.host.clone(),
            identity: self.identity,
        })
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
/// approvals and the audit log contain the target of a link and not its name. `anywhere` returns whether the runtime can
/// show a directory at another path than its own.
pub(super) fn open_mounts(
    rules: &EffectiveRules<'_>,
    request: &Request,
    grants: &mut Vec<Grant>,
    anywhere: impl Fn() -> bool,
) -> Result<Mounts, Refusal> {
    let fail = |what: String, why: String| Refusal::new(Check::Request, format!("{what}: {why}"));
    let write_skill = grants
        .iter()
        .any(|g| matches!(g, Grant::Write(path) if path.as_os_str() == Grant::SKILL));
    // The private path of what was given as bytes means nothing to the caller.
    let paths = |private: bool| match private && anywhere() {
        true => Paths::Virtual,
        false => request.paths,
    };
    let private = Privates::now();
    let mut mounts = Mounts {
        skill: None,
        workspace: None,
        granted: Vec::new(),
    };
    if let Target::Script { skill, .. } = &request.target {
        let mount = Mount {
            dir: Arc::clone(skill.shared_root()),
            identity: skill.identity(),
            host: skill.directory().to_owned(),
            guest: guest_path(paths(skill.is_in_memory()), skill.directory(), "/skill")?,
            writable: write_skill,
            only: None,
        };
        if !skill.is_in_memory() {
            check_not_private(&private, &mount, &format!("skill `{}`", show(skill.name())))?;
        }
        mounts.skill = Some(mount);
    }
    let links = match request.follow {
        true => Links::All,
        false => Links::System,
    };
    if let Some(Workspace::Private(private)) = &request.workspace {
        let identity = identity(&private.0.root);
        mounts.workspace = Some(Mount {
            dir: Arc::clone(&private.0.root),
            identity: identity.map_err(|e| fail("workspace".into(), files::plain(&e)))?,
            host: private.0.path.clone(),
            guest: guest_path(paths(true), &private.0.path, "/workspace")?,
            writable: true,
            only: None,
        });
    }
    if let Some(Workspace::Directory(path)) = &request.workspace {
        let what = || format!("workspace `{}`", show(&path.display().to_string()));
        let no_directory = || fail(what(), "must be a directory".into());
        let mount = open_mount(path, true, links).map_err(|why| match why {
            MountError::Special => no_directory(),
            other => other.refusal(&what()),
        })?;
        if mount.only.is_some() {
            return Err(no_directory());
        }
        check_not_private(&private, &mount, &what())?;
        let is_skill = |skill: &Mount| skill.host == mount.host;
        if mounts.skill.as_ref().is_some_and(is_skill) && !write_skill {
            return Err(Refusal::new(
                Check::Grants,
                format!("{} is the skill's own folder, which is read-only", what()),
            )
            .hint("name no workspace if reading is enough")
            .remedy(write_skill_grant()));
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
            .hint("use another directory")
            .remedy(write_skill_grant()));
        }
        if let Some(policy_rules) = rules.forbids_workspace(&mount.host) {
            let wanted = Grant::Write(mount.host);
            let message = format!("{} is not granted{}", what(), policy_rules.by());
            let change = add_to_allow(&wanted);
            return Err(Refusal::new(Check::Grants, message).hint(policy_rules.hint(&change)));
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
        // A grant of the policy file names a tree. The opened path must be inside it, whatever links led there: a script
        // that may write there could have created one.
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
        check_not_private(&private, &mount, &format!("`{}`", show(&grant.to_string())))?;
        let real = mount.real();
        let granted = |real| match writable {
            true => Grant::Write(real),
            false => Grant::Read(real),
        };
        if let Some(policy_rules) = rules.forbids_real(grant, &real) {
            let (shown, target) = (show(&grant.to_string()), show(&real.display().to_string()));
            let by = match policy_rules.by().as_str() {
                "" => "which the policy does not grant".to_owned(),
                by => format!("which is not granted{by}"),
            };
            let message = format!("`{shown}` resolves to `{target}`, {by}");
            let change = add_to_allow(&granted(real));
            let hint = format!("if that is intended, {}", policy_rules.hint(&change));
            return Err(Refusal::new(Check::Grants, message).hint(hint));
        }
        *grant = granted(real);
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

/// Refuses a directory in which a script would find files that another caller gave as bytes.
fn check_not_private(private: &Privates, mount: &Mount, what: &str) -> Result<(), Refusal> {
    let directory = mount.directory();
    let contains = directory.is_some_and(|directory| private.are_in(&directory));
    match contains || private.overlap(&mount.real()) {
        false => Ok(()),
        true => Err(contains_private(what)),
    }
}

/// The refusal of a directory in which a script would find files that another caller gave as bytes.
pub(super) fn contains_private(what: &str) -> Refusal {
    let why = "contains private directories of skills or workspaces that were given as bytes";
    Refusal::new(Check::Grants, format!("{what} {why}"))
        .hint("use a narrower directory, or set TMPDIR to one that no script may reach")
}

fn write_skill_grant() -> Remedy {
    Remedy::Grant(Grant::Write(Grant::SKILL.into()))
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
                let hint = match shell_path(target) {
                    Some(target) => format!("name `{target}` itself"),
                    None => "name its target itself".to_owned(),
                };
                Refusal::new(Check::Grants, format!("{what} {self}"))
                    .hint(hint)
                    .remedy(Remedy::FollowLinks)
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
    let dir = File::from(folder);
    let host = files::real_path(&dir)?;
    if is_never_granted(&host) {
        return Err(unsuitable(
            "it contains the kernel's own files; grant only the directories that are needed",
        ));
    }
    let guest = host
        .to_str()
        .ok_or_else(|| unsuitable("its path is not UTF-8"))?;
    Ok(Mount {
        guest: guest.to_owned(),
        identity: identity(&dir)?,
        dir: Arc::new(dir),
        host,
        writable,
        only,
    })
}

/// Whether a path contains the kernel's own files, so that no grant may name it.
pub(crate) fn is_never_granted(path: &Path) -> bool {
    let kernel_dirs = ["/proc", "/sys", "/dev"];
    path == Path::new("/") || kernel_dirs.iter().any(|dir| path.starts_with(dir))
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
        .remedy(Remedy::VirtualPaths)),
    }
}
