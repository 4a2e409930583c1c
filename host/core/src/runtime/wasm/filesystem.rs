//! `wasi:filesystem` as a guest calls it: operations that change nothing are passed on to wasmtime-wasi, all
//! others are first checked by [`super::operations`].

use super::budget::ENTRY;
use super::file_streams::FileReader;
use super::files::{Fd, FilesView, Listed, Mount, reborrow};
use super::operations::{Change, link_stays_inside};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::Arc;
use types::{DescriptorFlags, ErrorCode, Filesize, OpenFlags, PathFlags};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator};

/// Directories that may be listed at the same time; each keeps a handle and a part of the listing.
pub(super) const MAX_LISTINGS: usize = 64;

/// Names that are left out before the deadline is checked: a fraction of a millisecond.
const MAX_LEFT_OUT: usize = 1024;

/// A directory being listed, read in parts: a whole listing may be millions of names, and
/// reading it in one call would delay the check of the deadline.
struct Listing {
    entries: rustix::fs::Dir,
    /// The guest's number of the directory.
    fd: u32,
    device: u64,
}

/// What comes next in a directory.
enum Next {
    /// An entry, and what the guest may ask about it.
    Entry(types::DirectoryEntry, Listed),
    /// Many names were left out, and there may be more.
    Pause,
    End,
}

impl Listing {
    fn next(&mut self) -> FsResult<Next> {
        use rustix::fs::FileType;
        for _ in 0..MAX_LEFT_OUT {
            let entry = match self.entries.read() {
                None => return Ok(Next::End),
                Some(entry) => entry.map_err(io::Error::from)?,
            };
            // A name that is not UTF-8 cannot be expressed in WASI; the others are still listed.
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if matches!(name, "." | "..") {
                continue;
            }
            let type_ = match entry.file_type() {
                FileType::RegularFile => types::DescriptorType::RegularFile,
                FileType::Directory => types::DescriptorType::Directory,
                FileType::Symlink => types::DescriptorType::SymbolicLink,
                FileType::Fifo => types::DescriptorType::Fifo,
                // The adapter to WASI preview 1 in the JavaScript guest traps on `Socket`. The guest asks
                // `file-type` about what is unknown.
                FileType::Socket => types::DescriptorType::Unknown,
                FileType::BlockDevice => types::DescriptorType::BlockDevice,
                FileType::CharacterDevice => types::DescriptorType::CharacterDevice,
                _ => types::DescriptorType::Unknown,
            };
            let listed = Listed {
                fd: self.fd,
                name: name.to_owned(),
                hash: metadata_hash(self.device, entry.ino()),
            };
            let name = name.to_owned();
            return Ok(Next::Entry(types::DirectoryEntry { type_, name }, listed));
        }
        Ok(Next::Pause)
    }
}

/// The hash that wasmtime-wasi makes of a file's device and inode number.
fn metadata_hash(device: u64, inode: u64) -> types::MetadataHashValue {
    let mut hasher = DefaultHasher::new();
    (device, inode).hash(&mut hasher);
    let lower = hasher.finish();
    let upper = lower ^ 0x4009_21fb_5444_2d18;
    types::MetadataHashValue { lower, upper }
}

/// A timestamp in the kernel's format.
fn timestamp(new: types::NewTimestamp) -> FsResult<Timespec> {
    let (tv_sec, tv_nsec) = match new {
        types::NewTimestamp::NoChange => (0, UTIME_OMIT),
        types::NewTimestamp::Now => (0, UTIME_NOW),
        types::NewTimestamp::Timestamp(time) => {
            let seconds = i64::try_from(time.seconds).map_err(|_| ErrorCode::Overflow)?;
            let more = i64::from(time.nanoseconds / 1_000_000_000);
            let seconds = seconds.checked_add(more).ok_or(ErrorCode::Overflow)?;
            (seconds, i64::from(time.nanoseconds % 1_000_000_000))
        }
    };
    Ok(Timespec { tv_sec, tv_nsec })
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        let mut all = Vec::with_capacity(self.files.mounts.len());
        for index in 0..self.files.mounts.len() {
            let (mount, others) = (&self.files.mounts[index], &self.files.mounts);
            // A single file is found through another mount of the same path: see `FilesView::mount_of`.
            let is_same = |other: &Mount| other.guest == mount.guest;
            let is_whole = |other: &Mount| is_same(other) && other.only.is_none();
            let is_shown = others[..index].iter().any(is_same) || others.iter().any(is_whole);
            if mount.only.is_some() && is_shown {
                continue;
            }
            let (dir, guest) = (mount.dir.clone(), mount.guest.clone());
            let fd = self.table.push(Descriptor::Dir(dir))?;
            self.files.opened_mount(fd.rep(), index);
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
        self.make_scratch(&fd)?;
        self.inner().advise(fd, offset, len, advice).await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.make_scratch(&fd)?;
        self.sync(fd).await
    }

    /// May take long, so it runs on tokio's blocking pool. Unlike other host calls (see [`super::threads`]), a sync that
    /// never returns delays the end of the runtime.
    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.make_scratch(&fd)?;
        let Descriptor::File(file) = self.table.get(&fd)? else {
            return Ok(());
        };
        let file = Arc::clone(&file.file);
        match tokio::task::spawn_blocking(move || file.sync_all()).await {
            Ok(synced) => Ok(synced?),
            Err(_) => Err(ErrorCode::Io.into()),
        }
    }

    /// The empty directory in place of an unused scratch directory has the same flags, and the same type.
    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        self.inner().get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<types::DescriptorType> {
        self.inner().get_type(fd).await
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        self.make_scratch(&fd)?;
        let file = self.writable_file(&fd)?;
        let budget = &self.mount(&fd)?.budget;
        let charged = budget.charge_growth(&file.file, size);
        self.yield_after_recount(&fd).await;
        charged?;
        self.writable_file(&fd)?.file.set_len(size)?;
        self.note_write(&fd);
        self.mount(&fd)?.budget.note_shrunk();
        Ok(())
    }

    async fn set_times(
        &mut self,
        fd: Fd,
        atim: types::NewTimestamp,
        mtim: types::NewTimestamp,
    ) -> FsResult<()> {
        self.make_scratch(&fd)?;
        if self.mount(&fd)?.only.is_some() && self.dir(&fd).is_ok() {
            return Err(ErrorCode::NotPermitted.into());
        }
        if let (Some(protected), descriptor) = (&self.mount(&fd)?.protected, self.table.get(&fd)?) {
            let handle = match descriptor {
                Descriptor::File(file) => &file.file,
                Descriptor::Dir(dir) => &dir.dir,
            };
            if protected.covers(&self.mount(&fd)?.real_path(handle.as_ref())?) {
                return Err(ErrorCode::NotPermitted.into());
            }
        }
        self.inner().set_times(fd, atim, mtim).await
    }

    async fn read(&mut self, fd: Fd, len: Filesize, offset: Filesize) -> FsResult<(Vec<u8>, bool)> {
        self.make_scratch(&fd)?;
        self.inner().read(fd, len, offset).await
    }

    async fn write(&mut self, fd: Fd, buf: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        self.make_scratch(&fd)?;
        let file = self.writable_file(&fd)?;
        let end = offset.saturating_add(buf.len() as u64);
        let charged = self
            .mount(&fd)?
            .budget
            .charge_write(&file.file, offset..end);
        self.yield_after_recount(&fd).await;
        charged?;
        let written = self.writable_file(&fd)?.file.write_at(&buf, offset);
        self.note_write(&fd);
        if let Err(error) = &written {
            self.mount(&fd)?.budget.note_write_error(error);
        }
        Ok(written? as Filesize)
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<ReaddirIterator>> {
        self.make_scratch(&fd)?;
        if self.mount(&fd)?.only.is_some() {
            return Err(ErrorCode::Access.into());
        }
        if self.files.listings >= MAX_LISTINGS {
            self.files.hit_max_listings = true;
            return Err(ErrorCode::Quota.into());
        }
        let dir = &self.dir(&fd)?.dir;
        let listing = Listing {
            entries: rustix::fs::Dir::read_from(dir).map_err(io::Error::from)?,
            fd: fd.rep(),
            device: dir.metadata()?.dev(),
        };
        let listing = self.table.push(listing)?;
        self.files.listings += 1;
        // The table knows the type behind the number; the binding only declares another one.
        Ok(Resource::new_own(listing.rep()))
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.make_scratch(&fd)?;
        self.checked_entry_for(&fd, &path, Change::NewDirectory)?;
        let charged = self.mount(&fd)?.budget.charge(ENTRY);
        self.yield_after_recount(&fd).await;
        charged?;
        let (at, name) = self.entry_for(&fd, path, Change::NewDirectory)?;
        let made = self
            .inner()
            .create_directory_at(reborrow(&at), name.clone())
            .await;
        self.count_if_outside(&at, &name, &made);
        self.release(at);
        made
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<types::DescriptorStat> {
        self.make_scratch(&fd)?;
        self.inner().stat(fd).await
    }

    async fn stat_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
    ) -> FsResult<types::DescriptorStat> {
        self.make_scratch(&fd)?;
        let follow = self.check_visible(&fd, &path, follow)?;
        if let Some(file) = self.single_file(&fd, &path)? {
            return self.inner().stat(file).await;
        }
        let found = self
            .inner()
            .stat_at(reborrow(&fd), follow, path.clone())
            .await;
        let mut status = found?;
        // wasmtime-wasi reports these types as unknown.
        if matches!(status.type_, types::DescriptorType::Unknown) {
            status.type_ = self.special_type(&fd, follow, &path)?;
        }
        Ok(status)
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
        atim: types::NewTimestamp,
        mtim: types::NewTimestamp,
    ) -> FsResult<()> {
        self.make_scratch(&fd)?;
        let times = Timestamps {
            last_access: timestamp(atim)?,
            last_modification: timestamp(mtim)?,
        };
        self.set_times_of(&fd, follow, &path, &times)
    }

    async fn link_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        old: String,
        new_fd: Fd,
        new: String,
    ) -> FsResult<()> {
        self.make_scratch(&fd)?;
        self.make_scratch(&new_fd)?;
        self.same_mount(&fd, &old, &new_fd, &new)?;
        self.checked_entry(&fd, &old)?;
        self.checked_entry(&new_fd, &new)?;
        let charged = self.mount(&fd)?.budget.charge(ENTRY);
        self.yield_after_recount(&fd).await;
        charged?;
        let before = self.entry_before(&new_fd, &new);
        let (from, to) = self.two_entries(&fd, old, &new_fd, new)?;
        let (a, b) = (reborrow(&from.0), reborrow(&to.0));
        let names = (from.1.clone(), to.1.clone());
        let linked = self.inner().link_at(a, follow, names.0, b, names.1).await;
        self.count_if_outside(&from.0, &from.1, &linked);
        self.count_if_outside(&to.0, &to.1, &linked);
        self.release(from.0);
        self.release(to.0);
        self.note_changed(before, &linked);
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
        self.make_scratch(&fd)?;
        if self.files.open.len() >= self.files.max_open + self.files.mounts.len() {
            self.files.hit_max_open = true;
            return Err(ErrorCode::Quota.into());
        }
        let mount = self.mount_of(&fd, &path)?;
        let opened = self.open(&fd, follow, &path, how, flags);
        self.yield_after_recount(&fd).await;
        self.register(mount, opened?)
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        // Closing the last handle of a removed file frees its bytes.
        if let (Ok(mount), Ok(file)) = (self.mount(&fd), self.file(&fd))
            && mount.budget.is_private()
            && file.file.metadata().is_ok_and(|meta| meta.nlink() == 0)
        {
            mount.budget.note_shrunk();
        }
        self.files.closed(fd.rep());
        self.inner().drop(fd)
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        #[cfg(feature = "hole")]
        if let Some(answer) = super::hole::answer(&path) {
            return Ok(answer);
        }
        self.make_scratch(&fd)?;
        self.check_visible(&fd, &path, PathFlags::empty())?;
        if self.single_file(&fd, &path)?.is_some() {
            // It is a file, not a link.
            return Err(ErrorCode::Invalid.into());
        }
        self.inner().readlink_at(fd, path).await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.make_scratch(&fd)?;
        let (at, name) = self.entry(&fd, path)?;
        self.mount(&fd)?.budget.note_shrunk();
        let removed = self
            .inner()
            .remove_directory_at(reborrow(&at), name.clone())
            .await;
        self.count_if_outside(&at, &name, &removed);
        self.release(at);
        removed
    }

    async fn rename_at(&mut self, fd: Fd, old: String, new_fd: Fd, new: String) -> FsResult<()> {
        self.make_scratch(&fd)?;
        self.make_scratch(&new_fd)?;
        self.same_mount(&fd, &old, &new_fd, &new)?;
        let before = (
            self.entry_before(&fd, &old),
            self.entry_before(&new_fd, &new),
        );
        let (from, to) = self.two_entries(&fd, old, &new_fd, new.clone())?;
        self.mount(&fd)?.budget.note_shrunk();
        let (a, b) = (reborrow(&from.0), reborrow(&to.0));
        let names = (from.1.clone(), to.1.clone());
        let renamed = self.inner().rename_at(a, names.0, b, names.1).await;
        self.count_if_outside(&from.0, &from.1, &renamed);
        self.count_if_outside(&to.0, &to.1, &renamed);
        self.release(from.0);
        self.release(to.0);
        self.note_renamed(before, &new_fd, &new, &renamed).await;
        renamed
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        self.make_scratch(&fd)?;
        self.checked_entry(&fd, &path)?;
        // The guest could not follow it outside, but another program that opens the directory later would.
        if !link_stays_inside(&target) {
            return Err(ErrorCode::NotPermitted.into());
        }
        let charged = self.mount(&fd)?.budget.charge(ENTRY);
        self.yield_after_recount(&fd).await;
        charged?;
        let (at, name) = self.entry(&fd, path)?;
        let created = self
            .inner()
            .symlink_at(reborrow(&at), target, name.clone())
            .await;
        self.count_if_outside(&at, &name, &created);
        self.release(at);
        created
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.make_scratch(&fd)?;
        let before = self.entry_before(&fd, &path);
        let (at, name) = self.entry(&fd, path)?;
        self.mount(&fd)?.budget.note_shrunk();
        let removed = self
            .inner()
            .unlink_file_at(reborrow(&at), name.clone())
            .await;
        self.count_if_outside(&at, &name, &removed);
        self.note_changed(before, &removed);
        self.release(at);
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
        self.make_scratch(&a)?;
        self.make_scratch(&b)?;
        self.inner().is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<types::MetadataHashValue> {
        self.make_scratch(&fd)?;
        self.inner().metadata_hash(fd).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        follow: PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        self.make_scratch(&fd)?;
        if let Some(listed) = self.files.listed.take()
            && (listed.fd, &listed.name) == (fd.rep(), &path)
            && !follow.contains(PathFlags::SYMLINK_FOLLOW)
        {
            return Ok(listed.hash);
        }
        let follow = self.check_visible(&fd, &path, follow)?;
        if let Some(file) = self.single_file(&fd, &path)? {
            return self.inner().metadata_hash(file).await;
        }
        let hash = self.inner().metadata_hash_at(fd, follow, path).await;
        hash.or_else(|error| match error.downcast_ref() {
            // The guest asks about each name of a listing. A name that was removed in the meantime would make the whole
            // listing fail.
            Some(ErrorCode::NoEntry) => Ok(types::MetadataHashValue { lower: 0, upper: 0 }),
            _ => Err(error),
        })
    }
}

impl types::HostDirectoryEntryStream for FilesView<'_> {
    async fn read_directory_entry(
        &mut self,
        listing: Resource<ReaddirIterator>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        let listing = Resource::<Listing>::new_borrow(listing.rep());
        loop {
            match self.table.get_mut(&listing)?.next()? {
                Next::Entry(entry, listed) => {
                    self.files.listed = Some(listed);
                    return Ok(Some(entry));
                }
                Next::End => return Ok(None),
                Next::Pause => tokio::task::yield_now().await,
            }
        }
    }

    fn drop(&mut self, listing: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        self.files.listings = self.files.listings.saturating_sub(1);
        self.table
            .delete(Resource::<Listing>::new_own(listing.rep()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::artifacts::ChangedPaths;
    use crate::runtime::scratch::Scratches;
    use crate::runtime::wasm::budget::Budget;
    use crate::runtime::wasm::files::Files;
    use bytes::Bytes;
    use preopens::Host as _;
    use std::fs::File;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use types::{HostDescriptor as _, HostDirectoryEntryStream as _};
    use wasmtime::component::ResourceTable;

    const FULL: u64 = 64 * ENTRY;

    /// Polls a call until it is ready; returns its result and how often it yielded.
    fn polled<F: Future>(call: F) -> (F::Output, usize) {
        let (mut call, mut cx) = (pin!(call), Context::from_waker(Waker::noop()));
        let mut yields = 0;
        loop {
            match call.as_mut().poll(&mut cx) {
                Poll::Ready(output) => return (output, yields),
                Poll::Pending => yields += 1,
            }
        }
    }

    #[test]
    fn the_scratch_directory_is_made_when_it_is_first_used() {
        let scratch = Arc::new(Arc::new(Scratches::new()).scratch());
        let (mut files, mut table) = (Files::new(8), ResourceTable::new());
        let budget = Budget::private(1 << 20);
        let made = Arc::clone(&scratch);
        let added = files.add_scratch(Arc::new(move || made.open()), "/tmp".into(), budget);
        added.unwrap();
        let mut view = FilesView {
            files: &mut files,
            table: &mut table,
        };
        // A guest may ask for its directories more than once.
        let [first, second, closed] = [(); 3].map(|()| view.get_directories().unwrap().remove(0).0);
        let own = |fd: &Fd| Resource::<Descriptor>::new_own(fd.rep());
        types::HostDescriptor::drop(&mut view, own(&closed)).unwrap();
        assert!(matches!(
            polled(view.get_type(own(&first))).0.ok().unwrap(),
            types::DescriptorType::Directory
        ));
        assert_eq!(view.type_of("/tmp/a", true), 0);
        assert!(!scratch.is_made());
        let made = polled(view.create_directory_at(own(&second), "a".into())).0;
        assert!(made.is_ok());
        assert!(scratch.is_made() && scratch.path().unwrap().join("a").is_dir());
        let status = polled(view.stat_at(own(&first), PathFlags::empty(), "a".into())).0;
        assert!(matches!(
            status.ok().unwrap().type_,
            types::DescriptorType::Directory
        ));
    }

    #[test]
    fn a_listed_entry_has_the_hash_that_a_lookup_finds() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "").unwrap();
        let (mut files, mut table) = (Files::new(8), ResourceTable::new());
        let dir = File::open(folder.path()).unwrap();
        let budget = Budget::shared(FULL);
        let added = files.add_mount(dir.into(), "/w".into(), true, None, budget, None);
        added.unwrap();
        let mut view = FilesView {
            files: &mut files,
            table: &mut table,
        };
        let (top, _) = view.get_directories().unwrap().remove(0);
        let hash_of_f = |view: &mut FilesView<'_>| {
            let hash = view.metadata_hash_at(reborrow(&top), PathFlags::empty(), "f".into());
            let hash = polled(hash).0.unwrap();
            (hash.lower, hash.upper)
        };
        let found = hash_of_f(&mut view);
        let listing = polled(view.read_directory(reborrow(&top))).0.unwrap();
        let entry = polled(view.read_directory_entry(listing)).0.unwrap();
        assert_eq!(entry.unwrap().name, "f");
        // Without a lookup, or there would be no answer.
        std::fs::remove_file(folder.path().join("f")).unwrap();
        assert_eq!(hash_of_f(&mut view), found);
        // Once only: from then on it is looked up, and the hash of nothing is 0.
        assert_eq!(hash_of_f(&mut view), (0, 0));
    }

    #[test]
    fn renaming_a_directory_whose_files_are_listed_yields() {
        for (is_listed, name, expected) in [(true, "d", 1), (true, "f", 0), (false, "d", 0)] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("d")).unwrap();
            std::fs::write(folder.path().join("f"), "").unwrap();
            let (mut files, mut table) = (Files::new(8), ResourceTable::new());
            files.changed = is_listed.then(ChangedPaths::default);
            let dir = File::open(folder.path()).unwrap();
            let budget = Budget::shared(FULL);
            let added = files.add_mount(dir.into(), "/w".into(), true, None, budget, None);
            added.unwrap();
            let mut view = FilesView {
                files: &mut files,
                table: &mut table,
            };
            let (top, _) = view.get_directories().unwrap().remove(0);
            let (from, to) = (reborrow(&top), reborrow(&top));
            let renamed = view.rename_at(from, name.into(), to, "new".into());
            let (renamed, yields) = polled(renamed);
            assert!(renamed.is_ok() && folder.path().join("new").exists());
            assert_eq!(yields, expected, "{is_listed} {name}");
        }
    }

    /// A recount costs time for each file, but the guest no fuel. The deadline is checked each time the guest yields.
    #[test]
    fn every_call_that_recounts_the_scratch_directory_yields() {
        for call in [
            "mkdir", "create", "symlink", "link", "write", "grow", "append",
        ] {
            // Without a recount, with one that finds space, and with one that finds none.
            for (is_spent, is_full) in [(false, false), (true, false), (true, true)] {
                let scratch = tempfile::tempdir().unwrap();
                std::fs::write(scratch.path().join("f"), "").unwrap();
                let budget = Budget::private(FULL);
                budget.set_directory(File::open(scratch.path()).unwrap().into());
                let (mut files, mut table) = (Files::new(8), ResourceTable::new());
                let dir = File::open(scratch.path()).unwrap();
                let budget_too = budget.clone();
                let added =
                    files.add_mount(dir.into(), "/tmp".into(), true, None, budget_too, None);
                added.unwrap();
                let mut view = FilesView {
                    files: &mut files,
                    table: &mut table,
                };
                let (top, _) = view.get_directories().unwrap().remove(0);
                let nothing = PathFlags::empty();
                let flags = DescriptorFlags::READ | DescriptorFlags::WRITE;
                let open = view.open_at(
                    reborrow(&top),
                    nothing,
                    "f".into(),
                    OpenFlags::empty(),
                    flags,
                );
                let file = polled(open).0.unwrap();
                if is_full {
                    let other = File::create(scratch.path().join("other")).unwrap();
                    other.set_len(FULL - 2 * ENTRY).unwrap();
                }
                if is_spent {
                    budget.charge(FULL).unwrap();
                    budget.note_shrunk();
                }
                let top = reborrow(&top);
                let (done, yields) = match call {
                    "mkdir" => {
                        let (made, yields) = polled(view.create_directory_at(top, "d".into()));
                        (made, yields)
                    }
                    "create" => {
                        let create = OpenFlags::CREATE;
                        let (made, yields) =
                            polled(view.open_at(top, nothing, "c".into(), create, flags));
                        (made.map(drop), yields)
                    }
                    "symlink" => {
                        let (made, yields) = polled(view.symlink_at(top, "f".into(), "s".into()));
                        (made, yields)
                    }
                    "link" => {
                        let to = reborrow(&top);
                        let (made, yields) =
                            polled(view.link_at(top, nothing, "f".into(), to, "l".into()));
                        (made, yields)
                    }
                    "write" => {
                        let (written, yields) = polled(view.write(file, vec![0; 4096], 0));
                        (written.map(|written| assert_eq!(written, 4096)), yields)
                    }
                    "grow" => {
                        let (grown, yields) = polled(view.set_size(file, 8192));
                        (grown, yields)
                    }
                    _ => {
                        let stream = view.append_via_stream(file).unwrap();
                        let stream = view.table.get_mut(&stream).unwrap();
                        stream.write(Bytes::from_static(&[0; 4096])).unwrap();
                        let (_, yields) = polled(stream.ready());
                        let done = stream.check_write().map(drop);
                        (
                            done.map_err(|_| ErrorCode::InsufficientSpace.into()),
                            yields,
                        )
                    }
                };
                let done = done.map_err(|error| error.downcast().unwrap());
                let expected = match is_full {
                    true => Err(ErrorCode::InsufficientSpace),
                    false => Ok(()),
                };
                assert_eq!(format!("{done:?}"), format!("{expected:?}"), "{call}");
                assert_eq!(yields, usize::from(is_spent), "{call}");
            }
        }
    }
}
