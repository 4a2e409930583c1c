//! The content of a skill as one hash: an approval is for a script *and* for everything it can import, read
//! or source from its skill, so that any change asks again.
//!
//! All files count, not only those that look like code: a script may execute anything it can read. A link
//! counts by the name of its target; if the target is inside the skill, that file counts by itself.

use crate::files;
use crate::text::hex;
use cap_std::fs::{Dir, FileTypeExt as _, MetadataExt as _};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The same number that is searched for scripts. Reading them takes some tenths of a second, and that happens three
/// times: for the question, for the answer and before the run.
const MAX_FILES: usize = 20_000;
/// Hashed in a quarter of a second by a processor with SHA instructions, and in under a second by others. Published
/// skills have a few MiB; the ones that bring models or browsers along have gigabytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Each level keeps its directory open, and a process can usually have 1024 files open. Directories nested by hand are
/// never so deep, and packages installed in each other reach some 20 levels.
const MAX_DEPTH: usize = 64;

/// Every file of a skill with the hash of its content, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Content(BTreeMap<String, String>);

impl Content {
    /// The content of one file.
    pub fn of_file(path: String, hash: String) -> Self {
        Self([(path, hash)].into())
    }

    /// Whether there is a file with this path and hash.
    pub fn contains_file(&self, path: &Path, hash: &str) -> bool {
        let found = self.0.get(&key(path));
        found.is_some_and(|found| found.trim_end_matches(EXECUTABLE) == hash)
    }

    /// Hashes everything in a skill. Fails with the reason if the skill is too large or cannot be read.
    pub fn of_folder(root: &Dir) -> Result<Self, String> {
        let mut hasher = Hasher {
            content: Self::default(),
            bytes: 0,
        };
        let own = root.try_clone().map_err(|error| files::plain(&error))?;
        hasher.folder(&own, Path::new(""), 0)?;
        Ok(hasher.content)
    }

    /// One hash for all of it.
    pub fn hash(&self) -> String {
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

/// A path as text. If it is not UTF-8, its bytes are appended, so that no two paths have the same text.
fn key(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        // No path contains a NUL.
        None => format!("{}\0{}", path.display(), hex(path.as_os_str().as_bytes())),
    }
}

struct Hasher {
    content: Content,
    bytes: u64,
}

impl Hasher {
    fn folder(&mut self, dir: &Dir, path: &Path, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
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
            let kind = entry.file_type().map_err(fail)?;
            let hash = if kind.is_dir() {
                let below = entry.open_dir().map_err(fail)?;
                self.folder(&below, &inner, depth + 1)?;
                "folder".to_owned()
            } else if kind.is_symlink() {
                let target = dir.read_link_contents(&name).map_err(fail)?;
                format!("link to {}", key(&target))
            } else if kind.is_file() {
                self.file(dir, &name)
                    .map_err(|why| unreadable(&inner, why))?
            } else if kind.is_socket() {
                // It can be neither run nor read.
                "special".to_owned()
            } else {
                // Reading it yields something else each time.
                return Err(unreadable(&inner, "is a FIFO or a device".into()));
            };
            if self.content.0.len() >= MAX_FILES {
                return Err(format!("it contains more than {MAX_FILES} files"));
            }
            if self.content.0.insert(key(&inner), hash).is_some() {
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
        assert_eq!(first, content(folder.path()));
        std::fs::write(at("scripts/lib/b.py"), "2").unwrap();
        std::fs::write(at("new"), "").unwrap();
        std::fs::remove_file(at("scripts/a.py")).unwrap();
        std::os::unix::fs::symlink("new", at("link")).unwrap();
        let second = content(folder.path());
        assert_ne!(first.hash(), second.hash());
        let changes = second.changes_since(&first);
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
    fn a_digest_is_valid_only_with_the_script_that_was_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("SKILL.md"), "---\ndescription: d\n---\n").unwrap();
        std::fs::write(folder.path().join("a.py"), "1").unwrap();
        let skill = crate::Skill::load(folder.path()).unwrap();
        let with = |bytes: &str| {
            let hash = hex(&Sha256::digest(bytes));
            skill.content_hash_with(Path::new("a.py"), &hash)
        };
        let hash = with("1").unwrap();
        assert_eq!(skill.digest(), Ok(format!("sha256:{hash}")));
        // Other bytes were read, and the file was restored before it was compared.
        assert_eq!(
            with("2"),
            Err("the script changed in the meantime".to_owned())
        );
    }

    #[test]
    fn bytes_cannot_move_between_names_and_contents_without_changing_the_hash() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(a, b)| ((*a).into(), (*b).into()));
            Content(pairs.collect()).hash()
        };
        assert_ne!(of(&[("ab", "c")]), of(&[("a", "bc")]));
        assert_ne!(of(&[("a", "b"), ("c", "d")]), of(&[("a", "bcd")]));
    }
}
