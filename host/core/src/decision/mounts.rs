//! The directories that a script will see, opened while it is decided.

use super::{Check, Refusal};
use crate::files::{self, show};
use crate::grant::Grant;
use crate::policy::EffectiveRules;
use crate::request::{Paths, Request, Subject};
use crate::walk::{Links, WalkError, walk};
use cap_std::fs::Dir;
use std::fs::File;
use std::path::{Path, PathBuf};

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

impl Mount {
    /// Where what it shows really is.
    fn real(&self) -> PathBuf {
        let only = self.only.as_ref();
        only.map_or_else(|| self.host.clone(), |name| self.host.join(name))
    }
}

/// Opens every directory that a script or a command will see; the skill's own comes first. Paths in `grants` become
/// those of what was opened, so that approvals and the audit log hold the target of a link and not its name.
pub(super) fn open_mounts(
    rules: &EffectiveRules<'_>,
    request: &Request,
    grants: &mut Vec<Grant>,
) -> Result<(Vec<Mount>, Option<String>), Refusal> {
    let fail = |what: String, why: String| Refusal::new(Check::Request, format!("{what}: {why}"));
    let write_skill = grants
        .iter()
        .any(|g| matches!(g, Grant::Write(path) if path.as_os_str() == Grant::SKILL));
    let mut mounts = Vec::new();
    if let Subject::Script { skill, .. } = &request.subject {
        let own = skill.root().try_clone();
        mounts.push(Mount {
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
    let mut workspace = None;
    if let Some(path) = &request.workspace {
        let what = || format!("workspace `{}`", show(&path.display().to_string()));
        let mount = open_mount(path, true, links).map_err(|why| why.refusal(&what()))?;
        if mount.only.is_some() {
            return Err(fail(what(), "not a directory".into()));
        }
        let own = mounts.iter().any(|skill| skill.host == mount.host);
        if own && !write_skill {
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
    for grant in grants.iter_mut() {
        let (path, writable) = match &*grant {
            Grant::Read(path) => (path, false),
            Grant::Write(path) if path.as_os_str() != Grant::SKILL => (path, true),
            _ => continue,
        };
        // A grant of the policy file names a tree. What was opened must lie in it, whatever links led there.
        let links = match rules.typed().iter().any(|typed| typed.covers(grant)) {
            true => links,
            false => Links::All,
        };
        let mount = open_mount(path, writable, links);
        let mount = mount.map_err(|why| why.refusal(&format!("`{}`", show(&grant.to_string()))))?;
        let real = mount.real();
        if !really_covers(rules, grant, &real) {
            let (shown, real) = (show(&grant.to_string()), show(&real.display().to_string()));
            return Err(Refusal::new(
                Check::Grants,
                format!("`{shown}` leads to `{real}`, out of what the policy grants"),
            )
            .hint(format!(
                "add \"{}:{real}\" to `allow` in skillrun.toml if that is meant",
                if writable { "write" } else { "read" }
            )));
        }
        *grant = match writable {
            true => Grant::Write(real),
            false => Grant::Read(real),
        };
        // Two links may lead to the same directory.
        let shown = |mount: &Mount| (mount.guest.clone(), mount.only.clone(), mount.writable);
        if !mounts.iter().any(|other| shown(other) == shown(&mount)) {
            mounts.push(mount);
        }
    }
    grants.sort();
    grants.dedup();
    Ok((mounts, workspace))
}

/// Whether what was opened lies where a grant says. Grants of the policy file are compared without links: a script
/// that may write there could have created one. A grant that a person typed counts as typed, because the walk has
/// checked its links.
fn really_covers(rules: &EffectiveRules<'_>, wanted: &Grant, real: &Path) -> bool {
    let mut held = rules.grants().filter(|held| held.covers(wanted));
    held.any(|held| match held {
        Grant::Read(path) | Grant::Write(path) => real.starts_with(path),
        _ => false,
    }) || rules.typed().contains(wanted)
}

/// Why something was not opened.
enum Unopened {
    Walk(WalkError),
    Unfit(String),
}

impl Unopened {
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

impl std::fmt::Display for Unopened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Walk(error) => error.fmt(f),
            Self::Unfit(why) => f.write_str(why),
        }
    }
}

impl From<std::io::Error> for Unopened {
    fn from(error: std::io::Error) -> Self {
        Self::Unfit(files::plain(&error))
    }
}

/// Opens a directory, or the directory around a single file.
fn open_mount(path: &Path, writable: bool, links: Links) -> Result<Mount, Unopened> {
    let unfit = |why: &str| Unopened::Unfit(why.to_owned());
    let mut walked = walk(path, links).map_err(Unopened::Walk)?;
    let (is_dir, is_file) = (walked.metadata().is_dir(), walked.metadata().is_file());
    let (folder, only) = match walked.found.take() {
        _ if is_dir => (walked.into_handle(), None),
        Some((folder, name)) if is_file => {
            let name = name.into_string();
            (
                folder,
                Some(name.map_err(|_| unfit("its name is not UTF-8"))?),
            )
        }
        _ => return Err(unfit("neither a file nor a directory")),
    };
    let dir = Dir::from_std_file(File::from(folder));
    let host = files::real_path(&dir)?;
    let kernel = ["/proc", "/sys", "/dev"];
    if host == Path::new("/") || kernel.iter().any(|own| host.starts_with(own)) {
        return Err(unfit(
            "it holds the kernel's own files; name the folders that are needed",
        ));
    }
    let guest = host
        .to_str()
        .ok_or_else(|| unfit("its path is not UTF-8"))?;
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
