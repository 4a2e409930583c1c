//! The private directories of this process: they contain skills and workspaces that were given as bytes.
//!
//! Another tenant's files may be in each of them, so no script may reach one. File modes do not prevent that: all runs in the
//! wasm tier have the rights of this process, and a native script may change the modes of what its user owns. So no request
//! may name a private directory, or a directory around one, as a skill, a workspace or a grant; and no private directory is
//! made where a script that waits or runs already could reach it.
//!
//! Directories are compared by their identity, not only by their paths: a script that may write around the directory for
//! temporary files can rename it, and a bind mount is a second path.

use crate::walk::self_and_parents;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locked for moments only, without system calls: async threads lock it too.
static KNOWN: Mutex<Known> = Mutex::new(Known {
    private: BTreeMap::new(),
    reachable: BTreeMap::new(),
    is_making: false,
});

/// Locked while a private directory is compared with scripts, or a script with private directories. That asks file systems,
/// so only threads that may block lock it, and always before [`KNOWN`].
static COMPARING: Mutex<()> = Mutex::new(());

/// The device and inode of a directory.
pub(crate) type Identity = (u64, u64);

/// The identity of an open directory.
pub(crate) fn identity(handle: impl AsFd) -> io::Result<Identity> {
    let stat = rustix::fs::fstat(handle)?;
    Ok((stat.st_dev, stat.st_ino))
}

struct Known {
    /// The private directories by their real paths.
    private: BTreeMap<PathBuf, Arc<OwnedFd>>,
    /// What the scripts of waiting and running runs can reach, and how many of them.
    reachable: BTreeMap<Identity, usize>,
    /// Whether a private directory is being made.
    is_making: bool,
}

/// A directory that a script can reach.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Its real path when it was opened.
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
}

/// The private directories of this process at one moment.
pub(crate) struct Privates {
    directories: Vec<(PathBuf, Arc<OwnedFd>)>,
    /// Their identities and those of all directories around them; `None` if one of them cannot be found out.
    around: OnceCell<Option<BTreeSet<Identity>>>,
}

impl Privates {
    pub(crate) fn now() -> Self {
        let known = known();
        let all = known.private.iter();
        Self {
            directories: all
                .map(|(path, open)| (path.clone(), Arc::clone(open)))
                .collect(),
            around: OnceCell::new(),
        }
    }

    /// Whether a directory is one of them or around one, wherever it is by now. If that cannot be found out, it counts as
    /// one. May block.
    pub(crate) fn are_in(&self, directory: &Directory) -> bool {
        let find = || {
            let mut around = BTreeSet::new();
            for (_, private) in &self.directories {
                around.extend(self_and_parent_ids(private).ok()?);
            }
            Some(around)
        };
        let around = self.around.get_or_init(find).as_ref();
        around.is_none_or(|around| around.contains(&directory.identity))
    }

    /// Whether a real path is in one of them or around one.
    pub(crate) fn overlap(&self, path: &Path) -> bool {
        let mut paths = self.directories.iter().map(|(path, _)| path);
        paths.any(|private| private.starts_with(path) || path.starts_with(private))
    }
}

/// A private directory. No script can reach it until this is dropped.
#[derive(Debug)]
pub(crate) struct PrivatePath(PathBuf);

impl PrivatePath {
    /// Fails if a script could reach it. May block.
    pub(crate) fn new(path: PathBuf, directory: impl AsFd) -> io::Result<Self> {
        let _comparing = comparing();
        let open = Arc::new(directory.as_fd().try_clone_to_owned()?);
        let reachable = {
            let mut known = known();
            // From here on, no script is admitted. One that ends meanwhile counts: it may have moved the directory to
            // where another one reaches it.
            known.is_making = true;
            known.reachable.clone()
        };
        let around = self_and_parent_ids(&directory);
        let mut known = known();
        known.is_making = false;
        if around?.iter().any(|id| reachable.contains_key(id)) {
            let why = "a script that waits or runs may reach the temporary directory";
            return Err(io::Error::other(why));
        }
        known.private.insert(path.clone(), open);
        Ok(Self(path))
    }
}

impl Drop for PrivatePath {
    fn drop(&mut self) {
        let removed = known().private.remove(&self.0);
        drop(removed);
    }
}

/// What the script of one run can reach. No private directory is made there until this is dropped.
#[derive(Debug)]
pub(crate) struct Reachable(Vec<Identity>);

impl Reachable {
    /// Fails with the path of a directory that contains private ones. May block.
    pub(crate) fn new(directories: &[Directory]) -> Result<Self, PathBuf> {
        // No private directory is made meanwhile.
        let _comparing = comparing();
        let private = Privates::now();
        if let Some(reaches) = directories.iter().find(|one| private.are_in(one)) {
            return Err(reaches.path.clone());
        }
        Ok(Self::add(&mut known(), directories))
    }

    /// The same if there is nothing to compare with: no private directory exists or is being made. Does not block.
    pub(crate) fn without_private(directories: &[Directory]) -> Option<Self> {
        let mut known = known();
        let has_private = known.is_making || !known.private.is_empty();
        (!has_private).then(|| Self::add(&mut known, directories))
    }

    fn add(known: &mut Known, directories: &[Directory]) -> Self {
        let ids: Vec<Identity> = directories.iter().map(|one| one.identity).collect();
        for id in &ids {
            *known.reachable.entry(*id).or_default() += 1;
        }
        Self(ids)
    }
}

impl Drop for Reachable {
    fn drop(&mut self) {
        let mut known = known();
        for id in &self.0 {
            if let Some(count) = known.reachable.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    known.reachable.remove(id);
                }
            }
        }
    }
}

/// The identities of a directory and of those around it.
fn self_and_parent_ids(directory: impl AsFd) -> io::Result<Vec<Identity>> {
    let all = self_and_parents(directory)?;
    let id = |one: &crate::ownership::Ownership| (one.metadata().dev(), one.metadata().ino());
    Ok(all.iter().map(id).collect())
}

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn comparing() -> MutexGuard<'static, ()> {
    COMPARING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new(directories: &[&str]) -> Self {
            let folder = Self(tempfile::tempdir().unwrap());
            for directory in directories {
                fs::create_dir_all(folder.at(directory)).unwrap();
            }
            folder
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn directory(&self, name: &str) -> Directory {
            Directory {
                path: self.at(name),
                identity: identity(File::open(self.at(name)).unwrap()).unwrap(),
            }
        }

        fn private(&self, name: &str) -> io::Result<PrivatePath> {
            PrivatePath::new(self.at(name), File::open(self.at(name)).unwrap())
        }
    }

    #[test]
    fn a_private_directory_overlaps_with_what_is_in_it_and_around_it_until_it_is_dropped() {
        let folder = Folder::new(&["tmp/private/a", "tmp/privat", "tmp/private-", "other"]);
        let private = folder.private("tmp/private").unwrap();
        let is_private = |name: &&str| Privates::now().overlap(&folder.at(name));
        let all = ["", "tmp", "tmp/private", "tmp/private/a"];
        assert!(all.iter().all(is_private));
        let beside = ["tmp/privat", "tmp/private-", "other"];
        assert!(!beside.iter().any(is_private));
        drop(private);
        assert!(!all.iter().any(is_private));
    }

    #[test]
    fn no_private_directory_is_made_where_a_script_can_reach_it() {
        let folder = Folder::new(&["tmp/p", "tmp/q", "beside"]);
        let reach = |name| Reachable::new(&[folder.directory("beside"), folder.directory(name)]);
        let (first, second) = (reach("tmp").unwrap(), reach("tmp").unwrap());
        folder.private("tmp/p").unwrap_err();
        drop(first);
        folder.private("tmp/p").unwrap_err();
        drop(second);
        let private = folder.private("tmp/p").unwrap();
        assert_eq!(reach("tmp").unwrap_err(), folder.at("tmp"));
        drop(reach("tmp/q").unwrap());
        drop(private);
        drop(reach("tmp").unwrap());
    }

    #[test]
    fn a_comparison_holds_up_no_thread_that_may_not_block() {
        let folder = Folder::new(&["tmp/p", "beside"]);
        let private = folder.private("tmp/p").unwrap();
        let reachable = Reachable::new(&[folder.directory("beside")]).unwrap();
        // As if a file system did not answer.
        let _comparing = comparing();
        assert!(Reachable::without_private(&[folder.directory("tmp")]).is_none());
        drop((reachable, private));
        assert!(!Privates::now().overlap(&folder.at("tmp")));
    }

    #[test]
    fn a_renamed_directory_is_still_the_one_that_a_script_can_reach() {
        let folder = Folder::new(&["tmp", "y/private"]);
        let reachable = Reachable::new(&[folder.directory("y")]).unwrap();
        fs::rename(folder.at("tmp"), folder.at("old")).unwrap();
        fs::rename(folder.at("y"), folder.at("tmp")).unwrap();
        folder.private("tmp/private").unwrap_err();
        drop(reachable);
        // The other order: the private one first.
        let decided = folder.directory("tmp");
        let private = folder.private("tmp/private").unwrap();
        fs::rename(folder.at("tmp"), folder.at("elsewhere")).unwrap();
        assert!(Reachable::new(&[decided]).is_err());
        drop(private);
    }
}
