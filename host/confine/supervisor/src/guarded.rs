//! Protected paths at which nothing may appear while a program runs: those that do not exist, and those that are covered by
//! a read-only mount, which the kernel drops if another process replaces what is under it.
//!
//! A mount needs something to cover, and Landlock cannot deny a single name. So nothing prevents a
//! program that may write a directory from creating a protected path in it. Each such path is looked
//! up while the program runs, and once more after its last process has exited, which is the lookup
//! that counts. Whatever is found then is moved aside. It is never deleted: another program or a
//! person may have created it.
//!
//! Rejected: an empty file or directory in its place during the run. Other programs would see it and
//! misread it, and it would stay behind if the supervisor is killed.
//!
//! Lookups start at handles, one for each directory on the way that existed at the start. A renamed
//! directory stays the same for a process that has it open, for example as its working directory. A
//! symbolic link on the way counts as the path itself, even if its target does not exist yet: a later
//! run may create it.
//!
//! A program may create the directories on the way, for other files. But it may also have moved a directory there that
//! another run has open, and that run could create the path when this one has ended. So after the last process has exited,
//! each directory that is new on the way is replaced by a fresh one, and only when all of them are replaced do their entries
//! follow: a large directory must not use up the space that the others need. Whoever has the old one open is left with a
//! directory that was removed. The fresh one inside another is created in the fresh one around it, never in the old one, where
//! others could open it.
//! A directory of the start that was moved, and is back, counts as new: meanwhile it may have been in the workspace of another
//! run.
//!
//! Replacing and renaming both need space: a new directory needs an inode, and a new name may need another block in its
//! parent. A program could fill the disk to prevent them, so an unnamed file (`O_TMPFILE`) reserves space until the
//! program's last process has exited.

mod entries;
mod moves;
mod renew;
mod reserve;
#[cfg(test)]
mod tests;

use crate::report::{Appeared, Fate};
use entries::{DIRECTORY_FLAGS, Identity, identity, path_of, rename_aside, unlock};
use moves::{Moves, Original};
use renew::{Replaced, Way};
use reserve::reserve;
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;

/// How often a path that keeps reappearing is moved aside. The program is gone by then, so another
/// program would have to create it each time.
const MAX_ATTEMPTS: u32 = 16;
/// How often directories on the way are replaced beyond once for each level.
const MAX_ROUNDS: usize = 16;

/// Protected paths at which nothing may appear.
#[derive(Debug, Default)]
pub struct GuardedPaths {
    paths: Vec<GuardedPath>,
    /// Unnamed files, one for each device, that occupy space until it is needed.
    reserves: Vec<(u64, OwnedFd)>,
    moves: Moves,
}

#[derive(Debug)]
struct GuardedPath {
    path: Vec<u8>,
    /// What was there at the start, if anything. It may stay.
    original: Option<Identity>,
    /// Each directory on the way that existed at the start, with the names that lead on from there.
    starts: Vec<(OwnedFd, Vec<CString>)>,
    /// What these directories were like.
    originals: Vec<Original>,
    seen: bool,
    /// The last directory on the way that could not be replaced: a handle to it if it was moved aside, or why it could not be.
    not_replaced: Option<Result<OwnedFd, Errno>>,
}

/// What a lookup found.
struct Found {
    /// The directory that contains it; `None` if that is the one where the lookup started.
    directory: Option<OwnedFd>,
    /// The index of its name among those that were looked up.
    name: usize,
}

impl GuardedPaths {
    /// Adds the path `below` in the directory `top`; `path` is its name in messages. Fails if anything but `original` is
    /// there, or if that cannot be determined.
    pub fn add(
        &mut self,
        top: BorrowedFd<'_>,
        below: &[u8],
        path: &[u8],
        original: Option<Identity>,
    ) -> io::Result<()> {
        let names = below.split(|byte| *byte == b'/');
        let names = names.map(|name| match name {
            b"" | b"." | b".." => Err(io::ErrorKind::InvalidInput.into()),
            name => Ok(CString::new(name)?),
        });
        let names = names.collect::<io::Result<Vec<CString>>>()?;
        let mut starts: Vec<(OwnedFd, Vec<CString>)> = Vec::new();
        let mut directory = openat(top, c".", DIRECTORY_FLAGS, Mode::empty())?;
        for at in 0..names.len() {
            let (rest, next) = (&names[at..], &names[at]);
            if rest.len() == 1 {
                starts.push((directory, rest.to_vec()));
                break;
            }
            let inner = openat(&directory, next, DIRECTORY_FLAGS, Mode::empty());
            starts.push((directory, rest.to_vec()));
            match inner {
                Ok(inner) => directory = inner,
                // A file in the way makes the path impossible; a link is found below.
                Err(Errno::NOENT | Errno::NOTDIR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let originals = starts.iter().map(|(start, _)| Original::of(start));
        let mut added = GuardedPath {
            path: path.to_vec(),
            original,
            originals: originals.collect::<Result<_, _>>()?,
            starts,
            seen: false,
            not_replaced: None,
        };
        if added.has_appeared() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.paths.push(added);
        Ok(())
    }

    /// Starts watching whether directories on the way are moved. Without this, more of them are replaced than necessary.
    pub fn watch_moves(&mut self) {
        // The program cannot move the first one, which is the one that it may write.
        let starts = self
            .paths
            .iter()
            .flat_map(|path| path.starts.iter().skip(1));
        for (start, _) in starts {
            self.moves.watch(start);
        }
    }

    /// Reserves space on the file system of each path, so that the path can be moved aside even if the program fills the
    /// disk. On failure, returns the path whose file system is full.
    ///
    /// File systems without `O_TMPFILE` get no reserve. There is one for each device, so quotas of single directories are
    /// not covered.
    pub fn reserve_space(&mut self) -> Result<(), (Vec<u8>, io::Error)> {
        let starts = self
            .paths
            .iter()
            .flat_map(|path| path.starts.iter().map(move |(start, _)| (path, start)));
        for (path, start) in starts {
            let failed = |error: Errno| (path.path.clone(), error.into());
            let device = fstat(start).map_err(failed)?.st_dev;
            if self.reserves.iter().any(|(other, _)| *other == device) {
                continue;
            }
            match reserve(start) {
                Ok(reserved) => self.reserves.push((device, reserved)),
                Err(error @ (Errno::NOSPC | Errno::DQUOT)) => return Err(failed(error)),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Whether one of them exists now, or did in an earlier lookup.
    pub fn have_appeared(&mut self) -> bool {
        let mut appeared = false;
        for path in &mut self.paths {
            appeared |= path.has_appeared();
        }
        appeared
    }

    /// Moves aside those that exist now, and returns what became of each that was ever found. Call
    /// this when none of the program's processes is left.
    pub fn move_aside(&mut self) -> Vec<Appeared> {
        self.reserves.clear();
        self.renew_directories();
        self.paths
            .iter_mut()
            .filter_map(GuardedPath::move_aside)
            .collect()
    }

    /// Replaces the directories on the way that are not those of the start, or were moved meanwhile.
    ///
    /// First all of them are taken off the way, and only then entries are moved: many entries may need more space than was
    /// reserved. Whoever has one of the old directories open may put another one into it before its entries are moved, so
    /// this is repeated until there is nothing left to replace.
    fn renew_directories(&mut self) {
        self.moves.read();
        let mut settled = Vec::new();
        let starts = self.paths.iter().flat_map(|path| &path.starts);
        let levels = starts.map(|(_, names)| names.len()).max().unwrap_or(0);
        // What is put into an old directory in time is one level further in, because nobody else has the fresh one open.
        for _ in 0..levels.saturating_add(MAX_ROUNDS) {
            let replaced = self.take_off_the_way(&settled);
            if replaced.is_empty() {
                return;
            }
            self.move_entries(&replaced, &mut settled);
        }
    }

    /// Puts empty directories into the place of those that are not those of the start.
    fn take_off_the_way(&mut self, settled: &[Identity]) -> Vec<Replaced> {
        let mut replaced = Vec::new();
        for number in 0..self.paths.len() {
            self.replace_directories(number, settled, &mut replaced);
        }
        replaced
    }

    /// Moves the entries of those that were taken off the way.
    fn move_entries(&mut self, replaced: &[Replaced], settled: &mut Vec<Identity>) {
        // Inner directories first: the fresh one has to be there when the entries around it are moved.
        for one in replaced.iter().rev() {
            settled.push(one.identity);
            if one.move_entries().is_err() {
                self.paths[one.path].not_replaced = Some(one.move_aside());
            }
        }
        for one in replaced {
            one.restore_mode();
        }
    }

    /// Takes those of one path off the way, and adds them to `replaced`.
    fn replace_directories(
        &mut self,
        number: usize,
        settled: &[Identity],
        replaced: &mut Vec<Replaced>,
    ) {
        let pinned = self.pinned();
        let path = &mut self.paths[number];
        let originals = path.starts.iter().zip(&path.originals);
        let originals = originals.map(|((start, _), original)| (start, original));
        let moved = originals.skip(1).position(|(start, original)| {
            !pinned.contains(&original.identity) && self.moves.has_moved(start, original)
        });
        // What is inside one that was moved was moved with it.
        let kept = moved.map_or(path.starts.len(), |moved| moved + 1);
        for start in 0..kept {
            let mut way = Way {
                path: number,
                starts: &path.starts[..kept],
                settled,
                replaced,
                inside: None,
            };
            let done = way.replace_from(start);
            let inside = way.inside;
            match done {
                Ok(None) => {}
                Ok(Some(aside)) => path.not_replaced = Some(Ok(aside)),
                Err(error) => {
                    if let Some(outer) = inside {
                        replaced[outer].stays = true;
                    }
                    path.not_replaced = Some(Err(error));
                }
            }
        }
    }

    /// The directories around paths that exist. No program can move these, because they are mount points. Replacing one would
    /// remove those of other programs.
    fn pinned(&self) -> Vec<Identity> {
        let paths = self.paths.iter().filter(|path| path.original.is_some());
        let originals = paths.flat_map(|path| path.originals.iter().skip(1));
        originals.map(|original| original.identity).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether `name` is one of the names on the way to them.
    pub fn has_name(&self, name: &CStr) -> bool {
        let starts = self.paths.iter().filter_map(|path| path.starts.first());
        starts
            .flat_map(|(_, names)| names)
            .any(|own| own.as_c_str() == name)
    }

    /// Passes every directory on the way to them that exists now to `visit`.
    pub fn visit_directories(&self, visit: &mut dyn FnMut(BorrowedFd<'_>)) {
        for (start, names) in self.paths.iter().flat_map(|path| &path.starts) {
            visit(start.as_fd());
            let mut directory = openat(start, &names[0], DIRECTORY_FLAGS, Mode::empty());
            for name in &names[1..] {
                let Ok(there) = directory else { break };
                visit(there.as_fd());
                directory = openat(&there, name, DIRECTORY_FLAGS, Mode::empty());
            }
        }
    }
}

impl GuardedPath {
    /// A path that cannot be looked up may have appeared, so it counts.
    fn has_appeared(&mut self) -> bool {
        let mut starts = self.starts.iter();
        let find = |start, names| find(start, names, self.original, false);
        self.seen |= starts.any(|(start, names)| !matches!(find(start, names), Ok(None)));
        self.seen
    }

    fn move_aside(&mut self) -> Option<Appeared> {
        let mut fate = self.seen.then_some(Fate::Gone);
        match self.not_replaced.take() {
            None => {}
            // Read only now, because a directory that contains it may have been moved, too.
            Some(Ok(aside)) => {
                fate = Some(match path_of(&aside) {
                    Ok(path) => Fate::Moved(path.into_os_string().into_vec()),
                    // Another process removed it.
                    Err(_) => Fate::Gone,
                });
            }
            Some(Err(error)) => fate = Some(Fate::Stays(io::Error::from(error).to_string())),
        }
        for (start, names) in &self.starts {
            for _ in 0..MAX_ATTEMPTS {
                let moved = match find(start, names, self.original, true) {
                    Ok(None) => break,
                    Ok(Some(found)) => {
                        let directory = found.directory.as_ref().unwrap_or(start);
                        rename_aside(directory, &names[found.name])
                    }
                    Err(error) => Err(error),
                };
                fate = Some(match moved {
                    Ok(to) => Fate::Moved(to.into_os_string().into_vec()),
                    // Another process removed it first.
                    Err(Errno::NOENT) => Fate::Gone,
                    Err(error) => Fate::Stays(io::Error::from(error).to_string()),
                });
            }
        }
        fate.map(|fate| Appeared {
            path: self.path.clone(),
            replaced: self.original.is_some(),
            fate,
        })
    }
}

/// Looks up the path, or a symbolic link on the way to it. With `may_unlock`, a directory that its owner
/// may not search is made accessible: the program may have locked it to hide what is inside.
fn find(
    start: &OwnedFd,
    names: &[CString],
    original: Option<Identity>,
    may_unlock: bool,
) -> Result<Option<Found>, Errno> {
    let mut directory: Option<OwnedFd> = None;
    for (number, name) in names.iter().enumerate() {
        let parent = directory.as_ref().unwrap_or(start);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open_entry = || openat(parent, name, flags, Mode::empty());
        let entry = match open_entry() {
            Err(Errno::ACCESS) if may_unlock => unlock(parent).and_then(|()| open_entry()),
            entry => entry,
        };
        let entry = match entry {
            Err(Errno::NOENT) => return Ok(None),
            entry => entry?,
        };
        let stat = fstat(&entry)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_last = number + 1 == names.len();
        if is_last && original == Some(identity(&stat)) {
            return Ok(None);
        }
        if kind.is_symlink() || is_last {
            return Ok(Some(Found {
                directory,
                name: number,
            }));
        }
        if !kind.is_dir() {
            return Ok(None);
        }
        directory = Some(entry);
    }
    Ok(None)
}
