//! Replacing directories that are new on the way to a protected path.

use super::entries::{
    DIRECTORY_FLAGS, Identity, MAX_NAME, identity, rename_aside, rename_new_between,
    rename_to_free_name, unlock, with_freed_space,
};
use rustix::fs::{
    AtFlags, Dir, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, mkdirat,
    openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::time::SystemTime;

/// Entries that are moved to a fresh directory. One with more is moved aside as a whole.
const MAX_ENTRIES: usize = 10_000;
/// How often a directory is emptied in which another process keeps creating files.
const MAX_ATTEMPTS: u32 = 16;

/// A directory that was taken off the way: an empty one has its place there.
pub(super) struct Replaced {
    /// The index of the protected path.
    pub(super) path: usize,
    /// The identity of the empty one.
    pub(super) identity: Identity,
    /// Set if its entries must not be moved.
    pub(super) stays: bool,
    pub(super) fresh: OwnedFd,
    /// Where it is now, with its name there.
    parent: OwnedFd,
    other: CString,
    /// Its name on the way.
    name: CString,
    old: OwnedFd,
    stat: Stat,
}

impl Replaced {
    /// Moves its entries to the directory that has replaced it, and removes it.
    pub(super) fn move_entries(&self) -> Result<(), Errno> {
        match self.stays {
            true => Err(Errno::NOTEMPTY),
            false => empty_into(&self.parent, &self.other, &self.old, &self.fresh),
        }
    }

    /// Gives it a name that says why it is not on the way any more. Returns a handle to it.
    pub(super) fn move_aside(&self) -> Result<OwnedFd, Errno> {
        // If this fails, it keeps the name that it was exchanged with. One inside another that was replaced keeps its own:
        // the fresh one has that name already, so the outer one cannot be emptied and is moved aside, too.
        let _ = rename_to_free_name(&self.parent, &self.other, &self.name);
        fcntl_dupfd_cloexec(&self.old, 0)
    }

    /// Gives the directory that has replaced it the same owner and mode. This comes last: without the right to write, it could
    /// not be filled or moved.
    pub(super) fn restore_mode(&self) {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let Ok(own) = openat(&self.fresh, c".", flags, Mode::empty()) else {
            return;
        };
        // Fails without the right to, and then both have the same owner.
        let owner = (
            Uid::from_raw(self.stat.st_uid),
            Gid::from_raw(self.stat.st_gid),
        );
        let _ = fchown(&own, Some(owner.0), Some(owner.1));
        let _ = fchmod(&own, Mode::from_raw_mode(self.stat.st_mode));
    }
}

/// The way to a protected path.
pub(super) struct Way<'a> {
    /// The index of the path.
    pub(super) path: usize,
    /// Each directory on the way that existed at the start and was not moved, with the names that lead on from there.
    pub(super) starts: &'a [(OwnedFd, Vec<CString>)],
    /// Directories that are new, but were created here.
    pub(super) settled: &'a [Identity],
    pub(super) replaced: &'a mut Vec<Replaced>,
    /// The index of the innermost directory in `replaced` that was entered.
    pub(super) inside: Option<usize>,
}

impl Way<'_> {
    /// Replaces the directories on the way that are not those of the start, seen from one of those. In a directory that was
    /// taken off the way, those that its entries would bring back are replaced, too. Returns the one that had to be moved aside
    /// instead.
    ///
    /// Nothing is ever created in a directory that was taken off the way: whoever has that one open could open what is new in
    /// it. A directory inside it is replaced by one in its replacement.
    pub(super) fn replace_from(&mut self, number: usize) -> Result<Option<OwnedFd>, Errno> {
        self.inside = None;
        let (start, names) = &self.starts[number];
        let Some((_, on_the_way)) = names.split_last() else {
            return Ok(None);
        };
        // Opening it again could need rights that the program has taken away.
        let mut parent = fcntl_dupfd_cloexec(start, 0)?;
        // Whether `parent` is the old directory of `inside`, and not one that is on the way.
        let mut is_old = false;
        for (index, name) in on_the_way.iter().enumerate() {
            let open_entry = || openat(&parent, name, DIRECTORY_FLAGS, Mode::empty());
            let entry = match with_access(&parent, open_entry) {
                // What is not a directory is found by the lookup.
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                entry => entry?,
            };
            let stat = fstat(&entry)?;
            let own = identity(&stat);
            if let Some((original, _)) = self.starts.get(number + index + 1)
                && identity(&fstat(original)?) == own
            {
                // It is a start itself, and what is inside is replaced from there.
                return Ok(None);
            }
            if self.settled.contains(&own) {
                parent = entry;
                is_old = false;
                continue;
            }
            let mut replaced = self.replaced.iter();
            let known = replaced.position(|other| match is_old {
                true => identity(&other.stat) == own,
                false => other.identity == own,
            });
            if let Some(known) = known {
                // For another path. What was in it is still in the old one.
                self.inside = Some(known);
                parent = fcntl_dupfd_cloexec(&self.replaced[known].old, 0)?;
                is_old = true;
                continue;
            }
            let Some(replaced) = self.take(parent, is_old, name, &entry, stat)? else {
                return Ok(Some(entry));
            };
            self.inside = Some(self.replaced.len());
            self.replaced.push(replaced);
            parent = entry;
            is_old = true;
        }
        Ok(None)
    }

    /// Takes `entry`, which has this name in `parent`, off the way. Returns `None` if it had to be moved aside.
    fn take(
        &self,
        parent: OwnedFd,
        is_old: bool,
        name: &CStr,
        entry: &OwnedFd,
        stat: Stat,
    ) -> Result<Option<Replaced>, Errno> {
        let old = fcntl_dupfd_cloexec(entry, 0)?;
        let outer = self
            .inside
            .filter(|_| is_old)
            .map(|outer| &self.replaced[outer].fresh);
        let replaced = match outer {
            Some(fresh) => create_fresh(fresh, name).map(|fresh| (fresh, name.to_owned())),
            None => with_access(&parent, || exchange_with_fresh(&parent, name)),
        };
        // Without space for another directory it is moved aside: that needs no inode, and hardly ever space.
        let Ok((fresh, other)) = replaced else {
            rename_aside(&parent, name)?;
            return Ok(None);
        };
        Ok(Some(Replaced {
            path: self.path,
            identity: identity(&fstat(&fresh)?),
            stays: false,
            fresh,
            parent,
            other,
            name: name.to_owned(),
            old,
            stat,
        }))
    }
}

/// Creates an empty directory in one that is fresh itself.
fn create_fresh(parent: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    with_freed_space(parent, || mkdirat(parent, name, Mode::RWXU))?;
    let fresh = openat(parent, name, DIRECTORY_FLAGS, Mode::empty())?;
    // Another process that may write on the way could have put a directory of its own under this name.
    match is_empty(&fresh)? {
        true => Ok(fresh),
        false => Err(Errno::STALE),
    }
}

/// Puts an empty directory in the place of an entry. Returns it, and the name that the entry has now.
pub(super) fn exchange_with_fresh(
    parent: &OwnedFd,
    name: &CStr,
) -> Result<(OwnedFd, CString), Errno> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    let mut other = name.to_bytes().to_vec();
    other.truncate(MAX_NAME - 32);
    other.extend_from_slice(format!(".{now}").as_bytes());
    let other = CString::new(other).map_err(|_| Errno::INVAL)?;
    with_freed_space(parent, || mkdirat(parent, &other, Mode::RWXU))?;
    let exchanged = openat(parent, &other, DIRECTORY_FLAGS, Mode::empty()).and_then(|fresh| {
        let stat = fstat(&fresh)?;
        // Another process that may write here could have put a directory of its own under this name. Its owner says
        // nothing: the mount may map user ids.
        if !is_empty(&fresh)? {
            return Err(Errno::STALE);
        }
        // From now on, nothing that is created in the old one is on the way.
        exchange(parent, name, &other)?;
        let current = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match identity(&current) == identity(&stat) {
            true => Ok(fresh),
            false => Err(Errno::STALE),
        }
    });
    match exchanged {
        Ok(fresh) => Ok((fresh, other)),
        Err(error) => {
            let _ = unlinkat(parent, &other, AtFlags::REMOVEDIR);
            Err(error)
        }
    }
}

fn is_empty(directory: &OwnedFd) -> Result<bool, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    for entry in Dir::new(openat(directory, c".", flags, Mode::empty())?)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Moves everything in the directory `from` to another one, and removes it under its name `name`.
fn empty_into(parent: &OwnedFd, name: &CStr, from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let mut removed = Err(Errno::NOTEMPTY);
    for _ in 0..MAX_ATTEMPTS {
        move_entries(from, to)?;
        removed = with_access(parent, || unlinkat(parent, name, AtFlags::REMOVEDIR));
        // Somebody may still create files in it.
        if removed != Err(Errno::NOTEMPTY) {
            break;
        }
    }
    removed
}

/// Exchanges two entries of a directory.
fn exchange(directory: &OwnedFd, a: &CStr, b: &CStr) -> Result<(), Errno> {
    match renameat_with(directory, a, directory, b, RenameFlags::EXCHANGE) {
        // Not every file system supports this flag.
        Err(Errno::INVAL | Errno::NOSYS) => exchange_in_steps(directory, a, b),
        exchanged => exchanged,
    }
}

/// Exchanges two entries of a directory by renaming them; the second one is an empty directory. If that fails, the first
/// one keeps its name.
pub(super) fn exchange_in_steps(directory: &OwnedFd, a: &CStr, b: &CStr) -> Result<(), Errno> {
    let mut aside = b.to_bytes().to_vec();
    aside.push(b'~');
    let aside = CString::new(aside).map_err(|_| Errno::INVAL)?;
    let rename = |from: &CStr, to: &CStr| renameat(directory, from, directory, to);
    rename(a, &aside)?;
    let exchanged = rename(b, a).and_then(|()| rename(&aside, b));
    exchanged.inspect_err(|_| {
        // An empty directory that has its name by now is replaced.
        let _ = rename(&aside, a);
    })
}

/// Moves all entries of a directory to another one.
fn move_entries(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let open = || {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(from, c".", flags, Mode::empty())
    };
    let listed = with_access(from, open)?;
    let mut moved = 0;
    for entry in Dir::new(listed)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        moved += 1;
        if moved > MAX_ENTRIES {
            return Err(Errno::TOOBIG);
        }
        with_access(from, || rename_new_between(from, to, name, name))?;
    }
    Ok(())
}

/// Does something in a directory that the program may have locked.
fn with_access<T>(directory: &OwnedFd, attempt: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    match attempt() {
        Err(Errno::ACCESS) => unlock(directory).and_then(|()| attempt()),
        done => done,
    }
}
