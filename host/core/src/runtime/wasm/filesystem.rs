//! `wasi:filesystem` as a guest calls it: what changes nothing is passed on to wasmtime-wasi, what
//! changes something goes by the rules of [`super::files`] first.

use super::budget::ENTRY;
use super::file_streams::FileReader;
use super::files::{Fd, FilesView, again, link_stays_inside};
use crate::files::real_path;
use rustix::fs::AtFlags;
use rustix::io::Errno;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::Arc;
use types::{DescriptorFlags, ErrorCode, Filesize, OpenFlags, PathFlags};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator};

/// Directories being listed at once; each holds a handle and one piece of the listing.
const MAX_LISTINGS: usize = 64;

/// A directory being listed, read piece by piece: a whole listing may be millions of names, and
/// reading it in one call would hold up the clock.
struct Listing(rustix::fs::Dir);

impl Listing {
    fn next(&mut self) -> FsResult<Option<types::DirectoryEntry>> {
        use rustix::fs::FileType;
        loop {
            let entry = match self.0.read() {
                None => return Ok(None),
                Some(entry) => entry.map_err(io::Error::from)?,
            };
            // A name that WASI cannot say does not hide the others.
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if matches!(name, "." | "..") {
                continue;
            }
            // The guest asks for each name's inode, and one that is gone meanwhile would end its
            // whole listing with an error.
            let dir = self.0.fd().map_err(io::Error::from)?;
            let there = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
            if there.is_err_and(|error| error == Errno::NOENT) {
                continue;
            }
            let type_ = match entry.file_type() {
                FileType::RegularFile => types::DescriptorType::RegularFile,
                FileType::Directory => types::DescriptorType::Directory,
                FileType::Symlink => types::DescriptorType::SymbolicLink,
                FileType::Fifo => types::DescriptorType::Fifo,
                FileType::Socket => types::DescriptorType::Socket,
                FileType::BlockDevice => types::DescriptorType::BlockDevice,
                FileType::CharacterDevice => types::DescriptorType::CharacterDevice,
                _ => types::DescriptorType::Unknown,
            };
            let name = name.to_owned();
            return Ok(Some(types::DirectoryEntry { type_, name }));
        }
    }
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
        let charged = budget.charge_growth(&file.file, size);
        self.breathe(&fd).await;
        charged?;
        self.writable_file(&fd)?.file.set_len(size)?;
        self.place(&fd)?.budget.shrunk();
        Ok(())
    }

    async fn set_times(
        &mut self,
        fd: Fd,
        atim: types::NewTimestamp,
        mtim: types::NewTimestamp,
    ) -> FsResult<()> {
        if self.place(&fd)?.only.is_some() && self.dir(&fd).is_ok() {
            return Err(ErrorCode::NotPermitted.into());
        }
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
        let charged = self.place(&fd)?.budget.charge_growth(&file.file, end);
        self.breathe(&fd).await;
        charged?;
        let file = self.writable_file(&fd)?;
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
        let listing = rustix::fs::Dir::read_from(&self.dir(&fd)?.dir).map_err(io::Error::from)?;
        let listing = self.table.push(Listing(listing))?;
        self.files.listings += 1;
        // The table knows what is behind the number; the binding's type is only its name for it.
        Ok(Resource::new_own(listing.rep()))
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, &path)?;
        self.place(&fd)?.budget.charge(ENTRY)?;
        self.breathe(&fd).await;
        let (at, name) = self.spot(&fd, path)?;
        let made = self.inner().create_directory_at(again(&at), name).await;
        self.done(at);
        made
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
        let (at, path) = match path.as_str() {
            "." => {
                self.change_itself(&fd)?;
                (again(&fd), path)
            }
            _ => self.spot(&fd, path)?,
        };
        // Where something is sealed a link is not followed: it might lead there.
        let follow = if self.place(&fd)?.sealed.is_some() {
            PathFlags::empty()
        } else {
            follow
        };
        let set = self
            .inner()
            .set_times_at(again(&at), follow, path, atim, mtim)
            .await;
        self.done(at);
        set
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
        self.breathe(&fd).await;
        let (from, to) = self.two_spots(&fd, old, &new_fd, new)?;
        let (a, b) = (again(&from.0), again(&to.0));
        let linked = self.inner().link_at(a, follow, from.1, b, to.1).await;
        self.done(from.0);
        self.done(to.0);
        linked
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
        let opened = self.open(&fd, follow, &path, how, flags);
        self.breathe(&fd).await;
        self.adopt(place, opened?)
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
        let (at, name) = self.spot(&fd, path)?;
        self.place(&fd)?.budget.shrunk();
        let removed = self.inner().remove_directory_at(again(&at), name).await;
        self.done(at);
        removed
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.same_place(&fd, &new_fd)?;
        let (from, to) = self.two_spots(&fd, old, &new_fd, new)?;
        self.place(&fd)?.budget.shrunk();
        let (a, b) = (again(&from.0), again(&to.0));
        let renamed = self.inner().rename_at(a, from.1, b, to.1).await;
        self.done(from.0);
        self.done(to.0);
        renamed
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        self.change(&fd, &path)?;
        // The guest could not follow it out, but whoever opens the directory later would.
        if !link_stays_inside(&target) {
            return Err(ErrorCode::NotPermitted.into());
        }
        self.place(&fd)?.budget.charge(ENTRY)?;
        self.breathe(&fd).await;
        let (at, name) = self.spot(&fd, path)?;
        let laid = self.inner().symlink_at(again(&at), target, name).await;
        self.done(at);
        laid
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        let (at, name) = self.spot(&fd, path)?;
        self.place(&fd)?.budget.shrunk();
        let removed = self.inner().unlink_file_at(again(&at), name).await;
        self.done(at);
        removed
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

impl types::HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        listing: Resource<ReaddirIterator>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        let listing = Resource::<Listing>::new_borrow(listing.rep());
        self.table.get_mut(&listing)?.next()
    }

    fn drop(&mut self, listing: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        self.files.listings = self.files.listings.saturating_sub(1);
        self.table
            .delete(Resource::<Listing>::new_own(listing.rep()))?;
        Ok(())
    }
}
