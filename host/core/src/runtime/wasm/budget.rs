//! How far a script may make directories grow.
//!
//! Growth is charged before it happens. The scratch directory is private, so when its budget looks
//! spent after something was removed, it is counted anew: what is there, and what was removed while
//! still open. In other directories removed bytes are not given back: others may have written them.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use walkdir::WalkDir;

/// What an entry of a directory costs besides its content, so that empty files are not free.
pub(crate) const ENTRY: u64 = 4096;

/// How far the directories of one kind may grow.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    limit: u64,
    used: u64,
    /// The directory to count anew, if it is ours alone.
    private: Option<PathBuf>,
    /// Whether something may have become smaller since the last count.
    shrunk: bool,
    open: Vec<Weak<File>>,
    met: bool,
    /// Whether it was counted anew since somebody asked: that takes a while.
    counted: bool,
}

impl Budget {
    pub(crate) fn new(limit: u64, private: Option<PathBuf>) -> Self {
        let account = Account {
            limit,
            used: 0,
            private,
            shrunk: false,
            open: Vec::new(),
            met: false,
            counted: false,
        };
        Self(Arc::new(Mutex::new(account)))
    }

    /// Takes `bytes` from the budget or fails as a full disk does.
    pub(crate) fn charge(&self, bytes: u64) -> io::Result<()> {
        self.with(|account| {
            if account.used.saturating_add(bytes) > account.limit && account.shrunk {
                account.recount();
            }
            let used = account.used.saturating_add(bytes);
            if used > account.limit {
                account.met = true;
                return Err(rustix::io::Errno::NOSPC.into());
            }
            account.used = used;
            Ok(())
        })
    }

    /// Charges what writing up to `end` adds to `file`.
    pub(crate) fn charge_growth(&self, file: &File, end: u64) -> io::Result<()> {
        match end.saturating_sub(file.metadata()?.len()) {
            0 => Ok(()),
            growth => self.charge(growth),
        }
    }

    /// Notes that something was removed or cut short.
    pub(crate) fn shrunk(&self) {
        self.with(|account| account.shrunk = true);
    }

    /// Notes a file that can go on growing after its name is gone.
    pub(crate) fn opened(&self, file: &Arc<File>) {
        self.with(|account| {
            if account.private.is_some() {
                if account.open.len() == account.open.capacity() {
                    account.open.retain(|file| file.strong_count() > 0);
                }
                account.open.push(Arc::downgrade(file));
            }
        });
    }

    /// Whether it was counted anew since the last question.
    pub(crate) fn was_counted(&self) -> bool {
        self.with(|account| std::mem::take(&mut account.counted))
    }

    /// Whether the limit was met.
    pub(crate) fn met(&self) -> bool {
        self.with(|account| account.met)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Account) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Account {
    fn recount(&mut self) {
        let Some(folder) = &self.private else { return };
        self.shrunk = false;
        self.counted = true;
        let named: Result<u64, walkdir::Error> = WalkDir::new(folder)
            .min_depth(1)
            .into_iter()
            .map(|entry| {
                let meta = entry?.metadata()?;
                Ok(ENTRY + if meta.is_file() { meta.len() } else { 0 })
            })
            .sum();
        // What cannot be seen (a path can be made too long to follow) is not taken for gone.
        let Ok(named) = named else { return };
        self.open.retain(|file| file.strong_count() > 0);
        let unnamed: u64 = self
            .open
            .iter()
            .filter_map(Weak::upgrade)
            .filter_map(|file| file.metadata().ok())
            .filter(|meta| meta.nlink() == 0)
            .map(|meta| ENTRY + meta.len())
            .sum();
        self.used = named + unnamed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_spent_budget_fails_as_a_full_disk_does() {
        let budget = Budget::new(100, None);
        assert!(budget.charge(100).is_ok());
        let error = budget.charge(1).unwrap_err();
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::NOSPC.raw_os_error())
        );
        assert!(budget.met());
    }

    #[test]
    fn what_was_removed_is_given_back_in_a_private_directory_alone() {
        let folder = tempfile::tempdir().unwrap();
        let private = Budget::new(100, Some(folder.path().to_owned()));
        let shared = Budget::new(100, None);
        for (budget, given_back) in [(&private, true), (&shared, false)] {
            assert!(budget.charge(100).is_ok());
            budget.shrunk();
            assert_eq!(budget.charge(100).is_ok(), given_back);
        }
    }

    #[test]
    fn a_file_without_a_name_still_counts_while_it_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget::new(10_000, Some(folder.path().to_owned()));
        let path = folder.path().join("a");
        let mut file = File::create(&path).unwrap();
        file.write_all(&[0; 5000]).unwrap();
        let file = Arc::new(file);
        budget.opened(&file);
        assert!(budget.charge(9_000).is_ok());
        std::fs::remove_file(&path).unwrap();
        budget.shrunk();
        assert!(budget.charge(2_000).is_err());
        drop(file);
        budget.shrunk();
        assert!(budget.charge(2_000).is_ok());
    }
}
