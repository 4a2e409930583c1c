//! The files a guest sees: preopened directories, and the rules that WASI leaves to the host.
//!
//! wasmtime-wasi keeps a guest below its preopened directories. This layer stands between the two
//! and adds what a sandbox for strangers needs: only regular files and directories open (a FIFO
//! would block the thread), the number of open ones is capped, growth is charged to a budget, sealed
//! places stay as they are, links cannot be laid that lead outside, and a single granted file does
//! not bring its neighbours along. Operations that change nothing are passed on as they are.

use super::budget::{Budget, ENTRY};
use super::file_streams::FileWriter;
use crate::files::real_path;
use crate::runtime::sealed::Sealed;
use cap_fs_ext::OpenOptionsFollowExt as _;
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt as _};
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
    pub(super) fn look(&self, fd: &Fd, path: &str) -> FsResult<()> {
        match &self.place(fd)?.only {
            Some(only) if only != path => Err(ErrorCode::NoEntry.into()),
            _ => Ok(()),
        }
    }

    /// Lets a guest change the entry `path` of a directory; returns where to change it.
    ///
    /// Where something is sealed that is a handle on the directory that was checked and a bare name:
    /// resolved a second time, the path could lead elsewhere, for another run may exchange a
    /// directory for a link meanwhile.
    pub(super) fn change(&self, fd: &Fd, path: &str) -> FsResult<Option<(Dir, String)>> {
        let place = self.place(fd)?;
        let dir = self.dir(fd)?;
        if place.only.is_some() || dir.perms.write_not_permitted() {
            return Err(ErrorCode::NotPermitted.into());
        }
        if is_policy(Path::new(path)) {
            return Err(ErrorCode::NotPermitted.into());
        }
        let Some(sealed) = &place.sealed else {
            return Ok(None);
        };
        let (parent, name) = split_entry(path)?;
        let parent = cap_primitives::fs::open_dir(&dir.dir, parent)?;
        let real = real_path(&parent)?.join(name);
        if sealed.covers(&real) || sealed.carried_by(&real) {
            return Err(ErrorCode::NotPermitted.into());
        }
        let parent = Dir::new(parent, dir.perms, dir.open_mode, true);
        Ok(Some((parent, name.to_owned())))
    }

    /// Lets a guest change a directory itself, unless it is protected or only holds a granted file.
    pub(super) fn change_itself(&self, fd: &Fd) -> FsResult<()> {
        let (place, dir) = (self.place(fd)?, self.dir(fd)?);
        let real = real_path(dir.dir.as_ref())?;
        let sealed = place.sealed.as_ref();
        if place.only.is_some() || sealed.is_some_and(|sealed| sealed.covers(&real)) {
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(())
    }

    /// Like [`Self::change`], as a descriptor for wasmtime-wasi; [`Self::done`] takes it back.
    pub(super) fn spot(&mut self, fd: &Fd, path: String) -> FsResult<(Fd, String)> {
        match self.change(fd, &path)? {
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
        self.look(at, path)?;
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

        let mut options = OpenOptions::new();
        options.read(mode.contains(OpenMode::READ)).write(writes);
        options.follow(if follow.contains(PathFlags::SYMLINK_FOLLOW) {
            FollowSymlinks::Yes
        } else {
            FollowSymlinks::No
        });
        // A FIFO opens at once and is refused below, instead of waiting for its other end.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());

        let there = if creates && exclusive {
            Err(io::ErrorKind::NotFound.into())
        } else {
            cap_primitives::fs::open(&dir.dir, path.as_ref(), &options)
        };
        let opened = match there {
            Ok(file) => file,
            Err(error) if creates && error.kind() == io::ErrorKind::NotFound => {
                let spot = self.change(at, path)?;
                place.budget.charge(ENTRY)?;
                options.create_new(true);
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
        if !meta.is_file() {
            return Err(ErrorCode::Access.into());
        }
        if writes {
            // Through a link or an old hard name this may be another file than `path` suggests.
            let real = real_path(&opened)?;
            let sealed = place.sealed.as_ref();
            if is_policy(&real) || sealed.is_some_and(|sealed| sealed.covers(&real)) {
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

/// Whether a file would be read as a policy by whoever runs something in its folder next. Case is
/// ignored because some file systems do.
fn is_policy(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.eq_ignore_ascii_case(crate::policy::FILE_NAME)
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
