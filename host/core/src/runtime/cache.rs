//! Guests compiled for this machine, kept in an owner-only directory.
//!
//! Compiling takes seconds, mapping the result a millisecond. What is mapped runs as native code
//! with all rights of this process. So a file is trusted only if no other user could have written it
//! and its content has not changed. Each file has a checksum file beside it with its SHA-256 and its
//! metadata (inode, size, times) from the moment it was finished. The metadata are compared on each
//! load; only if they differ is the content hashed again. Hashing each time would cost more than
//! everything else in a start, and a write through the file system cannot leave `ctime` as it was.

use crate::text::hex;
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

/// How long files are kept that do not belong to the guest that was compiled last.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The directory of compiled guests.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// Metadata of a file that change with any write to it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What the checksum file of a compiled guest contains.
#[derive(Debug, Serialize, Deserialize)]
struct Checksum {
    sha256: String,
    stamp: Stamp,
}

/// One guest in the cache.
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

    /// The entry for the guest `name` with this content, compiled by this engine.
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

    /// Creates the directory, or checks that it belongs to this user and closes it to others. If others could write in
    /// it, nothing in it is kept: they could have replaced a compiled guest and its checksum.
    pub(crate) fn secure(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let meta = fs::symlink_metadata(&self.folder)?;
        if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other(
                "it is not a directory that belongs to this user",
            ));
        }
        if meta.mode() & 0o077 != 0 {
            fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))?;
        }
        if meta.mode() & 0o022 != 0 {
            for entry in fs::read_dir(&self.folder)? {
                fs::remove_file(entry?.path())?;
            }
        }
        Ok(())
    }

    /// Removes files older than [`MAX_AGE`] that do not belong to the entry `keep`: those of other versions and of killed
    /// processes. Another guest of this version that is as old is removed too, and compiled again when it is needed.
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
            if !ours && age.is_some_and(|age| age > MAX_AGE) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl Entry<'_> {
    pub(crate) fn path(&self) -> PathBuf {
        self.cache.folder.join(format!("{}.cwasm", self.name))
    }

    fn checksum_path(&self) -> PathBuf {
        self.cache.folder.join(format!("{}.checksum", self.name))
    }

    /// Loads the compiled guest if it is there and can be trusted.
    pub(crate) fn load(&self, engine: &Engine) -> Option<Component> {
        map(engine, &self.open()?).ok()
    }

    /// Compiles, stores and loads the guest. If another process does the same, this waits for it.
    ///
    /// If the result cannot be stored, it is used from memory, and the reason is returned with it.
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
                        "cannot load `{}` after writing it",
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
        let checksum = Checksum {
            sha256: hex(&Sha256::digest(compiled)),
            stamp: Stamp::of(&file)?,
        };
        self.write(&self.checksum_path(), &serde_json::to_vec(&checksum)?)?;
        Ok(())
    }

    /// Writes to a temporary file, then renames it: a reader sees the whole file or none.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<File> {
        let mut file = tempfile::Builder::new()
            .prefix(&self.name)
            .suffix(".part")
            .tempfile_in(&self.cache.folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        Ok(file.persist(path)?)
    }

    /// Opens the compiled file; `None` if it is missing, another user could have written it, or it has changed.
    fn open(&self) -> Option<File> {
        let mut file = open_nofollow(&self.path()).ok()?;
        let meta = file.metadata().ok()?;
        let folder = fs::symlink_metadata(&self.cache.folder).ok()?;
        let checksum_file = open_nofollow(&self.checksum_path()).ok()?;
        let checksum_meta = checksum_file.metadata().ok()?;
        for meta in [&meta, &checksum_meta, &folder] {
            if meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o022 != 0 {
                return None;
            }
        }
        for meta in [&meta, &checksum_meta] {
            if !meta.is_file() || meta.nlink() != 1 {
                return None;
            }
        }
        let mut checksum = Vec::new();
        checksum_file.take(4096).read_to_end(&mut checksum).ok()?;
        let checksum: Checksum = serde_json::from_slice(&checksum).ok()?;
        let stamp = Stamp::of(&file).ok()?;
        if checksum.stamp == stamp {
            return Some(file);
        }
        // The file was copied, restored or moved, so only its content can show that it has not changed.
        let mut content = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
        file.read_to_end(&mut content).ok()?;
        if hex(&Sha256::digest(&content)) != checksum.sha256 {
            return None;
        }
        let fresh = Checksum { stamp, ..checksum };
        let _ = serde_json::to_vec(&fresh).map(|json| self.write(&self.checksum_path(), &json));
        Some(file)
    }
}

fn open_nofollow(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

impl Stamp {
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

/// Maps a compiled guest from the handle that was checked: its name may lead to another file by now.
fn map(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    let by_handle = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    trusted(engine, Compiled::File(&by_handle))
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
    // SAFETY: `deserialize*` trusts its input, so it must get only what this engine compiled. Bytes
    // come straight from `precompile_component`. A file comes from `Entry::open`: it and its directory
    // belong to this user and no other user may write them, and its content is what `Entry::store`
    // wrote, by its metadata or by its hash. wasmtime itself refuses another version, other settings
    // or another processor. No script can write there: the cache is a protected path in every mount.
    unsafe {
        match compiled {
            Compiled::File(path) => Component::deserialize_file(engine, path),
            Compiled::Bytes(bytes) => Component::deserialize(engine, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_others_could_write_is_emptied_and_closed() {
        for (mode, kept) in [(0o700, true), (0o755, true), (0o777, false), (0o720, false)] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("python.checksum"), "").unwrap();
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            let cache = Cache::new(folder.path().to_owned());
            cache.secure().unwrap();
            let now = fs::metadata(folder.path()).unwrap().mode() & 0o777;
            let exists = folder.path().join("python.checksum").exists();
            assert_eq!((now, exists), (0o700, kept), "{mode:o}");
        }
    }
}
