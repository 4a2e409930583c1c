//! Protected paths that do not exist, and must not while a program runs.
//!
//! A mount needs something to cover, and Landlock cannot deny a single name. So nothing keeps a program that
//! may write a directory from creating a protected path in it. Each is looked up while the program runs, and
//! once more when its last process is gone, which is the lookup that counts. What is found then is moved
//! aside. It is never deleted: another program or a person may have created it.
//!
//! Rejected: an empty file or directory in its place during the run. Other programs see it and take it for
//! what it is not, and it stays behind if the supervisor is killed.
//!
//! Lookups start at handles, one for each directory on the way that existed at the start. A directory that
//! is renamed stays the same for whoever has it open, as a shell has its working directory. A symbolic link on the
//! way counts as the path itself, even if it leads nowhere so far: a later run may create its target.

use crate::report::{Appeared, Fate};
use rustix::fs::{FileType, Mode, OFlags, RenameFlags, fstat, openat, renameat_with, statat};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

/// How often a path that comes and goes is moved aside. Nothing of the program runs any more, so another
/// program would have to bring it back each time.
const TRIES: u32 = 16;
/// Names that are tried in order, so that a message is the same from run to run; then the time decides.
const NUMBERED: u32 = 100;

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

/// What a lookup came to.
struct Found {
    /// The directory it is in; none if that is the one where the lookup started.
    folder: Option<OwnedFd>,
    /// The number of its name among those that were looked up.
    name: usize,
}

impl AbsentPaths {
    /// Adds the path at `below` in the directory `top`; `path` is its name in messages. Fails if it exists,
    /// or if that cannot be told.
    pub fn add(&mut self, top: BorrowedFd<'_>, below: &[u8], path: &[u8]) -> io::Result<()> {
        let names = below.split(|byte| *byte == b'/');
        let names = names.map(|name| match name {
            b"" | b"." | b".." => Err(io::ErrorKind::InvalidInput.into()),
            name => Ok(CString::new(name)?),
        });
        let names = names.collect::<io::Result<Vec<CString>>>()?;
        let mut starts: Vec<(OwnedFd, Vec<CString>)> = Vec::new();
        let mut folder = openat(top, c".", FOLDER, Mode::empty())?;
        for at in 0..names.len() {
            let (rest, next) = (&names[at..], &names[at]);
            let inner = openat(&folder, next, FOLDER, Mode::empty());
            starts.push((folder, rest.to_vec()));
            match inner {
                Ok(inner) => folder = inner,
                // A file in the way leaves no room for the path; a link is found below.
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

    /// Moves aside what exists now, and tells what became of each that was ever found. To be called when
    /// nothing of the program runs any more.
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

    /// Whether one of the names on the way to them is `name`.
    pub fn has_name(&self, name: &CStr) -> bool {
        let starts = self.0.iter().filter_map(|path| path.starts.first());
        starts
            .flat_map(|(_, names)| names)
            .any(|own| own.as_c_str() == name)
    }

    /// Shows every directory on the way to them that exists now.
    pub fn visit_folders(&self, visit: &mut dyn FnMut(BorrowedFd<'_>)) {
        for (start, names) in self.0.iter().flat_map(|path| &path.starts) {
            visit(start.as_fd());
            let mut folder = openat(start, &names[0], FOLDER, Mode::empty());
            for name in &names[1..] {
                let Ok(there) = folder else { break };
                visit(there.as_fd());
                folder = openat(&there, name, FOLDER, Mode::empty());
            }
        }
    }
}

const FOLDER: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl AbsentPath {
    /// What cannot be looked up has perhaps appeared, so it counts.
    fn has_appeared(&mut self) -> bool {
        let mut starts = self.starts.iter();
        self.seen |= starts.any(|(start, names)| !matches!(find(start, names, false), Ok(None)));
        self.seen
    }

    fn move_aside(&mut self) -> Option<Appeared> {
        let mut fate = self.seen.then_some(Fate::Gone);
        for (start, names) in &self.starts {
            for _ in 0..TRIES {
                let moved = match find(start, names, true) {
                    Ok(None) => break,
                    Ok(Some(found)) => {
                        let folder = found.folder.as_ref().unwrap_or(start);
                        rename_aside(folder, &names[found.name])
                    }
                    Err(error) => Err(error),
                };
                fate = Some(match moved {
                    Ok(to) => Fate::Moved(to.into_os_string().into_vec()),
                    // Somebody else was faster.
                    Err(Errno::NOENT) => Fate::Gone,
                    Err(error) => Fate::Stays(io::Error::from(error).to_string()),
                });
            }
        }
        let path = self.path.clone();
        fate.map(|fate| Appeared { path, fate })
    }
}

/// Looks for the path, or for a symbolic link on the way to it. If `unlock` says so, a directory that keeps
/// its owner out is opened to him: the program may have closed it to hide what is in there.
fn find(start: &OwnedFd, names: &[CString], unlock: bool) -> Result<Option<Found>, Errno> {
    let mut folder: Option<OwnedFd> = None;
    for (number, name) in names.iter().enumerate() {
        let parent = folder.as_ref().unwrap_or(start);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let look = || openat(parent, name, flags, Mode::empty());
        let entry = match look() {
            Err(Errno::ACCESS) if unlock => open_to_owner(parent).and_then(|()| look()),
            entry => entry,
        };
        let entry = match entry {
            Err(Errno::NOENT) => return Ok(None),
            entry => entry?,
        };
        let kind = FileType::from_raw_mode(fstat(&entry)?.st_mode);
        if kind.is_symlink() || number + 1 == names.len() {
            return Ok(Some(Found {
                folder,
                name: number,
            }));
        }
        if !kind.is_dir() {
            return Ok(None);
        }
        folder = Some(entry);
    }
    Ok(None)
}

/// Renames an entry of a directory to a name that is free; tells its path.
fn rename_aside(folder: &OwnedFd, name: &CStr) -> Result<PathBuf, Errno> {
    let now = || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos())
    };
    let endings = (1..=NUMBERED).map(|number| match number {
        1 => String::new(),
        number => format!("-{number}"),
    });
    let mut unlocked = false;
    for ending in endings.chain([format!("-{}", now())]) {
        let aside = [name.to_bytes(), b".refused", ending.as_bytes()].concat();
        let to = CString::new(aside.clone()).map_err(|_| Errno::INVAL)?;
        let mut renamed = rename_new(folder, name, &to);
        if renamed == Err(Errno::ACCESS) && !unlocked {
            unlocked = true;
            open_to_owner(folder)?;
            renamed = rename_new(folder, name, &to);
        }
        match renamed {
            Err(Errno::EXIST) => {}
            renamed => {
                let place = rustix::fs::readlink(own_link(folder), [])?;
                let place = PathBuf::from(OsString::from_vec(place.into_bytes()));
                return renamed.map(|()| place.join(OsString::from_vec(aside)));
            }
        }
    }
    Err(Errno::EXIST)
}

fn rename_new(folder: &OwnedFd, from: &CStr, to: &CStr) -> Result<(), Errno> {
    match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        // Not every file system can.
        Err(Errno::INVAL | Errno::NOSYS) => {
            match statat(folder, to, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(folder, from, folder, to),
                Ok(_) => Err(Errno::EXIST),
                Err(error) => Err(error),
            }
        }
        renamed => renamed,
    }
}

fn open_to_owner(folder: &OwnedFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(fstat(folder)?.st_mode) | Mode::RWXU;
    rustix::fs::chmod(own_link(folder), mode)
}

/// The name of what a handle is on, for calls that take none without rights to read.
fn own_link(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}
