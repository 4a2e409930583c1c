//! The content of a skill as one hash: an approval is for a script *and* for everything it can import, read
//! or source from its skill, so that any change asks again.
//!
//! All files count, not only those that look like code: a script may execute anything it can read. A link
//! counts by the name of its target; if the target is inside the skill, that file counts by itself.

use crate::files;
use crate::text::{hex, path_text};
use cap_std::fs::{Dir, FileTypeExt as _, Metadata, MetadataExt as _};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The same number that is searched for scripts. Reading them takes some tenths of a second, and that happens four
/// times at most: for the question, for the answer, before the run, and if the run had to wait for a slot.
const MAX_FILES: usize = 20_000;
/// Hashed in a quarter of a second by a processor with SHA instructions, and in under a second by others. Published
/// skills have a few MiB; the ones that bring models or browsers along have gigabytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Each level keeps its directory open, and a process can usually have 1024 files open. Directories nested by hand are
/// never so deep, and packages installed in each other reach some 20 levels.
const MAX_DEPTH: usize = 64;

/// How much older than the hash a file must be for its times to prove that it did not change since. The kernel rounds the
/// times of files to a tick of some milliseconds, ext4 with small inodes to a second, vfat to two.
const TIME_GRANULARITY: Duration = Duration::from_secs(3);
/// How long after a read unchanged stamps are trusted.
const STAMPS_TRUSTED_FOR: Duration = Duration::from_secs(1);

/// Every file of a skill with the hash of its content, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FileHashes(BTreeMap<String, String>);

/// Everything in a skill at one moment.
#[derive(Debug)]
pub struct Content {
    files: FileHashes,
    hash: String,
    /// What the file system said about each file, if that can show later that nothing changed.
    stamps: Option<BTreeMap<String, Stamp>>,
    /// When the files were last read and had this content.
    last_read: Mutex<Instant>,
}

/// The identity, size and times of a file. The kernel updates the time of the last change with most writes, and no
/// program can set it. `docs/approvals.md` lists the exceptions, which is why stamps are compared only where little time
/// passes: a second write through a memory mapping may leave the times as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            file: (meta.dev(), meta.ino()),
            mode: meta.mode(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl Content {
    /// Hashes everything in a folder. Fails with the reason if it is too large or cannot be read.
    pub fn of_folder(root: &Dir) -> Result<Self, String> {
        let cutoff = SystemTime::now().checked_sub(TIME_GRANULARITY);
        let cutoff = cutoff.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let cutoff = cutoff.map_or((0, 0), |time| {
            (time.as_secs().cast_signed(), i64::from(time.subsec_nanos()))
        });
        let last_read = Mutex::new(Instant::now());
        let mut walk = Walk::new(Depth::Hash);
        walk.top(root)?;
        let comparable = walk.stamps.values().all(|stamp| stamp.changed < cutoff);
        let files = FileHashes(walk.files);
        Ok(Self {
            hash: files.hash(),
            files,
            stamps: comparable.then_some(walk.stamps),
            last_read,
        })
    }

    /// A command of this machine.
    pub fn of_command(path: &Path, hash: &str) -> Self {
        let files = FileHashes([(path_text(path), hash.to_owned())].into());
        Self {
            hash: files.hash(),
            files,
            stamps: None,
            last_read: Mutex::new(Instant::now()),
        }
    }

    /// One hash for all of it.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The hash of every file.
    pub fn files(&self) -> &FileHashes {
        &self.files
    }

    /// Whether there is a file with this path and hash.
    pub fn contains_file(&self, path: &Path, hash: &str) -> bool {
        let found = self.files.0.get(&path_text(path));
        found.is_some_and(|found| found.trim_end_matches(EXECUTABLE) == hash)
    }

    /// Whether the folder still has this content. Reads every file again.
    ///
    /// Fails with the reason if the folder cannot be read.
    pub fn is_unchanged(&self, root: &Dir) -> Result<bool, String> {
        let now = Instant::now();
        let is_unchanged = Self::of_folder(root)?.hash == self.hash;
        if is_unchanged {
            *self.last_read() = now;
        }
        Ok(is_unchanged)
    }

    /// The same as [`Content::is_unchanged`]; but if the files were read less than a second ago, and the file system reports
    /// the same identities, sizes and times as before, they are not read again.
    ///
    /// A program that has mapped a file into its memory could change it without changing its times, but it could as well
    /// wait until after this check.
    pub fn is_current(&self, root: &Dir) -> Result<bool, String> {
        if let Some(stamps) = &self.stamps
            && self.last_read().elapsed() < STAMPS_TRUSTED_FOR
        {
            let mut walk = Walk::new(Depth::Stat);
            if walk.top(root).is_ok() && walk.stamps == *stamps {
                return Ok(true);
            }
        }
        self.is_unchanged(root)
    }

    fn last_read(&self) -> MutexGuard<'_, Instant> {
        self.last_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileHashes {
    fn hash(&self) -> String {
        let mut all = Sha256::new();
        for (path, hash) in &self.0 {
            // The length of each part comes first, so that no two contents feed the same bytes.
            for part in [path, hash] {
                all.update((part.len() as u64).to_le_bytes());
                all.update(part.as_bytes());
            }
        }
        hex(&all.finalize())
    }

    /// The files that differ between two contents, each as `new`, `removed` or `changed`.
    pub fn changes_since(&self, before: &Self) -> Vec<(String, &'static str)> {
        let mut all: Vec<&String> = self.0.keys().chain(before.0.keys()).collect();
        all.sort();
        all.dedup();
        let how = |path: &String| match (before.0.get(path), self.0.get(path)) {
            (None, Some(_)) => Some("new"),
            (Some(_), None) => Some("removed"),
            (old, new) if old != new => Some("changed"),
            _ => None,
        };
        let changed = all.into_iter();
        let changed = changed.filter_map(|path| Some((path.clone(), how(path)?)));
        changed.collect()
    }
}

/// Appended to the hash of an executable file.
const EXECUTABLE: &str = "+x";

/// How much of each file a walk reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// What the file system says about it.
    Stat,
    /// All of it.
    Hash,
}

/// A walk over everything in a folder.
struct Walk {
    depth: Depth,
    files: BTreeMap<String, String>,
    stamps: BTreeMap<String, Stamp>,
    bytes: u64,
}

impl Walk {
    fn new(depth: Depth) -> Self {
        Self {
            depth,
            files: BTreeMap::new(),
            stamps: BTreeMap::new(),
            bytes: 0,
        }
    }

    fn top(&mut self, root: &Dir) -> Result<(), String> {
        let plain = |error: std::io::Error| files::plain(&error);
        let own = root.try_clone().map_err(plain)?;
        // The stamps are read before the contents, so that a later change always shows.
        let meta = own.dir_metadata().map_err(plain)?;
        self.stamps.insert(String::new(), Stamp::of(&meta));
        self.folder(&own, Path::new(""), 0)
    }

    fn folder(&mut self, dir: &Dir, path: &Path, level: usize) -> Result<(), String> {
        if level > MAX_DEPTH {
            return Err(format!(
                "it has more than {MAX_DEPTH} levels of directories"
            ));
        }
        let unreadable = |path: &Path, why: String| {
            format!("`{}` {why}", files::show(&path.display().to_string()))
        };
        let failed = |path: &Path, error: &std::io::Error| {
            unreadable(path, format!("cannot be read: {}", files::plain(error)))
        };
        let entries = dir.entries();
        let entries = entries.map_err(|error| failed(path, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| failed(path, &error))?;
            let name = PathBuf::from(entry.file_name());
            let inner = path.join(&name);
            let fail = |error: std::io::Error| failed(&inner, &error);
            let meta = entry.metadata().map_err(fail)?;
            let kind = meta.file_type();
            let hash = if kind.is_dir() {
                let below = entry.open_dir().map_err(fail)?;
                self.folder(&below, &inner, level + 1)?;
                "folder".to_owned()
            } else if kind.is_symlink() {
                let target = dir.read_link_contents(&name).map_err(fail)?;
                format!("link to {}", path_text(&target))
            } else if kind.is_file() {
                match self.depth {
                    Depth::Stat => String::new(),
                    Depth::Hash => self
                        .file(dir, &name)
                        .map_err(|why| unreadable(&inner, why))?,
                }
            } else if kind.is_socket() {
                // It can be neither run nor read.
                "special".to_owned()
            } else {
                // Reading it yields something else each time.
                return Err(unreadable(&inner, "is a FIFO or a device".into()));
            };
            if self.files.len() >= MAX_FILES {
                return Err(format!("it contains more than {MAX_FILES} files"));
            }
            let name = path_text(&inner);
            self.stamps.insert(name.clone(), Stamp::of(&meta));
            if self.files.insert(name, hash).is_some() {
                return Err(unreadable(&inner, "appears twice".into()));
            }
        }
        Ok(())
    }

    fn file(&mut self, dir: &Dir, name: &Path) -> Result<String, String> {
        let (mut file, meta) = files::open(dir, name).map_err(|error| error.to_string())?;
        let executable = match meta.mode() & 0o111 {
            0 => "",
            _ => EXECUTABLE,
        };
        let mut hash = Sha256::new();
        let mut part = vec![0; 64 * 1024];
        loop {
            let count = file.read(&mut part).map_err(|error| files::plain(&error))?;
            if count == 0 {
                return Ok(hex(&hash.finalize()) + executable);
            }
            self.bytes += count as u64;
            if self.bytes > MAX_BYTES {
                let limit = MAX_BYTES / (1024 * 1024);
                return Err(format!("exceeds the limit of {limit}MiB for a skill"));
            }
            hash.update(&part[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    fn try_content(folder: &Path) -> Result<Content, String> {
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).unwrap();
        Content::of_folder(&dir)
    }

    fn content(folder: &Path) -> Content {
        try_content(folder).unwrap()
    }

    #[test]
    fn a_skill_that_cannot_be_hashed_as_a_whole_has_no_content() {
        let fails = |make: &dyn Fn(&Path), why: &str| {
            let folder = tempfile::tempdir().unwrap();
            make(folder.path());
            assert_eq!(try_content(folder.path()).unwrap_err(), why);
        };
        let deep = |levels: usize| {
            move |folder: &Path| {
                std::fs::create_dir_all(folder.join("d/".repeat(levels))).unwrap();
            }
        };
        fails(&deep(65), "it has more than 64 levels of directories");
        let large = |bytes: u64| {
            move |folder: &Path| {
                let file = std::fs::File::create(folder.join("large")).unwrap();
                file.set_len(bytes).unwrap();
            }
        };
        fails(
            &large(MAX_BYTES + 1),
            "`large` exceeds the limit of 256MiB for a skill",
        );
        let many = |count: usize| {
            move |folder: &Path| {
                let first = folder.join("0");
                std::fs::write(&first, "").unwrap();
                for n in 1..count {
                    std::fs::hard_link(&first, folder.join(n.to_string())).unwrap();
                }
            }
        };
        fails(&many(MAX_FILES + 1), "it contains more than 20000 files");
        let fifo = |folder: &Path| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, folder.join("f"), kind, mode, 0).unwrap();
        };
        fails(&fifo, "`f` is a FIFO or a device");
        // The allowed twins: exactly at each limit, and a socket, which cannot be read.
        for make in [
            &deep(64) as &dyn Fn(&Path),
            &large(MAX_BYTES),
            &many(MAX_FILES),
        ] {
            let folder = tempfile::tempdir().unwrap();
            make(folder.path());
            try_content(folder.path()).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap();
        try_content(folder.path()).unwrap();
    }

    #[test]
    fn any_change_changes_the_hash_and_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("scripts/lib")).unwrap();
        std::fs::write(at("scripts/a.py"), "import lib.b").unwrap();
        std::fs::write(at("scripts/lib/b.py"), "1").unwrap();
        let first = content(folder.path());
        assert_eq!(first.hash(), content(folder.path()).hash());
        std::fs::write(at("scripts/lib/b.py"), "2").unwrap();
        std::fs::write(at("new"), "").unwrap();
        std::fs::remove_file(at("scripts/a.py")).unwrap();
        std::os::unix::fs::symlink("new", at("link")).unwrap();
        let second = content(folder.path());
        assert_ne!(first.hash(), second.hash());
        let changes = second.files().changes_since(first.files());
        let changes: Vec<_> = changes.iter().map(|(p, how)| (p.as_str(), *how)).collect();
        assert_eq!(
            changes,
            [
                ("link", "new"),
                ("new", "new"),
                ("scripts/a.py", "removed"),
                ("scripts/lib/b.py", "changed")
            ]
        );
    }

    #[test]
    fn only_the_bytes_that_were_hashed_are_contained() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("SKILL.md"), "---\ndescription: d\n---\n").unwrap();
        std::fs::write(folder.path().join("a.py"), "1").unwrap();
        let skill = crate::Skill::load(folder.path()).unwrap();
        let content = Content::of_folder(&skill.root()).unwrap();
        let contains =
            |bytes| content.contains_file(Path::new("a.py"), &hex(&Sha256::digest(bytes)));
        assert_eq!(skill.digest(), Ok(format!("sha256:{}", content.hash())));
        assert!(contains("1"));
        // Other bytes were read, and the file was restored before it was hashed.
        assert!(!contains("2"));
    }

    /// Lets files look as if they had been written long ago.
    fn with_stamps(content: Content, folder: &Path) -> Content {
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).unwrap();
        let mut walk = Walk::new(Depth::Stat);
        walk.top(&dir).unwrap();
        Content {
            stamps: Some(walk.stamps),
            ..content
        }
    }

    #[test]
    fn a_content_is_current_until_something_changes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        std::fs::create_dir(at("d")).unwrap();
        std::fs::write(at("d/a"), "1").unwrap();
        std::os::unix::fs::symlink("d", at("link")).unwrap();
        for stamped in [false, true] {
            let content = || match stamped {
                true => with_stamps(content(folder.path()), folder.path()),
                false => content(folder.path()),
            };
            // Files that were just written may change again without another time.
            assert_eq!(content().stamps.is_some(), stamped);
            let before = content();
            assert_eq!(before.is_current(&dir), Ok(true));
            // Another size: within one tick of the clock, the times may stay the same.
            std::fs::write(at("d/a"), "22").unwrap();
            assert_eq!(before.is_current(&dir), Ok(false));
            let before = content();
            std::fs::write(at("d/new"), "").unwrap();
            assert_eq!(before.is_current(&dir), Ok(false));
            std::fs::remove_file(at("d/new")).unwrap();
            // The same bytes again are the same content, whatever the times say.
            assert_eq!(before.is_current(&dir), Ok(true));
            let before = content();
            std::fs::remove_file(at("link")).unwrap();
            std::os::unix::fs::symlink(format!("elsewhere-{stamped}"), at("link")).unwrap();
            assert_eq!(before.is_current(&dir), Ok(false));
            std::fs::write(at("d/a"), "1").unwrap();
        }
    }

    #[test]
    fn unchanged_stamps_are_enough_for_a_second() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "1").unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let mut content = with_stamps(content(folder.path()), folder.path());
        let hash = std::mem::replace(&mut content.hash, "no folder has this hash".to_owned());
        // In the future, so that no second passes on a slow machine.
        let now = Instant::now() + Duration::from_secs(3600);
        *content.last_read() = now;
        assert_eq!(content.is_current(&dir), Ok(true));
        let long_ago = Instant::now().checked_sub(2 * STAMPS_TRUSTED_FOR);
        *content.last_read() = long_ago.unwrap();
        assert_eq!(content.is_current(&dir), Ok(false));
        assert_eq!(*content.last_read(), long_ago.unwrap());
        // A successful read starts another second.
        content.hash = hash;
        assert_eq!(content.is_current(&dir), Ok(true));
        assert!(*content.last_read() > long_ago.unwrap());
        *content.last_read() = now;
        content.hash = "no folder has this hash".to_owned();
        assert_eq!(content.is_current(&dir), Ok(true));
        content.stamps = None;
        assert_eq!(content.is_current(&dir), Ok(false));
    }

    #[test]
    fn bytes_cannot_move_between_names_and_contents_without_changing_the_hash() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(a, b)| ((*a).into(), (*b).into()));
            FileHashes(pairs.collect()).hash()
        };
        assert_ne!(of(&[("ab", "c")]), of(&[("a", "bc")]));
        assert_ne!(of(&[("a", "b"), ("c", "d")]), of(&[("a", "bcd")]));
    }

    /// What a write through a memory mapping does if the page was written before.
    #[test]
    fn a_change_without_another_time_is_found_by_reading_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        std::fs::write(folder.path().join("a"), "1").unwrap();
        let mut before = content(folder.path());
        assert!(before.is_unchanged(&root).unwrap());
        std::fs::write(folder.path().join("a"), "2").unwrap();
        let mut walk = Walk::new(Depth::Stat);
        walk.top(&root).unwrap();
        before.stamps = Some(walk.stamps);
        // In the future, so that no second passes on a slow machine.
        *before.last_read() = Instant::now() + Duration::from_secs(3600);
        assert!(before.is_current(&root).unwrap());
        assert!(!before.is_unchanged(&root).unwrap());
    }
}
