//! A file that a guest named: located, and not opened yet.
//!
//! Opening a FIFO can block for ever, and opening a FIFO, a socket or a device can change it or the process
//! at its other end. So what a guest names is first located by an `O_PATH` handle, which has no
//! effect on the file. Its type is checked on this handle, and the handle is then opened or changed: after
//! the check a name can be made to lead to another file, a handle cannot. Opening with `O_NONBLOCK`
//! and checking afterwards was rejected: it still opens devices, and it fails on regular files under a lease.
//!
//! Whatever opens a file for a guest, or changes more of it than its names, must go through here.

use cap_fs_ext::OpenOptionsFollowExt as _;
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timestamps};
use rustix::io::Errno;
use std::fs::{File, FileType, Metadata};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    File,
    Directory,
    /// A link, or something that scripts cannot open.
    Other,
}

/// A file below a directory, whatever its type.
pub(super) struct Located {
    handle: File,
    meta: Metadata,
}

impl Located {
    /// Locates `path` without leaving `dir`. `follow` is for the last component; links before it are always followed.
    pub(super) fn find(dir: &File, path: &Path, follow: FollowSymlinks) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .follow(follow)
            .custom_flags(OFlags::PATH.bits().cast_signed());
        Self::of(cap_primitives::fs::open(dir, path, &options)?)
    }

    /// What an `O_PATH` handle refers to.
    pub(super) fn of(handle: File) -> io::Result<Self> {
        let meta = handle.metadata()?;
        Ok(Self { handle, meta })
    }

    /// The file type bits of the mode, shifted right by 12 (`S_IFMT >> 12`).
    pub(super) fn type_bits(&self) -> u8 {
        u8::try_from(self.meta.mode() >> 12 & 0xf).unwrap_or(0)
    }

    pub(super) fn kind(&self) -> Kind {
        match self.meta.file_type() {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Directory,
            _ => Kind::Other,
        }
    }

    /// The `O_PATH` handle, which can tell where the file really is.
    pub(super) fn handle(&self) -> &File {
        &self.handle
    }

    /// Opens a regular file or a directory; refuses everything else.
    pub(super) fn open(&self, read: bool, write: bool) -> FsResult<File> {
        let kind = self.harmless()?;
        if kind.is_symlink() {
            return Err(ErrorCode::Loop.into());
        }
        let access = match (read, write) {
            (_, false) => OFlags::RDONLY,
            (false, true) => OFlags::WRONLY,
            (true, true) => OFlags::RDWR,
        };
        let flags = access | OFlags::CLOEXEC | OFlags::NOCTTY;
        let opened = rustix::fs::open(self.proc_path(), flags, Mode::empty());
        Ok(opened.map_err(io::Error::from)?.into())
    }

    /// Sets the times of a regular file, a directory, or a link that was not followed; refuses everything else.
    pub(super) fn set_times(&self, times: &Timestamps) -> FsResult<()> {
        self.harmless()?;
        // The link in `/proc` leads to the located file itself and no further, even if that is a link.
        let set = rustix::fs::utimensat(CWD, self.proc_path(), times, AtFlags::empty());
        let set = match set {
            Err(Errno::PERM) => self.set_times_opened(times).map_err(|_| Errno::PERM),
            set => set,
        };
        Ok(set.map_err(io::Error::from)?)
    }

    /// Sets the times of a regular file or a directory that can be opened. A worker without namespaces may not set them in
    /// another way.
    fn set_times_opened(&self, times: &Timestamps) -> rustix::io::Result<()> {
        if self.kind() == Kind::Other {
            return Err(Errno::PERM);
        }
        let open = |access| {
            // A file that another process has a lease on is not waited for.
            let flags = access | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
            rustix::fs::open(self.proc_path(), flags, Mode::empty())
        };
        let opened = open(OFlags::RDONLY).or_else(|_| open(OFlags::WRONLY))?;
        rustix::fs::futimens(opened, times)
    }

    /// The type of a file that neither blocks nor does anything when it is opened.
    fn harmless(&self) -> FsResult<FileType> {
        let kind = self.meta.file_type();
        match kind.is_file() || kind.is_dir() || kind.is_symlink() {
            true => Ok(kind),
            false => Err(ErrorCode::Access.into()),
        }
    }

    fn proc_path(&self) -> String {
        format!("/proc/self/fd/{}", self.handle.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FileType as Kind, Timespec, UTIME_OMIT, mknodat};
    use std::os::unix::net::UnixListener;

    const EPOCH: Timestamps = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
    };

    fn locate(dir: &File, name: &str) -> Located {
        Located::find(dir, name.as_ref(), FollowSymlinks::No).unwrap()
    }

    fn is_refused<T>(result: FsResult<T>) -> bool {
        let error = result.err().and_then(|error| error.downcast().ok());
        matches!(error, Some(ErrorCode::Access))
    }

    #[test]
    fn a_fifo_and_a_socket_are_neither_opened_nor_changed() {
        let folder = tempfile::tempdir().unwrap();
        let dir = File::open(folder.path()).unwrap();
        mknodat(&dir, "fifo", Kind::Fifo, Mode::RWXU, 0).unwrap();
        let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
        for (name, bits) in [("fifo", 1), ("socket", 12)] {
            let located = locate(&dir, name);
            let before = located.meta.mtime_nsec();
            assert_eq!(located.type_bits(), bits, "{name}");
            assert!(is_refused(located.open(true, false)), "{name}");
            assert!(is_refused(located.open(false, true)), "{name}");
            assert!(is_refused(located.set_times(&EPOCH)), "{name}");
            let after = locate(&dir, name).meta;
            assert_eq!(after.mtime_nsec(), before, "{name}");
            assert_ne!(after.mtime(), 0, "{name}");
        }
    }

    #[test]
    fn a_device_is_neither_opened_nor_changed() {
        let located = locate(&File::open("/dev").unwrap(), "null");
        assert_eq!(located.type_bits(), 2);
        assert!(is_refused(located.open(true, false)));
        // Changes nothing even if it is allowed by mistake.
        let mut nothing = EPOCH;
        nothing.last_modification = nothing.last_access;
        assert!(is_refused(located.set_times(&nothing)));
    }

    #[test]
    fn the_file_that_was_located_is_the_one_that_is_opened_and_changed() {
        let folder = tempfile::tempdir().unwrap();
        let dir = File::open(folder.path()).unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "the file").unwrap();
        let located = locate(&dir, "a");
        std::fs::rename(&path, folder.path().join("b")).unwrap();
        mknodat(&dir, "a", Kind::Fifo, Mode::RWXU, 0).unwrap();
        let opened = located.open(true, true).map_err(|_| "refused").unwrap();
        assert_eq!(io::read_to_string(opened).unwrap(), "the file");
        located.set_times(&EPOCH).map_err(|_| "refused").unwrap();
        let (fifo, file) = (locate(&dir, "a").meta, locate(&dir, "b").meta);
        assert_eq!((fifo.mtime() == 0, file.mtime()), (false, 0));
    }

    #[test]
    fn a_link_that_is_not_followed_is_changed_and_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let dir = File::open(folder.path()).unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink("file", folder.path().join("link")).unwrap();
        let link = locate(&dir, "link");
        let error = link.open(true, false).err().unwrap().downcast();
        assert!(matches!(error, Ok(ErrorCode::Loop)));
        link.set_times(&EPOCH).map_err(|_| "refused").unwrap();
        let (link, file) = (locate(&dir, "link").meta, locate(&dir, "file").meta);
        assert_eq!((link.mtime(), file.mtime() == 0), (0, false));
    }
}
