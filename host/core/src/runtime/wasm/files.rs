//! The files a guest sees: its mounts, and the descriptors that it has open on them.
//!
//! wasmtime-wasi keeps a guest below its preopened directories. This layer is between the two and
//! adds what a sandbox for untrusted code needs: here, which directory or single file each descriptor belongs to, the
//! number of open files, and the scratch directory; in [`super::operations`], what may be done with them. Operations
//! that change nothing are passed on as they are ([`super::filesystem`]).

use super::budget::Budget;
use super::located::Located;
use crate::files::real_path;
use crate::runtime::artifacts::ChangedPaths;
use crate::runtime::denials::Denials;
use crate::runtime::protected::ProtectedPaths;
use crate::runtime::scratch::empty_directory;
use cap_primitives::fs::FollowSymlinks;
use std::collections::{HashMap, HashSet};
use std::fs::File as StdFile;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use types::ErrorCode;
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::filesystem::{
    Descriptor, Dir, File, FsPerms, OpenMode, WasiFilesystemCtx, WasiFilesystemCtxView,
};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types;

/// Where the Python guest assumes its library, which it has in memory. Tracebacks may look there.
pub(super) const PYTHON_LIBRARY: &str = "/usr/lib/python3.14";
/// The name that the JavaScript guest has for no file at all.
pub(super) const JAVASCRIPT_NOWHERE: &str = "/\u{10ffff}";

/// A directory as a guest sees it.
pub(super) struct Mount {
    pub(super) dir: Dir,
    pub(super) guest: String,
    pub(super) only: Option<String>,
    pub(super) budget: Budget,
    /// Set if the directory is writable.
    pub(super) protected: Option<Arc<ProtectedPaths>>,
    /// The real path of the directory if its handle is detached.
    detached: Option<PathBuf>,
    /// The single file, if its handle was passed to this worker.
    pub(super) file: Option<Arc<StdFile>>,
    /// Its descriptor, once the guest has asked about it.
    file_descriptor: Option<u32>,
}

impl Mount {
    /// The real path of something in this mount.
    pub(super) fn real_path(&self, handle: &impl AsRawFd) -> io::Result<PathBuf> {
        let seen = real_path(handle)?;
        let Some(host) = &self.detached else {
            return Ok(seen);
        };
        let below = seen.strip_prefix("/").unwrap_or(&seen);
        Ok(match below.as_os_str().is_empty() {
            true => host.clone(),
            false => host.join(below),
        })
    }

    /// Locates a path of this mount: below `dir`, or its single file.
    pub(super) fn locate(
        &self,
        dir: &StdFile,
        path: &Path,
        follow: FollowSymlinks,
    ) -> io::Result<Located> {
        match &self.file {
            Some(file) => Located::of(file.try_clone()?),
            None => Located::find(dir, path, follow),
        }
    }
}

/// Makes a scratch directory when it is first called, and opens it.
pub(super) type MakeScratch = Arc<dyn Fn() -> io::Result<OwnedFd> + Send + Sync>;

/// A mount whose directory is made when the guest first uses it. Until then, its descriptors refer to a directory that
/// is empty and stays so.
struct LazyMount {
    /// The index of the mount.
    index: usize,
    make: MakeScratch,
    /// Whether it was made.
    made: bool,
    /// The guest's descriptors that still refer to the empty directory.
    unmade: HashSet<u32>,
}

/// An entry that a guest has just read from a listing, and its metadata hash.
///
/// The C library asks for the hash of every entry, to have its inode number, and a lookup each time would take longer than
/// all else in a listing. The listing has the inode number, on the device of the directory. Only where another file system is mounted
/// is the answer another one than that of a lookup, as it is on Linux.
pub(super) struct Listed {
    /// The guest's number of the directory.
    pub(super) fd: u32,
    pub(super) name: String,
    pub(super) hash: types::MetadataHashValue,
}

/// The files that one guest sees, and what it has open.
pub(crate) struct Files {
    ctx: WasiFilesystemCtx,
    pub(super) mounts: Vec<Mount>,
    /// The scratch directory, which is made when the guest first uses it.
    scratch: Option<LazyMount>,
    /// The index of the mount for every path that no other one contains.
    pub(super) outside: Option<usize>,
    /// What the guest could not open or change.
    pub(super) denials: Arc<Denials>,
    /// What the guest created, changed or removed, if the outcome lists it.
    pub(super) changed: Option<ChangedPaths>,
    /// Existing files that are open for writing, until they are written.
    pub(super) unwritten: HashMap<u32, PathBuf>,
    /// Where the guest sees its skill.
    pub(super) skill: Option<String>,
    /// Where the interpreter looks for files that the interpreter itself looks up.
    pub(super) own_paths: &'static str,
    /// Which mount each open descriptor belongs to.
    pub(super) open: HashMap<u32, usize>,
    pub(super) listings: usize,
    /// The last entry that the guest read from a listing.
    pub(super) listed: Option<Listed>,
    pub(super) max_open: usize,
    pub(super) hit_max_open: bool,
    pub(super) hit_max_listings: bool,
    /// Whether the guest accepts the type `Socket`. The adapter to WASI preview 1 in the JavaScript guest traps on it.
    pub(super) knows_sockets: bool,
}

impl Files {
    pub(crate) fn new(max_open: u32) -> Self {
        Self {
            ctx: WasiFilesystemCtx::default(),
            mounts: Vec::new(),
            scratch: None,
            outside: None,
            denials: Arc::default(),
            changed: None,
            unwritten: HashMap::new(),
            skill: None,
            own_paths: JAVASCRIPT_NOWHERE,
            open: HashMap::new(),
            listings: 0,
            listed: None,
            max_open: max_open as usize,
            hit_max_open: false,
            hit_max_listings: false,
            knows_sockets: false,
        }
    }

    /// Makes `dir` visible to the guest at `guest`.
    pub(crate) fn add_mount(
        &mut self,
        dir: Arc<StdFile>,
        guest: String,
        writable: bool,
        only: Option<String>,
        budget: Budget,
        protected: Option<Arc<ProtectedPaths>>,
    ) -> io::Result<()> {
        self.mounts.push(Mount {
            dir: mounted(dir, writable)?,
            guest,
            only,
            budget,
            protected,
            detached: None,
            file: None,
            file_descriptor: None,
        });
        Ok(())
    }

    /// Marks the handle of the mount that was added last as passed to this worker: one with a single file is that of the
    /// file. `detached` is the real path of its directory if it is also detached.
    pub(super) fn set_passed(&mut self, detached: Option<&PathBuf>) -> io::Result<()> {
        if let Some(mount) = self.mounts.last_mut() {
            mount.detached = detached.cloned();
            if let Some(only) = &mount.only {
                mount.detached = detached.map(|host| host.join(only));
                mount.file = Some(Arc::clone(&mount.dir.dir));
                mount.dir.dir = empty()?.dir;
            }
        }
        Ok(())
    }

    /// Makes the scratch directory visible to the guest at `guest`; it is made when the guest first uses it.
    pub(super) fn add_scratch(
        &mut self,
        make: MakeScratch,
        guest: String,
        budget: Budget,
    ) -> io::Result<()> {
        let index = self.mounts.len();
        self.add_mount(empty()?.dir, guest, true, None, budget, None)?;
        self.scratch = Some(LazyMount {
            index,
            make,
            made: false,
            unmade: HashSet::new(),
        });
        Ok(())
    }

    /// Directs all paths outside of the other mounts to us. Nothing exists there, but what the guest attempts is counted.
    /// Without this mount its libc would fail such calls by itself, with the same errors.
    pub(super) fn add_outside(&mut self, denials: Arc<Denials>) -> io::Result<()> {
        self.outside = Some(self.mounts.len());
        self.denials = denials;
        let nothing = Budget::shared(0);
        self.add_mount(empty()?.dir, "/".into(), false, None, nothing, None)
    }

    /// Records a descriptor of a mount's own directory.
    pub(super) fn opened_mount(&mut self, fd: u32, index: usize) {
        self.open.insert(fd, index);
        if let Some(scratch) = &mut self.scratch
            && scratch.index == index
            && !scratch.made
        {
            scratch.unmade.insert(fd);
        }
    }

    /// Forgets a descriptor.
    pub(super) fn closed(&mut self, fd: u32) {
        self.open.remove(&fd);
        self.unwritten.remove(&fd);
        if let Some(scratch) = &mut self.scratch {
            scratch.unmade.remove(&fd);
        }
    }

    /// Makes the directory of a mount if it is the scratch directory and not made yet.
    fn make(&mut self, index: usize) -> io::Result<()> {
        if let Some(scratch) = &mut self.scratch
            && scratch.index == index
            && !scratch.made
        {
            let made = StdFile::from((scratch.make)()?);
            let budget = &self.mounts[index].budget;
            budget.set_directory(made.try_clone()?.into());
            self.mounts[index].dir = mounted(Arc::new(made), true)?;
            scratch.made = true;
        }
        Ok(())
    }

    /// Whether changes in a mount are listed. The scratch directory is private.
    pub(super) fn tracks(&self, mount: usize) -> bool {
        let scratch = self.scratch.as_ref();
        self.changed.is_some() && scratch.is_none_or(|scratch| scratch.index != mount)
    }

    /// Whether the limit on open files was hit.
    pub(crate) fn hit_max_open(&self) -> bool {
        self.hit_max_open
    }

    /// Whether the limit on directories listed at the same time was hit.
    pub(crate) fn hit_max_listings(&self) -> bool {
        self.hit_max_listings
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

    /// Makes the scratch directory if `fd` refers to it. Every call that uses a descriptor calls this first.
    pub(super) fn make_scratch(&mut self, fd: &Fd) -> FsResult<()> {
        let scratch = self.files.scratch.as_mut();
        let Some(scratch) = scratch.filter(|scratch| scratch.unmade.contains(&fd.rep())) else {
            return Ok(());
        };
        let index = scratch.index;
        self.files.make(index)?;
        let made = self.files.mounts[index].dir.clone();
        *self.table.get_mut(fd)? = Descriptor::Dir(made);
        if let Some(scratch) = &mut self.files.scratch {
            scratch.unmade.remove(&fd.rep());
        }
        Ok(())
    }

    pub(super) fn mount(&self, fd: &Fd) -> FsResult<&Mount> {
        let index = self.files.open.get(&fd.rep()).copied();
        index
            .and_then(|index| self.files.mounts.get(index))
            .ok_or_else(|| ErrorCode::BadDescriptor.into())
    }

    /// A descriptor of the single file `path`, if its handle was passed to this worker. It lasts as long as the guest.
    pub(super) fn single_file(&mut self, fd: &Fd, path: &str) -> FsResult<Option<Fd>> {
        let index = self.mount_of(fd, path)?;
        let mount = &mut self.files.mounts[index];
        let Some(file) = &mount.file else {
            return Ok(None);
        };
        let number = match mount.file_descriptor {
            Some(number) => number,
            None => {
                let handle = file.try_clone()?;
                let file = File::new(handle, mount.dir.perms, OpenMode::READ, true);
                let number = self.table.push(Descriptor::File(file))?.rep();
                *mount.file_descriptor.insert(number)
            }
        };
        Ok(Some(Resource::new_borrow(number)))
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
        // As in POSIX: EBADF if the descriptor is not open for writing.
        if file.perms.write_not_permitted() || !file.open_mode.contains(OpenMode::WRITE) {
            return Err(ErrorCode::BadDescriptor.into());
        }
        Ok(file)
    }

    /// The index of the mount in which `path` is looked up: that of `fd`, or the one for the single file `path` of the same
    /// directory. A guest has one descriptor for all mounts with the same path.
    pub(super) fn mount_of(&self, fd: &Fd, path: &str) -> FsResult<usize> {
        let index = self.files.open.get(&fd.rep()).copied();
        let index = index.ok_or(ErrorCode::BadDescriptor)?;
        let mounts = &self.files.mounts;
        let mount = mounts.get(index).ok_or(ErrorCode::BadDescriptor)?;
        let is_writable = |mount: &Mount| !mount.dir.perms.write_not_permitted();
        if mount.only.is_none() && is_writable(mount) {
            return Ok(index);
        }
        // In the mount's own directory, not in one that the guest opened below it.
        let is_top = |dir: &Dir| Arc::ptr_eq(&dir.dir, &mount.dir.dir);
        if !self.dir(fd).is_ok_and(is_top) {
            return Ok(index);
        }
        let is_it =
            |other: &Mount| other.guest == mount.guest && other.only.as_deref() == Some(path);
        let singles = mounts.iter().enumerate().filter(|(_, other)| is_it(other));
        let single = singles.max_by_key(|(_, other)| is_writable(other));
        Ok(single.map_or(index, |(index, _)| index))
    }

    /// Whether a descriptor stands for everything outside of the mounts.
    pub(super) fn is_outside(&self, fd: &Fd) -> bool {
        let index = self.files.open.get(&fd.rep());
        self.files.outside.is_some() && index == self.files.outside.as_ref()
    }
}

/// A directory with the access of a mount. Handles are shared: a run needs none of its own.
fn mounted(dir: Arc<StdFile>, writable: bool) -> io::Result<Dir> {
    let (perms, open_mode) = match writable {
        true => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        false => (FsPerms::ReadOnly, OpenMode::READ),
    };
    // wasmtime makes one only of a handle that is not shared.
    let mut mounted = empty()?;
    (mounted.dir, mounted.perms, mounted.open_mode) = (dir, perms, open_mode);
    Ok(mounted)
}

static EMPTY: OnceLock<Dir> = OnceLock::new();

/// A handle on a directory in which nothing exists and nothing can be created, for a worker that cannot make one.
pub(super) fn empty_handle() -> io::Result<OwnedFd> {
    Ok(empty()?.dir.try_clone()?.into())
}

/// A directory in which nothing exists and nothing can be created.
fn empty() -> io::Result<Dir> {
    match EMPTY.get() {
        Some(empty) => Ok(empty.clone()),
        None => {
            set_empty(empty_directory()?);
            empty()
        }
    }
}

/// Names an empty directory, for a process that cannot make one.
pub(super) fn set_empty(directory: StdFile) {
    EMPTY.get_or_init(|| Dir::new(directory, FsPerms::ReadOnly, OpenMode::READ, true));
}

/// Borrows a handle again, for a call that takes it by value.
pub(super) fn reborrow(fd: &Fd) -> Fd {
    Resource::new_borrow(fd.rep())
}
