//! Guests compiled for this machine, kept in an owner-only directory.
//!
//! Compiling takes seconds, mapping the result a millisecond. What is mapped runs as native code
//! with all rights of this process. So a file is trusted only if no other user could have written it
//! and its content has not changed. Each file has a checksum file beside it with its name, its SHA-256
//! and its metadata (inode, size, times) from the moment it was finished. The metadata are compared on
//! each load; only if they differ is the content hashed again. Hashing each time would cost more than
//! everything else in a start, and a write through the file system cannot leave `ctime` as it was.
//!
//! A directory that others could write is replaced by a new one. The rejected alternative is to empty it
//! and then to close it: others can add files meanwhile, and what cannot be removed would be trusted later.
//!
//! If others could replace the directory itself, because they may write one around it, nothing is loaded
//! or stored: the guest is compiled in memory, with a warning. The state and configuration directories
//! are refused in that case. The cache is not, because a run needs no cache to be safe.

use crate::ownership::{Ownership, other_replacer};
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
    /// The name of the entry. The files of one guest under the name of another are not loaded.
    name: String,
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

    /// Creates the directory if it is missing.
    pub(crate) fn create(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
    }

    /// Creates the directory, or checks that it belongs to this user and closes it to others. If others could write in
    /// it, it is replaced by a new one: they could have replaced a compiled guest and its checksum.
    fn secure(&self) -> io::Result<()> {
        self.create()?;
        self.check_parents()?;
        let folder = self.open_folder()?;
        if is_closed_to_writers(&folder)? {
            if folder.metadata()?.mode() & 0o077 != 0 {
                folder.set_permissions(fs::Permissions::from_mode(0o700))?;
            }
            return Ok(());
        }
        self.discard(&folder)?;
        self.create()?;
        match is_closed_to_writers(&self.open_folder()?)? {
            true => Ok(()),
            false => Err(io::Error::other("other users may write it")),
        }
    }

    /// Moves the directory where no other user can reach it, then removes as much of it as possible. Other users may hold
    /// it open, and own directories in it that we cannot remove.
    fn discard(&self, folder: &File) -> io::Result<()> {
        let around = self.folder.parent().unwrap_or(Path::new("."));
        let private = tempfile::Builder::new()
            .prefix(".skillrun-discarded-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(around)?;
        fs::rename(&self.folder, private.path().join("cache"))?;
        // Nobody can add files while they are being removed.
        folder.set_permissions(fs::Permissions::from_mode(0o700))?;
        let _ = private.close();
        Ok(())
    }

    /// Opens the directory, if it is one and belongs to this user.
    fn open_folder(&self) -> io::Result<File> {
        let not_ours = || io::Error::other("it is not a directory that belongs to this user");
        let folder = open_nofollow(&self.folder).map_err(|error| match is_link(&error) {
            true => not_ours(),
            false => error,
        })?;
        let meta = folder.metadata()?;
        match meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() {
            true => Ok(folder),
            false => Err(not_ours()),
        }
    }

    /// Fails if another user could replace the directory. As for the state directory, directories further up count only
    /// as long as they are this user's: whoever may write above the home can replace everything that the user has.
    fn check_parents(&self) -> io::Result<()> {
        let real = self.folder.canonicalize()?;
        for (index, around) in real.ancestors().skip(1).enumerate() {
            let found = Ownership::at(around)?;
            if index > 0 && found.metadata().uid() != rustix::process::geteuid().as_raw() {
                break;
            }
            if let Some(other) = other_replacer(&found) {
                let around = crate::files::show(&around.display().to_string());
                return Err(io::Error::other(format!(
                    "it is in `{around}`, which {other}"
                )));
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
                match component {
                    Some(component) => Ok((component, None)),
                    // Another process may have discarded the directory meanwhile.
                    None => {
                        let error = io::Error::other("the file cannot be loaded after writing it");
                        Ok((load_bytes(engine, &compiled)?, Some(error)))
                    }
                }
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
            .custom_flags(NOFOLLOW)
            .open(&path)?;
        if !file.metadata()?.is_file() {
            let path = crate::files::show(&path.display().to_string());
            return Err(io::Error::other(format!("`{path}` is not a regular file")));
        }
        file.lock()?;
        Ok(file)
    }

    fn store(&self, compiled: &[u8]) -> io::Result<()> {
        let file = self.write(&self.path(), compiled)?;
        let checksum = Checksum {
            name: self.name.clone(),
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
        self.cache.check_parents().ok()?;
        if !is_closed_to_writers(&self.cache.open_folder().ok()?).ok()? {
            return None;
        }
        let mut file = open_nofollow(&self.path()).ok()?;
        let meta = file.metadata().ok()?;
        let checksum_file = open_nofollow(&self.checksum_path()).ok()?;
        let checksum_meta = checksum_file.metadata().ok()?;
        for (file, meta) in [(&file, &meta), (&checksum_file, &checksum_meta)] {
            let is_ours = meta.uid() == rustix::process::geteuid().as_raw();
            if !is_ours || !is_closed_to_writers(file).ok()? {
                return None;
            }
            if !meta.is_file() || meta.nlink() != 1 {
                return None;
            }
        }
        let mut checksum = Vec::new();
        checksum_file.take(4096).read_to_end(&mut checksum).ok()?;
        let checksum: Checksum = serde_json::from_slice(&checksum).ok()?;
        if checksum.name != self.name {
            return None;
        }
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

/// Follows no link, and does not block on a FIFO.
const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW
    .union(rustix::fs::OFlags::NONBLOCK)
    .bits()
    .cast_signed();

fn open_nofollow(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(NOFOLLOW)
        .open(path)
}

/// Whether a file was not opened because it is a link.
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Whether the mode lets no other user write a file or a directory. Unlike elsewhere, not even the user's own group may:
/// nothing here is shared. So no access control list can let others write, either.
fn is_closed_to_writers(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.mode() & 0o022 == 0)
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
    // wrote for this guest, by its metadata or by its hash. wasmtime itself refuses another version, other settings
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

    /// A directory `cache` of this mode, with files of a guest in it, inside a directory of its own.
    fn cache_of_mode(mode: u32) -> (tempfile::TempDir, Cache) {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("cache");
        fs::create_dir_all(folder.join("planted/deep")).unwrap();
        for name in ["python.checksum", "a", "planted/z", "planted/deep/z"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        (around, Cache::new(folder))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_directory_that_others_could_write_is_replaced_by_a_closed_one() {
        for (before, kept) in [(0o700, true), (0o755, true), (0o777, false), (0o720, false)] {
            let (around, cache) = cache_of_mode(before);
            // Another process with the directory open reaches the old one only.
            let open = File::open(cache.folder()).unwrap();
            let inode = open.metadata().unwrap().ino();
            cache.secure().unwrap();
            let exists = cache.folder().join("python.checksum").exists();
            assert_eq!((mode(cache.folder()), exists), (0o700, kept), "{before:o}");
            let same = fs::metadata(cache.folder()).unwrap().ino() == inode;
            assert_eq!(same, kept, "{before:o}");
            let left = fs::read_dir(around.path()).unwrap().count();
            assert_eq!(left, 1, "{before:o}: nothing of the old one is left");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_replaced_is_not_closed() {
        let (_around, cache) = cache_of_mode(0o777);
        // Without a place to move it to, it must stay recognizable as untrusted.
        let missing = Cache::new(cache.folder().join("../gone/../cache"));
        let folder = File::open(cache.folder()).unwrap();
        assert!(missing.discard(&folder).is_err());
        assert_eq!(mode(cache.folder()), 0o777);
        assert!(cache.folder().join("python.checksum").exists());
    }

    #[test]
    fn a_directory_that_others_could_replace_is_not_used() {
        for (mode, used) in [(0o700, true), (0o755, true), (0o1777, true), (0o777, false)] {
            let (around, cache) = cache_of_mode(0o700);
            fs::set_permissions(around.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(cache.secure().is_ok(), used, "{mode:o}");
            // The same further up.
            let inner = Cache::new(cache.folder().join("planted/deep"));
            assert_eq!(inner.secure().is_ok(), used, "{mode:o}");
        }
    }

    #[test]
    fn a_lock_is_a_regular_file_and_no_link_is_followed() {
        let (around, cache) = cache_of_mode(0o700);
        let lock = |name: &str| {
            let name = name.to_owned();
            let entry = Entry {
                cache: &cache,
                name,
            };
            entry.lock().map(drop)
        };
        let target = around.path().join("created");
        std::os::unix::fs::symlink(&target, cache.folder().join("link.lock")).unwrap();
        let error = lock("link").unwrap_err();
        assert!(is_link(&error), "{error}");
        assert!(!target.exists());
        let fifo = cache.folder().join("fifo.lock");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        lock("fifo").unwrap_err();
        // Somebody reads the FIFO, so that it can be opened for writing.
        let reader = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&fifo)
            .unwrap();
        let error = lock("fifo").unwrap_err();
        assert!(
            error.to_string().ends_with("is not a regular file"),
            "{error}"
        );
        drop(reader);
        lock("plain").unwrap();
    }

    #[test]
    fn the_files_of_one_guest_are_not_loaded_under_the_name_of_another() {
        let (_around, cache) = cache_of_mode(0o700);
        let entry = |name: &str| Entry {
            cache: &cache,
            name: name.to_owned(),
        };
        let (python, javascript) = (entry("python-1"), entry("javascript-1"));
        python.store(b"compiled").unwrap();
        assert!(python.open().is_some());
        fs::rename(python.path(), javascript.path()).unwrap();
        fs::rename(python.checksum_path(), javascript.checksum_path()).unwrap();
        assert!(javascript.open().is_none());
        javascript.store(b"compiled").unwrap();
        assert!(javascript.open().is_some());
    }
}
