//! What a native script sees of the file system in addition to the system's own directories.

use crate::error::Error;
use crate::files::{plain, show};
use crate::plan::{Checked, Mount, Plan};
use crate::runtime::protected::ProtectedPaths;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use skillrun_confine::{Backend, MountKind};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The mounts of one run, not opened yet.
pub(super) struct MountPlan {
    /// Whether each mount is writable.
    writable: Vec<bool>,
    /// Protected paths inside writable mounts, and links that lead to them.
    protected: Vec<Protected>,
}

struct Protected {
    path: PathBuf,
    /// Where the script sees it.
    at: PathBuf,
    exists: bool,
}

impl MountPlan {
    /// Finds the protected paths inside the mounts of a run.
    pub(super) fn new(plan: &Plan, protected: &[PathBuf]) -> Self {
        let protected = ProtectedPaths::of(plan, protected);
        let mut mounts = Self {
            writable: Vec::new(),
            protected: Vec::new(),
        };
        for mount in plan.mounts() {
            let path = match &mount.only {
                Some(name) => mount.host.join(name),
                None => mount.host.clone(),
            };
            let writable = mount.writable && !protected.covers(&path);
            mounts.writable.push(writable);
            if writable && mount.only.is_none() {
                mounts.protect(mount, &protected);
            }
        }
        mounts
    }

    fn protect(&mut self, mount: &Mount, protected: &ProtectedPaths) {
        let inside: Vec<&Path> = protected.paths_in(&mount.host).collect();
        for path in inside
            .iter()
            .copied()
            .chain(protected.links_in(&mount.host))
        {
            // Anything inside a protected path is protected with it.
            let around = |other: &&Path| *other != path && path.starts_with(other);
            let Ok(below) = path.strip_prefix(&mount.host) else {
                continue;
            };
            let at = Path::new(&mount.guest).join(below);
            let known = self.protected.iter().any(|known| known.at == at);
            if !known && !inside.iter().any(around) {
                self.protected.push(Protected {
                    path: path.to_owned(),
                    at,
                    exists: path.symlink_metadata().is_ok(),
                });
            }
        }
    }

    /// Whether the directory `own` is a protected path that does not exist.
    pub(super) fn is_missing(&self, own: &Path) -> bool {
        let own = crate::walk::real(own);
        let mut missing = self.protected.iter().filter(|protected| !protected.exists);
        missing.any(|protected| protected.path == own)
    }

    /// What this backend cannot enforce, if anything. `log` are files that exist once the script
    /// starts.
    pub(super) fn unsupported_by(
        &self,
        plan: &Plan,
        backend: Backend,
        log: &[PathBuf],
    ) -> Option<String> {
        if backend == Backend::Namespaces {
            return None;
        }
        let elsewhere = |mount: &&Mount| Path::new(&mount.guest) != mount.host;
        if plan.mounts().any(|mount| elsewhere(&mount)) {
            return Some("virtual paths need namespaces".into());
        }
        let log: Vec<PathBuf> = log.iter().map(|file| crate::walk::real(file)).collect();
        let first = self.protected.iter().find(|protected| {
            protected.exists || log.iter().any(|file| file.starts_with(&protected.path))
        })?;
        Some(format!(
            "`{}` is a protected path inside a directory that the script may write, and without \
             namespaces it cannot be read-only",
            show(&first.path.display().to_string())
        ))
    }

    /// Opens everything. In namespaces a copy of the checked script covers its file, for programs
    /// that execute it or name it by another path. If another process renames the file, the copy no
    /// longer covers it; the interpreter still gets the checked bytes (`Job::script`).
    pub(super) fn open(
        &self,
        plan: &Plan,
        backend: Backend,
    ) -> Result<Vec<skillrun_confine::Mount>, Error> {
        let failed = |what: &str, error: io::Error| {
            Error::Sandbox(format!("`{}`: {}", show(what), plain(&error)))
        };
        let mut all = Vec::new();
        for (mount, writable) in plan.mounts().zip(&self.writable) {
            let handle = open_mount(mount).map_err(|error| failed(&mount.guest, error))?;
            let folder = Path::new(&mount.guest);
            all.push(skillrun_confine::Mount {
                kind: MountKind::Open(handle),
                at: mount
                    .only
                    .as_ref()
                    .map_or(folder.to_owned(), |name| folder.join(name)),
                writable: *writable,
            });
        }
        for protected in &self.protected {
            let taken = all.iter().any(|mount| mount.at == protected.at);
            if taken {
                continue;
            }
            let kind = match protected.exists {
                false => MountKind::Absent(protected.path.clone()),
                true => {
                    let handle = open_path(&protected.path);
                    let name = protected.path.display().to_string();
                    MountKind::Open(handle.map_err(|error| failed(&name, error))?)
                }
            };
            all.push(skillrun_confine::Mount {
                kind,
                at: protected.at.clone(),
                writable: false,
            });
        }
        if backend == Backend::Landlock {
            return Ok(all);
        }
        if let Checked::Script(script) = &plan.target
            && let Some(base) = plan.skill_base()
            // The first mount is the skill.
            && self.writable.first() == Some(&false)
        {
            all.push(skillrun_confine::Mount {
                kind: MountKind::Contents(script.source.clone()),
                at: Path::new(base).join(&script.real),
                writable: false,
            });
        }
        Ok(all)
    }
}

fn open_mount(mount: &Mount) -> io::Result<OwnedFd> {
    match &mount.only {
        None => Ok(mount.dir.try_clone()?.into_std_file().into()),
        Some(name) => {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = openat(&mount.dir, name, flags, Mode::empty())?;
            // A link created there since the decision is not what was granted.
            match FileType::from_raw_mode(fstat(&handle)?.st_mode) {
                FileType::RegularFile => Ok(handle),
                _ => Err(io::Error::other("is no longer a file")),
            }
        }
    }
}

fn open_path(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?)
}
