//! Opening and renaming entries of directories that a program may have locked or filled.

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, Stat, fstat, openat, renameat, renameat_with, statat,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsString};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

/// Suffixes are tried in order, so that messages are the same from run to run. After this many, the
/// time is used.
const MAX_SUFFIX: u32 = 100;
/// The longest name of a file.
pub(super) const MAX_NAME: usize = 255;
/// What is added to the name of a path that appeared.
const REFUSED: &[u8] = b".refused";

pub(super) const DIRECTORY_FLAGS: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The device and inode of a file or directory.
pub(super) type Identity = (u64, u64);

pub(super) fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// Renames an entry of a directory to a free name and returns its new path.
pub(super) fn rename_aside(directory: &OwnedFd, name: &CStr) -> Result<PathBuf, Errno> {
    rename_to_free_name(directory, name, name)
}

/// Renames an entry of a directory to a free name that begins with `wanted`, and returns its new path.
pub(super) fn rename_to_free_name(
    directory: &OwnedFd,
    name: &CStr,
    wanted: &CStr,
) -> Result<PathBuf, Errno> {
    let now = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos())
    };
    let endings = (1..=MAX_SUFFIX).map(|number| match number {
        1 => String::new(),
        number => format!("-{number}"),
    });
    let mut unlocked = false;
    for ending in endings.chain([format!("-{}", now())]) {
        // A name of the full length has no room for an ending.
        let mut base = wanted.to_bytes();
        base = &base[..base.len().min(MAX_NAME - REFUSED.len() - ending.len())];
        let aside = [base, REFUSED, ending.as_bytes()].concat();
        let to = CString::new(aside.clone()).map_err(|_| Errno::INVAL)?;
        let mut renamed = rename_new(directory, name, &to);
        if renamed == Err(Errno::ACCESS) && !unlocked {
            unlocked = true;
            unlock(directory)?;
            renamed = rename_new(directory, name, &to);
        }
        match renamed {
            Err(Errno::EXIST) => {}
            renamed => {
                let parent = path_of(directory)?;
                return renamed.map(|()| parent.join(OsString::from_vec(aside)));
            }
        }
    }
    Err(Errno::EXIST)
}

fn rename_new(directory: &OwnedFd, from: &CStr, to: &CStr) -> Result<(), Errno> {
    rename_new_between(directory, directory, from, to)
}

pub(super) fn rename_new_between(
    directory: &OwnedFd,
    target: &OwnedFd,
    from: &CStr,
    to: &CStr,
) -> Result<(), Errno> {
    let rename = || match renameat_with(directory, from, target, to, RenameFlags::NOREPLACE) {
        // Not every file system supports this flag.
        Err(Errno::INVAL | Errno::NOSYS) => match statat(target, to, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => renameat(directory, from, target, to),
            Ok(_) => Err(Errno::EXIST),
            Err(error) => Err(error),
        },
        renamed => renamed,
    };
    with_freed_space(target, rename)
}

/// Does something in a directory that may need space. Some file systems make the space of a removed file available only with
/// their next commit, so if there is none, this waits for that and tries once more.
pub(super) fn with_freed_space<T>(
    directory: &OwnedFd,
    attempt: impl Fn() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match attempt() {
        Err(Errno::NOSPC | Errno::DQUOT) => {
            // `syncfs` does not take an `O_PATH` handle.
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            if let Ok(opened) = openat(directory, c".", flags, Mode::empty()) {
                let _ = rustix::fs::syncfs(opened);
            }
            attempt()
        }
        done => done,
    }
}

/// Gives the owner all permissions on a directory.
pub(super) fn unlock(directory: &OwnedFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(fstat(directory)?.st_mode) | Mode::RWXU;
    rustix::fs::chmod(proc_path(directory), mode)
}

/// Where a directory is now. Fails if it was removed: the kernel would show its last path, with a note that looks like a
/// part of its name.
pub(super) fn path_of(directory: &OwnedFd) -> Result<PathBuf, Errno> {
    if fstat(directory)?.st_nlink == 0 {
        return Err(Errno::NOENT);
    }
    let path = rustix::fs::readlink(proc_path(directory), [])?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// The `/proc` path of a handle, for calls that take only a path; it works for `O_PATH` handles too.
pub(super) fn proc_path(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}
