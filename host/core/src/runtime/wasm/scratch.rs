//! The private directory of a run, and its removal.
//!
//! A script can nest directories as deep as its budget has entries, by moving one chain into the last
//! directory of another. Removing such a tree by recursion ends in a stack overflow, which is the end
//! of the process, or without file handles. So the way down is kept as names, one directory is open at
//! a time, and the way back up is checked to be the one that was taken down.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A private directory, removed when this is dropped.
pub(super) struct Scratch(Option<PathBuf>);

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        let made = tempfile::Builder::new().prefix("skillrun-").tempdir();
        Ok(Self(Some(made.map(TempDir::keep)?)))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(""))
    }

    /// Removes it if it is empty, which takes no time.
    pub(super) fn remove_empty(&mut self) -> bool {
        let gone = fs::remove_dir(self.path()).is_ok();
        if gone {
            self.0 = None;
        }
        gone
    }

    /// Removes it with what is in it.
    pub(super) fn remove(mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), |top| remove_tree(&top))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(top) = self.0.take() {
            let _ = remove_tree(&top);
        }
    }
}

fn remove_tree(top: &Path) -> io::Result<()> {
    let mut here = open(rustix::fs::CWD, top)?;
    let mut way = Vec::new();
    loop {
        if let Some(name) = empty(&here)? {
            let below = open(&here, name.as_c_str())?;
            way.push((name, identity(&here)?));
            here = below;
        } else if let Some((name, above)) = way.pop() {
            let up = open(&here, "..")?;
            // Moved meanwhile by somebody else: what is there is not ours to remove.
            if identity(&up)? != above {
                return Err(io::Error::other("it was changed while it was removed"));
            }
            unlinkat(&up, name, AtFlags::REMOVEDIR)?;
            here = up;
        } else {
            return fs::remove_dir(top);
        }
    }
}

fn open(at: impl std::os::fd::AsFd, path: impl rustix::path::Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

fn identity(dir: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstat(dir)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Removes the files of a directory and its empty directories, up to the first that is not empty.
fn empty(dir: &OwnedFd) -> io::Result<Option<CString>> {
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let removed = match entry.file_type() {
            FileType::Directory => Err(Errno::ISDIR),
            _ => unlinkat(dir, name, AtFlags::empty()),
        };
        match removed {
            Err(Errno::ISDIR) => match unlinkat(dir, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => return Ok(Some(name.to_owned())),
                removed => removed?,
            },
            removed => removed?,
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_any_depth_goes_and_what_its_links_name_stays() {
        let kept = tempfile::tempdir().unwrap();
        fs::write(kept.path().join("a"), "a").unwrap();
        let scratch = Scratch::new().unwrap();
        let top = scratch.path().to_owned();
        for chain in 0..8 {
            let mut path = top.join(format!("c{chain}"));
            fs::create_dir(&path).unwrap();
            for _ in 0..1000 {
                path.push("d");
                fs::create_dir(&path).unwrap();
            }
            fs::write(path.join("f"), "f").unwrap();
            std::os::unix::fs::symlink(kept.path(), path.join("l")).unwrap();
            if chain > 0 {
                fs::rename(top.join(format!("c{}", chain - 1)), path.join("d")).unwrap();
            }
        }
        // A thread with little stack, as recursion would need much.
        let remove = std::thread::Builder::new().stack_size(64 * 1024);
        let removed = remove.spawn(move || scratch.remove()).unwrap().join();
        assert!(removed.unwrap().is_ok());
        assert!(!top.exists() && kept.path().join("a").exists());
    }
}
