//! The files a guest sees: preopened directories, and the rules that WASI leaves to the host.
//!
//! wasmtime-wasi keeps a guest below its preopened directories. This layer stands between the two
//! and adds what a sandbox for strangers needs: only regular files and directories open (a FIFO
//! would block the thread), the number of open ones is capped, growth is charged to a budget, sealed
//! places stay as they are, links cannot be laid that lead outside, and a single granted file does
//! not bring its neighbours along. Operations that change nothing are passed on as they are.

use super::budget::{Budget, ENTRY};
use super::file_streams::{FileReader, FileWriter};
use super::sealed::Sealed;
use crate::files::real_path;
use cap_fs_ext::OpenOptionsFollowExt as _;
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt as _};
use std::collections::HashMap;
use std::fs::File as StdFile;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use types::{DescriptorFlags, ErrorCode, Filesize, OpenFlags, PathFlags};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{
    Descriptor, Dir, File, FsPerms, OpenMode, WasiFilesystemCtx, WasiFilesystemCtxView,
};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator};

/// Directories being listed at once; each holds its whole listing on the host.
const MAX_LISTINGS: usize = 64;

/// A directory as a guest sees it.
struct Place {
    dir: Dir,
    guest: String,
    only: Option<String>,
    budget: Budget,
    /// Set if the directory overlaps a sealed place.
    sealed: Option<Arc<Sealed>>,
}

/// The files that one guest sees, and what it holds open.
pub(crate) struct Files {
    ctx: WasiFilesystemCtx,
    places: Vec<Place>,
    /// Which place each open descriptor belongs to.
    open: HashMap<u32, usize>,
    listings: usize,
    max_open: usize,
    met_max_open: bool,
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

type Fd = Resource<Descriptor>;

impl FilesView<'_> {
    fn inner(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView {
            ctx: &mut self.files.ctx,
            table: self.table,
        }
    }

    fn place(&self, fd: &Fd) -> FsResult<&Place> {
        let index = self.files.open.get(&fd.rep()).copied();
        index
            .and_then(|index| self.files.places.get(index))
            .ok_or_else(|| ErrorCode::BadDescriptor.into())
    }

    fn dir(&self, fd: &Fd) -> FsResult<&Dir> {
        match self.table.get(fd)? {
            Descriptor::Dir(dir) => Ok(dir),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn file(&self, fd: &Fd) -> FsResult<&File> {
        match self.table.get(fd)? {
            Descriptor::File(file) => Ok(file),
            Descriptor::Dir(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }

    fn writable_file(&self, fd: &Fd) -> FsResult<&File> {
        let file = self.file(fd)?;
        if file.perms.write_not_permitted() || !file.open_mode.contains(OpenMode::WRITE) {
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(file)
    }

    /// Lets a guest look at `path` unless it is the neighbour of a single granted file.
    fn look(&self, fd: &Fd, path: &str) -> FsResult<()> {
        match &self.place(fd)?.only {
            Some(only) if only != path => Err(ErrorCode::NoEntry.into()),
            _ => Ok(()),
        }
    }

    /// Lets a guest change the entry `path` of a directory.
    fn change(&self, fd: &Fd, path: &str) -> FsResult<()> {
        let place = self.place(fd)?;
        let dir = self.dir(fd)?;
        if place.only.is_some() || dir.perms.write_not_permitted() {
            return Err(ErrorCode::NotPermitted.into());
        }
        if let Some(sealed) = &place.sealed {
            let real = real_entry(&dir.dir, path)?;
            if sealed.covers(&real) || sealed.carried_by(&real) {
                return Err(ErrorCode::NotPermitted.into());
            }
        }
        Ok(())
    }

    fn adopt(&mut self, place: usize, descriptor: Descriptor) -> FsResult<Fd> {
        let fd = self.table.push(descriptor)?;
        self.files.open.insert(fd.rep(), place);
        Ok(fd)
    }

    fn open(
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
                self.change(at, path)?;
                place.budget.charge(ENTRY)?;
                options.create_new(true);
                cap_primitives::fs::open(&dir.dir, path.as_ref(), &options)?
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
            if let Some(sealed) = &place.sealed
                && sealed.covers(&real_path(&opened)?)
            {
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

    fn stream(&mut self, fd: &Fd, at: Option<Filesize>) -> FsResult<Resource<DynOutputStream>> {
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
}

/// Where the entry `path` of `dir` really is, its last part unresolved.
fn real_entry(dir: &StdFile, path: &str) -> FsResult<PathBuf> {
    let path = Path::new(path);
    let name = match path.components().next_back() {
        Some(Component::Normal(name)) => name,
        _ => return Err(ErrorCode::NotPermitted.into()),
    };
    let parent = match path.parent() {
        None => return Err(ErrorCode::NotPermitted.into()),
        Some(parent) if parent.as_os_str().is_empty() => real_path(dir)?,
        Some(parent) => real_path(&cap_primitives::fs::open_dir(dir, parent)?)?,
    };
    Ok(parent.join(name))
}

/// Whether a link to `target` stays inside wherever it, or a directory around it, is moved to.
fn link_stays_inside(target: &str) -> bool {
    let inward = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !target.is_empty() && Path::new(target).components().all(inward)
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        let mut all = Vec::with_capacity(self.files.places.len());
        for index in 0..self.files.places.len() {
            let place = &self.files.places[index];
            let (dir, guest) = (place.dir.clone(), place.guest.clone());
            let fd = self.table.push(Descriptor::Dir(dir))?;
            self.files.open.insert(fd.rep(), index);
            all.push((fd, guest));
        }
        Ok(all)
    }
}

impl types::Host for FilesView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.inner().convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.inner().filesystem_error_code(error)
    }
}

impl types::HostDescriptor for FilesView<'_> {
    async fn advise(
        &mut self,
        fd: Fd,
        offset: Filesize,
        len: Filesize,
        advice: types::Advice,
    ) -> FsResult<()> {
        self.inner().advise(fd, offset, len, advice).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.sync(fd).await
    }

    /// The one file operation that may take long, so it leaves the thread.
    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        let Descriptor::File(file) = self.table.get(&fd)? else {
            return Ok(());
        };
        let file = Arc::clone(&file.file);
        match tokio::task::spawn_blocking(move || file.sync_all()).await {
            Ok(synced) => Ok(synced?),
            Err(_) => Err(ErrorCode::Io.into()),
        }
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        self.inner().get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<types::DescriptorType> {
        self.inner().get_type(fd).await
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        let file = self.writable_file(&fd)?;
        let budget = &self.place(&fd)?.budget;
        budget.charge_growth(&file.file, size)?;
        file.file.set_len(size)?;
        budget.shrunk();
        Ok(())
    }

    async fn set_times(
        &mut self,
        fd: Fd,
        atim: types::NewTimestamp,
        mtim: types::NewTimestamp,
    ) -> FsResult<()> {
        if let (Some(sealed), descriptor) = (&self.place(&fd)?.sealed, self.table.get(&fd)?) {
            let handle = match descriptor {
                Descriptor::File(file) => &file.file,
                Descriptor::Dir(dir) => &dir.dir,
            };
            if sealed.covers(&real_path(handle.as_ref())?) {
                return Err(ErrorCode::NotPermitted.into());
            }
        }
        self.inner().set_times(fd, atim, mtim).await
    }

    async fn read(&mut self, fd: Fd, len: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        self.inner().read(fd, len, offset).await
    }

    async fn write(&mut self, fd: Fd, buf: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let file = self.writable_file(&fd)?;
        let end = offset.saturating_add(buf.len() as u64);
        self.place(&fd)?.budget.charge_growth(&file.file, end)?;
        Ok(file.file.write_at(&buf, offset)? as Filesize)
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<ReaddirIterator>> {
        if self.place(&fd)?.only.is_some() {
            return Err(ErrorCode::Access.into());
        }
        if self.files.listings >= MAX_LISTINGS {
            self.files.met_max_open = true;
            return Err(ErrorCode::Quota.into());
        }
        let listing = self.inner().read_directory(fd).await?;
        self.files.listings += 1;
        Ok(listing)
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, &path)?;
        self.place(&fd)?.budget.charge(ENTRY)?;
        self.inner().create_directory_at(fd, path).await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<types::DescriptorStat> {
        self.inner().stat(fd).await
    }

    async fn stat_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
    ) -> FsResult<types::DescriptorStat> {
        self.look(&fd, &path)?;
        self.inner().stat_at(fd, follow, path).await
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        atim: types::NewTimestamp,
        mtim: types::NewTimestamp,
    ) -> FsResult<()> {
        if path != "." {
            self.change(&fd, &path)?;
        }
        // Where something is sealed a link is not followed: it might lead there.
        let follow = if self.place(&fd)?.sealed.is_some() {
            PathFlags::empty()
        } else {
            follow
        };
        self.inner()
            .set_times_at(fd, follow, path, atim, mtim)
            .await
    }

    async fn link_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        old: String,
        new_fd: Fd,
        new: String,
    ) -> FsResult<()> {
        self.same_place(&fd, &new_fd)?;
        self.change(&fd, &old)?;
        self.change(&new_fd, &new)?;
        self.place(&fd)?.budget.charge(ENTRY)?;
        self.inner().link_at(fd, follow, old, new_fd, new).await
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        if self.files.open.len() >= self.files.max_open + self.files.places.len() {
            self.files.met_max_open = true;
            return Err(ErrorCode::Quota.into());
        }
        let place = self
            .files
            .open
            .get(&fd.rep())
            .copied()
            .ok_or(ErrorCode::BadDescriptor)?;
        let opened = self.open(&fd, follow, &path, how, flags)?;
        self.adopt(place, opened)
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        // The last handle of a removed file gives its bytes back.
        if let (Ok(place), Ok(file)) = (self.place(&fd), self.writable_file(&fd))
            && file.file.metadata().is_ok_and(|meta| meta.nlink() == 0)
        {
            place.budget.shrunk();
        }
        self.files.open.remove(&fd.rep());
        self.inner().drop(fd)
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.look(&fd, &path)?;
        self.inner().readlink_at(fd, path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, &path)?;
        self.place(&fd)?.budget.shrunk();
        self.inner().remove_directory_at(fd, path).await
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.same_place(&fd, &new_fd)?;
        self.change(&fd, &old)?;
        self.change(&new_fd, &new)?;
        self.place(&fd)?.budget.shrunk();
        self.inner().rename_at(fd, old, new_fd, new).await
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        self.change(&fd, &path)?;
        // The guest could not follow it out, but whoever opens the directory later would.
        if !link_stays_inside(&target) {
            return Err(ErrorCode::NotPermitted.into());
        }
        self.place(&fd)?.budget.charge(ENTRY)?;
        self.inner().symlink_at(fd, target, path).await
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, &path)?;
        self.place(&fd)?.budget.shrunk();
        self.inner().unlink_file_at(fd, path).await
    }

    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        let file = Arc::clone(&self.file(&fd)?.file);
        let reader: DynInputStream = Box::new(FileReader { file, at: offset });
        Ok(self.table.push(reader)?)
    }

    fn write_via_stream(
        &mut self,
        fd: Fd,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.stream(&fd, Some(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.stream(&fd, None)
    }

    async fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        self.inner().is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<types::MetadataHashValue> {
        self.inner().metadata_hash(fd).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        self.look(&fd, &path)?;
        self.inner().metadata_hash_at(fd, follow, path).await
    }
}

impl FilesView<'_> {
    /// A name does not move from one budget to another; guests copy instead, as between disks.
    fn same_place(&self, a: &Fd, b: &Fd) -> FsResult<()> {
        match self.files.open.get(&a.rep()) == self.files.open.get(&b.rep()) {
            true => Ok(()),
            false => Err(ErrorCode::CrossDevice.into()),
        }
    }
}

impl types::HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        listing: Resource<ReaddirIterator>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        loop {
            let next = Resource::new_borrow(listing.rep());
            match self.inner().read_directory_entry(next).await {
                Err(error) => match error.downcast() {
                    // One name that WASI cannot say does not hide the others.
                    Ok(ErrorCode::IllegalByteSequence) => {}
                    Ok(code) => return Err(code.into()),
                    Err(trap) => return Err(FsError::trap(trap)),
                },
                entry => return entry,
            }
        }
    }

    fn drop(&mut self, listing: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        self.files.listings = self.files.listings.saturating_sub(1);
        types::HostDirectoryEntryStream::drop(&mut self.inner(), listing)
    }
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
