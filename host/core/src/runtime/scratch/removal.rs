//! Removes a tree of directories without recursion.
//!
//! A script can nest directories as deep as its budget has entries, by moving one chain into the last
//! directory of another. Removing such a tree by recursion overflows the stack, which ends the process,
//! or runs out of file handles. So the path down is kept as names, one directory is open at a time, and
//! on the way up each parent is checked to be the directory that was entered on the way down.

use super::location::{LockedDirectory, identity, open};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// How far the removal of a directory has come.
pub(super) struct Removal {
    directory: LockedDirectory,
    /// The directory to continue in, once the removal has started.
    current: Option<OwnedFd>,
    /// The path from the top down to `current`: each name, and the identity of the directory it is in.
    path_down: Vec<(CString, (u64, u64))>,
}

impl Removal {
    pub(super) fn new(directory: LockedDirectory) -> Self {
        Self {
            directory,
            current: None,
            path_down: Vec::new(),
        }
    }

    /// Removes everything that is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.remove_up_to(usize::MAX).map(drop)
    }

    /// Removes up to `max` entries; returns whether the directory is gone.
    pub(super) fn remove_up_to(&mut self, mut max: usize) -> io::Result<bool> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => self.directory.open_to_empty()?,
        };
        loop {
            let emptied = match max {
                0 => Emptied::NotYet,
                _ => empty(&current, &mut max)?,
            };
            match emptied {
                Emptied::NotYet => {
                    self.current = Some(current);
                    return Ok(false);
                }
                Emptied::UpTo(name) => {
                    let below = enter(&current, &name)?;
                    self.path_down.push((name, identity(&current)?));
                    current = below;
                }
                Emptied::Whole => {
                    let Some((name, parent)) = self.path_down.pop() else {
                        return self.directory.remove().map(|()| true);
                    };
                    max = max.saturating_sub(1);
                    let up = open(&current, "..")?;
                    // Another process moved the directory: the new parent is not ours to change.
                    if identity(&up)? != parent {
                        return Err(io::Error::other("it was changed while it was removed"));
                    }
                    unlinkat(&up, name, AtFlags::REMOVEDIR)?;
                    current = up;
                }
            }
        }
    }
}

/// Opens a directory that is to be emptied, even if its mode denies access to its owner.
fn enter(at: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let opened = match open(at, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open(allow_owner(at, name)?, c".")?
        }
        opened => opened?,
    };
    if !Mode::from_raw_mode(fstat(&opened)?.st_mode).contains(Mode::WUSR | Mode::XUSR) {
        rustix::fs::fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

/// Sets the mode of a directory so that its owner can open it; returns a handle to it.
///
/// A script that may write here can put a link in its place at any moment. `fchmodat` would follow it to a file that the
/// script cannot reach, so the directory is opened first, and changed through the handle.
fn allow_owner(at: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(at, name, flags, Mode::empty())?;
    let handle_path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    rustix::fs::chmod(handle_path, Mode::RWXU)?;
    Ok(handle)
}

enum Emptied {
    /// The directory is empty.
    Whole,
    /// It contains a directory of this name that is not empty.
    UpTo(CString),
    /// The maximum number of entries was removed.
    NotYet,
}

/// Removes the files and empty directories in a directory, up to the first directory that is not empty.
fn empty(dir: &OwnedFd, max: &mut usize) -> io::Result<Emptied> {
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if *max == 0 {
            return Ok(Emptied::NotYet);
        }
        *max -= 1;
        let removed = match entry.file_type() {
            FileType::Directory => Err(Errno::ISDIR),
            _ => unlinkat(dir, name, AtFlags::empty()),
        };
        match removed {
            Err(Errno::ISDIR) => match unlinkat(dir, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => return Ok(Emptied::UpTo(name.to_owned())),
                removed => removed?,
            },
            removed => removed?,
        }
    }
    Ok(Emptied::Whole)
}

#[cfg(test)]
mod tests {
    use super::super::location::{Location, temporary_directory};
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    #[test]
    fn a_link_that_replaces_the_temporary_directory_redirects_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [temporary, moved, skills] = ["tmp", "moved", "skills"].map(|n| folder.path().join(n));
        fs::create_dir(&temporary).unwrap();
        fs::create_dir(&skills).unwrap();
        let count = |path: &Path| fs::read_dir(path).unwrap().count();
        let found = temporary_directory(&temporary).unwrap();
        // A script that may write around it does this at any moment from here on.
        fs::rename(&temporary, &moved).unwrap();
        std::os::unix::fs::symlink(&skills, &temporary).unwrap();
        let made = Location::create_in(found).unwrap();
        assert_eq!((count(&skills), count(&moved)), (0, 1));
        let mut removal = Removal::new(LockedDirectory::lock(made).unwrap().unwrap());
        assert!(removal.remove_up_to(1).unwrap());
        assert_eq!((count(&skills), count(&moved)), (0, 0));
        // The link that is there now is refused.
        assert!(temporary_directory(&temporary).is_err());
    }

    #[test]
    fn the_mode_of_a_links_target_is_never_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
        fs::write(path("file"), "").unwrap();
        fs::create_dir(path("dir")).unwrap();
        for name in ["file", "dir"] {
            fs::set_permissions(path(name), fs::Permissions::from_mode(0o644)).unwrap();
            std::os::unix::fs::symlink(name, path(&format!("{name}-link"))).unwrap();
        }
        let at = open(rustix::fs::CWD, dir.path()).unwrap();
        for link in [c"file-link", c"dir-link"] {
            assert_eq!(
                allow_owner(&at, link).unwrap_err().raw_os_error(),
                Some(Errno::NOTDIR.raw_os_error())
            );
        }
        assert_eq!((mode("file"), mode("dir")), (0o644, 0o644));
        allow_owner(&at, c"dir").unwrap();
        assert_eq!(mode("dir"), 0o700);
    }

    #[test]
    fn a_tree_of_any_depth_is_removed_and_the_targets_of_its_links_are_not() {
        let kept = tempfile::tempdir().unwrap();
        fs::write(kept.path().join("a"), "a").unwrap();
        let directory = LockedDirectory::create().unwrap();
        let top = directory.path().to_owned();
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
        // On a thread with a small stack, which recursion would overflow.
        let removal = Removal::new(directory);
        let remove = std::thread::Builder::new().stack_size(64 * 1024);
        let removed = remove.spawn(move || removal.finish()).unwrap().join();
        assert!(removed.unwrap().is_ok());
        assert!(!top.exists() && kept.path().join("a").exists());
    }
}
