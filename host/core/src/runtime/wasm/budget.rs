//! How far a script may make directories grow.
//!
//! Growth is charged before it happens. The scratch directory is private, so if its budget seems spent
//! after something was removed, it is recounted: the files in it, and the removed files that are still
//! open. In other directories removed bytes are not credited: another process may have written them.
//!
//! A file counts by its length in the scratch directory. Elsewhere it may have holes that cost its author nothing, so
//! what a write fills of them is charged too, except where the run itself made the file longer and was charged for that.
//! Charging what the file system has allocated after each write was rejected: it allocates later.

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use walkdir::WalkDir;

/// What an entry of a directory costs besides its content, so that empty files are not free.
pub(crate) const ENTRY: u64 = 4096;
/// What a byte in a hole of a file takes at least.
const BLOCK: u64 = 4096;
/// Files whose growth by the run is remembered. If there are more, filling holes in them is charged twice.
const MAX_GROWN: usize = 4096;

/// How far the directories of one kind may grow.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    limit: u64,
    used: u64,
    /// Whether no other process writes there, so that it can be recounted.
    private: bool,
    /// The private directory, once it is made.
    directory: Option<OwnedFd>,
    /// Whether something may have become smaller since the last count.
    shrunk: bool,
    open: Vec<Weak<File>>,
    /// How far the run made files longer, by device and inode.
    grown: HashMap<(u64, u64), Range<u64>>,
    hit_limit: bool,
    disk_full: bool,
    /// Whether it was recounted since [`Budget::was_recounted`] was last called: a recount takes a while.
    recounted: bool,
}

impl Budget {
    /// For directories that others may write too.
    pub(crate) fn shared(limit: u64) -> Self {
        Self::new(limit, false)
    }

    /// For a directory of our own, named by [`Budget::set_directory`] when it is made.
    pub(crate) fn private(limit: u64) -> Self {
        Self::new(limit, true)
    }

    fn new(limit: u64, private: bool) -> Self {
        let account = Account {
            limit,
            used: 0,
            private,
            directory: None,
            shrunk: false,
            open: Vec::new(),
            grown: HashMap::new(),
            hit_limit: false,
            disk_full: false,
            recounted: false,
        };
        Self(Arc::new(Mutex::new(account)))
    }

    /// Names the directory of a private budget.
    pub(crate) fn set_directory(&self, directory: OwnedFd) {
        self.with(|account| account.directory = Some(directory));
    }

    /// Takes `bytes` from the budget or fails as a full disk does.
    pub(crate) fn charge(&self, bytes: u64) -> io::Result<()> {
        self.with(|account| {
            if account.used.saturating_add(bytes) > account.limit && account.shrunk {
                account.recount();
            }
            let used = account.used.saturating_add(bytes);
            if used > account.limit {
                account.hit_limit = true;
                return Err(rustix::io::Errno::NOSPC.into());
            }
            account.used = used;
            Ok(())
        })
    }

    /// Charges what setting the length of `file` to `end` adds to it.
    pub(crate) fn charge_growth(&self, file: &File, end: u64) -> io::Result<()> {
        self.charge_write(file, end..end)
    }

    /// Charges what writing `range` adds to `file`.
    pub(crate) fn charge_write(&self, file: &File, range: Range<u64>) -> io::Result<()> {
        let metadata = file.metadata()?;
        let len = metadata.len();
        let mut bytes = range.end.saturating_sub(len);
        if range.start < len && !self.is_private() {
            let own = self.with(|account| account.grown_by_run(&metadata));
            let end = range.end.min(len);
            for part in [
                range.start..end.min(own.start),
                range.start.max(own.end)..end,
            ] {
                bytes = bytes.saturating_add(holes(file, part)?);
            }
        }
        match bytes {
            0 => return Ok(()),
            bytes => self.charge(bytes)?,
        }
        if range.end > len {
            self.with(|account| account.note_growth(&metadata, range.end));
        }
        Ok(())
    }

    /// Records that something was removed or truncated.
    pub(crate) fn note_shrunk(&self) {
        self.with(|account| account.shrunk = true);
    }

    /// Records an open file: it takes space even after its name is removed, as long as it is open.
    pub(crate) fn note_open(&self, file: &Arc<File>) {
        self.with(|account| {
            if account.private {
                if account.open.len() == account.open.capacity() {
                    account.open.retain(|file| file.strong_count() > 0);
                }
                account.open.push(Arc::downgrade(file));
            }
        });
    }

    /// Whether removed bytes are credited.
    pub(crate) fn is_private(&self) -> bool {
        self.with(|account| account.private)
    }

    /// Whether it was recounted since the last call.
    pub(crate) fn was_recounted(&self) -> bool {
        self.with(|account| std::mem::take(&mut account.recounted))
    }

    /// Records a write that failed because the disk was full, whatever its budget. Not every guest learns that: the
    /// libc of the Python guest reports all stream errors as EIO.
    pub(crate) fn note_write_error(&self, error: &io::Error) {
        use rustix::io::Errno;
        let reason = Errno::from_io_error(error);
        if matches!(reason, Some(Errno::NOSPC | Errno::DQUOT)) {
            self.with(|account| account.disk_full = true);
        }
    }

    /// Whether a write failed because the disk was full.
    pub(crate) fn disk_was_full(&self) -> bool {
        self.with(|account| account.disk_full)
    }

    /// Whether the limit was hit.
    pub(crate) fn hit_limit(&self) -> bool {
        self.with(|account| account.hit_limit)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Account) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Account {
    /// The part of a file that the run added to it.
    fn grown_by_run(&mut self, file: &Metadata) -> Range<u64> {
        let Some(own) = self.grown.get_mut(&(file.dev(), file.ino())) else {
            return 0..0;
        };
        // What was cut off may have been added by another process since.
        own.end = own.end.min(file.len());
        own.start = own.start.min(own.end);
        own.clone()
    }

    /// Records that the run made a file longer.
    fn note_growth(&mut self, file: &Metadata, end: u64) {
        if self.private {
            return;
        }
        if self.grown.len() >= MAX_GROWN {
            self.grown.clear();
        }
        let own = self.grown.entry((file.dev(), file.ino())).or_default();
        if own.end != file.len() {
            own.start = file.len();
        }
        own.end = end;
    }

    fn recount(&mut self) {
        let Some(folder) = &self.directory else {
            return;
        };
        self.shrunk = false;
        self.recounted = true;
        // Its own path may lead elsewhere by now.
        let folder = format!("/proc/self/fd/{}/.", folder.as_raw_fd());
        let named: Result<u64, walkdir::Error> = WalkDir::new(folder)
            .min_depth(1)
            .into_iter()
            .map(|entry| {
                let meta = entry?.metadata()?;
                Ok(ENTRY + if meta.is_file() { meta.len() } else { 0 })
            })
            .sum();
        // If something cannot be counted (a path can be made too long to follow), nothing is credited.
        let Ok(named) = named else { return };
        self.open.retain(|file| file.strong_count() > 0);
        // A file that is open twice takes its space once.
        let unnamed: HashMap<u64, u64> = self
            .open
            .iter()
            .filter_map(Weak::upgrade)
            .filter_map(|file| file.metadata().ok())
            .filter(|meta| meta.nlink() == 0)
            .map(|meta| (meta.ino(), ENTRY + meta.len()))
            .collect();
        self.used = named + unnamed.values().sum::<u64>();
    }
}

/// The bytes that writing `range` takes in holes of `file`, which must be at least as long.
fn holes(file: &File, range: Range<u64>) -> io::Result<u64> {
    if range.is_empty() {
        return Ok(0);
    }
    let end = range.end.next_multiple_of(BLOCK);
    let mut at = range.start - range.start % BLOCK;
    let mut bytes = 0;
    // A write is at most some MiB long, so there are not many.
    while at < end {
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(end),
            // Nothing but a hole follows.
            Err(Errno::NXIO) => end,
            Err(error) => return Err(error.into()),
        };
        bytes += data - at;
        if data >= end {
            break;
        }
        at = match seek(file, SeekFrom::Hole(data)) {
            Ok(hole) => hole,
            // It was truncated in between.
            Err(Errno::NXIO) => data,
            Err(error) => return Err(error.into()),
        };
        if at <= data {
            return Ok(bytes + (end - data));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::FileExt as _;

    fn private(limit: u64, folder: &std::path::Path) -> Budget {
        let budget = Budget::private(limit);
        budget.set_directory(File::open(folder).unwrap().into());
        budget
    }

    #[test]
    fn a_spent_budget_fails_as_a_full_disk_does() {
        let budget = Budget::shared(100);
        assert!(budget.charge(100).is_ok());
        let error = budget.charge(1).unwrap_err();
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::NOSPC.raw_os_error())
        );
        assert!(budget.hit_limit());
    }

    #[test]
    fn removed_bytes_are_credited_only_in_a_private_directory() {
        let folder = tempfile::tempdir().unwrap();
        let private = private(100, folder.path());
        let shared = Budget::shared(100);
        for (budget, credited) in [(&private, true), (&shared, false)] {
            assert!(budget.charge(100).is_ok());
            budget.note_shrunk();
            assert_eq!(budget.charge(100).is_ok(), credited);
        }
    }

    #[test]
    fn a_file_without_a_name_still_counts_while_it_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let budget = private(10_000, folder.path());
        let path = folder.path().join("a");
        let mut file = File::create(&path).unwrap();
        file.write_all(&[0; 5000]).unwrap();
        let file = Arc::new(file);
        let again = Arc::new(File::open(&path).unwrap());
        budget.note_open(&file);
        budget.note_open(&again);
        assert!(budget.charge(9_000).is_ok());
        std::fs::remove_file(&path).unwrap();
        budget.note_shrunk();
        assert!(budget.charge(2_000).is_err());
        // It counts once, and through the handle for reading alone, too.
        assert!(budget.charge(500).is_ok());
        drop(file);
        budget.note_shrunk();
        assert!(budget.charge(2_000).is_err());
        drop(again);
        budget.note_shrunk();
        assert!(budget.charge(2_000).is_ok());
    }
    #[test]
    fn filling_holes_of_others_is_charged_and_filling_own_ones_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create_new(folder.path().join("a")).unwrap();
        file.set_len(40_960).unwrap();
        file.write_at(&[1; 4096], 8192).unwrap();
        let budget = Budget::shared(20_000);
        let write = |range: Range<u64>| {
            budget.charge_write(&file, range.clone()).map(|()| {
                let bytes = vec![1; (range.end - range.start) as usize];
                file.write_at(&bytes, range.start).unwrap();
            })
        };
        let used = || budget.with(|account| account.used);
        // A byte takes a block, and data that is there takes nothing.
        for (range, charged) in [
            (0..1, 4096),
            (1..4096, 4096),
            (8192..12_288, 4096),
            (6000..13_000, 12_288),
        ] {
            write(range.clone()).unwrap();
            assert_eq!(used(), charged, "{range:?}");
        }
        assert!(write(16_384..32_768).is_err());
        // What the run adds is charged once.
        budget.charge_growth(&file, 44_960).unwrap();
        file.set_len(44_960).unwrap();
        assert_eq!(used(), 16_288);
        write(40_960..44_960).unwrap();
        assert_eq!(used(), 16_288);
        // Another process cuts it off and adds a hole.
        file.set_len(40_960).unwrap();
        file.set_len(44_960).unwrap();
        budget.charge_growth(&file, 45_000).unwrap();
        assert_eq!(used(), 16_328);
    }

    #[test]
    fn a_hole_that_another_process_added_is_not_the_runs_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create_new(folder.path().join("a")).unwrap();
        let budget = Budget::shared(100_000);
        budget.charge_growth(&file, 4096).unwrap();
        file.set_len(40_960).unwrap();
        budget.charge_write(&file, 0..4096).unwrap();
        assert_eq!(budget.with(|account| account.used), 4096);
        budget.charge_write(&file, 4096..40_960).unwrap();
        assert_eq!(budget.with(|account| account.used), 40_960);
        // A run that makes it longer again was not charged for what is in between.
        budget.charge_growth(&file, 45_056).unwrap();
        budget.charge_write(&file, 8192..12_288).unwrap();
        assert_eq!(budget.with(|account| account.used), 49_152);
    }
}
