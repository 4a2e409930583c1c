//! Where our directories are, and whose they are.

use crate::files::real_path;
use crate::private::PrivatePath;
use crate::walk::{Links, WalkError, Walked, walk};
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, Stat, flock, fstat, mkdirat, openat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Our directories are named by this prefix and some random letters, so that we remove no others.
const NAME: &str = "skillrun-scratch-";
const RANDOM: usize = 12;
/// How often we make another directory after another process mistook ours for an orphan.
const MAX_ATTEMPTS: usize = 8;

/// Where the empty directory is made. Making and removing a directory takes 0.1 ms or more on a disk, and 0.01 ms here. It is
/// of no use to anybody, so TMPDIR has no say in it.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// A directory that is empty and stays so: it has no name any more, so nothing can be created in it.
pub(crate) fn empty_directory() -> io::Result<File> {
    // Some containers have no such file system, or may not write it.
    empty_directory_in(Path::new(SHARED_MEMORY))
        .or_else(|_| empty_directory_in(&std::env::temp_dir()))
}

fn empty_directory_in(around: &Path) -> io::Result<File> {
    for _ in 0..MAX_ATTEMPTS {
        // Named like a scratch directory, so that a sweep removes what a killed process leaves here. The sweep of another
        // process may also be faster than we are.
        let made = Location::create_in(temporary_directory(around)?)?;
        let opened = made.open();
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match (made.remove(), opened) {
            (Err(error), _) if !is_gone(&error) => return Err(error),
            (_, Err(error)) if !is_gone(&error) => return Err(error),
            (_, Err(_)) => {}
            (_, Ok(opened)) => return Ok(opened.into()),
        }
    }
    Err(io::Error::other(
        "another process keeps deleting the scratch directory",
    ))
}

/// Where one of our directories is: its name in a directory that stays open.
///
/// A script with a workspace around the temporary directory could replace that by a link at any moment, for example to a
/// directory of skills: what the next run writes would be a skill there. So such a link is refused, as it is for a
/// workspace, and from then on only the handle is used, never the path.
pub(super) struct Location {
    pub(super) parent: OwnedFd,
    pub(super) name: CString,
    /// The path when it was opened, for messages and for scripts.
    pub(super) path: PathBuf,
}

impl Location {
    /// Creates a directory with one of our names, for its owner only.
    fn create() -> io::Result<Self> {
        Self::create_in(temporary_directory(&std::env::temp_dir())?)
    }

    pub(super) fn create_in(temporary: Walked) -> io::Result<Self> {
        let around = temporary.real_path()?;
        let parent = temporary.into_handle();
        for _ in 0..MAX_ATTEMPTS {
            let random = uuid::Uuid::new_v4().simple().to_string();
            let name = format!("{NAME}{}", &random[..RANDOM]);
            match mkdirat(&parent, &name, Mode::RWXU) {
                Ok(()) => {
                    return Ok(Self {
                        parent,
                        path: around.join(&name),
                        name: CString::new(name)?,
                    });
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    fn open(&self) -> io::Result<OwnedFd> {
        open(&self.parent, &self.name)
    }

    /// Removes the directory if it is empty.
    fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR)?)
    }

    /// The directory at a path.
    #[cfg(test)]
    pub(super) fn at(path: &Path) -> Self {
        let parent = temporary_directory(path.parent().unwrap()).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        Self {
            parent: parent.into_handle(),
            name: CString::new(name).unwrap(),
            path: path.to_owned(),
        }
    }
}

/// Opens the temporary directory. Fails if a script could have made a link that leads there.
pub(super) fn temporary_directory(path: &Path) -> io::Result<Walked> {
    walk(path, Links::System).map_err(|error| match error {
        WalkError::Io(error) => error,
        WalkError::Missing { .. } => io::ErrorKind::NotFound.into(),
        error @ WalkError::Link { .. } => io::Error::other(format!(
            "the temporary directory {error}; set TMPDIR to another directory"
        )),
    })
}

/// A directory of ours, locked so that other processes do not mistake it for an orphan.
pub(super) struct LockedDirectory {
    at: Location,
    dir: OwnedFd,
    /// Set if no request may name the directory before it is gone.
    private: Option<PrivatePath>,
}

impl Drop for LockedDirectory {
    fn drop(&mut self) {
        // It was not removed, so the files are still there: the path stays private as long as this process lives.
        std::mem::forget(self.private.take());
    }
}

impl LockedDirectory {
    /// Makes a directory.
    pub(super) fn create() -> io::Result<Self> {
        for _ in 0..MAX_ATTEMPTS {
            let made = Location::create()?;
            // Another process may see it before it is locked and mistake it for an orphan.
            if let Some(locked) = Self::lock(made)? {
                return Ok(locked);
            }
        }
        Err(io::Error::other(
            "another process keeps deleting the scratch directory",
        ))
    }

    /// Locks a directory; `None` if another process has locked or removed it.
    pub(super) fn lock(at: Location) -> io::Result<Option<Self>> {
        let dir = match at.open() {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let _ = at.remove();
                return Err(error);
            }
        };
        // Any other error means a file system without locks, where no process mistakes it for an orphan.
        if flock(&dir, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Ok(None);
        }
        let there = at.open().and_then(|there| identity(&there));
        if there.ok() != Some(identity(&dir)?) {
            return Ok(None);
        }
        Ok(Some(Self {
            at,
            dir,
            private: None,
        }))
    }

    /// Locks a directory that a killed process may have left. Only this user may have access to it. On a file system
    /// without locks we cannot tell whether it has an owner, so it stays.
    pub(super) fn lock_orphan(at: Location) -> Option<Self> {
        let dir = at.open().ok()?;
        let Stat {
            st_uid, st_mode, ..
        } = fstat(&dir).ok()?;
        if st_uid != rustix::process::geteuid().as_raw() || st_mode & 0o077 != 0 {
            return None;
        }
        flock(&dir, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Self {
            at,
            dir,
            private: None,
        })
    }

    /// Its path when it was made.
    pub(super) fn path(&self) -> &Path {
        &self.at.path
    }

    /// Opens it, wherever its path leads by now.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        open(&self.dir, ".")
    }

    /// The same for files that no request may name until the directory is gone.
    pub(super) fn open_private(&mut self) -> io::Result<OwnedFd> {
        let dir = self.open()?;
        self.private = Some(PrivatePath::new(real_path(&dir)?, &dir)?);
        Ok(dir)
    }

    /// Opens it to empty it, even if its mode denies access to its owner.
    pub(super) fn open_to_empty(&self) -> io::Result<OwnedFd> {
        rustix::fs::fchmod(&self.dir, Mode::RWXU)?;
        self.open()
    }

    /// Removes it once it is empty.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        match self.at.remove() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => {
                self.private = None;
                Ok(())
            }
        }
    }
}

/// Whether a name is one of ours.
pub(super) fn is_ours(name: &CStr) -> bool {
    let random = name.to_str().ok().and_then(|name| name.strip_prefix(NAME));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|letter| letter.is_ascii_alphanumeric())
    })
}

pub(super) fn open(
    at: impl std::os::fd::AsFd,
    path: impl rustix::path::Arg,
) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

pub(super) fn identity(dir: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstat(dir)?;
    Ok((stat.st_dev, stat.st_ino))
}
