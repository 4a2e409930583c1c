//! Lists the files that a run created, changed or removed in writable directories.
//!
//! In the wasm tier every change passes through the host, so only what was changed is looked at: a workspace may have
//! a hundred thousand files, and a run takes milliseconds. The kernel does not report the changes of native programs,
//! so there the directories are compared before and after the run ([`Snapshot`]), unless they are large.
//!
//! Files are opened after the run without following links, and only regular files are read. Another process may still
//! change them meanwhile: a size and a hash belong together, and neither is a promise.
//!
//! Everything here stops when its caller says so: a slow disk must not delay the outcome, whose reader can do without
//! the rest of the list.

use crate::outcome::{Artifact, Change};
use crate::plan::{Checked, Plan};
use crate::text::hex;
use cap_fs_ext::OpenOptionsFollowExt as _;
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run waits for its list, beyond its own time. The watchdog of a guest allows twice as much.
const MAX_TIME: Duration = Duration::from_millis(500);
/// Artefacts in one outcome.
pub(crate) const MAX_ARTIFACTS: usize = 1000;
/// Bytes that are read to hash them, of all files together: a tenth of a second.
const MAX_HASHED: u64 = 64 << 20;
/// Paths that are remembered during a run, and their bytes.
const MAX_CHANGED: usize = 10_000;
const MAX_CHANGED_BYTES: usize = 1 << 20;
/// Entries of the writable directories that are compared: beyond that, a run would wait longer for it than it takes.
const MAX_ENTRIES: usize = 10_000;
/// Directories inside each other.
const MAX_DEPTH: usize = 64;

/// Files that a run changed, by their real paths.
#[derive(Debug, Default)]
pub(crate) struct ChangedPaths {
    /// Whether each existed before the run.
    files: HashMap<PathBuf, bool>,
    bytes: usize,
    /// Whether a path did not fit.
    is_full: bool,
    truncated: bool,
}

impl ChangedPaths {
    /// Records that a file was created, changed or removed. What it was before the run is known the first time.
    pub(crate) fn add(&mut self, path: PathBuf, existed: bool) {
        if self.files.contains_key(&path) {
            return;
        }
        let bytes = self.bytes + path.as_os_str().len();
        if self.files.len() >= MAX_CHANGED || bytes > MAX_CHANGED_BYTES {
            (self.is_full, self.truncated) = (true, true);
            return;
        }
        self.bytes = bytes;
        self.files.insert(path, existed);
    }

    /// Records that something was changed whose path is not known.
    pub(crate) fn set_truncated(&mut self) {
        self.truncated = true;
    }

    /// Records that the directory `old` was renamed to `new`; `dir` is its handle. Costs time for each entry, unless
    /// there is no space for them.
    pub(crate) fn add_moved(&mut self, old: &Path, new: &Path, dir: impl AsFd) {
        if self.is_full {
            return;
        }
        let mut moved = Vec::new();
        let mut left = Left {
            entries: MAX_CHANGED,
            in_time: &in_time(),
            is_incomplete: false,
        };
        let mut add = |path, _| moved.push(path);
        let walked = walk(dir, Path::new(""), 0, &mut left, &mut add);
        self.truncated |= walked.is_err() || left.is_incomplete;
        for path in moved {
            self.add(old.join(&path), true);
            self.add(new.join(&path), false);
        }
    }

    /// What came of the files, and whether the list is complete. Without the rest if `in_time` returns false.
    pub(crate) fn list(self, directories: &Directories, in_time: &dyn Fn() -> bool) -> Artifacts {
        let mut listed: Vec<(String, PathBuf, bool)> = Vec::new();
        for (path, existed) in self.files {
            listed.push((directories.shown(&path), path, existed));
        }
        listed.sort();
        let mut artifacts = Artifacts {
            truncated: self.truncated,
            ..Artifacts::default()
        };
        let mut left = MAX_HASHED;
        for (shown, path, existed) in listed {
            if !in_time() {
                artifacts.truncated = true;
                break;
            }
            // A native script may have made its directory inaccessible: what became of the file is not known.
            let Ok(now) = directories.find(&path) else {
                artifacts.truncated = true;
                continue;
            };
            let change = match (existed, &now) {
                (true, Some(_)) => Change::Changed,
                (false, Some(_)) => Change::Created,
                (true, None) => Change::Removed,
                (false, None) => continue,
            };
            if artifacts.listed.len() == MAX_ARTIFACTS {
                artifacts.truncated = true;
                break;
            }
            let (bytes, sha256) = match now {
                Some(file) => file.measure(&mut left, in_time),
                None => (None, None),
            };
            artifacts.listed.push(Artifact {
                path: shown,
                change,
                bytes,
                sha256,
            });
        }
        artifacts
    }
}

/// The artefacts of a run.
#[derive(Debug, Default)]
pub(crate) struct Artifacts {
    pub(crate) listed: Vec<Artifact>,
    /// Whether there may be more.
    pub(crate) truncated: bool,
}

/// Returns true for [`MAX_TIME`] from now on.
pub(crate) fn in_time() -> impl Fn() -> bool {
    let end = Instant::now() + MAX_TIME;
    move || Instant::now() < end
}

/// The writable directories of a run, and how their paths are shown to the caller.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    pub(crate) writable: Vec<Directory>,
    /// The real path of the workspace; paths inside it are shown relative to it.
    pub(crate) workspace: Option<PathBuf>,
    /// The real path of the skill, and the one that is shown: the private path of a skill that was given as bytes means
    /// nothing to the caller.
    pub(crate) skill: Option<(PathBuf, PathBuf)>,
}

/// A writable directory.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Its handle; that of the file itself if `is_file`.
    pub(crate) dir: Arc<File>,
    pub(crate) is_file: bool,
    /// Its real path.
    pub(crate) host: PathBuf,
    /// The only entry that counts, if a single file was granted.
    pub(crate) only: Option<String>,
}

impl Directories {
    pub(crate) fn of(plan: &Plan) -> Self {
        let writable = plan.mounts().filter(|mount| mount.writable);
        let writable = writable.map(|mount| Directory {
            dir: Arc::clone(&mount.dir),
            is_file: false,
            host: mount.host.clone(),
            only: mount.only.clone(),
        });
        Self {
            writable: writable.collect(),
            ..Self::shown_for(plan)
        }
    }

    /// How paths are shown in a plan, without any directory.
    pub(crate) fn shown_for(plan: &Plan) -> Self {
        let workspace = plan.workspace.as_ref().map(|mount| mount.host.clone());
        let skill = match (&plan.target, &plan.skill_mount) {
            (Checked::Script(script), Some(mount)) => {
                Some((mount.host.clone(), script.skill.path().to_owned()))
            }
            _ => None,
        };
        Self {
            writable: Vec::new(),
            workspace,
            skill,
        }
    }

    /// A path as the caller names it: relative to the workspace, or else absolute.
    fn shown(&self, path: &Path) -> String {
        let in_workspace = || path.strip_prefix(self.workspace.as_ref()?).ok();
        let in_skill = || {
            let (host, shown) = self.skill.as_ref()?;
            Some(shown.join(path.strip_prefix(host).ok()?))
        };
        let shown = in_workspace().map(Path::to_owned).or_else(in_skill);
        let shown = shown.as_deref().unwrap_or(path);
        shown.to_string_lossy().into_owned()
    }

    /// The regular file at a path inside one of the directories.
    fn find(&self, path: &Path) -> io::Result<Option<Found>> {
        let inside = |directory: &Directory| {
            let below = path.strip_prefix(&directory.host).ok()?.to_owned();
            let only = directory.only.as_ref();
            let hidden = only.is_some_and(|only| Path::new(only) != below);
            (!hidden).then_some(below)
        };
        let mut directories = self.writable.iter();
        let found =
            directories.find_map(|directory| inside(directory).map(|below| (directory, below)));
        let Some((directory, below)) = found else {
            return Ok(None);
        };
        let mut options = OpenOptions::new();
        options
            .read(true)
            .follow(FollowSymlinks::No)
            .custom_flags(OFlags::PATH.bits().cast_signed());
        let opened = match directory.is_file {
            true => directory.dir.try_clone(),
            false => cap_primitives::fs::open(&directory.dir, &below, &options),
        };
        let handle = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // A name on the way is no directory any more.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
            opened => opened?,
        };
        let meta = handle.metadata()?;
        Ok(meta.is_file().then(|| Found {
            handle,
            size: meta.len(),
        }))
    }
}

/// A file that was located, but not opened.
struct Found {
    handle: File,
    size: u64,
}

impl Found {
    /// The size, and the hash unless the file is larger than `left` or it takes too long.
    fn measure(self, left: &mut u64, in_time: &dyn Fn() -> bool) -> (Option<u64>, Option<String>) {
        match self.hash(*left, in_time) {
            Ok(Some((bytes, hash))) => {
                *left -= bytes;
                (Some(bytes), Some(hash))
            }
            _ => (Some(self.size), None),
        }
    }

    fn hash(&self, most: u64, in_time: &dyn Fn() -> bool) -> io::Result<Option<(u64, String)>> {
        if self.size > most {
            return Ok(None);
        }
        // A file that another process has a lease on is not waited for.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let path = format!("/proc/self/fd/{}", self.handle.as_raw_fd());
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let (mut digest, mut bytes) = (Sha256::new(), 0);
        let mut part = vec![0; 64 << 10];
        let mut file = file.take(most + 1);
        loop {
            let count = file.read(&mut part)?;
            if count == 0 {
                return Ok(Some((bytes, hex(&digest.finalize()))));
            }
            bytes += count as u64;
            // It has grown since.
            if bytes > most || !in_time() {
                return Ok(None);
            }
            digest.update(&part[..count]);
        }
    }
}

/// The files in the writable directories of a run, to be compared with a later look at the same directories.
#[derive(Debug)]
pub(crate) struct Snapshot {
    files: HashMap<PathBuf, Stamp>,
    /// Whether there are directories that could not be read: a script can hide files there.
    is_incomplete: bool,
}

/// What changes if a file is changed or replaced.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Snapshot {
    /// Looks at all files. `None` if there are too many, or if `in_time` returns false.
    pub(crate) fn take(directories: &Directories, in_time: &dyn Fn() -> bool) -> Option<Self> {
        let mut files = HashMap::new();
        let mut left = Left {
            entries: MAX_ENTRIES,
            in_time,
            is_incomplete: false,
        };
        for mount in &directories.writable {
            let nested = |other: &Directory| {
                other.only.is_none()
                    && other.host != mount.host
                    && mount.host.starts_with(&other.host)
            };
            if directories.writable.iter().any(nested) {
                continue;
            }
            let mut add = |below: PathBuf, stamp: Stamp| {
                files.insert(mount.host.join(below), stamp);
            };
            match &mount.only {
                Some(only) => {
                    if let Some((FileType::RegularFile, stamp)) =
                        stamp(&mount.dir, OsStr::new(only))
                    {
                        add(only.into(), stamp);
                    }
                }
                None => walk(&mount.dir, Path::new(""), 0, &mut left, &mut add).ok()?,
            }
        }
        Some(Self {
            files,
            is_incomplete: left.is_incomplete,
        })
    }

    /// What is different now. Without the rest if `in_time` returns false.
    pub(crate) fn compare(
        mut self,
        directories: &Directories,
        in_time: &dyn Fn() -> bool,
    ) -> Artifacts {
        let Some(now) = Self::take(directories, in_time) else {
            return Artifacts {
                truncated: true,
                ..Artifacts::default()
            };
        };
        let mut changed = ChangedPaths {
            truncated: self.is_incomplete || now.is_incomplete,
            ..ChangedPaths::default()
        };
        for (path, stamp) in now.files {
            match self.files.remove(&path) {
                Some(before) if before == stamp => {}
                Some(_) => changed.add(path, true),
                None => changed.add(path, false),
            }
        }
        for (path, _) in self.files {
            changed.add(path, true);
        }
        changed.list(directories, in_time)
    }
}

/// How much more a walk may look at.
struct Left<'a> {
    entries: usize,
    in_time: &'a dyn Fn() -> bool,
    /// Set if a directory could not be read.
    is_incomplete: bool,
}

impl Left<'_> {
    /// Counts an entry. Fails if it is one too many, or too late.
    fn count(&mut self) -> Result<(), WalkError> {
        match self.entries.checked_sub(1) {
            Some(entries) if (self.in_time)() => self.entries = entries,
            _ => return Err(WalkError::TooMuch),
        }
        Ok(())
    }
}

/// Why a walk ended early.
#[derive(Debug)]
enum WalkError {
    /// There are more entries than are left, they are too deep, or it is too late.
    TooMuch,
    /// A directory could not be read.
    Unreadable(Errno),
}

impl From<Errno> for WalkError {
    fn from(error: Errno) -> Self {
        Self::Unreadable(error)
    }
}

/// Calls `add` with every regular file in a directory, by its path relative to the first one. Links are not followed.
/// Fails if more is found than is `left`, or if the first directory cannot be read.
fn walk(
    dir: impl AsFd,
    path: &Path,
    depth: usize,
    left: &mut Left<'_>,
    add: &mut dyn FnMut(PathBuf, Stamp),
) -> Result<(), WalkError> {
    if depth > MAX_DEPTH {
        return Err(WalkError::TooMuch);
    }
    // Opened again, because a handle may be for a path only.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut entries = Dir::new(rustix::fs::openat(dir, ".", flags, Mode::empty())?)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        left.count()?;
        if !matches!(
            entry.file_type(),
            FileType::RegularFile | FileType::Directory | FileType::Unknown
        ) {
            continue;
        }
        let dir = entries.fd()?;
        match stamp(dir, name) {
            Some((FileType::RegularFile, stamp)) => add(path.join(name), stamp),
            Some((FileType::Directory, _)) => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let inner = rustix::fs::openat(dir, name, flags, Mode::empty());
                let walked = inner
                    .map_err(WalkError::from)
                    .and_then(|inner| walk(inner, &path.join(name), depth + 1, left, add));
                match walked {
                    Ok(()) | Err(WalkError::Unreadable(Errno::NOENT)) => {}
                    Err(WalkError::Unreadable(_)) => left.is_incomplete = true,
                    Err(WalkError::TooMuch) => return Err(WalkError::TooMuch),
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn stamp(dir: impl AsFd, name: &OsStr) -> Option<(FileType, Stamp)> {
    let meta = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let stamp = Stamp {
        device: meta.st_dev,
        inode: meta.st_ino,
        size: u64::try_from(meta.st_size).unwrap_or(0),
        changed: (
            meta.st_ctime,
            i64::try_from(meta.st_ctime_nsec).unwrap_or(0),
        ),
    };
    Some((FileType::from_raw_mode(meta.st_mode), stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_finds_regular_files_and_stops_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        for name in ["x", "a/y", "a/b/z"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        let dir = File::open(folder.path()).unwrap();
        // Three files, two directories and a link.
        for (limit, fits) in [(6, true), (5, false)] {
            let mut found = Vec::new();
            let mut left = Left {
                entries: limit,
                in_time: &|| true,
                is_incomplete: false,
            };
            let walked = walk(&dir, Path::new(""), 0, &mut left, &mut |path, _| {
                found.push(path);
            });
            assert_eq!(walked.is_ok(), fits);
            found.sort();
            if fits {
                assert_eq!(found, ["a/b/z", "a/y", "x"].map(PathBuf::from));
            }
        }
    }

    /// A workspace in this folder.
    fn workspace_in(folder: &Path) -> Directories {
        let host = folder.canonicalize().unwrap();
        let dir = File::open(&host).unwrap().into();
        Directories {
            workspace: Some(host.clone()),
            writable: vec![Directory {
                dir,
                is_file: false,
                host,
                only: None,
            }],
            skill: None,
        }
    }

    #[test]
    fn a_list_that_takes_too_long_ends_early() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), vec![0; 200 << 10]).unwrap();
        std::fs::write(folder.path().join("b"), "b").unwrap();
        let directories = workspace_in(folder.path());
        let host = &directories.writable[0].host;
        // Asked once before each file, and after each piece of 64 KiB.
        for (times, expected) in [
            (0, vec![]),
            (1, vec![("a", false)]),
            (4, vec![("a", false)]),
            (5, vec![("a", true)]),
            (7, vec![("a", true), ("b", true)]),
        ] {
            let mut changed = ChangedPaths::default();
            for name in ["a", "b"] {
                changed.add(host.join(name), true);
            }
            let left = std::cell::Cell::new(times);
            let in_time = || {
                let before: usize = left.get();
                left.set(before.saturating_sub(1));
                before > 0
            };
            let artifacts = changed.list(&directories, &in_time);
            let listed = artifacts.listed.iter();
            let listed: Vec<_> = listed
                .map(|file| (file.path.as_str(), file.sha256.is_some()))
                .collect();
            assert_eq!(listed, expected, "{times}");
            assert_eq!(artifacts.truncated, listed.len() < 2, "{times}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_looked_up_is_not_reported_as_removed() {
        let folder = tempfile::tempdir().unwrap();
        let directories = workspace_in(folder.path());
        let host = &directories.writable[0].host;
        std::fs::write(host.join("changed"), "").unwrap();
        // Root may enter every directory, but nobody a link that leads to itself.
        std::os::unix::fs::symlink("loop", host.join("loop")).unwrap();
        let mut changed = ChangedPaths::default();
        for name in ["changed", "loop/hidden", "removed"] {
            changed.add(host.join(name), true);
        }
        let artifacts = changed.list(&directories, &|| true);
        let listed = artifacts.listed.iter();
        let listed: Vec<_> = listed
            .map(|file| (file.path.as_str(), file.change))
            .collect();
        let expected = [("changed", Change::Changed), ("removed", Change::Removed)];
        assert_eq!(
            (listed.as_slice(), artifacts.truncated),
            (&expected[..], true)
        );
    }

    #[test]
    fn paths_are_remembered_up_to_a_limit() {
        let mut changed = ChangedPaths::default();
        for number in 0..=MAX_CHANGED {
            assert!(!changed.truncated);
            changed.add(number.to_string().into(), true);
        }
        assert!(changed.truncated);
        let mut changed = ChangedPaths::default();
        changed.add("x".repeat(MAX_CHANGED_BYTES).into(), true);
        assert!(!changed.truncated);
        changed.add("y".into(), true);
        assert!(changed.truncated);
    }

    #[test]
    fn a_renamed_directory_is_not_read_if_its_paths_do_not_fit() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x"), "").unwrap();
        let dir = File::open(folder.path()).unwrap();
        let (old, new) = (Path::new("/old"), Path::new("/new"));
        let mut changed = ChangedPaths::default();
        changed.add_moved(old, new, &dir);
        assert_eq!(changed.files.len(), 2);
        // Something that is not a directory shows whether it was read: that would cut the list.
        let no_dir = File::open(folder.path().join("x")).unwrap();
        for (is_full, truncated) in [(true, false), (false, true)] {
            let mut changed = ChangedPaths {
                is_full,
                ..ChangedPaths::default()
            };
            changed.add_moved(old, new, &no_dir);
            assert_eq!(changed.truncated, truncated);
        }
    }

    #[test]
    fn what_a_file_was_before_the_run_is_known_from_its_first_change() {
        let mut changed = ChangedPaths::default();
        changed.add("a".into(), false);
        changed.add("a".into(), true);
        assert!(!changed.files[Path::new("a")]);
    }
}
