//! Removes the directories that killed processes left.

use super::location::{Location, LockedDirectory, is_ours, open, temporary_directory};
use super::removal::Removal;
use rustix::fs::Dir;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Entries that a sweep removes before it checks the queue again.
const BATCH: usize = 64;
/// Names that a sweep reads: a shared directory may contain millions.
const MAX_SWEPT_NAMES: usize = 10_000;

/// Finds and removes the directories that killed processes left.
pub(super) struct Sweep {
    /// The directory that is searched, and the names in it.
    around: Option<(OwnedFd, std::iter::Take<Dir>)>,
    /// Those that are searched after it.
    further: Vec<PathBuf>,
    current: Option<Removal>,
    pub(super) removed: usize,
}

impl Sweep {
    /// Searches these directories, the last one first.
    pub(super) fn new(directories: Vec<PathBuf>) -> Self {
        Self {
            around: None,
            further: directories,
            current: None,
            removed: 0,
        }
    }

    /// Opens the next directory that can be read; returns whether there is one.
    fn open_next(&mut self) -> bool {
        while let Some(directory) = self.further.pop() {
            let around = temporary_directory(&directory).and_then(|found| {
                let dir = open(found.into_handle(), ".")?;
                let names = Dir::read_from(&dir)?.take(MAX_SWEPT_NAMES);
                Ok((dir, names))
            });
            if let Ok(around) = around {
                self.around = Some(around);
                return true;
            }
        }
        false
    }

    /// Reads some names or removes some entries; returns whether there may be more.
    pub(super) fn step(&mut self) -> bool {
        if let Some(removal) = &mut self.current {
            self.removed += BATCH;
            if !matches!(removal.remove_up_to(BATCH), Ok(false)) {
                self.current = None;
            }
            return true;
        }
        let Some((dir, names)) = &mut self.around else {
            return self.open_next();
        };
        for _ in 0..BATCH {
            match names.next() {
                None => {
                    self.around = None;
                    break;
                }
                Some(Ok(entry)) if is_ours(entry.file_name()) => {
                    let orphan = dir.try_clone().map(|parent| Location {
                        parent,
                        name: entry.file_name().to_owned(),
                        path: PathBuf::new(),
                    });
                    self.current = orphan
                        .ok()
                        .and_then(LockedDirectory::lock_orphan)
                        .map(Removal::new);
                    break;
                }
                Some(_) => {}
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.join("a/b")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let left = make("skillrun-scratch-abcdefghijkl", 0o700);
        let kept = [
            make("skillrun-scratch-abcdefghijk", 0o700),
            make("skillrun-abcdefghijkl", 0o700),
            make("skillrun-scratch-readbyothers", 0o755),
            make("skillrun-scratch-notes_of_us_", 0o700),
        ];
        let live = make("skillrun-scratch-012345678901", 0o700);
        let owner = LockedDirectory::lock(Location::at(&live)).unwrap();
        let link = folder.path().join("skillrun-scratch-linklinklink");
        std::os::unix::fs::symlink(&kept[0], &link).unwrap();
        let sweep = || {
            // What cannot be read is skipped.
            let missing = folder.path().join("missing");
            let mut sweep = Sweep::new(vec![folder.path().to_owned(), missing]);
            while sweep.step() {}
        };
        sweep();
        assert!(!left.exists() && live.join("a/b").exists() && link.is_symlink());
        assert!(kept.iter().all(|path| path.join("a/b").exists()));
        // What another process is removing is locked, too.
        assert!(LockedDirectory::lock_orphan(Location::at(&live)).is_none());
        drop(owner);
        sweep();
        assert!(!live.exists());
    }
}
