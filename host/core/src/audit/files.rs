//! The files of a log: the live file, the parts it was rotated into, the head and the lock.
//!
//! For `audit.jsonl` these are `audit.head`, `audit.lock` and the parts `audit-<number of the first line>.jsonl`.

use crate::ownership::{Ownership, other_writer_than};
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const EXTENSION: &str = "jsonl";

/// The path of the head, which records the newest line of a log.
pub(super) fn head_of(log: &Path) -> PathBuf {
    match log.extension() {
        Some(extension) if extension == EXTENSION => log.with_extension("head"),
        // Logs that differ only in their extension must not share a head.
        _ => with_suffix(log, OsStr::new(".audit-head")),
    }
}

/// The path of the lock file, which one writer holds at a time.
pub(super) fn lock_of(log: &Path) -> PathBuf {
    match log.extension() {
        Some(extension) if extension == EXTENSION => log.with_extension("lock"),
        _ => with_suffix(log, OsStr::new(".audit-lock")),
    }
}

/// Whether one of the files of a log is its lock.
pub(crate) fn is_lock(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == "lock" || extension == "audit-lock")
}

/// The path of a part whose first line has the number `first`; `attempt` counts the names that were
/// taken.
pub(super) fn part_of(log: &Path, first: u64, attempt: u32) -> PathBuf {
    let (stem, extension) = split(log);
    let mut name = stem.to_owned();
    name.push(format!("-{first}"));
    if attempt > 0 {
        name.push(format!(".{attempt}"));
    }
    if let Some(extension) = extension {
        name.push(".");
        name.push(extension);
    }
    log.with_file_name(name)
}

/// The existing parts of a log, the oldest first.
pub(super) fn parts_of(log: &Path) -> io::Result<Vec<PathBuf>> {
    let directory = match log.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    let mut parts = Vec::new();
    let entries = match directory.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    for entry in entries {
        let path = log.with_file_name(entry?.file_name());
        if let Some(key) = part_number(log, &path) {
            parts.push((key, path));
        }
    }
    parts.sort();
    Ok(parts.into_iter().map(|(_, path)| path).collect())
}

/// The numbers in the name of a part of `log`.
fn part_number(log: &Path, path: &Path) -> Option<(u64, u32)> {
    let (stem, extension) = split(log);
    let (name, other_extension) = split(path);
    if extension != other_extension {
        return None;
    }
    let name = name.to_str()?.strip_prefix(stem.to_str()?)?;
    let numbers = name.strip_prefix('-')?;
    let (first, attempt) = match numbers.split_once('.') {
        Some((first, attempt)) => (first.parse().ok()?, attempt.parse().ok()?),
        None => (numbers.parse().ok()?, 0),
    };
    (part_of(log, first, attempt).file_name() == path.file_name()).then_some((first, attempt))
}

/// The name without its extension, and the extension.
fn split(path: &Path) -> (&OsStr, Option<&OsStr>) {
    match path.extension() {
        Some(extension) => (path.file_stem().unwrap_or_default(), Some(extension)),
        None => (path.file_name().unwrap_or_default(), None),
    }
}

fn with_suffix(path: &Path, suffix: &OsStr) -> PathBuf {
    let mut name: OsString = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Opens a log to append to it. Creates it and its directory, accessible to their owner only.
pub(super) fn open_log(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    open_own(&mut options, path, 0o600)
}

/// Opens the head to rewrite it in place. Creates it and its directory.
pub(super) fn open_head(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    open_own(&mut options, path, 0o600).map_err(|error| with_name("head", path, error))
}

/// Opens the lock file, and creates it. It is write-only: otherwise a script that may read the directory could open
/// and hold it, and block every writer.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    let opened = open_own(&mut options, path, LOCK_MODE).and_then(|file| {
        // Another program may have created or copied it.
        if file.metadata()?.mode() & 0o777 != LOCK_MODE {
            file.set_permissions(Permissions::from_mode(LOCK_MODE))?;
        }
        Ok(file)
    });
    opened.map_err(|error| with_name("lock", path, error))
}

/// The lock can be written, and not read.
const LOCK_MODE: u32 = 0o200;

/// Adds the name of a file next to the log to an error.
fn with_name(what: &str, path: &Path, error: io::Error) -> io::Error {
    match error.kind() {
        // The directory is the cause, and the message names the log in it.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => error,
        kind => {
            let why = crate::files::plain(&error);
            io::Error::new(kind, format!("its {what} `{}`: {why}", path.display()))
        }
    }
}

/// Opens a regular file to read it.
pub(super) fn open_read(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(NONBLOCK)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// A FIFO instead of a file would otherwise block the run before it starts.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
/// A link instead of a file would redirect the log elsewhere, or nowhere.
const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Opens or creates a file that belongs to us. A device would accept lines and keep none, and a file that other users
/// can write proves nothing.
fn open_own(options: &mut OpenOptions, path: &Path, mode: u32) -> io::Result<File> {
    let file = open_or_create(options, path, mode).map_err(|error| match error.raw_os_error() {
        Some(errno) if errno == rustix::io::Errno::LOOP.raw_os_error() => {
            io::Error::other("it is a symbolic link, not a regular file")
        }
        _ => error,
    })?;
    match why_not_own(geteuid().as_raw(), &Ownership::of(&file)?) {
        Some(why) => Err(io::Error::other(why)),
        None => Ok(file),
    }
}

/// Why a file is not a regular one that only user `own` can write, by this name only.
fn why_not_own(own: u32, found: &Ownership) -> Option<String> {
    let meta = found.metadata();
    if !meta.is_file() {
        Some("it is not a regular file".to_owned())
    } else if let Some(other) = other_writer_than(own, found) {
        Some(format!("it {other}"))
    } else if meta.nlink() > 1 {
        Some("it has more than one hard link".to_owned())
    } else {
        None
    }
}

/// A file of a log that stays open from one use to the next.
///
/// Before each use, one look at the path decides whether it still names the open file, and whether that file is still
/// ours. Otherwise the path is opened again, with all its checks. So a file that was replaced, linked, or made writable
/// for others is noticed as if it were opened each time.
pub(super) struct KeptFile {
    path: PathBuf,
    open: fn(&Path) -> io::Result<File>,
    kept: Option<Kept>,
}

struct Kept {
    file: File,
    id: FileId,
    /// The user that opened it.
    own: u32,
}

/// The device and the inode. The kernel does not give them to another file while this one is open.
type FileId = (u64, u64);

impl KeptFile {
    pub(super) fn new(path: PathBuf, open: fn(&Path) -> io::Result<File>) -> Self {
        Self {
            path,
            open,
            kept: None,
        }
    }

    /// The file that the path names now, and its length.
    pub(super) fn current(&mut self) -> io::Result<(&File, u64)> {
        let length = match self.kept_length() {
            Some(length) => length,
            None => {
                self.close();
                self.kept_or_opened()?.metadata()?.len()
            }
        };
        Ok((self.kept_or_opened()?, length))
    }

    /// The file that is open already, or the one that the path names.
    pub(super) fn kept_or_opened(&mut self) -> io::Result<&File> {
        let kept = match self.kept.take() {
            Some(kept) => kept,
            None => {
                let file = (self.open)(&self.path)?;
                let id = id(&file.metadata()?);
                let own = geteuid().as_raw();
                Kept { file, id, own }
            }
        };
        Ok(&self.kept.insert(kept).file)
    }

    /// Whether the path still names the open file, and the file is still ours.
    pub(super) fn is_current(&self) -> bool {
        self.kept_length().is_some()
    }

    /// The length of the open file, if [`KeptFile::is_current`].
    pub(super) fn kept_length(&self) -> Option<u64> {
        let Kept {
            file,
            id: kept,
            own,
        } = self.kept.as_ref()?;
        // Like `O_NOFOLLOW`: a link is another file.
        let meta = self.path.symlink_metadata().ok()?;
        if id(&meta) != *kept {
            return None;
        }
        let length = meta.len();
        let found = Ownership::known(file, meta);
        why_not_own(*own, &found).is_none().then_some(length)
    }

    pub(super) fn close(&mut self) {
        self.kept = None;
    }
}

fn id(meta: &Metadata) -> FileId {
    (meta.dev(), meta.ino())
}

fn open_or_create(options: &mut OpenOptions, path: &Path, mode: u32) -> io::Result<File> {
    use std::os::unix::fs::DirBuilderExt as _;
    options.mode(mode).custom_flags(NONBLOCK | NOFOLLOW);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let directory = path.parent().ok_or(error)?;
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
            options.open(path)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_in_the_order_of_their_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("audit.jsonl");
        let names = [
            "audit-1.jsonl",
            "audit-20.jsonl",
            "audit-20.1.jsonl",
            "audit-100.jsonl",
        ];
        let others = [
            "audit.jsonl",
            "audit.head",
            "audit-01.jsonl",
            "audit-+1.jsonl",
            "audit-.jsonl",
            "audit-1.json",
            "audit-x.jsonl",
            "other-1.jsonl",
            "audit-20.0.jsonl",
        ];
        for name in names.iter().chain(&others) {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let found = parts_of(&log).unwrap();
        assert_eq!(found, names.map(|name| directory.path().join(name)));
        let nowhere = parts_of(&directory.path().join("no/audit.jsonl"));
        assert!(nowhere.unwrap().is_empty());
    }

    #[test]
    fn logs_that_differ_in_name_differ_in_head_and_parts() {
        for (log, head, part) in [
            ("a/audit.jsonl", "a/audit.head", "a/audit-7.jsonl"),
            ("audit.log", "audit.log.audit-head", "audit-7.log"),
            ("audit", "audit.audit-head", "audit-7"),
        ] {
            assert_eq!(head_of(Path::new(log)), Path::new(head));
            assert_eq!(part_of(Path::new(log), 7, 0), Path::new(part));
        }
    }
}
