//! Walks a directory that other processes may be changing. Entries are never named by a path: each
//! one is opened, and its handle is used.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Instant;

/// The deepest nesting that is walked: each level takes two handles.
const MAX_DEPTH: usize = 400;

/// The walk could not visit every entry.
#[derive(Debug)]
pub struct Incomplete;

/// Passes every entry below `top` to `visit`, until that returns `Break`. Symbolic links are entries
/// and are not followed.
pub fn walk(
    top: BorrowedFd<'_>,
    visit: &mut dyn FnMut(&OwnedFd, &Stat) -> ControlFlow<()>,
) -> Result<(), Incomplete> {
    let mut incomplete = false;
    let mut open = vec![list(top).map_err(|_| Incomplete)?];
    while let Some((directory, entries)) = open.last_mut() {
        let Some(entry) = entries.next() else {
            open.pop();
            continue;
        };
        let Ok(entry) = entry else {
            incomplete = true;
            continue;
        };
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entry_handle = openat(&*directory, entry.file_name(), flags, Mode::empty());
        let (entry_handle, stat) = match entry_handle
            .and_then(|entry_handle| fstat(&entry_handle).map(|stat| (entry_handle, stat)))
        {
            Ok(entry_handle) => entry_handle,
            // It was removed meanwhile.
            Err(Errno::NOENT) => continue,
            Err(_) => {
                incomplete = true;
                continue;
            }
        };
        if visit(&entry_handle, &stat).is_break() {
            return Ok(());
        }
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            match list(entry_handle.as_fd()) {
                Ok(below) if open.len() < MAX_DEPTH => open.push(below),
                Err(Errno::NOENT) => {}
                _ => incomplete = true,
            }
        }
    }
    match incomplete {
        true => Err(Incomplete),
        false => Ok(()),
    }
}

/// Opens a directory to list it. Its access time stays as it is, if that is possible: it would tell a program that moves files
/// about when this directory has been listed.
fn list(directory: BorrowedFd<'_>) -> rustix::io::Result<(OwnedFd, Dir)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let unnoticed = openat(directory, ".", flags | OFlags::NOATIME, Mode::empty());
    let directory = match unnoticed {
        // It belongs to another user.
        Err(Errno::PERM) => openat(directory, ".", flags, Mode::empty())?,
        opened => opened?,
    };
    let entries = Dir::read_from(&directory)?;
    Ok((directory, entries))
}

/// Changes the owner of everything below `top` that belongs to user `from`.
pub fn change_owner(top: BorrowedFd<'_>, from: u32, to: (u32, u32)) {
    use rustix::process::{Gid, Uid};
    let (user, group) = (Uid::from_raw(to.0), Gid::from_raw(to.1));
    // Entries that are too deep to be walked keep the private user as owner.
    let _ = walk(top, &mut |entry_handle, stat| {
        if stat.st_uid == from {
            let _ = rustix::fs::chownat(
                entry_handle,
                c"",
                Some(user),
                Some(group),
                AtFlags::EMPTY_PATH,
            );
        }
        ControlFlow::Continue(())
    });
}

/// Whether everything below `top` uses more than `limit` bytes, with each file and directory counted
/// as `min_per_entry` bytes at least. Entries that cannot be read count as too much. If the deadline
/// passes first, the answer is no.
pub fn exceeds(top: BorrowedFd<'_>, limit: u64, min_per_entry: u64, deadline: Instant) -> bool {
    let mut used = 0u64;
    let walked = walk(top, &mut |_, stat| {
        let bytes = u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        used = used.saturating_add(bytes.max(min_per_entry));
        match used > limit || Instant::now() >= deadline {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    used > limit || walked.is_err()
}
