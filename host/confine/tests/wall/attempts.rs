//! What an attempt inside a worker is, and what attempts on files share.

use crate::raw::Met;
use rustix::fs::{CWD, Dir, Mode, OFlags, ResolveFlags, Timestamps, openat, openat2};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

/// What a worker was given.
pub(crate) struct Given {
    /// A directory to read, `..` of which holds `secret`.
    pub(crate) skill: OwnedFd,
    /// A directory to change, beside it.
    pub(crate) workspace: OwnedFd,
    /// A file to read.
    pub(crate) file: OwnedFd,
    /// A file to read and map as code.
    pub(crate) code: OwnedFd,
    /// What a host must not send: the directory and the file without a mount of their own.
    pub(crate) plain: OwnedFd,
    pub(crate) plain_file: OwnedFd,
    /// The path of the directory that holds all of them.
    pub(crate) outside: String,
    /// The host's process id.
    pub(crate) host: i32,
}

/// A name, what is done, and what it meets: `ok` with what it gets, an error, or a signal. After a bar, what
/// it meets where the host is root, if that is something else.
pub(crate) type Attempt = (&'static str, fn(&Given) -> Met, &'static str);

pub(crate) fn none() -> Mode {
    Mode::empty()
}

pub(crate) fn text(file: impl AsFd) -> Met {
    let mut bytes = [0; 64];
    let count = rustix::io::read(file, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..count]).trim().to_owned())
}

pub(crate) fn read_at(dir: impl AsFd, path: &str) -> Met {
    text(openat(dir, path, OFlags::RDONLY, none())?)
}

pub(crate) fn read(path: &str) -> Met {
    read_at(CWD, path)
}

pub(crate) fn names(dir: impl AsFd) -> Met {
    let mut names: Vec<String> = Dir::read_from(dir)?
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != "." && name != "..")
        .collect();
    names.sort();
    Ok(names.join(" "))
}

pub(crate) fn list(path: &str) -> Met {
    names(openat(
        CWD,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY,
        none(),
    )?)
}

pub(crate) fn again(file: &OwnedFd, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(
        CWD,
        format!("/proc/self/fd/{}", file.as_raw_fd()),
        flags,
        none(),
    )
}

pub(crate) fn create(dir: impl AsFd, path: &str) -> rustix::io::Result<OwnedFd> {
    openat(
        dir,
        path,
        OFlags::CREATE | OFlags::RDWR,
        Mode::RUSR | Mode::WUSR,
    )
}

pub(crate) fn done(result: rustix::io::Result<()>) -> Met {
    result.map(|()| String::new())
}

pub(crate) fn epoch() -> Timestamps {
    let zero = rustix::time::Timespec::default();
    Timestamps {
        last_access: zero,
        last_modification: zero,
    }
}

pub(crate) fn beneath(
    dir: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
    mode: u32,
) -> rustix::io::Result<OwnedFd> {
    openat2(
        dir,
        path,
        flags,
        Mode::from_raw_mode(mode),
        ResolveFlags::BENEATH,
    )
}
