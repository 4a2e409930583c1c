//! Guests compiled for this machine, kept in an owner-only directory.
//!
//! Compiling takes seconds, mapping the result a millisecond. What is mapped runs as native code
//! with all rights of this process, so a file is trusted only if nobody but its owner could have
//! written it and its content is what was written: each file has a seal beside it with its SHA-256
//! and the kernel's marks (inode, size, times) from the moment it was finished. The marks are
//! compared on each load; only if they differ is the content hashed again. Hashing each time would
//! cost more than everything else in a start, and a write through the file system cannot leave
//! `ctime` as it was.

use crate::decision::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Files of other versions of skillrun are kept this long.
const STALE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The directory of compiled guests.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// Marks of a file that change with any write to it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marks {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Debug, Serialize, Deserialize)]
struct Seal {
    sha256: String,
    marks: Marks,
}

/// One guest's place in the cache.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    cache: &'a Cache,
    name: String,
}

impl Cache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The place of the guest `name` with this content, compiled by this engine.
    pub(crate) fn entry(&self, engine: &Engine, name: &str, digest: &str) -> Entry<'_> {
        // The engine's hash covers its version, its settings and the processor's features.
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let name = format!(
            "{name}-{}-{:016x}",
            &digest[..digest.len().min(16)],
            hasher.finish()
        );
        Entry { cache: self, name }
    }

    /// Makes the directory, or makes sure that it is ours alone.
    pub(crate) fn secure(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let meta = fs::symlink_metadata(&self.folder)?;
        if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("it is not a directory of this user"));
        }
        if meta.mode() & 0o077 != 0 {
            fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// Removes what old versions and killed processes left.
    fn sweep(&self, keep: &str) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        for entry in entries.filter_map(Result::ok) {
            let ours = entry.file_name().to_string_lossy().starts_with(keep);
            let age = entry
                .metadata()
                .and_then(|meta| meta.modified())
                .ok()
                .and_then(|time| time.elapsed().ok());
            if !ours && age.is_some_and(|age| age > STALE) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl Entry<'_> {
    pub(crate) fn path(&self) -> PathBuf {
        self.cache.folder.join(format!("{}.cwasm", self.name))
    }

    fn seal_path(&self) -> PathBuf {
        self.cache.folder.join(format!("{}.seal", self.name))
    }

    /// Loads the compiled guest if it is there and can be trusted.
    pub(crate) fn load(&self, engine: &Engine) -> Option<Component> {
        let file = self.open().ok()?;
        map(engine, &file, &self.path()).ok()
    }

    /// Compiles, stores and loads. Another process that does the same is waited for.
    ///
    /// If the result cannot be stored it is used from memory, and the reason comes back with it.
    pub(crate) fn build(
        &self,
        engine: &Engine,
        component: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> wasmtime::Result<(Component, Option<io::Error>)> {
        let lock = self.cache.secure().and_then(|()| self.lock());
        if lock.is_ok()
            && let Some(component) = self.load(engine)
        {
            return Ok((component, None));
        }
        let compiled = engine.precompile_component(&component()?)?;
        let stored = lock.and_then(|lock| self.store(&compiled).map(|()| lock));
        match stored {
            Ok(lock) => {
                self.cache.sweep(&self.name);
                let component = self.load(engine);
                drop(lock);
                component.map(|component| (component, None)).ok_or_else(|| {
                    wasmtime::format_err!(
                        "`{}` was written and cannot be loaded",
                        self.path().display()
                    )
                })
            }
            Err(error) => Ok((load_bytes(engine, &compiled)?, Some(error))),
        }
    }

    fn lock(&self) -> io::Result<File> {
        let path = self.cache.folder.join(format!("{}.lock", self.name));
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)?;
        file.lock()?;
        Ok(file)
    }

    fn store(&self, compiled: &[u8]) -> io::Result<()> {
        let file = self.write(&self.path(), compiled)?;
        let seal = Seal {
            sha256: hex(&Sha256::digest(compiled)),
            marks: Marks::of(&file)?,
        };
        self.write(&self.seal_path(), &serde_json::to_vec(&seal)?)?;
        Ok(())
    }

    /// Writes under a name of its own, then renames: a reader sees all or nothing.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<File> {
        let mut file = tempfile::Builder::new()
            .prefix(&self.name)
            .suffix(".part")
            .tempfile_in(&self.cache.folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        Ok(file.persist(path)?)
    }

    /// Opens the compiled file and checks that it is what was written.
    fn open(&self) -> io::Result<File> {
        let refuse = |why: &str| Err(io::Error::other(why.to_owned()));
        let mut file = open_nofollow(&self.path())?;
        let meta = file.metadata()?;
        let folder = fs::symlink_metadata(&self.cache.folder)?;
        for meta in [&meta, &folder] {
            if meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o022 != 0 {
                return refuse("others could have written it");
            }
        }
        if !meta.is_file() || meta.nlink() != 1 {
            return refuse("not a plain file");
        }
        let mut seal = Vec::new();
        open_nofollow(&self.seal_path())?
            .take(4096)
            .read_to_end(&mut seal)?;
        let seal: Seal = serde_json::from_slice(&seal)?;
        let marks = Marks::of(&file)?;
        if seal.marks == marks {
            return Ok(file);
        }
        // Copied, restored or moved: the marks are new and the content must speak for itself.
        let mut content = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
        file.read_to_end(&mut content)?;
        if hex(&Sha256::digest(&content)) != seal.sha256 {
            return refuse("its content is not what was written");
        }
        let fresh = Seal { marks, ..seal };
        let _ = serde_json::to_vec(&fresh).map(|seal| self.write(&self.seal_path(), &seal));
        Ok(file)
    }
}

fn open_nofollow(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

impl Marks {
    fn of(file: &File) -> io::Result<Self> {
        let meta = file.metadata()?;
        Ok(Self {
            device: meta.dev(),
            inode: meta.ino(),
            bytes: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

/// Maps a compiled guest from the file that was checked, not from the name it had.
fn map(engine: &Engine, file: &File, path: &Path) -> wasmtime::Result<Component> {
    let by_handle = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let path = if by_handle.exists() { &by_handle } else { path };
    trusted(engine, Compiled::File(path))
}

fn load_bytes(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<Component> {
    trusted(engine, Compiled::Bytes(compiled))
}

enum Compiled<'a> {
    File(&'a Path),
    Bytes(&'a [u8]),
}

#[expect(
    unsafe_code,
    reason = "loading compiled code is wasmtime's one unsafe entry, and this is its one use"
)]
fn trusted(engine: &Engine, compiled: Compiled<'_>) -> wasmtime::Result<Component> {
    // SAFETY: `deserialize*` runs whatever it is given, so it must be given only what this engine
    // compiled. Bytes come straight from `precompile_component`. A file comes from `Entry::open`: it
    // and its directory belong to this user and nobody else may write them, and its content is what
    // `Entry::store` wrote, by its marks or by its hash. wasmtime itself refuses another version,
    // other settings or another processor. No script can write there: the cache is sealed against
    // every mount.
    unsafe {
        match compiled {
            Compiled::File(path) => Component::deserialize_file(engine, path),
            Compiled::Bytes(bytes) => Component::deserialize(engine, bytes),
        }
    }
}
