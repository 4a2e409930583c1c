//! What a native script sees of the file system in addition to the system's own directories.

use crate::error::Error;
use crate::files::{plain, show};
use crate::plan::{Checked, Mount, Plan};
use crate::runtime::protected::ProtectedPaths;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use skillrun_confine::{Backend, MountKind};
use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The mounts of one run, not opened yet.
pub(super) struct MountPlan<'a> {
    mounts: Vec<PlannedMount<'a>>,
    /// Protected paths inside writable mounts, and links that lead to them.
    protected: Vec<Protected>,
    /// The directories of approvals databases.
    databases: Vec<PathBuf>,
    /// A writable mount that is one of them.
    exposed: Option<PathBuf>,
    /// What a script could replace by a link, so that a protected path leads elsewhere.
    redirecting: Option<PathBuf>,
}

struct PlannedMount<'a> {
    mount: &'a Mount,
    /// Not if it is a protected path or inside of one.
    writable: bool,
    /// Whether it is the skill's folder.
    is_skill: bool,
}

struct Protected {
    path: PathBuf,
    /// Where the script sees it.
    at: PathBuf,
    exists: bool,
}

impl<'a> MountPlan<'a> {
    /// Finds the protected paths inside the mounts of a run.
    ///
    /// Each directory of an approvals database is protected as a whole. SQLite restores a database from files beside it,
    /// which come and go with every question. A missing one could only be watched, and a script could create it for some
    /// milliseconds: long enough for SQLite to read approvals from it.
    pub(super) fn new<'b>(
        plan: &'a Plan,
        protected: &[PathBuf],
        databases: impl Iterator<Item = &'b Path>,
    ) -> Self {
        // Protected paths matter only where something can be written, and there are many to resolve.
        let writes = plan.mounts().any(|mount| mount.writable);
        let directories = databases.filter(|_| writes).filter_map(|file| {
            let file = crate::walk::real(file);
            file.parent().map(Path::to_owned)
        });
        let directories: Vec<PathBuf> = directories.collect();
        let is_inside_mount = |directory: &&PathBuf| {
            let mut folders = plan.mounts().filter(|mount| mount.only.is_none());
            folders.any(|mount| {
                mount.writable && **directory != mount.host && directory.starts_with(&mount.host)
            })
        };
        let inside = directories.iter().filter(is_inside_mount).cloned();
        let protected: Vec<PathBuf> = protected.iter().cloned().chain(inside).collect();
        let protected = match writes {
            true => ProtectedPaths::of(plan, &protected),
            false => ProtectedPaths::default(),
        };
        let mut mounts = Self {
            mounts: Vec::new(),
            protected: Vec::new(),
            databases: directories,
            exposed: None,
            redirecting: None,
        };
        for mount in plan.mounts() {
            let path = match &mount.only {
                Some(name) => mount.host.join(name),
                None => mount.host.clone(),
            };
            let writable = mount.writable && !protected.covers(&path);
            let skill = plan.skill_mount.as_ref();
            mounts.mounts.push(PlannedMount {
                mount,
                writable,
                is_skill: skill.is_some_and(|skill| std::ptr::eq(skill, mount)),
            });
            if writable && mount.only.is_none() {
                mounts.protect(mount, &protected);
                let redirecting = protected.before_parent_in(&mount.host);
                mounts.redirecting = mounts.redirecting.or(redirecting.map(Path::to_owned));
                if mounts.databases.contains(&mount.host) {
                    mounts.exposed = Some(mount.host.clone());
                }
            }
        }
        mounts
    }

    fn protect(&mut self, mount: &Mount, protected: &ProtectedPaths) {
        // There may be as many as a stranger's repository has links.
        let inside: HashSet<&Path> = protected.paths_in(&mount.host).collect();
        let mut known: HashSet<PathBuf> = self.protected.iter().map(|one| one.at.clone()).collect();
        let paths = protected.paths_in(&mount.host);
        for path in paths.chain(protected.links_in(&mount.host)) {
            // Anything inside a protected path is protected with it.
            let mut around = path.ancestors().skip(1);
            let Ok(below) = path.strip_prefix(&mount.host) else {
                continue;
            };
            let at = Path::new(&mount.guest).join(below);
            if !around.any(|other| inside.contains(other)) && known.insert(at.clone()) {
                self.protected.push(Protected {
                    path: path.to_owned(),
                    at,
                    exists: path.symlink_metadata().is_ok(),
                });
            }
        }
    }

    /// Whether the directory of an approvals database inside a writable mount does not exist.
    pub(super) fn lacks_approvals(&self) -> bool {
        let mut missing = self.protected.iter().filter(|protected| !protected.exists);
        missing.any(|protected| self.databases.contains(&protected.path))
    }

    /// What this backend cannot enforce, if anything. `log` are files that exist once the script
    /// starts. An approvals database may be created at any time.
    pub(super) fn unsupported_by(
        &self,
        plan: &Plan,
        backend: Backend,
        log: &[PathBuf],
    ) -> Option<String> {
        if let Some(directory) = &self.exposed {
            return Some(format!(
                "the approvals database is in `{}`, which the script may write, and there the files that SQLite keeps \
                 beside it cannot be protected",
                show(&directory.display().to_string())
            ));
        }
        // A mount over it would keep the script from writing below it, too.
        if let Some(path) = &self.redirecting {
            return Some(format!(
                "the path of a protected file or directory goes through `{}/..`, and the script could replace `{0}` by a \
                 link to somewhere else",
                show(&path.display().to_string())
            ));
        }
        if backend == Backend::Namespaces {
            return None;
        }
        let elsewhere = |mount: &&Mount| Path::new(&mount.guest) != mount.host;
        if plan.mounts().any(|mount| elsewhere(&mount)) {
            return Some("virtual paths need namespaces".into());
        }
        let log: Vec<PathBuf> = log.iter().map(|file| crate::walk::real(file)).collect();
        let mut exists = self.protected.iter().filter(|protected| {
            protected.exists
                || log.iter().any(|file| file.starts_with(&protected.path))
                || self.databases.contains(&protected.path)
        });
        if let Some(first) = exists.next() {
            return Some(format!(
                "`{}` is a protected path inside a directory that the script may write, and without \
                 namespaces it cannot be read-only",
                show(&first.path.display().to_string())
            ));
        }
        // The private user of a host that is root may open any file that it is granted, whatever its mode. Whoever can open
        // the lock of the log can hold it.
        let holds = |mount: &Mount| {
            let path = mount.only.as_ref();
            let path = path.map_or(mount.host.clone(), |name| mount.host.join(name));
            let mut locks = log.iter().filter(|file| crate::audit::is_lock(file));
            locks.find(move |file| file.starts_with(&path))
        };
        if rustix::process::geteuid().is_root()
            && let Some(file) = plan.mounts().find_map(holds)
        {
            return Some(format!(
                "`{}` is inside a directory that the script may read, and without namespaces a script started by root \
                 could lock the audit log",
                show(&file.display().to_string())
            ));
        }
        None
    }

    /// Opens everything. In namespaces a copy of the checked script covers its file, for programs
    /// that execute it or name it by another path. If another process renames the file, the copy no
    /// longer covers it; the interpreter still gets the checked bytes (`Job::script`).
    ///
    /// `log` are the files of the audit log. Another process may replace them, when it is full, and the chain shows if a
    /// script did. So what has replaced one stays.
    pub(super) fn open(
        &self,
        plan: &Plan,
        backend: Backend,
        log: &[PathBuf],
    ) -> Result<Vec<skillrun_confine::Mount>, Error> {
        let failed = |what: &str, error: io::Error| {
            Error::Sandbox(format!("`{}`: {}", show(what), plain(&error)))
        };
        let mut all = Vec::new();
        for planned in &self.mounts {
            let PlannedMount {
                mount, writable, ..
            } = planned;
            let handle = open_mount(mount).map_err(|error| failed(&mount.guest, error))?;
            let folder = Path::new(&mount.guest);
            let at = mount
                .only
                .as_ref()
                .map_or(folder.to_owned(), |name| folder.join(name));
            // The skill, in a workspace that contains it.
            let is_protected = self.protected.iter().any(|protected| protected.at == at);
            all.push(skillrun_confine::Mount {
                kind: match is_protected && !*writable {
                    true => MountKind::Protected(handle, mount.host.clone()),
                    false => MountKind::Open(handle),
                },
                at,
                writable: *writable,
            });
        }
        let taken: HashSet<PathBuf> = all.iter().map(|mount| mount.at.clone()).collect();
        let log: HashSet<PathBuf> = log.iter().map(|file| crate::walk::real(file)).collect();
        for protected in &self.protected {
            if taken.contains(&protected.at) {
                continue;
            }
            let kind = match protected.exists {
                false => MountKind::Absent(protected.path.clone()),
                true => {
                    let handle = open_path(&protected.path);
                    let name = protected.path.display().to_string();
                    let handle = handle.map_err(|error| failed(&name, error))?;
                    match log.contains(&protected.path) {
                        true => MountKind::Open(handle),
                        false => MountKind::Protected(handle, protected.path.clone()),
                    }
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
            && self
                .mounts
                .iter()
                .any(|mount| mount.is_skill && !mount.writable)
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
        None => Ok(mount.dir.try_clone()?.into()),
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
