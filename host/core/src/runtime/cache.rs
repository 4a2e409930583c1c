//! Guests compiled for this machine, kept in an owner-only directory.
//!
//! A file contains the compiled code and, from a page boundary to its end, the image of the guest's memory. Both are mapped,
//! not read.
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
use skillrun_memory::Image;
use skillrun_runtimes::Guest;
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
/// The image begins at a multiple of this, which is a multiple of the page size of every machine.
const ALIGNMENT: usize = 64 << 10;

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
    /// The size of the guest's image.
    image_size: usize,
}

/// A compiled guest: its code, and the memory it starts with.
pub(crate) struct Loaded {
    pub(crate) component: Component,
    pub(crate) image: Image,
}

impl Cache {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The entry for this guest, compiled by this engine.
    pub(crate) fn entry(&self, engine: &Engine, guest: Guest) -> Entry<'_> {
        let (name, digest) = (guest.name(), guest.digest());
        // The engine's hash covers its version, its settings and the processor's features.
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let name = format!(
            "{name}-{}-{:016x}",
            &digest[..digest.len().min(16)],
            hasher.finish()
        );
        Entry {
            cache: self,
            name,
            image_size: guest.image_size(),
        }
    }

    /// Creates the directory if it is missing.
    fn create(&self) -> io::Result<()> {
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
    pub(crate) fn load(&self, engine: &Engine) -> Option<Loaded> {
        load_checked(engine, self.open()?, self.image_size).ok()
    }

    /// The compiled file, to be loaded by another process; compiles the guest if it is not there. If it cannot be stored, it
    /// is a file in memory, and the reason is returned with it. Also returns whether it was compiled.
    pub(crate) fn file(
        &self,
        engine: &Engine,
        guest: Guest,
    ) -> wasmtime::Result<(File, bool, Option<io::Error>)> {
        if let Some(file) = self.open() {
            return Ok((file, false, None));
        }
        let lock = self.cache.secure().and_then(|()| self.lock());
        if lock.is_ok()
            && let Some(file) = self.open()
        {
            return Ok((file, false, None));
        }
        let code = engine.precompile_component(&guest.component()?)?;
        let image = guest.image()?;
        let stored = lock.and_then(|lock| {
            self.store(&code, &image)?;
            self.cache.sweep(&self.name);
            let unusable = || io::Error::other("the file cannot be read after writing it");
            let file = self.open().ok_or_else(unusable)?;
            drop(lock);
            Ok(file)
        });
        match stored {
            Ok(file) => Ok((file, true, None)),
            Err(error) => {
                let parts: [&[u8]; 3] = [&code, &padding(&code), &image];
                Ok((sealed_file(&parts)?, true, Some(error)))
            }
        }
    }

    /// Compiles, stores and loads the guest. If another process does the same, this waits for it.
    ///
    /// If the result cannot be stored, it is used from memory, and the reason is returned with it.
    pub(crate) fn build(
        &self,
        engine: &Engine,
        guest: Guest,
    ) -> wasmtime::Result<(Loaded, Option<io::Error>)> {
        let (file, _, unstored) = self.file(engine, guest)?;
        Ok((load_checked(engine, file, self.image_size)?, unstored))
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

    fn store(&self, code: &[u8], image: &[u8]) -> io::Result<()> {
        let parts = [code, &padding(code), image];
        let file = self.write(&self.path(), &parts)?;
        let sha256 = parts.iter().fold(Sha256::new(), Sha256::chain_update);
        let checksum = Checksum {
            name: self.name.clone(),
            sha256: hex(&sha256.finalize()),
            stamp: Stamp::of(&file)?,
        };
        self.write(&self.checksum_path(), &[&serde_json::to_vec(&checksum)?])?;
        Ok(())
    }

    /// Writes to a temporary file, then renames it: a reader sees the whole file or none.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> io::Result<File> {
        let mut file = tempfile::Builder::new()
            .prefix(&self.name)
            .suffix(".part")
            .tempfile_in(&self.cache.folder)?;
        for part in parts {
            file.write_all(part)?;
        }
        file.as_file().sync_data()?;
        Ok(file.persist(path)?)
    }

    /// Whether there is a compiled file that can be trusted.
    pub(crate) fn is_valid(&self) -> bool {
        self.open().is_some()
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
        let _ = serde_json::to_vec(&fresh).map(|json| self.write(&self.checksum_path(), &[&json]));
        Some(file)
    }
}

/// Loads a compiled file that [`Entry::file`] returned.
pub(crate) fn load_checked(
    engine: &Engine,
    file: File,
    image_size: usize,
) -> wasmtime::Result<Loaded> {
    let offset = file.metadata()?.len().checked_sub(image_size as u64);
    let offset = offset.ok_or_else(|| wasmtime::format_err!("the compiled file is too short"))?;
    let component = map(engine, &file)?;
    let image = image(file, offset, image_size)?;
    Ok(Loaded { component, image })
}

/// What follows the code in a compiled file, so that the image begins at a page boundary.
fn padding(code: &[u8]) -> Vec<u8> {
    vec![0; code.len().next_multiple_of(ALIGNMENT) - code.len()]
}

/// A file in memory that nobody can change.
fn sealed_file(parts: &[&[u8]]) -> io::Result<File> {
    use rustix::fs::{MemfdFlags, SealFlags};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create("skillrun-guest", flags)?);
    for part in parts {
        file.write_all(part)?;
    }
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file)
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
    trusted(engine, &by_handle)
}

#[expect(
    unsafe_code,
    reason = "loading compiled code is wasmtime's one unsafe entry, and this is its one use"
)]
fn trusted(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: `deserialize_file` trusts its input, so it must get only what this engine compiled. The file comes from
    // `Entry::file`, here or in the host of this worker: either `Entry::open` checked that it and its directory
    // belong to this user, that no other user may write them, and that its content is what `Entry::store`
    // wrote for this guest, by its metadata or by its hash; or it is a sealed file in memory that was just written. wasmtime
    // itself refuses another version, other settings or another processor. No script can write there: the cache is a
    // protected path in every mount.
    unsafe { Component::deserialize_file(engine, path) }
}

/// The image at the end of a compiled guest.
#[expect(unsafe_code, reason = "nobody may change a file that is mapped")]
fn image(file: File, offset: u64, size: usize) -> io::Result<Image> {
    // SAFETY: as above, the file comes from `Entry::file`: only this user may write it or its directory, and no script can.
    // This crate never writes a compiled file in place: `Entry::write` renames a new one over it, and `Cache` removes whole
    // files. Both leave the mapped one as it is.
    unsafe { Image::from_file(file, offset, size) }
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
                image_size: 0,
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
            image_size: 0,
        };
        let (python, javascript) = (entry("python-1"), entry("javascript-1"));
        python.store(b"compiled", b"image").unwrap();
        assert!(python.open().is_some());
        fs::rename(python.path(), javascript.path()).unwrap();
        fs::rename(python.checksum_path(), javascript.checksum_path()).unwrap();
        assert!(javascript.open().is_none());
        javascript.store(b"compiled", b"image").unwrap();
        assert!(javascript.open().is_some());
    }
}
