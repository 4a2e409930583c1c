//! The files a guest sees: preopened directories, and the rules that WASI leaves to the host.
//!
//! wasmtime-wasi keeps a guest below its preopened directories. This layer stands between the two
//! and adds what a sandbox for strangers needs: only regular files and directories open
//! ([`super::located`]), the number of open ones is capped, growth is charged to a budget, sealed
//! places stay as they are, links cannot be laid that lead outside, and a single granted file does
//! not bring its neighbours along. Operations that change nothing are passed on as they are.

use super::budget::{Budget, ENTRY};
use super::file_streams::FileWriter;
use super::located::Located;
use crate::files::real_path;
use crate::runtime::sealed::Sealed;
use cap_fs_ext::OpenOptionsFollowExt as _;
use cap_primitives::fs::{FollowSymlinks, OpenOptions};
use rustix::fs::Timestamps;
use std::collections::HashMap;
use std::fs::File as StdFile;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;
use types::{DescriptorFlags, ErrorCode, Filesize, OpenFlags, PathFlags};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{
    Descriptor, Dir, File, FsPerms, OpenMode, WasiFilesystemCtx, WasiFilesystemCtxView,
};
use wasmtime_wasi::p2::bindings::filesystem::types;
use wasmtime_wasi::p2::{DynOutputStream, FsResult};

/// A directory as a guest sees it.
pub(super) struct Place {
    pub(super) dir: Dir,
    pub(super) guest: String,
    pub(super) only: Option<String>,
    pub(super) budget: Budget,
    /// Set if the directory overlaps a sealed place.
    pub(super) sealed: Option<Arc<Sealed>>,
}

/// The files that one guest sees, and what it holds open.
pub(crate) struct Files {
    ctx: WasiFilesystemCtx,
    pub(super) places: Vec<Place>,
    /// Which place each open descriptor belongs to.
    pub(super) open: HashMap<u32, usize>,
    pub(super) listings: usize,
    pub(super) max_open: usize,
    pub(super) met_max_open: bool,
}

impl Files {
    pub(crate) fn new(max_open: u32) -> Self {
        Self {
            ctx: WasiFilesystemCtx::default(),
            places: Vec::new(),
            open: HashMap::new(),
            listings: 0,
            max_open: max_open as usize,
            met_max_open: false,
        }
    }

    /// Shows `dir` to the guest at `guest`.
    pub(crate) fn show(
        &mut self,
        dir: StdFile,
        guest: String,
        writable: bool,
        only: Option<String>,
        budget: Budget,
        sealed: Option<Arc<Sealed>>,
    ) {
        let (perms, mode) = match writable {
            true => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
            false => (FsPerms::ReadOnly, OpenMode::READ),
        };
        let dir = Dir::new(dir, perms, mode, true);
        self.places.push(Place {
            dir,
            guest,
            only,
            budget,
            sealed,
        });
    }

    /// Whether the cap on open files was met.
    pub(crate) fn met_max_open(&self) -> bool {
        self.met_max_open
    }
}

/// Names [`FilesView`] to the linker.
pub(crate) struct HasFiles;

impl HasData for HasFiles {
    type Data<'a> = FilesView<'a>;
}

/// The files together with the table of the guest's handles.
pub(crate) struct FilesView<'a> {
    pub(crate) files: &'a mut Files,
    pub(crate) table: &'a mut ResourceTable,
}

pub(super) type Fd = Resource<Descriptor>;

/// What is about to happen to an entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// A directory is created in a free place.
    NewFolder,
    /// Anything else.
    Any,
}

impl FilesView<'_> {
    pub(super) fn inner(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView {
            ctx: &mut self.files.ctx,
            table: self.table,
        }
    }

    pub(super) fn place(&self, fd: &Fd) -> FsResult<&Place> {
        let index = self.files.open.get(&fd.rep()).copied();
        index
            .and_then(|index| self.files.places.get(index))
            .ok_or_else(|| ErrorCode::BadDescriptor.into())
    }

    pub(super) fn dir(&self, fd: &Fd) -> FsResult<&Dir> {
        match self.table.get(fd)? {
            Descriptor::Dir(dir) => Ok(dir),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    pub(super) fn file(&self, fd: &Fd) -> FsResult<&File> {
        match self.table.get(fd)? {
            Descriptor::File(file) => Ok(file),
            Descriptor::Dir(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }

    pub(super) fn writable_file(&self, fd: &Fd) -> FsResult<&File> {
        let file = self.file(fd)?;
        // As POSIX has it: the descriptor is not one for writing.
        if file.perms.write_not_permitted() || !file.open_mode.contains(OpenMode::WRITE) {
            return Err(ErrorCode::BadDescriptor.into());
        }
        Ok(file)
    }

    /// Lets a guest look at `path` unless it is the neighbour of a single granted file.
    pub(super) fn look(&self, fd: &Fd, path: &str, follow: PathFlags) -> FsResult<PathFlags> {
        match &self.place(fd)?.only {
            Some(only) if only != path => Err(ErrorCode::NoEntry.into()),
            Some(_) => Ok(PathFlags::empty()),
            None => Ok(follow),
        }
    }

    /// Lets a guest change the entry `path` of a directory; returns where to change it.
    ///
    /// Where something is sealed that is a handle on the directory that was checked and a bare name:
    /// resolved a second time, the path could lead elsewhere, for another run may exchange a
    /// directory for a link meanwhile.
    pub(super) fn change(&self, fd: &Fd, path: &str) -> FsResult<Option<(Dir, String)>> {
        self.change_as(fd, path, Change::Any)
    }

    /// The same for one kind of change.
    pub(super) fn change_as(
        &self,
        fd: &Fd,
        path: &str,
        change: Change,
    ) -> FsResult<Option<(Dir, String)>> {
        let place = self.place(fd)?;
        let dir = self.dir(fd)?;
        if place.only.is_some() || dir.perms.write_not_permitted() {
            return Err(ErrorCode::NotPermitted.into());
        }
        let Some(sealed) = &place.sealed else {
            return Ok(None);
        };
        let (parent, name) = split_entry(path)?;
        let parent = cap_primitives::fs::open_dir(&dir.dir, parent)?;
        let real = real_path(&parent)?.join(name);
        // A new directory on the way to a sealed place is empty, so the place stays absent.
        let moves = change == Change::Any && sealed.carried_by(&real);
        if sealed.covers(&real) || moves {
            return Err(ErrorCode::NotPermitted.into());
        }
        let parent = Dir::new(parent, dir.perms, dir.open_mode, true);
        Ok(Some((parent, name.to_owned())))
    }

    /// Like [`Self::change`], as a descriptor for wasmtime-wasi; [`Self::done`] takes it back.
    pub(super) fn spot(&mut self, fd: &Fd, path: String) -> FsResult<(Fd, String)> {
        self.spot_for(fd, path, Change::Any)
    }

    pub(super) fn spot_for(
        &mut self,
        fd: &Fd,
        path: String,
        change: Change,
    ) -> FsResult<(Fd, String)> {
        match self.change_as(fd, &path, change)? {
            None => Ok((Resource::new_borrow(fd.rep()), path)),
            Some((dir, name)) => Ok((self.table.push(Descriptor::Dir(dir))?, name)),
        }
    }

    pub(super) fn done(&mut self, spot: Fd) {
        if spot.owned() {
            let _ = self.table.delete(spot);
        }
    }

    /// Lets the clock be looked at after work that took long and cost the guest no fuel.
    pub(super) async fn breathe(&mut self, fd: &Fd) {
        if self.place(fd).is_ok_and(|place| place.budget.was_counted()) {
            tokio::task::yield_now().await;
        }
    }

    pub(super) fn adopt(&mut self, place: usize, descriptor: Descriptor) -> FsResult<Fd> {
        let fd = self.table.push(descriptor)?;
        self.files.open.insert(fd.rep(), place);
        Ok(fd)
    }

    pub(super) fn open(
        &mut self,
        at: &Fd,
        follow: PathFlags,
        path: &str,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Descriptor> {
        let follow = self.look(at, path, follow)?;
        let place = self.place(at)?;
        let dir = self.dir(at)?;
        let creates = how.contains(OpenFlags::CREATE);
        let truncates = how.contains(OpenFlags::TRUNCATE);
        let exclusive = how.contains(OpenFlags::EXCLUSIVE);
        let writes = creates || truncates || flags.contains(DescriptorFlags::WRITE);
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
            Located::find(&dir.dir, path.as_ref(), following(follow))
        };
        let opened = match there {
            Ok(located) => located.open(reads, writes)?,
            Err(error) if creates && error.kind() == io::ErrorKind::NotFound => {
                // As on Linux: no file is created by the name of a directory.
                if path.ends_with('/') {
                    return Err(ErrorCode::IsDirectory.into());
                }
                let spot = self.change(at, path)?;
                place.budget.charge(ENTRY)?;
                let mut options = OpenOptions::new();
                options.read(reads).write(true).create_new(true);
                options.follow(following(follow));
                match spot {
                    Some((parent, name)) => {
                        cap_primitives::fs::open(&parent.dir, name.as_ref(), &options)?
                    }
                    None => cap_primitives::fs::open(&dir.dir, path.as_ref(), &options)?,
                }
            }
            Err(error) => return Err(error.into()),
        };
        let meta = opened.metadata()?;
        if meta.is_dir() {
            if writes {
                return Err(ErrorCode::IsDirectory.into());
            }
            return Ok(Descriptor::Dir(Dir::new(opened, dir.perms, mode, true)));
        }
        if how.contains(OpenFlags::DIRECTORY) {
            return Err(ErrorCode::NotDirectory.into());
        }
        if writes {
            // Through a link or an old hard name this may be another file than `path` suggests.
            let real = real_path(&opened)?;
            let sealed = place.sealed.as_ref();
            if sealed.is_some_and(|sealed| sealed.covers(&real)) {
                return Err(ErrorCode::NotPermitted.into());
            }
            if truncates && meta.len() > 0 {
                opened.set_len(0)?;
                place.budget.shrunk();
            }
        }
        let file = File::new(opened, dir.perms, mode, true);
        if writes {
            place.budget.opened(&file.file);
        }
        Ok(Descriptor::File(file))
    }

    /// Sets the times of `path`, which is an entry of `at` or `.` itself.
    pub(super) fn set_times_of(
        &self,
        at: &Fd,
        follow: PathFlags,
        path: &str,
        times: &Timestamps,
    ) -> FsResult<()> {
        let (place, dir) = (self.place(at)?, self.dir(at)?);
        if place.only.is_some() || dir.perms.write_not_permitted() {
            return Err(ErrorCode::NotPermitted.into());
        }
        let spot = match path {
            "." => None,
            _ => self.change(at, path)?,
        };
        let follow = following(follow);
        let located = match (&spot, follow) {
            (Some((parent, name)), FollowSymlinks::No) => {
                Located::find(&parent.dir, name.as_ref(), follow)?
            }
            // A link is followed from the directory that the guest sees. Wherever it leads, that is compared below.
            _ => Located::find(&dir.dir, path.as_ref(), follow)?,
        };
        if let Some(sealed) = &place.sealed
            && sealed.covers(&real_path(located.handle())?)
        {
            return Err(ErrorCode::NotPermitted.into());
        }
        located.set_times(times)
    }

    /// The type of the file that the guest calls `path`, as [`Located::type_bits`] has it; 0 if there is none.
    pub(super) fn type_of(&self, path: &str, follow: bool) -> u8 {
        let mut shown: Vec<(&Place, &Path)> = Vec::new();
        for place in &self.files.places {
            if let Ok(inside) = Path::new(path).strip_prefix(&place.guest) {
                shown.push((place, inside));
            }
        }
        // The innermost directory is the one that the guest's own calls go to.
        let innermost = shown.into_iter().max_by_key(|(place, _)| place.guest.len());
        let Some((place, inside)) = innermost else {
            return 0;
        };
        let hidden = |only: &String| Path::new(only) != inside;
        if place.only.as_ref().is_some_and(hidden) {
            return 0;
        }
        let inside = match inside.as_os_str().is_empty() {
            true => Path::new("."),
            false => inside,
        };
        let follow = match follow && place.only.is_none() {
            true => FollowSymlinks::Yes,
            false => FollowSymlinks::No,
        };
        let located = Located::find(&place.dir.dir, inside, follow);
        located.map_or(0, |located| located.type_bits())
    }

    pub(super) fn stream(
        &mut self,
        fd: &Fd,
        at: Option<Filesize>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let file = Arc::clone(&self.writable_file(fd)?.file);
        let budget = self.place(fd)?.budget.clone();
        let writer: DynOutputStream = Box::new(FileWriter {
            file,
            at,
            budget,
            failed: None,
        });
        Ok(self.table.push(writer)?)
    }

    pub(super) fn two_spots(
        &mut self,
        fd: &Fd,
        old: String,
        new_fd: &Fd,
        new: String,
    ) -> FsResult<((Fd, String), (Fd, String))> {
        let from = self.spot(fd, old)?;
        match self.spot(new_fd, new) {
            Ok(to) => Ok((from, to)),
            Err(error) => {
                self.done(from.0);
                Err(error)
            }
        }
    }

    /// A name does not move from one budget to another; guests copy instead, as between disks.
    pub(super) fn same_place(&self, a: &Fd, b: &Fd) -> FsResult<()> {
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

/// The same handle, for a call that takes it by value.
pub(super) fn again(fd: &Fd) -> Fd {
    Resource::new_borrow(fd.rep())
}

/// Whether a link to `target` stays inside wherever it, or a directory around it, is moved to.
pub(super) fn link_stays_inside(target: &str) -> bool {
    let inward = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !target.is_empty() && Path::new(target).components().all(inward)
}

#[cfg(test)]
mod tests {
    use super::link_stays_inside;

    #[test]
    fn only_links_that_stay_inside_may_be_laid() {
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
