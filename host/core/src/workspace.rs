//! The directory in which a script starts: one of this machine, or a private one for files that were given as bytes.
//!
//! What a script leaves in a private workspace is untrusted. It is read by handle, no link is followed, nothing
//! but regular files is opened, and there are bounds.

use crate::error::Error;
use crate::files::plain;
use crate::refusal::Refusal;
use crate::skill::{Bounds, FileMap, FileMapError, PrivateDirectory};
use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{
    Dir, FileType, FileTypeExt as _, MetadataExt as _, OpenOptions, OpenOptionsExt as _,
};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Stands for the path of a private workspace. All of them are the same in a question and in an approval: a yes is for
/// the files that the caller hands over with a run, whichever they are.
const MEMORY: &str = "memory:/workspace";
/// The permissions of a file that is returned. The other bits would have effects where it is unpacked.
const PERMISSIONS: u32 = 0o777;

/// The directory in which a script starts, readable and writable.
#[derive(Debug, Clone)]
pub enum Workspace {
    /// A directory of this machine.
    Directory(PathBuf),
    /// A private directory for files that were given as bytes.
    Private(PrivateWorkspace),
}

impl Workspace {
    /// Its path, unless it was given as bytes.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Private(_) => None,
        }
    }
}

impl From<PathBuf> for Workspace {
    fn from(path: PathBuf) -> Self {
        Self::Directory(path)
    }
}

impl From<&Path> for Workspace {
    fn from(path: &Path) -> Self {
        Self::Directory(path.to_owned())
    }
}

impl From<&str> for Workspace {
    fn from(path: &str) -> Self {
        Self::Directory(path.into())
    }
}

impl From<PrivateWorkspace> for Workspace {
    fn from(private: PrivateWorkspace) -> Self {
        Self::Private(private)
    }
}

impl From<&PrivateWorkspace> for Workspace {
    fn from(private: &PrivateWorkspace) -> Self {
        Self::Private(private.clone())
    }
}

/// A workspace that was given as bytes, in a directory that no other run can reach. Any number of runs may use it, one
/// after the other or at the same time. Dropping the last clone removes the directory.
#[derive(Debug, Clone)]
pub struct PrivateWorkspace(pub(crate) PrivateDirectory);

impl PrivateWorkspace {
    /// The name of every private workspace in questions, approvals and the audit log.
    pub(crate) fn shown() -> PathBuf {
        MEMORY.into()
    }

    /// The tenant that it belongs to; `None` for the operator's.
    pub(crate) fn tenant(&self) -> Option<&str> {
        self.0.tenant.as_deref()
    }

    /// Reads what is in it now. May block.
    pub(crate) fn files(&self, bounds: Bounds) -> Result<ReturnedFiles, FileMapError> {
        let mut returned = ReturnedFiles {
            files: FileMap::within(bounds),
            left_out: Vec::new(),
        };
        returned.add_directory(&self.0.dir(), "")?;
        returned.left_out.sort();
        Ok(returned)
    }
}

/// Why the files of a private workspace cannot be returned to a tenant.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// It belongs to another tenant. The refusal is recorded.
    #[error("{0}")]
    Refused(Refusal),
    /// There are more files than the bounds allow.
    #[error(transparent)]
    Files(#[from] FileMapError),
    /// The refusal could not be recorded.
    #[error(transparent)]
    Host(#[from] Error),
}

/// What is in a private workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnedFiles {
    /// The files and directories.
    pub files: FileMap,
    /// What could not be returned, in the order of the paths.
    pub left_out: Vec<LeftOut>,
}

/// Something in a private workspace that was not returned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Its path; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Why: it is a link or a special file, it cannot be read, or its path cannot be used elsewhere.
    pub why: String,
}

impl ReturnedFiles {
    fn add_directory(&mut self, dir: &Dir, path: &str) -> Result<(), FileMapError> {
        let entries = match dir.entries() {
            Ok(entries) => entries,
            Err(error) => return self.leave_out(path, unreadable(&error)),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return self.leave_out(path, unreadable(&error)),
            };
            let name = entry.file_name();
            let inner = match path {
                "" => name.to_string_lossy().into_owned(),
                path => format!("{path}/{}", name.to_string_lossy()),
            };
            if name.to_str().is_none() {
                self.leave_out(&inner, "its name is not UTF-8".into())?;
                continue;
            }
            self.add(dir, Path::new(&name), &inner)?;
        }
        Ok(())
    }

    fn add(&mut self, dir: &Dir, name: &Path, path: &str) -> Result<(), FileMapError> {
        let kind = match dir.symlink_metadata(name) {
            Ok(meta) => meta.file_type(),
            Err(error) => return self.leave_out(path, unreadable(&error)),
        };
        let added = if kind.is_dir() {
            self.files.insert_directory(path)
        } else if kind.is_file() {
            match read(dir, name, self.left()) {
                Ok(Some((bytes, mode))) => self.files.insert_with_mode(path, bytes, mode),
                Ok(None) => Err(FileMapError::TooLarge {
                    limit: self.files.bounds().bytes,
                }),
                Err(error) => return self.leave_out(path, unreadable(&error)),
            }
        } else {
            return self.leave_out(path, format!("it is {}", word(kind)));
        };
        match added {
            // The path is too long or has too many parts.
            Err(FileMapError::Path { why, .. }) => {
                return self.leave_out(path, format!("its path {why}"));
            }
            added => added?,
        }
        self.check_count()?;
        match kind.is_dir().then(|| dir.open_dir_nofollow(name)) {
            None => Ok(()),
            Some(Ok(below)) => self.add_directory(&below, path),
            Some(Err(error)) => self.leave_out(path, unreadable(&error)),
        }
    }

    fn leave_out(&mut self, path: &str, why: String) -> Result<(), FileMapError> {
        let path = if path.is_empty() { "." } else { path };
        self.left_out.push(LeftOut {
            path: path.to_owned(),
            why,
        });
        self.check_count()
    }

    /// What is left out counts, too: a script can create any number of links.
    fn check_count(&self) -> Result<(), FileMapError> {
        let limit = self.files.bounds().entries;
        match self.files.len() + self.left_out.len() > limit {
            true => Err(FileMapError::TooMany { limit }),
            false => Ok(()),
        }
    }

    /// The bytes that may still be added.
    fn left(&self) -> u64 {
        let limit = self.files.bounds().bytes;
        limit.saturating_sub(self.files.bytes())
    }
}

/// The bytes and permissions of a regular file; `None` if it has more than `limit` bytes.
fn read(dir: &Dir, name: &Path, limit: u64) -> io::Result<Option<(Vec<u8>, u32)>> {
    let mut options = OpenOptions::new();
    // A FIFO in the place of the file must not block.
    options
        .read(true)
        .follow(FollowSymlinks::No)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = dir.open_with(name, &options)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is no longer a file"));
    }
    if meta.len() > limit {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Ok(None);
    }
    Ok(Some((bytes, meta.mode() & PERMISSIONS)))
}

fn unreadable(error: &io::Error) -> String {
    format!("it cannot be read: {}", plain(error))
}

fn word(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::Arc;

    fn workspace(folder: &Path) -> PrivateWorkspace {
        let root = Dir::open_ambient_dir(folder, ambient_authority()).unwrap();
        PrivateWorkspace(PrivateDirectory {
            root: Arc::new(root.into_std_file()),
            path: folder.to_owned(),
            tenant: None,
            owner: Arc::new(()),
        })
    }

    fn fifo(path: &Path) {
        let kind = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
    }

    #[test]
    fn files_are_returned_and_everything_else_is_named() {
        use std::os::unix::ffi::OsStrExt as _;
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("out/empty")).unwrap();
        fs::write(at("out/a"), "1").unwrap();
        fs::write(at("run"), "2").unwrap();
        fs::set_permissions(at("run"), fs::Permissions::from_mode(0o6750)).unwrap();
        symlink(outside.path().join("secret"), at("file-link")).unwrap();
        symlink(outside.path(), at("out/directory-link")).unwrap();
        symlink("a", at("out/inward")).unwrap();
        fifo(&at("pipe"));
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
        fs::create_dir_all(at(&format!("deep/{}", "d/".repeat(64)))).unwrap();

        let returned = workspace(folder.path()).files(Bounds::default()).unwrap();
        let files: Vec<_> = returned.files.files().collect();
        assert_eq!(files, [("out/a", &b"1"[..]), ("run", b"2")]);
        // Setuid and setgid stay behind.
        assert_eq!(returned.files.mode("run"), Some(0o750));
        assert!(returned.files.contains("out/empty"));
        let deep = format!("deep/{}", ["d"; 64].join("/"));
        let left_out: Vec<_> = returned
            .left_out
            .iter()
            .map(|left| (left.path.as_str(), left.why.as_str()))
            .collect();
        let expected = [
            (deep.as_str(), "its path has more than 64 parts"),
            ("file-link", "it is a symbolic link"),
            ("out/directory-link", "it is a symbolic link"),
            ("out/inward", "it is a symbolic link"),
            ("pipe", "it is a FIFO"),
            ("socket", "it is a socket"),
            ("\u{fffd}", "its name is not UTF-8"),
        ];
        assert_eq!(left_out, expected);
    }

    #[test]
    fn more_than_the_bounds_is_an_error_and_as_much_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "12345").unwrap();
        fs::write(at("b"), "12345").unwrap();
        symlink("a", at("link")).unwrap();
        let within = |entries, bytes| {
            let returned = workspace(folder.path()).files(Bounds { entries, bytes });
            returned.map_err(|error| error.to_string()).map(drop)
        };
        assert_eq!(within(3, 10), Ok(()));
        let too_large = "the files have more than 9 bytes";
        assert_eq!(within(3, 9), Err(too_large.into()));
        let too_many = "there are more than 2 files and directories";
        assert_eq!(within(2, 10), Err(too_many.into()));
        // A sparse file takes no space on the disk, but it would in memory.
        let sparse = fs::File::create(at("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let too_large = "the files have more than 1000 bytes";
        assert_eq!(within(9, 1000), Err(too_large.into()));
    }
}
