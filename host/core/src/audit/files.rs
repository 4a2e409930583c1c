//! The files of a log: the one that is written, the parts it was rotated into, and the head.
//!
//! `audit.jsonl` has `audit.head` and `audit.lock` beside it and `audit-<number of the first line>.jsonl` before it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const EXTENSION: &str = "jsonl";

/// The file that remembers the newest line of a log.
pub(super) fn head_of(log: &Path) -> PathBuf {
    match log.extension() {
        Some(extension) if extension == EXTENSION => log.with_extension("head"),
        // Two logs that differ in their extension have two heads.
        _ => with_suffix(log, OsStr::new(".audit-head")),
    }
}

/// The file that writers of a log hold one after the other.
pub(super) fn lock_of(log: &Path) -> PathBuf {
    match log.extension() {
        Some(extension) if extension == EXTENSION => log.with_extension("lock"),
        _ => with_suffix(log, OsStr::new(".audit-lock")),
    }
}

/// The name for a part whose first line has the number `first`; `again` counts the names that were
/// taken.
pub(super) fn part_of(log: &Path, first: u64, again: u32) -> PathBuf {
    let (stem, extension) = split(log);
    let mut name = stem.to_owned();
    name.push(format!("-{first}"));
    if again > 0 {
        name.push(format!(".{again}"));
    }
    if let Some(extension) = extension {
        name.push(".");
        name.push(extension);
    }
    log.with_file_name(name)
}

/// The parts of a log that are there, the oldest first.
pub(super) fn parts_of(log: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = match log.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut parts = Vec::new();
    let entries = match folder.read_dir() {
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
    let (name, its) = split(path);
    if extension != its {
        return None;
    }
    let name = name.to_str()?.strip_prefix(stem.to_str()?)?;
    let numbers = name.strip_prefix('-')?;
    let (first, again) = match numbers.split_once('.') {
        Some((first, again)) => (first.parse().ok()?, again.parse().ok()?),
        None => (numbers.parse().ok()?, 0),
    };
    (part_of(log, first, again).file_name() == path.file_name()).then_some((first, again))
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

/// Opens a file of the log to append to it, and makes it and its folder, for their owner alone.
pub(super) fn open_log(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    open_own(&mut options, path, 0o600)
}

/// Opens the head to be rewritten in place, and makes it and its folder.
pub(super) fn open_head(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    open_own(&mut options, path, 0o600).map_err(|error| named("head", path, error))
}

/// Opens the file to be held, and makes it. It can be opened by nobody who may not write it: a script that may read
/// the folder could hold it otherwise, and keep everybody from writing.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    open_own(&mut options, path, 0o200).map_err(|error| named("lock", path, error))
}

/// An error about a file beside the log, which its message names.
fn named(what: &str, path: &Path, error: io::Error) -> io::Error {
    match error.kind() {
        // The folder is at fault, and the log's name tells as much.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => error,
        kind => {
            let why = crate::files::plain(&error);
            io::Error::new(kind, format!("its {what} `{}`: {why}", path.display()))
        }
    }
}

/// Opens a file to read it, if it is one.
pub(super) fn open_read(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(NONBLOCK)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is not a file"));
    }
    Ok(file)
}

/// A FIFO in a file's place would otherwise block the run before it starts.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
/// A link in a file's place would lead the record elsewhere, or nowhere.
const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Opens a file that is ours, and makes it. A device would take lines and keep none, and what others may write proves
/// nothing.
fn open_own(options: &mut OpenOptions, path: &Path, mode: u32) -> io::Result<File> {
    let file = open_made(options, path, mode).map_err(|error| match error.raw_os_error() {
        Some(errno) if errno == rustix::io::Errno::LOOP.raw_os_error() => {
            io::Error::other("is a symbolic link, not a file of its own")
        }
        _ => error,
    })?;
    let meta = file.metadata()?;
    let own = rustix::process::geteuid().as_raw();
    let why = if !meta.is_file() {
        "is not a regular file"
    } else if meta.uid() != own && meta.uid() != 0 {
        "belongs to another user"
    } else if meta.mode() & 0o022 != 0 {
        "may be written by other users"
    } else if meta.nlink() > 1 {
        "has another name elsewhere (a hard link)"
    } else {
        return Ok(file);
    };
    Err(io::Error::other(why))
}

fn open_made(options: &mut OpenOptions, path: &Path, mode: u32) -> io::Result<File> {
    use std::os::unix::fs::DirBuilderExt as _;
    options.mode(mode).custom_flags(NONBLOCK | NOFOLLOW);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().ok_or(error)?;
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
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
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.jsonl");
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
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = parts_of(&log).unwrap();
        assert_eq!(found, names.map(|name| folder.path().join(name)));
        let nowhere = parts_of(&folder.path().join("no/audit.jsonl"));
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
