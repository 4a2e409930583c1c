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
//! each directory that is new on the way is replaced by a fresh one with the same entries. Whoever has the old one open
//! is left with a directory that was removed.
//!
//! Replacing and renaming both need space: a new directory needs an inode, and a new name may need another block in its
//! parent. A program could fill the disk to prevent them, so an unnamed file (`O_TMPFILE`) reserves space until the
//! program's last process has exited.

use crate::report::{Appeared, Fate};
use rustix::fs::{
    AtFlags, Dir, FallocateFlags, FileType, Mode, OFlags, RenameFlags, Stat, fallocate, fchown,
    fstat, mkdirat, openat, renameat, renameat_with, statat, unlinkat,
};
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
/// Entries that are moved to a fresh directory. One with more is moved aside as a whole.
const MAX_ENTRIES: usize = 10_000;
/// Reserved on each file system: enough for a few directories of normal size.
const RESERVED_BYTES: u64 = 256 << 10;

/// The device and inode of a file or directory.
type Identity = (u64, u64);

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}

/// Protected paths at which nothing may appear.
#[derive(Debug, Default)]
pub struct GuardedPaths {
    paths: Vec<GuardedPath>,
    /// Unnamed files, one for each device, that occupy space until it is needed.
    reserves: Vec<(u64, OwnedFd)>,
}

#[derive(Debug)]
struct GuardedPath {
    path: Vec<u8>,
    /// What was there at the start, if anything. It may stay.
    original: Option<Identity>,
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
        let mut added = GuardedPath {
            path: path.to_vec(),
            original,
            starts,
            seen: false,
        };
        if added.has_appeared() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.paths.push(added);
        Ok(())
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
        self.paths
            .iter_mut()
            .filter_map(GuardedPath::move_aside)
            .collect()
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

const DIRECTORY_FLAGS: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

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
        for number in 0..self.starts.len() {
            match self.renew_directories(number) {
                Ok(None) => {}
                Ok(Some(aside)) => fate = Some(Fate::Moved(aside.into_os_string().into_vec())),
                Err(error) => fate = Some(Fate::Stays(io::Error::from(error).to_string())),
            }
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

    /// Replaces the directories on the way that are not those of the start, seen from one of those. Returns where one of
    /// them is if it had to be moved aside instead.
    fn renew_directories(&self, number: usize) -> Result<Option<PathBuf>, Errno> {
        let (start, names) = &self.starts[number];
        let Some((_, on_the_way)) = names.split_last() else {
            return Ok(None);
        };
        // Opening it again could need rights that the program has taken away.
        let mut parent = rustix::io::fcntl_dupfd_cloexec(start, 0)?;
        let mut aside = None;
        for (index, name) in on_the_way.iter().enumerate() {
            let open_entry = || openat(&parent, name, DIRECTORY_FLAGS, Mode::empty());
            let entry = match open_entry() {
                Err(Errno::ACCESS) => unlock(&parent).and_then(|()| open_entry()),
                entry => entry,
            };
            let entry = match entry {
                // What is not a directory is found by the lookup.
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(aside),
                entry => entry?,
            };
            let stat = fstat(&entry)?;
            let original = match self.starts.get(number + index + 1) {
                Some((original, _)) => Some(identity(&fstat(original)?)),
                None => None,
            };
            if original == Some(identity(&stat)) {
                parent = entry;
                continue;
            }
            match renew(&parent, name, &entry, &stat)? {
                Renewed::Fresh(fresh) => parent = fresh,
                // Some entries may be in the fresh one by now, so the way goes on there.
                Renewed::Partly(fresh, to) => {
                    parent = fresh;
                    aside = Some(to);
                }
                Renewed::Aside(to) => return Ok(Some(to)),
            }
        }
        Ok(aside)
    }
}

/// Makes an unnamed file that occupies space on the file system of a directory.
fn reserve(directory: &OwnedFd) -> Result<OwnedFd, Errno> {
    let create = || {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(directory, c".", flags, Mode::RUSR)
    };
    // Read first: another supervisor may have unlocked the directory for a moment when this one finds it locked.
    let before = Mode::from_raw_mode(fstat(directory)?.st_mode);
    let file = match create() {
        // The directory is not writable now, but a program that runs as its owner could make it so.
        Err(Errno::ACCESS) => {
            unlock(directory)?;
            let created = create();
            rustix::fs::chmod(proc_path(directory), before)?;
            created?
        }
        created => created?,
    };
    match fallocate(&file, FallocateFlags::empty(), 0, RESERVED_BYTES) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error),
        // Where blocks cannot be reserved, at least an inode is.
        _ => Ok(file),
    }
}

/// What became of a directory that is new on the way to a protected path.
enum Renewed {
    /// This one has replaced it.
    Fresh(OwnedFd),
    /// This one has replaced it. Entries that cannot be moved are in the old one, which was moved here.
    Partly(OwnedFd, PathBuf),
    /// It was moved here.
    Aside(PathBuf),
}

/// Replaces a directory by a fresh one with the same entries, so that nobody has it open. If that is impossible, for example
/// because the program has used up the disk, it is moved aside: that needs no inode, and hardly ever space.
fn renew(parent: &OwnedFd, name: &CStr, old: &OwnedFd, stat: &Stat) -> Result<Renewed, Errno> {
    let exchanged = match exchange_with_fresh(parent, name) {
        Err(Errno::ACCESS) => unlock(parent).and_then(|()| exchange_with_fresh(parent, name)),
        exchanged => exchanged,
    };
    let Ok((fresh, other)) = exchanged else {
        return rename_aside(parent, name).map(Renewed::Aside);
    };
    let emptied = empty_into(parent, &other, old, &fresh);
    let own = openat(
        &fresh,
        c".",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    let restored = own.and_then(|own| {
        // Fails without the right to, and then both have the same owner.
        let owner = (
            rustix::fs::Uid::from_raw(stat.st_uid),
            rustix::fs::Gid::from_raw(stat.st_gid),
        );
        let _ = fchown(&own, Some(owner.0), Some(owner.1));
        rustix::fs::fchmod(&own, Mode::from_raw_mode(stat.st_mode))
    });
    match emptied {
        Ok(()) => restored.map(|()| Renewed::Fresh(fresh)),
        // Entries that cannot be moved stay in the old one.
        Err(_) => {
            let to = rename_to_free_name(parent, &other, name)?;
            Ok(Renewed::Partly(fresh, to))
        }
    }
}

/// Puts an empty directory in the place of an entry. Returns it, and the name that the entry has now.
fn exchange_with_fresh(parent: &OwnedFd, name: &CStr) -> Result<(OwnedFd, CString), Errno> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    let mut other = name.to_bytes().to_vec();
    other.truncate(MAX_NAME - 32);
    other.extend_from_slice(format!(".{now}").as_bytes());
    let other = CString::new(other).map_err(|_| Errno::INVAL)?;
    mkdirat(parent, &other, Mode::RWXU)?;
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
        removed = unlinkat(parent, name, AtFlags::REMOVEDIR);
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
fn exchange_in_steps(directory: &OwnedFd, a: &CStr, b: &CStr) -> Result<(), Errno> {
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
    let listed = match open() {
        Err(Errno::ACCESS) => unlock(from).and_then(|()| open()),
        listed => listed,
    };
    let mut moved = 0;
    for entry in Dir::new(listed?)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        moved += 1;
        if moved > MAX_ENTRIES {
            return Err(Errno::TOOBIG);
        }
        rename_new_between(from, to, name, name)?;
    }
    Ok(())
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

/// Renames an entry of a directory to a free name and returns its new path.
fn rename_aside(directory: &OwnedFd, name: &CStr) -> Result<PathBuf, Errno> {
    rename_to_free_name(directory, name, name)
}

/// Renames an entry of a directory to a free name that begins with `wanted`, and returns its new path.
fn rename_to_free_name(directory: &OwnedFd, name: &CStr, wanted: &CStr) -> Result<PathBuf, Errno> {
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
                let parent = rustix::fs::readlink(proc_path(directory), [])?;
                let parent = PathBuf::from(OsString::from_vec(parent.into_bytes()));
                return renamed.map(|()| parent.join(OsString::from_vec(aside)));
            }
        }
    }
    Err(Errno::EXIST)
}

fn rename_new(directory: &OwnedFd, from: &CStr, to: &CStr) -> Result<(), Errno> {
    rename_new_between(directory, directory, from, to)
}

fn rename_new_between(
    directory: &OwnedFd,
    target: &OwnedFd,
    from: &CStr,
    to: &CStr,
) -> Result<(), Errno> {
    match renameat_with(directory, from, target, to, RenameFlags::NOREPLACE) {
        // Not every file system supports this flag.
        Err(Errno::INVAL | Errno::NOSYS) => match statat(target, to, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => renameat(directory, from, target, to),
            Ok(_) => Err(Errno::EXIST),
            Err(error) => Err(error),
        },
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};

    /// A directory with the directory `a`, which contains a file.
    fn folder() -> (tempfile::TempDir, OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/file"), "").unwrap();
        let opened = File::open(folder.path()).unwrap().into();
        (folder, opened)
    }

    /// The paths in it, two levels deep.
    fn paths(folder: &tempfile::TempDir) -> Vec<String> {
        let mut all = Vec::new();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            for inner in fs::read_dir(entry.path()).unwrap() {
                let inner = inner.unwrap().file_name().into_string().unwrap();
                all.push(format!("{name}/{inner}"));
            }
            all.push(name);
        }
        all.sort();
        all
    }

    #[test]
    fn directories_are_exchanged_in_steps_or_not_at_all() {
        let (folder, opened) = folder();
        let missing = exchange_in_steps(&opened, c"a", c"b");
        assert_eq!(missing, Err(Errno::NOENT));
        assert_eq!(paths(&folder), ["a", "a/file"]);
        fs::create_dir(folder.path().join("b")).unwrap();
        exchange_in_steps(&opened, c"a", c"b").unwrap();
        assert_eq!(paths(&folder), ["a", "b", "b/file"]);
    }

    /// Runs a test in a file system with few inodes, which it shares with nobody. Without the right to mount it, the test is
    /// not run.
    #[expect(unsafe_code, reason = "rustix marks unshare as unsafe")]
    fn with_few_inodes(test: impl FnOnce(&std::path::Path) + Send) {
        let disk = tempfile::tempdir().unwrap();
        let mounted = || {
            use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
            use rustix::thread::{UnshareFlags, unshare_unsafe};
            // SAFETY: This affects the mounts and the working directory of this thread only, which has just been started.
            unsafe { unshare_unsafe(UnshareFlags::NEWNS)? };
            mount_change(
                "/",
                MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
            )?;
            mount(
                "none",
                disk.path(),
                "tmpfs",
                MountFlags::empty(),
                c"nr_inodes=16",
            )
        };
        let work = || match mounted() {
            Err(Errno::PERM) => {}
            mounted => {
                mounted.unwrap();
                test(disk.path());
            }
        };
        std::thread::scope(|scope| scope.spawn(work).join().unwrap());
    }

    /// Lets `work` become a directory on the way to a protected path, and uses up the disk. Returns what became of it, and
    /// whether a handle to the old directory still leads to an existing one.
    fn moved_on_a_full_disk(disk: &std::path::Path, with_reserve: bool) -> (Option<Fate>, bool) {
        let work = disk.join("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join("file"), "").unwrap();
        let held = File::open(&work).unwrap();
        let mut guarded = GuardedPaths::default();
        let top = File::open(disk).unwrap();
        let added = guarded.add(top.as_fd(), b"way/path", b"path", None);
        added.unwrap();
        if with_reserve {
            guarded.reserve_space().unwrap();
        }
        fs::rename(&work, disk.join("way")).unwrap();
        let mut created = (0..).map(|n| fs::write(disk.join(format!("fill{n}")), ""));
        let full = created.find_map(Result::err).unwrap();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        let fate = guarded.move_aside().pop().map(|one| one.fate);
        (fate, fstat(held).unwrap().st_nlink > 0)
    }

    #[test]
    fn a_directory_is_replaced_even_if_the_disk_is_full() {
        with_few_inodes(|disk| {
            assert_eq!(moved_on_a_full_disk(disk, true), (None, false));
            assert!(disk.join("way/file").exists());
        });
    }

    #[test]
    fn a_directory_is_moved_aside_if_there_is_no_space_to_replace_it() {
        with_few_inodes(|disk| {
            let aside = disk.join("way.refused");
            let fate = Fate::Moved(aside.clone().into_os_string().into_vec());
            assert_eq!(moved_on_a_full_disk(disk, false), (Some(fate), true));
            assert!(aside.join("file").exists() && !disk.join("way").exists());
        });
    }

    #[test]
    fn no_space_is_reserved_on_a_full_disk() {
        with_few_inodes(|disk| {
            let mut guarded = GuardedPaths::default();
            let top = File::open(disk).unwrap();
            guarded.add(top.as_fd(), b"way", b"path", None).unwrap();
            let mut created = (0..).map(|n| fs::write(disk.join(format!("fill{n}")), ""));
            created.find_map(Result::err).unwrap();
            let (path, error) = guarded.reserve_space().unwrap_err();
            assert_eq!(path, b"path");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            fs::remove_file(disk.join("fill0")).unwrap();
            guarded.reserve_space().unwrap();
        });
    }

    #[test]
    fn space_is_reserved_in_a_directory_that_its_owner_has_locked() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |mode| {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        };
        let opened: OwnedFd = File::open(folder.path()).unwrap().into();
        mode(0o555);
        let reserved = fstat(reserve(&opened).unwrap()).unwrap();
        assert!(reserved.st_blocks.cast_unsigned() * 512 >= RESERVED_BYTES);
        assert_eq!(fstat(&opened).unwrap().st_mode & 0o777, 0o555);
        mode(0o755);
    }

    #[test]
    fn a_directory_that_cannot_be_renewed_leaves_no_fresh_one_behind() {
        let (folder, opened) = folder();
        let old = openat(&opened, c"a", DIRECTORY_FLAGS, Mode::empty()).unwrap();
        let stat = fstat(&old).unwrap();
        // As if it was renamed in the meantime.
        let renewed = renew(&opened, c"renamed", &old, &stat);
        assert_eq!(renewed.err(), Some(Errno::NOENT));
        assert_eq!(paths(&folder), ["a", "a/file"]);
        let renewed = renew(&opened, c"a", &old, &stat);
        assert!(matches!(renewed, Ok(Renewed::Fresh(_))));
        assert_eq!(paths(&folder), ["a", "a/file"]);
        assert_ne!(
            identity(&fstat(File::open(folder.path().join("a")).unwrap()).unwrap()),
            identity(&stat)
        );
    }
}
