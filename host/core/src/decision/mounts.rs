//! The directories that a script will see, opened while it is decided.

use super::{Check, Refusal};
use crate::files::{self, show};
use crate::grant::Grant;
use crate::policy::EffectiveRules;
use crate::request::{Paths, Request, Subject};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
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

/// Opens every directory that a script or a command will see; the skill's own comes first.
pub(super) fn open_mounts(
    rules: &EffectiveRules<'_>,
    request: &Request,
    grants: &[Grant],
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
    let mut workspace = None;
    if let Some(path) = &request.workspace {
        let what = || format!("workspace `{}`", show(&path.display().to_string()));
        let mount = open_mount(path, true).map_err(|why| fail(what(), why))?;
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
    for grant in grants {
        let (path, writable) = match grant {
            Grant::Read(path) => (path, false),
            Grant::Write(path) if path.as_os_str() != Grant::SKILL => (path, true),
            _ => continue,
        };
        let mount = open_mount(path, writable).map_err(|why| fail(format!("`{grant}`"), why))?;
        if !really_covers(rules, grant, &mount) {
            let real = mount.real();
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
        mounts.push(mount);
    }
    Ok((mounts, workspace))
}

/// Whether what was opened lies where the policy's grant says, without any link: a link in a granted directory, or in
/// the place of one, was perhaps laid by a script that may write around it.
fn really_covers(rules: &EffectiveRules<'_>, wanted: &Grant, mount: &Mount) -> bool {
    let real = mount.real();
    let mut held = rules.grants().filter(|held| held.covers(wanted));
    held.any(|held| match held {
        Grant::Read(path) | Grant::Write(path) => real.starts_with(path),
        _ => false,
    })
}

/// Opens a directory, or the directory around a single file.
fn open_mount(path: &Path, writable: bool) -> Result<Mount, String> {
    let plain = |error: std::io::Error| files::plain(&error);
    let meta = path.metadata().map_err(plain)?;
    let (folder, only) = if meta.is_dir() {
        (path.to_owned(), None)
    } else if meta.is_file() {
        let file = path.canonicalize().map_err(plain)?;
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .map(str::to_owned);
        let folder = file.parent().map(Path::to_owned);
        (
            folder.ok_or("not a directory")?,
            Some(name.ok_or("its name is not UTF-8")?),
        )
    } else {
        return Err("neither a file nor a directory".into());
    };
    // What is compared later is where the opened directory is, not where its name led before.
    let dir = Dir::open_ambient_dir(&folder, ambient_authority()).map_err(plain)?;
    let host = files::real_path(&dir).map_err(plain)?;
    let kernel = ["/proc", "/sys", "/dev"];
    if host == Path::new("/") || kernel.iter().any(|own| host.starts_with(own)) {
        return Err("it holds the kernel's own files; name the folders that are needed".into());
    }
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
