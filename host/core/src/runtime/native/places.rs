//! What a native script sees of the file system besides the system's own directories.

use crate::decision::{Checked, Mount, Permit};
use crate::error::Error;
use crate::files::{plain, show};
use crate::runtime::sealed::Sealed;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use skillrun_confine::{Backend, Place, What};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The places of one run, not opened yet.
pub(super) struct Places {
    /// Whether each mount may be changed.
    writable: Vec<bool>,
    /// The host's own places that lie in writable ones: where they are, and where the script sees them.
    inside: Vec<Inside>,
}

struct Inside {
    path: PathBuf,
    at: PathBuf,
    missing: bool,
}

impl Places {
    /// Finds out what must be kept from changes; says what cannot be.
    pub(super) fn new(permit: &Permit, sealed: &[PathBuf]) -> Result<Self, String> {
        let skill = permit.skill_mount().filter(|skill| !skill.writable);
        let own = skill.map(|skill| skill.host.clone());
        let is_workspace = |mount: &&Mount| Some(&mount.guest) == permit.workspace.as_ref();
        let workspace = permit.mounts.iter().find(is_workspace);
        let workspace = workspace.map(|mount| mount.host.clone());
        let sealed = Sealed::new(sealed.iter().cloned().chain(own), workspace);
        let mut places = Self {
            writable: Vec::new(),
            inside: Vec::new(),
        };
        for mount in &permit.mounts {
            let path = match &mount.only {
                Some(name) => mount.host.join(name),
                None => mount.host.clone(),
            };
            let writable = mount.writable && !sealed.covers(&path);
            places.writable.push(writable);
            if writable && mount.only.is_none() {
                places.seal(mount, &sealed)?;
            }
        }
        Ok(places)
    }

    fn seal(&mut self, mount: &Mount, sealed: &Sealed) -> Result<(), String> {
        if let Some(link) = sealed.links_in(&mount.host).next() {
            return Err(format!(
                "the link `{}` leads to what steers skillrun, and lies in a folder that the script \
                 may change",
                show(&link.display().to_string())
            ));
        }
        for place in sealed.places_in(&mount.host) {
            // What is not there is kept away where its first missing part would be. A stand-in of another run, or one
            // that a killed run left, is as good as nothing: the last that needs it removes it.
            let there = |path: &&Path| {
                path.symlink_metadata().is_ok() && !is_stand_in(path) && !is_empty(path)
            };
            let mut path = place.to_owned();
            let missing = !there(&place);
            if missing
                && let Some(last) = place.ancestors().find(there)
                && let Ok(rest) = place.strip_prefix(last)
                && let Some(first) = rest.iter().next()
            {
                path = last.join(first);
            }
            let Ok(below) = path.strip_prefix(&mount.host) else {
                continue;
            };
            let at = Path::new(&mount.guest).join(below);
            if !self.inside.iter().any(|inside| inside.at == at) {
                self.inside.push(Inside { path, at, missing });
            }
        }
        Ok(())
    }

    /// What a backend cannot hold of this.
    pub(super) fn objection(&self, permit: &Permit, backend: Backend) -> Option<String> {
        if backend == Backend::Namespaces {
            return None;
        }
        let elsewhere = |mount: &&Mount| Path::new(&mount.guest) != mount.host;
        if permit.mounts.iter().any(|mount| elsewhere(&mount)) {
            return Some("virtual paths need namespaces".into());
        }
        let first = self.inside.first()?;
        Some(format!(
            "`{}` steers skillrun and lies in a folder that the script may change, and without \
             namespaces nothing keeps it from that",
            show(&first.path.display().to_string())
        ))
    }

    /// Opens everything. In namespaces the script is shown as it was checked, whatever becomes of the
    /// file it was read from.
    pub(super) fn open(&self, permit: &Permit, backend: Backend) -> Result<Vec<Place>, Error> {
        let failed = |what: &str, error: io::Error| {
            Error::Sandbox(format!("`{}`: {}", show(what), plain(&error)))
        };
        let mut all = Vec::new();
        for (mount, writable) in permit.mounts.iter().zip(&self.writable) {
            let handle = open_mount(mount).map_err(|error| failed(&mount.guest, error))?;
            let folder = Path::new(&mount.guest);
            all.push(Place {
                what: What::Open(handle),
                at: mount
                    .only
                    .as_ref()
                    .map_or(folder.to_owned(), |name| folder.join(name)),
                writable: *writable,
            });
        }
        if backend == Backend::Landlock {
            return Ok(all);
        }
        for inside in &self.inside {
            let taken = all.iter().any(|place| place.at == inside.at);
            if taken {
                continue;
            }
            let what = match (inside.missing, inside.path.extension()) {
                (true, Some(_)) => What::MissingFile(inside.path.clone()),
                (true, None) => What::MissingFolder(inside.path.clone()),
                (false, _) => {
                    let handle = open_path(&inside.path);
                    let name = inside.path.display().to_string();
                    What::Open(handle.map_err(|error| failed(&name, error))?)
                }
            };
            all.push(Place {
                what,
                at: inside.at.clone(),
                writable: false,
            });
        }
        if let Checked::Script(script) = &permit.subject
            && let Some(base) = permit.skill_base()
            && self.writable.first() == Some(&false)
        {
            all.push(Place {
                what: What::Contents(script.source.clone()),
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

/// Whether it is an empty folder that nobody may write, as one that keeps a place free.
fn is_stand_in(path: &Path) -> bool {
    let meta = path.symlink_metadata();
    let closed =
        meta.is_ok_and(|meta| meta.is_dir() && meta.permissions().mode() & 0o7777 == 0o500);
    closed
        && path
            .read_dir()
            .is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether it is an empty file, which steers nothing.
fn is_empty(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|meta| meta.is_file() && meta.len() == 0)
}
