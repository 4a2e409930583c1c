//! Protected paths that do not exist, and must not appear while a program runs.
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

use crate::report::{Appeared, Fate};
use rustix::fs::{FileType, Mode, OFlags, RenameFlags, fstat, openat, renameat_with, statat};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

/// How often a path that keeps reappearing is moved aside. The program is gone by then, so another
/// program would have to create it each time.
const MAX_ATTEMPTS: u32 = 16;
/// Suffixes are tried in order, so that messages are the same from run to run. After this many, the
/// time is used.
const MAX_SUFFIX: u32 = 100;
/// The longest name of a file.
const MAX_NAME: usize = 255;
/// What is added to the name of a path that appeared.
const REFUSED: &[u8] = b".refused";

/// Protected paths that did not exist when a program was started.
#[derive(Debug, Default)]
pub struct AbsentPaths(Vec<AbsentPath>);

#[derive(Debug)]
struct AbsentPath {
    path: Vec<u8>,
    /// Each directory on the way that existed at the start, with the names that lead on from there.
    starts: Vec<(OwnedFd, Vec<CString>)>,
    seen: bool,
}

/// What a lookup found.
struct Found {
    /// The directory that contains it; `None` if that is the one where the lookup started.
    directory: Option<OwnedFd>,
    /// The index of its name among those that were looked up.
    name: usize,
}

impl AbsentPaths {
    /// Adds the path `below` in the directory `top`; `path` is its name in messages. Fails if it
    /// exists, or if that cannot be determined.
    pub fn add(&mut self, top: BorrowedFd<'_>, below: &[u8], path: &[u8]) -> io::Result<()> {
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
            let inner = openat(&directory, next, DIRECTORY_FLAGS, Mode::empty());
            starts.push((directory, rest.to_vec()));
            match inner {
                Ok(inner) => directory = inner,
                // A file in the way makes the path impossible; a link is found below.
                Err(Errno::NOENT | Errno::NOTDIR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let mut added = AbsentPath {
            path: path.to_vec(),
            starts,
            seen: false,
        };
        if added.has_appeared() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.0.push(added);
        Ok(())
    }

    /// Whether one of them exists now, or did in an earlier lookup.
    pub fn have_appeared(&mut self) -> bool {
        let mut appeared = false;
        for path in &mut self.0 {
            appeared |= path.has_appeared();
        }
        appeared
    }

    /// Moves aside those that exist now, and returns what became of each that was ever found. Call
    /// this when none of the program's processes is left.
    pub fn move_aside(&mut self) -> Vec<Appeared> {
        self.0
            .iter_mut()
            .filter_map(AbsentPath::move_aside)
            .collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `name` is one of the names on the way to them.
    pub fn has_name(&self, name: &CStr) -> bool {
        let starts = self.0.iter().filter_map(|path| path.starts.first());
        starts
            .flat_map(|(_, names)| names)
            .any(|own| own.as_c_str() == name)
    }

    /// Passes every directory on the way to them that exists now to `visit`.
    pub fn visit_directories(&self, visit: &mut dyn FnMut(BorrowedFd<'_>)) {
        for (start, names) in self.0.iter().flat_map(|path| &path.starts) {
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

const DIRECTORY_FLAGS: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl AbsentPath {
    /// A path that cannot be looked up may have appeared, so it counts.
    fn has_appeared(&mut self) -> bool {
        let mut starts = self.starts.iter();
        self.seen |= starts.any(|(start, names)| !matches!(find(start, names, false), Ok(None)));
        self.seen
    }

    fn move_aside(&mut self) -> Option<Appeared> {
        let mut fate = self.seen.then_some(Fate::Gone);
        for (start, names) in &self.starts {
            for _ in 0..MAX_ATTEMPTS {
                let moved = match find(start, names, true) {
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
        let path = self.path.clone();
        fate.map(|fate| Appeared { path, fate })
    }
}

/// Looks up the path, or a symbolic link on the way to it. With `may_unlock`, a directory that its owner
/// may not search is made accessible: the program may have locked it to hide what is inside.
fn find(start: &OwnedFd, names: &[CString], may_unlock: bool) -> Result<Option<Found>, Errno> {
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
        let kind = FileType::from_raw_mode(fstat(&entry)?.st_mode);
        if kind.is_symlink() || number + 1 == names.len() {
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

/// Renames an entry of a directory to a free name and returns its new path.
fn rename_aside(directory: &OwnedFd, name: &CStr) -> Result<PathBuf, Errno> {
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
        let mut base = name.to_bytes();
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
                let parent = rustix::fs::readlink(proc_path(directory), [])?;
                let parent = PathBuf::from(OsString::from_vec(parent.into_bytes()));
                return renamed.map(|()| parent.join(OsString::from_vec(aside)));
            }
        }
    }
    Err(Errno::EXIST)
}

fn rename_new(directory: &OwnedFd, from: &CStr, to: &CStr) -> Result<(), Errno> {
    match renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        // Not every file system supports this flag.
        Err(Errno::INVAL | Errno::NOSYS) => {
            match statat(directory, to, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(directory, from, directory, to),
                Ok(_) => Err(Errno::EXIST),
                Err(error) => Err(error),
            }
        }
        renamed => renamed,
    }
}

/// Gives the owner all permissions on a directory.
fn unlock(directory: &OwnedFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(fstat(directory)?.st_mode) | Mode::RWXU;
    rustix::fs::chmod(proc_path(directory), mode)
}

/// The `/proc` path of a handle, for calls that take only a path; it works for `O_PATH` handles too.
fn proc_path(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}
