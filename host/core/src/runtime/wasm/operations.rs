//! What a guest may do with its files: the checks before an operation, and the operations that wasmtime-wasi does not
//! do as we want them.
//!
//! Only regular files and directories can be opened ([`super::located`]), growth is charged to a budget, protected
//! paths cannot be changed, links that lead outside cannot be created, and the grant of a single file does not expose its
//! siblings. What the guest could not do is counted, and what it changed is noted.

use super::budget::ENTRY;
use super::file_streams::FileWriter;
use super::files::{Fd, FilesView, Mount};
use super::located::{Kind, Located};
use crate::outcome::DenialHint;
use crate::runtime::denials::Access;
use cap_fs_ext::OpenOptionsFollowExt as _;
use cap_primitives::fs::{FollowSymlinks, OpenOptions};
use rustix::fs::{Timespec, Timestamps, UTIME_OMIT};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use types::{DescriptorFlags, ErrorCode, Filesize, OpenFlags, PathFlags};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File, OpenMode};
use wasmtime_wasi::p2::bindings::filesystem::types;
use wasmtime_wasi::p2::{DynOutputStream, FsResult};

/// What was opened.
pub(super) struct Opened {
    descriptor: Descriptor,
    effect: Effect,
}

/// What opening a file has done, with its real path.
enum Effect {
    None,
    Created(PathBuf),
    Truncated(PathBuf),
    /// Nothing yet, but it can be written.
    Writable(PathBuf),
}

/// A directory entry before a change.
pub(super) struct EntryBefore {
    /// Its real path.
    path: PathBuf,
    kind: Kind,
}

/// How a directory entry is about to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// A directory is created under a name that does not exist.
    NewDirectory,
    /// Anything else.
    Any,
}

impl FilesView<'_> {
    /// Checks that the guest may see `path`: a sibling of a single granted file does not exist for it. Returns whether
    /// to follow links.
    pub(super) fn check_visible(
        &self,
        fd: &Fd,
        path: &str,
        follow: PathFlags,
    ) -> FsResult<PathFlags> {
        if self.is_outside(fd) {
            return Err(ErrorCode::NoEntry.into());
        }
        match &self.files.mounts[self.mount_of(fd, path)?].only {
            Some(only) if only != path => Err(ErrorCode::NoEntry.into()),
            Some(_) => Ok(PathFlags::empty()),
            None => Ok(follow),
        }
    }

    /// Checks that the guest may change the directory entry `path`.
    ///
    /// If there are protected paths, this returns a handle to the directory that was checked and a bare name. Resolved a second time, the path could lead elsewhere: another run may have replaced a
    /// directory by a link in between.
    pub(super) fn checked_entry(&self, fd: &Fd, path: &str) -> FsResult<Option<(Dir, String)>> {
        self.checked_entry_for(fd, path, Change::Any)
    }

    /// The same for one kind of change.
    pub(super) fn checked_entry_for(
        &self,
        fd: &Fd,
        path: &str,
        change: Change,
    ) -> FsResult<Option<(Dir, String)>> {
        let mount = self.mount(fd)?;
        let dir = self.dir(fd)?;
        self.check_writable(fd, path)?;
        let Some(protected) = &mount.protected else {
            return Ok(None);
        };
        let (parent, name) = split_entry(path)?;
        let parent = cap_primitives::fs::open_dir(&dir.dir, parent).inspect_err(|error| {
            if is_escape(error) {
                self.count_denial(Access::Write, fd, path, Some(DenialHint::GrantTarget));
            }
        })?;
        let real = mount.real_path(&parent)?.join(name);
        // A new directory on the way to a protected path is empty, so that path still does not exist.
        let moves = change == Change::Any && protected.any_inside(&real);
        if protected.covers(&real) || moves {
            self.count_denial(Access::Write, fd, path, Some(DenialHint::Never));
            return Err(ErrorCode::NotPermitted.into());
        }
        let parent = Dir::new(parent, dir.perms, dir.open_mode, true);
        Ok(Some((parent, name.to_owned())))
    }

    /// Checks that the entries of this directory are writable at all.
    fn check_writable(&self, fd: &Fd, path: &str) -> FsResult<()> {
        if self.is_outside(fd) {
            self.count_denial(Access::Write, fd, path, None);
            return Err(ErrorCode::NoEntry.into());
        }
        if self.mount(fd)?.only.is_some() || self.dir(fd)?.perms.write_not_permitted() {
            self.count_denial(Access::Write, fd, path, None);
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(())
    }

    /// Counts what the guest could not do with `path`, which is relative to `fd`.
    fn count_denial(&self, access: Access, fd: &Fd, path: &str, hint: Option<DenialHint>) {
        let Some((base, path)) = self.guest_path(fd, path) else {
            return;
        };
        if path.starts_with(self.files.own_paths) {
            return;
        }
        let leads_out = || (!path.starts_with(base)).then_some(DenialHint::GrantTarget);
        let skill = self.files.skill.as_ref();
        let in_skill = skill.is_some_and(|skill| path.starts_with(skill));
        let hint = hint
            .or_else(leads_out)
            .or((in_skill && access == Access::Write).then_some(DenialHint::WriteSkill));
        let path = path.to_string_lossy();
        self.files.denials.count_path(access, &path, hint);
    }

    /// Counts a change that failed because its path led out of the mount.
    pub(super) fn count_if_outside<T>(&self, fd: &Fd, path: &str, result: &FsResult<T>) {
        let leads_out = |(base, path): (PathBuf, PathBuf)| !path.starts_with(base);
        if result.is_err() && self.guest_path(fd, path).is_some_and(leads_out) {
            self.count_denial(Access::Write, fd, path, None);
        }
    }

    /// The guest's paths of the mount of `fd`, and of `path` relative to `fd`, without `.` and `..`.
    fn guest_path(&self, fd: &Fd, path: &str) -> Option<(PathBuf, PathBuf)> {
        let (mount, dir) = (self.mount(fd).ok()?, self.dir(fd).ok()?);
        let base = PathBuf::from(&mount.guest);
        let mut whole = base.clone();
        if !Arc::ptr_eq(&dir.dir, &mount.dir.dir) {
            let top = mount.real_path(&*mount.dir.dir).ok()?;
            let below = mount.real_path(&*dir.dir).ok()?;
            whole.push(below.strip_prefix(top).ok()?);
        }
        for part in Path::new(path).components() {
            match part {
                Component::Normal(name) => whole.push(name),
                Component::ParentDir => {
                    whole.pop();
                }
                _ => {}
            }
        }
        Some((base, whole))
    }

    /// Like [`Self::checked_entry`], as a descriptor for wasmtime-wasi. Call [`Self::release`] afterwards.
    pub(super) fn entry(&mut self, fd: &Fd, path: String) -> FsResult<(Fd, String)> {
        self.entry_for(fd, path, Change::Any)
    }

    pub(super) fn entry_for(
        &mut self,
        fd: &Fd,
        path: String,
        change: Change,
    ) -> FsResult<(Fd, String)> {
        match self.checked_entry_for(fd, &path, change)? {
            None => Ok((Resource::new_borrow(fd.rep()), path)),
            Some((dir, name)) => Ok((self.table.push(Descriptor::Dir(dir))?, name)),
        }
    }

    pub(super) fn release(&mut self, entry: Fd) {
        if entry.owned() {
            let _ = self.table.delete(entry);
        }
    }

    /// Yields, so that the deadline is checked, after a recount: that took long and cost the guest no fuel.
    pub(super) async fn yield_after_recount(&mut self, fd: &Fd) {
        if self
            .mount(fd)
            .is_ok_and(|mount| mount.budget.was_recounted())
        {
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn register(&mut self, mount: usize, opened: Opened) -> FsResult<Fd> {
        let fd = self.table.push(opened.descriptor)?;
        self.files.open.insert(fd.rep(), mount);
        if self.files.tracks(mount) {
            match (opened.effect, &mut self.files.changed) {
                (Effect::Created(path), Some(changed)) => changed.add(path, false),
                (Effect::Truncated(path), Some(changed)) => changed.add(path, true),
                (Effect::Writable(path), _) => drop(self.files.unwritten.insert(fd.rep(), path)),
                _ => {}
            }
        }
        Ok(fd)
    }

    /// Notes that an open file is about to be written.
    pub(super) fn note_write(&mut self, fd: &Fd) {
        if let Some(path) = self.files.unwritten.remove(&fd.rep())
            && let Some(changed) = &mut self.files.changed
        {
            changed.add(path, true);
        }
    }

    /// The real path of a directory entry that is about to change, and whether it is a file; if changes are listed.
    pub(super) fn entry_before(&self, fd: &Fd, path: &str) -> Option<EntryBefore> {
        let mount = self.files.open.get(&fd.rep()).copied();
        if !mount.is_some_and(|mount| self.files.tracks(mount)) {
            return None;
        }
        let (mount, dir) = (self.mount(fd).ok()?, &self.dir(fd).ok()?.dir);
        let (parent, name) = split_entry(path).ok()?;
        let parent = match parent == Path::new(".") {
            true => mount.real_path(&**dir),
            false => {
                let parent = cap_primitives::fs::open_dir(dir, parent);
                parent.and_then(|dir| mount.real_path(&dir))
            }
        };
        let found = Located::find(dir, path.as_ref(), FollowSymlinks::No).ok();
        Some(EntryBefore {
            path: parent.ok()?.join(name),
            kind: found.map_or(Kind::Nothing, |found| found.kind()),
        })
    }

    /// Notes that an entry was created, as a link to an existing file, or removed.
    pub(super) fn note_changed<T>(&mut self, entry: Option<EntryBefore>, result: &FsResult<T>) {
        if let (Some(entry), Some(changed), true) = (entry, &mut self.files.changed, result.is_ok())
            && entry.kind != Kind::Directory
        {
            changed.add(entry.path, entry.kind == Kind::File);
        }
    }

    /// Notes that an entry was renamed. If it is a directory, this looks at everything in it, which costs the guest no
    /// fuel. So it yields then.
    pub(super) async fn note_renamed<T>(
        &mut self,
        entries: (Option<EntryBefore>, Option<EntryBefore>),
        at: &Fd,
        new: &str,
        result: &FsResult<T>,
    ) {
        let (Some(from), Some(to)) = entries else {
            return;
        };
        let Ok(dir) = self.dir(at).map(|dir| Arc::clone(&dir.dir)) else {
            return;
        };
        let (Some(changed), true) = (&mut self.files.changed, result.is_ok()) else {
            return;
        };
        if from.kind == Kind::Directory {
            // Its files have new paths.
            match cap_primitives::fs::open_dir(&dir, new.as_ref()) {
                Ok(moved) => changed.add_moved(&from.path, &to.path, &moved),
                Err(_) => changed.set_truncated(),
            }
            tokio::task::yield_now().await;
        } else {
            changed.add(from.path, from.kind == Kind::File);
            changed.add(to.path, to.kind == Kind::File);
        }
    }

    pub(super) fn open(
        &mut self,
        at: &Fd,
        follow: PathFlags,
        path: &str,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Opened> {
        let creates = how.contains(OpenFlags::CREATE);
        let truncates = how.contains(OpenFlags::TRUNCATE);
        let exclusive = how.contains(OpenFlags::EXCLUSIVE);
        let writes = creates || truncates || flags.contains(DescriptorFlags::WRITE);
        let access = match writes {
            true => Access::Write,
            false => Access::Read,
        };
        let follow = self.check_visible(at, path, follow);
        let follow = follow.inspect_err(|_| self.count_denial(access, at, path, None))?;
        let mount = &self.files.mounts[self.mount_of(at, path)?];
        let dir = match &mount.only {
            Some(_) => &mount.dir,
            None => self.dir(at)?,
        };
        if how.contains(OpenFlags::DIRECTORY) && (creates || truncates || exclusive) {
            return Err(ErrorCode::Invalid.into());
        }
        if flags.intersects(
            DescriptorFlags::FILE_INTEGRITY_SYNC
                | DescriptorFlags::DATA_INTEGRITY_SYNC
                | DescriptorFlags::REQUESTED_WRITE_SYNC,
        ) {
            return Err(ErrorCode::Unsupported.into());
        }
        if writes && dir.perms.write_not_permitted() {
            self.count_denial(access, at, path, None);
            return Err(ErrorCode::NotPermitted.into());
        }
        let mut mode = OpenMode::empty();
        mode.set(OpenMode::WRITE, writes);
        mode.set(
            OpenMode::READ,
            flags.contains(DescriptorFlags::READ) || !flags.contains(DescriptorFlags::WRITE),
        );

        let reads = mode.contains(OpenMode::READ);
        let there = if creates && exclusive {
            Err(io::ErrorKind::NotFound.into())
        } else {
            mount.locate(&dir.dir, path.as_ref(), following(follow))
        };
        let mut created_it = false;
        let opened = match there {
            Ok(located) => located.open(reads, writes)?,
            Err(error) if creates && error.kind() == io::ErrorKind::NotFound => {
                // As on Linux: no file is created by the name of a directory.
                if path.ends_with('/') {
                    return Err(ErrorCode::IsDirectory.into());
                }
                let entry = self.checked_entry(at, path)?;
                mount.budget.charge(ENTRY)?;
                let mut options = OpenOptions::new();
                options.read(reads).write(true).create_new(true);
                options.follow(following(follow));
                let created = match entry {
                    Some((parent, name)) => {
                        cap_primitives::fs::open(&parent.dir, name.as_ref(), &options)
                    }
                    None => cap_primitives::fs::open(&dir.dir, path.as_ref(), &options),
                };
                match created {
                    // Another process created it in between, and the guest accepts that.
                    Err(error) if !exclusive && error.kind() == io::ErrorKind::AlreadyExists => {
                        let found = Located::find(&dir.dir, path.as_ref(), following(follow));
                        // A link to nothing is there, but is not followed to create a file.
                        found.map_err(|_| error)?.open(reads, writes)?
                    }
                    created => {
                        created_it = created.is_ok();
                        created?
                    }
                }
            }
            Err(error) => {
                if is_escape(&error) {
                    self.count_denial(access, at, path, Some(DenialHint::GrantTarget));
                }
                return Err(error.into());
            }
        };
        let meta = opened.metadata()?;
        if meta.is_dir() {
            if writes {
                return Err(ErrorCode::IsDirectory.into());
            }
            let dir = Dir::new(opened, dir.perms, mode, true);
            return Ok(Opened {
                descriptor: Descriptor::Dir(dir),
                effect: Effect::None,
            });
        }
        if how.contains(OpenFlags::DIRECTORY) {
            return Err(ErrorCode::NotDirectory.into());
        }
        let mut effect = Effect::None;
        if writes {
            // Behind a link or an old hard link, this may be another file than `path` suggests.
            let real = mount.real_path(&opened)?;
            let protected = mount.protected.as_ref();
            if protected.is_some_and(|protected| protected.covers(&real)) {
                self.count_denial(access, at, path, Some(DenialHint::Never));
                return Err(ErrorCode::NotPermitted.into());
            }
            let shortened = truncates && meta.len() > 0;
            if shortened {
                opened.set_len(0)?;
                mount.budget.note_shrunk();
            }
            effect = match (created_it, shortened) {
                (true, _) => Effect::Created(real),
                (false, true) => Effect::Truncated(real),
                (false, false) => Effect::Writable(real),
            };
        }
        let file = File::new(opened, dir.perms, mode, true);
        // A file that is open for reading takes space after its removal, too.
        mount.budget.note_open(&file.file);
        Ok(Opened {
            descriptor: Descriptor::File(file),
            effect,
        })
    }

    /// Sets the times of `path`, which is an entry of `at` or `.` itself.
    pub(super) fn set_times_of(
        &self,
        at: &Fd,
        follow: PathFlags,
        path: &str,
        times: &Timestamps,
    ) -> FsResult<()> {
        let (mount, dir) = (&self.files.mounts[self.mount_of(at, path)?], self.dir(at)?);
        let is_change = |time: &Timespec| time.tv_nsec != UTIME_OMIT;
        if is_change(&times.last_access) || is_change(&times.last_modification) {
            self.check_writable(at, path)?;
        } else if self.is_outside(at) || mount.only.is_some() || dir.perms.write_not_permitted() {
            // It only asks whether the file is writable.
            return Err(ErrorCode::NotPermitted.into());
        }
        let entry = match path {
            "." => None,
            _ => self.checked_entry(at, path)?,
        };
        let follow = following(follow);
        let located = match (&entry, follow) {
            (Some((parent, name)), FollowSymlinks::No) => {
                Located::find(&parent.dir, name.as_ref(), follow)?
            }
            // A link is followed from the directory that the guest sees. Its target is checked below.
            _ => mount.locate(&dir.dir, path.as_ref(), follow)?,
        };
        if let Some(protected) = &mount.protected
            && protected.covers(&mount.real_path(located.handle())?)
        {
            self.count_denial(Access::Write, at, path, Some(DenialHint::Never));
            return Err(ErrorCode::NotPermitted.into());
        }
        located.set_times(times)
    }

    /// The type of the file at the guest's `path`, as in [`Located::type_bits`]; 0 if there is none.
    pub(super) fn type_of(&self, path: &str, follow: bool) -> u8 {
        let mut shown: Vec<(&Mount, &Path)> = Vec::new();
        for (index, mount) in self.files.mounts.iter().enumerate() {
            if Some(index) == self.files.outside {
                continue;
            }
            let Ok(inside) = Path::new(path).strip_prefix(&mount.guest) else {
                continue;
            };
            let is_hidden = |only: &String| Path::new(only) != inside;
            if !mount.only.as_ref().is_some_and(is_hidden) {
                shown.push((mount, inside));
            }
        }
        // The innermost directory is the one that the guest's own calls go to.
        let innermost = shown.into_iter().max_by_key(|(mount, _)| mount.guest.len());
        let Some((mount, inside)) = innermost else {
            return 0;
        };
        let inside = match inside.as_os_str().is_empty() {
            true => Path::new("."),
            false => inside,
        };
        let follow = match follow && mount.only.is_none() {
            true => FollowSymlinks::Yes,
            false => FollowSymlinks::No,
        };
        let located = mount.locate(&mount.dir.dir, inside, follow);
        located.map_or(0, |located| located.type_bits())
    }

    /// The type of a FIFO, or of a socket if the guest accepts it.
    pub(super) fn special_type(
        &self,
        at: &Fd,
        follow: PathFlags,
        path: &str,
    ) -> FsResult<types::DescriptorType> {
        use types::DescriptorType::{Fifo, Socket, Unknown};
        let dir = &self.dir(at)?.dir;
        let mount = &self.files.mounts[self.mount_of(at, path)?];
        let located = mount.locate(dir, path.as_ref(), following(follow))?;
        Ok(match located.type_bits() {
            1 => Fifo,
            12 if self.files.knows_sockets => Socket,
            _ => Unknown,
        })
    }

    pub(super) fn stream(
        &mut self,
        fd: &Fd,
        at: Option<Filesize>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let file = Arc::clone(&self.writable_file(fd)?.file);
        self.note_write(fd);
        let budget = self.mount(fd)?.budget.clone();
        let writer: DynOutputStream = Box::new(FileWriter {
            file,
            at,
            budget,
            failed: None,
        });
        Ok(self.table.push(writer)?)
    }

    pub(super) fn two_entries(
        &mut self,
        fd: &Fd,
        old: String,
        new_fd: &Fd,
        new: String,
    ) -> FsResult<((Fd, String), (Fd, String))> {
        let from = self.entry(fd, old)?;
        match self.entry(new_fd, new) {
            Ok(to) => Ok((from, to)),
            Err(error) => {
                self.release(from.0);
                Err(error)
            }
        }
    }

    /// Fails unless both are in the same mount. A file cannot move from one budget to another; guests copy it instead,
    /// as between disks.
    pub(super) fn same_mount(&self, a: &Fd, old: &str, b: &Fd, new: &str) -> FsResult<()> {
        for (fd, path) in [(a, old), (b, new)] {
            if self.is_outside(fd) {
                self.check_writable(fd, path)?;
            }
        }
        match self.files.open.get(&a.rep()) == self.files.open.get(&b.rep()) {
            true => Ok(()),
            false => Err(ErrorCode::CrossDevice.into()),
        }
    }
}

fn following(flags: PathFlags) -> FollowSymlinks {
    match flags.contains(PathFlags::SYMLINK_FOLLOW) {
        true => FollowSymlinks::Yes,
        false => FollowSymlinks::No,
    }
}

/// Whether a path could not be opened because it leads out of the directory that it was resolved in. The error is not
/// the system's: that one would have a number.
fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// The directory of an entry and its name.
fn split_entry(path: &str) -> FsResult<(&Path, &str)> {
    let path = Path::new(path);
    let (Some(Component::Normal(name)), Some(parent)) =
        (path.components().next_back(), path.parent())
    else {
        return Err(ErrorCode::NotPermitted.into());
    };
    let name = name.to_str().ok_or(ErrorCode::IllegalByteSequence)?;
    let here = parent.as_os_str().is_empty();
    Ok((if here { Path::new(".") } else { parent }, name))
}

/// Whether a link to `target` stays inside, even if it or one of its parent directories is moved.
pub(super) fn link_stays_inside(target: &str) -> bool {
    let inward = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !target.is_empty() && Path::new(target).components().all(inward)
}

#[cfg(test)]
mod tests {
    use super::link_stays_inside;

    #[test]
    fn only_links_that_stay_inside_may_be_created() {
        for (target, inside) in [
            ("b", true),
            ("./a/b", true),
            ("..", false),
            ("../c", false),
            ("b/../../c", false),
            ("/etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(link_stays_inside(target), inside, "{target}");
        }
    }
}
