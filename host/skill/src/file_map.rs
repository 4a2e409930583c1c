//! Files that are given as bytes: a skill or a workspace that is not in a directory.
//!
//! A map contains only regular files and directories, under plain relative paths, within bounds. Everything that would
//! need a decision when it is written to a disk (a link, a device, `..`, two entries of one name) is refused here, so
//! that nothing else has to decide about it. Nothing here touches a disk.

use crate::text::show;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;

/// Levels of directories: as many as the content of a skill is hashed for.
const MAX_DEPTH: usize = 64;
/// Bytes of one name, as in the file systems of Linux.
const MAX_NAME: usize = 255;
/// Bytes of a path. The kernel takes 4095 bytes for a whole path, and that of the mount comes before this one.
const MAX_PATH: usize = 1024;
/// The mode of a file that was given without one.
const FILE_MODE: u32 = 0o644;
/// The bits of a mode: permissions, setuid, setgid and sticky.
const MODE_BITS: u32 = 0o7777;

/// How much a [`FileMap`] may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Files and directories, together.
    pub entries: usize,
    /// Bytes of all files, together.
    pub bytes: u64,
}

impl Default for Bounds {
    /// 20,000 entries and 256 MiB: a skill with more has no content hash, so no run of it could be approved.
    fn default() -> Self {
        Self {
            entries: 20_000,
            bytes: 256 * 1024 * 1024,
        }
    }
}

/// Files and directories by their paths, with `/` between the parts of a path.
///
/// ```
/// use skillrun_skill::FileMap;
/// let files = FileMap::from_files([
///     ("SKILL.md", "---\nname: hello\ndescription: Says hello.\n---\n"),
///     ("scripts/hello.py", "print('hello')\n"),
/// ])?;
/// let archive = files.to_tar()?;
/// assert_eq!(FileMap::from_tar(&archive)?, files);
/// # Ok::<(), skillrun_skill::FileMapError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FileMap {
    entries: BTreeMap<String, Entry>,
    bytes: u64,
    bounds: Bounds,
}

/// Two maps with the same files are equal, whatever their bounds.
impl PartialEq for FileMap {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for FileMap {}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Directory,
    File { bytes: Vec<u8>, mode: u32 },
}

/// Why files were not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileMapError {
    /// A path that is not a plain relative path.
    #[error("the path `{}` {why}", show(path))]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two entries for one path.
    #[error("`{}` appears twice", show(path))]
    Twice {
        /// The path.
        path: String,
    },
    /// Something other than a file or a directory.
    #[error("`{}` is {kind}; only files and directories are accepted", show(path))]
    Kind {
        /// The path.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// More files and directories than the bounds allow.
    #[error("there are more than {limit} files and directories")]
    TooMany {
        /// The bound.
        limit: usize,
    },
    /// More bytes than the bounds allow.
    #[error("the files have more than {limit} bytes")]
    TooLarge {
        /// The bound.
        limit: u64,
    },
    /// The bytes are not a tar archive that can be read.
    #[error("the tar archive cannot be read: {why}")]
    Archive {
        /// What is wrong with it.
        why: String,
    },
}

impl FileMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty map with other bounds.
    pub fn within(bounds: Bounds) -> Self {
        Self {
            bounds,
            ..Self::default()
        }
    }

    /// A map of these files, none of them executable.
    pub fn from_files<P: AsRef<str>, B: Into<Vec<u8>>>(
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Result<Self, FileMapError> {
        let mut map = Self::new();
        for (path, bytes) in files {
            map.insert(path.as_ref(), bytes)?;
        }
        Ok(map)
    }

    /// Adds a file that is not executable. The directories around it are added, too.
    pub fn insert(&mut self, path: &str, bytes: impl Into<Vec<u8>>) -> Result<(), FileMapError> {
        self.insert_with_mode(path, bytes, FILE_MODE)
    }

    /// Adds a file with a Unix mode, such as `0o755` for an executable file.
    pub fn insert_with_mode(
        &mut self,
        path: &str,
        bytes: impl Into<Vec<u8>>,
        mode: u32,
    ) -> Result<(), FileMapError> {
        let plain = plain_path(path)?;
        if plain.is_empty() || path.ends_with('/') {
            return Err(bad_path(path, "is not the path of a file"));
        }
        let bytes = bytes.into();
        let length = bytes.len() as u64;
        if length > self.bytes_left() {
            return Err(FileMapError::TooLarge {
                limit: self.bounds.bytes,
            });
        }
        let mode = mode & MODE_BITS;
        self.add(plain, Entry::File { bytes, mode })?;
        self.bytes += length;
        Ok(())
    }

    /// Adds a directory, for one that may be empty.
    pub fn insert_directory(&mut self, path: &str) -> Result<(), FileMapError> {
        match plain_path(path)? {
            plain if plain.is_empty() => Ok(()),
            plain => self.add(plain, Entry::Directory),
        }
    }

    /// The files with their paths, in the order of the paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.entries.iter().filter_map(|(path, entry)| match entry {
            Entry::File { bytes, .. } => Some((path.as_str(), bytes.as_slice())),
            Entry::Directory => None,
        })
    }

    /// The directories, in the order of their paths.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        let all = self.entries.iter();
        all.filter_map(|(path, entry)| (*entry == Entry::Directory).then_some(path.as_str()))
    }

    /// The bytes of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        match self.entries.get(path)? {
            Entry::File { bytes, .. } => Some(bytes),
            Entry::Directory => None,
        }
    }

    /// The Unix mode of a file.
    pub fn mode(&self, path: &str) -> Option<u32> {
        match self.entries.get(path)? {
            Entry::File { mode, .. } => Some(*mode),
            Entry::Directory => None,
        }
    }

    /// The files as a map.
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        let all = self.entries.into_iter();
        let files = all.filter_map(|(path, entry)| match entry {
            Entry::File { bytes, .. } => Some((path, bytes)),
            Entry::Directory => None,
        });
        files.collect()
    }

    /// How many files and directories there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are neither files nor directories.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How much it may contain.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(crate) fn bytes_left(&self) -> u64 {
        self.bounds.bytes.saturating_sub(self.bytes)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let all = self.entries.iter();
        all.map(|(path, entry)| (path.as_str(), entry))
    }

    fn add(&mut self, path: String, entry: Entry) -> Result<(), FileMapError> {
        for (at, _) in path.match_indices('/') {
            self.add_one(path[..at].to_owned(), Entry::Directory)?;
        }
        self.add_one(path, entry)
    }

    fn add_one(&mut self, path: String, entry: Entry) -> Result<(), FileMapError> {
        let count = self.entries.len();
        match self.entries.entry(path) {
            Slot::Vacant(_) if count >= self.bounds.entries => Err(FileMapError::TooMany {
                limit: self.bounds.entries,
            }),
            Slot::Vacant(slot) => {
                slot.insert(entry);
                Ok(())
            }
            Slot::Occupied(known)
                if *known.get() == Entry::Directory && entry == Entry::Directory =>
            {
                Ok(())
            }
            Slot::Occupied(known) => Err(FileMapError::Twice {
                path: known.key().clone(),
            }),
        }
    }
}

/// For the other crates of skillrun. Not part of the interface: it may change with any commit.
#[doc(hidden)]
impl FileMap {
    /// The files of a skill. If they are all in one directory that contains a `SKILL.md`, as in an archive of the
    /// skill's folder, that directory is the skill.
    #[must_use]
    pub fn into_skill(self) -> Self {
        let Some(top) = self.skill_directory() else {
            return self;
        };
        let inside = format!("{top}/");
        let entries = self.entries.into_iter();
        let entries = entries
            .filter_map(|(path, entry)| Some((path.strip_prefix(&inside)?.to_owned(), entry)));
        Self {
            entries: entries.collect(),
            ..self
        }
    }

    /// Whether it contains an entry with this plain path.
    pub fn contains(&self, path: &str) -> bool {
        self.entries.contains_key(path)
    }

    /// The only directory at the top, if it is a skill and nothing is beside it.
    fn skill_directory(&self) -> Option<String> {
        let mut top = self.entries.keys().filter(|path| !path.contains('/'));
        let (only, None) = (top.next()?, top.next()) else {
            return None;
        };
        let documents = ["SKILL.md", "skill.md"];
        let mut documents = documents
            .iter()
            .map(|document| format!("{only}/{document}"));
        documents
            .any(|document| self.get(&document).is_some())
            .then(|| only.clone())
    }
}

pub(crate) fn bad_path(path: &str, why: impl Into<String>) -> FileMapError {
    FileMapError::Path {
        path: path.to_owned(),
        why: why.into(),
    }
}

/// Removes `.` and empty parts from a path. Refuses paths that lead elsewhere or that no file system would take. The
/// top itself becomes the empty text.
fn plain_path(path: &str) -> Result<String, FileMapError> {
    if path.is_empty() {
        return Err(bad_path(path, "is empty"));
    }
    if path.len() > MAX_PATH {
        let start: String = path.chars().take(40).collect();
        let why = format!("is longer than {MAX_PATH} bytes");
        return Err(bad_path(&format!("{start}…"), why));
    }
    if path.contains('\0') {
        return Err(bad_path(path, "contains a NUL byte"));
    }
    if path.starts_with('/') {
        return Err(bad_path(path, "is absolute"));
    }
    let mut plain: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(bad_path(path, "contains `..`")),
            name if name.len() > MAX_NAME => {
                let why = format!("contains a name that is longer than {MAX_NAME} bytes");
                return Err(bad_path(path, why));
            }
            name => plain.push(name),
        }
    }
    if plain.len() > MAX_DEPTH {
        let why = format!("has more than {MAX_DEPTH} parts");
        return Err(bad_path(path, why));
    }
    Ok(plain.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &str) -> String {
        FileMap::new().insert(path, "").unwrap_err().to_string()
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused_and_its_plain_twin_is_not() {
        for (path, message) in [
            ("", "the path `` is empty"),
            ("/etc/passwd", "the path `/etc/passwd` is absolute"),
            ("..", "the path `..` contains `..`"),
            ("../x", "the path `../x` contains `..`"),
            ("a/../b", "the path `a/../b` contains `..`"),
            ("a/b/..", "the path `a/b/..` contains `..`"),
            ("a\0b", "the path `a\\u{0}b` contains a NUL byte"),
            ("a/", "the path `a/` is not the path of a file"),
            (".", "the path `.` is not the path of a file"),
        ] {
            assert_eq!(refusal(path), message);
        }
        let long = "n".repeat(256);
        let expected = format!("the path `{long}` contains a name that is longer than 255 bytes");
        assert_eq!(refusal(&long), expected);
        assert!(refusal(&"a/".repeat(5000)).ends_with("…` is longer than 1024 bytes"));
        assert!(refusal(&["a"; 65].join("/")).ends_with(" has more than 64 parts"));
        // The twins.
        let mut map = FileMap::new();
        for path in [
            "..a",
            "a..",
            "a/...",
            "./b",
            "c//d",
            "c/./e",
            "\u{e9} \n[x]",
            "\\etc",
        ] {
            map.insert(path, "").unwrap();
        }
        map.insert(&"n".repeat(255), "").unwrap();
        map.insert(&["deep"; 64].join("/"), "").unwrap();
        let names = ["b", "c/d", "c/e"];
        assert!(names.iter().all(|name| map.get(name).is_some()));
    }

    #[test]
    fn one_path_has_one_entry() {
        let mut map = FileMap::new();
        map.insert("a/b", "1").unwrap();
        for twice in ["a/b", "./a//b", "a"] {
            let error = map.insert(twice, "2").unwrap_err();
            assert!(matches!(error, FileMapError::Twice { .. }), "{error}");
        }
        // A file is not a directory.
        let error = map.insert("a/b/c", "").unwrap_err();
        assert_eq!(error.to_string(), "`a/b` appears twice");
        let error = map.insert_directory("a/b").unwrap_err();
        assert_eq!(error.to_string(), "`a/b` appears twice");
        // A directory may be named any number of times, and names that differ in case are two.
        map.insert_directory("a").unwrap();
        map.insert_directory("a/").unwrap();
        map.insert("A", "3").unwrap();
        assert_eq!(map.get("a/b"), Some(&b"1"[..]));
        assert_eq!((map.len(), map.bytes()), (3, 2));
    }

    #[test]
    fn a_map_holds_what_its_bounds_allow_and_no_more() {
        let bounds = Bounds {
            entries: 3,
            bytes: 10,
        };
        let mut map = FileMap::within(bounds);
        map.insert("d/a", "12345").unwrap();
        let error = map.insert("b", "123456").unwrap_err();
        assert_eq!(error.to_string(), "the files have more than 10 bytes");
        map.insert("b", "12345").unwrap();
        let error = map.insert("c", "").unwrap_err();
        let message = "there are more than 3 files and directories";
        assert_eq!(error.to_string(), message);
        assert_eq!((map.len(), map.bytes()), (3, 10));
    }

    #[test]
    fn an_archive_of_a_folder_is_the_skill_in_it() {
        let inside = FileMap::from_files([("SKILL.md", "s"), ("scripts/a.py", "a")]).unwrap();
        let around = |extra: &[(&str, &str)]| {
            let mut files = vec![("pdf/SKILL.md", "s"), ("pdf/scripts/a.py", "a")];
            files.extend(extra);
            FileMap::from_files(files).unwrap()
        };
        assert_eq!(around(&[]).into_skill(), inside);
        assert_eq!(inside.clone().into_skill(), inside);
        // Anything beside it could be meant as well, so nothing is guessed.
        let beside = around(&[("other", "")]);
        assert_eq!(beside.clone().into_skill(), beside);
        let nested = FileMap::from_files([("a/b/SKILL.md", "s")]).unwrap();
        assert_eq!(nested.clone().into_skill(), nested);
    }
}
