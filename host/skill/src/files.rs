//! Reads files that a skill's author controls: never more than a limit, never anything but a regular
//! file, never outside the directory handle.

use cap_std::fs::{Dir, File, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::io::{self, Read as _};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

// Who reads a file names it in messages, so both come with one import.
pub use crate::text::show;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("is {0}, not a file")]
    NotAFile(&'static str),
    #[error("is larger than {0} bytes")]
    TooLarge(u64),
    #[error("leads out of the skill")]
    Outside,
    #[error("{}", plain(.0))]
    Io(#[from] io::Error),
}

/// The system's message for an error, in lower case and without the error number.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// Opens a regular file for reading.
///
/// The metadata are those of the opened file, so it does not matter if its name leads elsewhere later.
pub fn open(dir: &Dir, path: &Path) -> Result<(File, Metadata), ReadError> {
    let mut options = OpenOptions::new();
    // Without `O_NONBLOCK`, opening a FIFO would block until another process opens it for writing.
    options
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = match dir.open_with(path, &options) {
        // A socket cannot be opened at all, so read its type by name.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Err(ReadError::NotAFile(kind(&dir.metadata(path)?)));
        }
        file => file.map_err(escape_or_io)?,
    };
    checked(file)
}

/// Like [`open`]. Also returns the real path of the file if a link may lead to it; otherwise it is `path`.
pub fn open_with_path(
    dir: &Dir,
    path: &Path,
) -> Result<(File, Metadata, Option<io::Result<PathBuf>>), ReadError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    if let Ok(file) = openat2(dir, path, flags, Mode::empty(), resolve) {
        let (file, meta) = checked(File::from_std(file.into()))?;
        return Ok((file, meta, None));
    }
    let (file, meta) = open(dir, path)?;
    let real = real_path(&file);
    Ok((file, meta, Some(real)))
}

fn checked(file: File) -> Result<(File, Metadata), ReadError> {
    let meta = file.metadata()?;
    match meta.is_file() {
        true => Ok((file, meta)),
        false => Err(ReadError::NotAFile(kind(&meta))),
    }
}

/// Reads a regular file of at most `limit` bytes.
pub fn read(dir: &Dir, path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let (file, meta) = open(dir, path)?;
    read_open(file, &meta, limit)
}

/// Reads a file that [`open`] opened, if it has at most `limit` bytes.
pub fn read_open(file: File, meta: &Metadata, limit: u64) -> Result<Vec<u8>, ReadError> {
    if meta.len() > limit {
        return Err(ReadError::TooLarge(limit));
    }
    let size = usize::try_from(meta.len()).unwrap_or(0);
    let mut bytes = vec![0; size + 1];
    let mut file = file.take(limit + 1);
    let read = match file.read(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
        read => read?,
    };
    bytes.truncate(read);
    // Most files are read by one call. The buffer has room for one byte more, so there was none.
    if read != size {
        file.read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge(limit));
    }
    Ok(bytes)
}

/// The real path of an open file or directory.
pub fn real_path(file: &impl AsRawFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// cap-std reports a path that leaves its directory as a permission error without an errno of its
/// own, or with `EXDEV` where the kernel did the resolving.
pub fn escape_or_io(error: io::Error) -> ReadError {
    let escaped = error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error())
        || (error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none());
    if escaped {
        ReadError::Outside
    } else {
        ReadError::Io(error)
    }
}

fn kind(meta: &Metadata) -> &'static str {
    use rustix::fs::FileType;
    match FileType::from_raw_mode(meta.mode()) {
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::BlockDevice | FileType::CharacterDevice => "a device",
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const SECRET: &str = "outside";

    /// `around/secret`, and beside it `root` with a file, a directory, and links that lead out of it in
    /// every way a link can.
    fn tree() -> (tempfile::TempDir, Dir) {
        let around = tempfile::tempdir().unwrap();
        let root = around.path().join("root");
        fs::create_dir_all(root.join("d/e")).unwrap();
        fs::write(around.path().join("secret"), SECRET).unwrap();
        fs::write(root.join("f"), "inside").unwrap();
        fs::write(root.join("d/f"), "inside").unwrap();
        symlink(around.path(), root.join("absolute")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("../up", root.join("d/chained")).unwrap();
        symlink("../secret", root.join("direct")).unwrap();
        symlink("d/../../secret", root.join("crooked")).unwrap();
        symlink("d/f", root.join("inward")).unwrap();
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).unwrap();
        (around, dir)
    }

    fn read_text(root: &Dir, path: &str) -> Result<String, ReadError> {
        read(root, Path::new(path), 100).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn a_path_that_leads_out_is_an_error_and_one_that_stays_inside_is_read() {
        let (_around, root) = tree();
        for path in [
            "up/secret",
            "absolute/secret",
            "direct",
            "crooked",
            "d/chained/secret",
            "../secret",
        ] {
            let error = read_text(&root, path).unwrap_err();
            assert!(matches!(error, ReadError::Outside), "{path}: {error}");
        }
        for path in [
            "f",
            "d/f",
            "inward",
            "d/../f",
            "./d/./f",
            "d/e/../../inward",
        ] {
            assert_eq!(read_text(&root, path).unwrap(), "inside", "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_leads_out_of_its_directory(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just(".."), Just("."), Just(""), Just("d"), Just("e"), Just("f"), Just("secret"), Just("root"),
                    Just("absolute"), Just("up"), Just("chained"), Just("direct"), Just("crooked"), Just("inward"),
                ],
                0..8,
            ),
            absolute in any::<bool>(),
        ) {
            let (around, root) = tree();
            let mut path = parts.join("/");
            if absolute {
                path = format!("{}/{path}", around.path().display());
            }
            if let Ok(text) = read_text(&root, &path) {
                prop_assert_eq!(text, "inside", "{}", path);
            }
        }
    }
}
