//! A walk through a directory in which others may be at work: nothing is named by a path, each entry is held
//! by a handle.

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Directories in each other that are walked into: each takes two handles.
const DEEPEST: usize = 400;

/// Why a walk did not see everything.
pub(crate) struct Unseen;

/// Shows every entry below `top` to `visit`, until that breaks off; symbolic links are entries.
pub(crate) fn walk(
    top: BorrowedFd<'_>,
    visit: &mut dyn FnMut(&OwnedFd, &Stat) -> ControlFlow<()>,
) -> Result<(), Unseen> {
    let mut unseen = false;
    let mut open = vec![list(top).map_err(|_| Unseen)?];
    while let Some((folder, entries)) = open.last_mut() {
        let Some(entry) = entries.next() else {
            open.pop();
            continue;
        };
        let Ok(entry) = entry else {
            unseen = true;
            continue;
        };
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = openat(&*folder, entry.file_name(), flags, Mode::empty());
        let (held, stat) = match held.and_then(|held| fstat(&held).map(|stat| (held, stat))) {
            Ok(held) => held,
            // It went away meanwhile.
            Err(Errno::NOENT) => continue,
            Err(_) => {
                unseen = true;
                continue;
            }
        };
        if visit(&held, &stat).is_break() {
            return Ok(());
        }
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            match list(held.as_fd()) {
                Ok(below) if open.len() < DEEPEST => open.push(below),
                Err(Errno::NOENT) => {}
                _ => unseen = true,
            }
        }
    }
    match unseen {
        true => Err(Unseen),
        false => Ok(()),
    }
}

fn list(folder: BorrowedFd<'_>) -> rustix::io::Result<(OwnedFd, Dir)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(folder, ".", flags, Mode::empty())?;
    let entries = Dir::read_from(&folder)?;
    Ok((folder, entries))
}

/// Gives what belongs to user `from` below `top` to another user and group.
pub(crate) fn give(top: BorrowedFd<'_>, from: u32, to: (u32, u32)) {
    use rustix::process::{Gid, Uid};
    let (user, group) = (Uid::from_raw(to.0), Gid::from_raw(to.1));
    // What is too deep to be walked into stays the private user's.
    let _ = walk(top, &mut |held, stat| {
        if stat.st_uid == from {
            let _ = rustix::fs::chownat(held, c"", Some(user), Some(group), AtFlags::EMPTY_PATH);
        }
        ControlFlow::Continue(())
    });
}

/// Whether everything below `top` takes more than `most` bytes, each file and directory `least` at least.
/// What closes itself to the count counts as too much.
/// Nothing is said of what cannot be counted in time.
pub(crate) fn is_larger(top: BorrowedFd<'_>, most: u64, least: u64, until: Instant) -> bool {
    let mut taken = 0u64;
    let walked = walk(top, &mut |_, stat| {
        let bytes = u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        taken = taken.saturating_add(bytes.max(least));
        match taken > most || Instant::now() >= until {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    taken > most || walked.is_err()
}
