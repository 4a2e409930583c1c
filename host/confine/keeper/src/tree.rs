//! What the processes of a run are and use, read from `/proc`.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::time::{Duration, Instant};

/// Bytes for each file at least: a limit in bytes alone would let empty files fill memory.
pub(crate) const BYTES_PER_FILE: u64 = 4096;
/// Bytes in a pipe of the usual size.
const PIPE: u64 = 64 << 10;
/// Bytes of the message by which a socket may hold more than its limit.
const LAST_MESSAGE: u64 = 64 << 10;
/// Processes looked at in one go; more than any limit allows.
const MOST: usize = 100_000;

/// A process and whose child it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) parent: i32,
}

/// All descendants of a process.
pub(crate) struct Tree {
    /// Each after its parent.
    pub(crate) processes: Vec<Process>,
    /// Whether there is none that lives and that `/proc` does not show.
    pub(crate) is_whole: bool,
}

impl Tree {
    pub(crate) fn below(top: i32) -> Self {
        let mut tree = Self {
            processes: Vec::new(),
            is_whole: true,
        };
        let mut open = vec![top];
        while let Some(parent) = open.pop() {
            // A thread that executes takes the place of its process: not there for a moment, it is no less shown.
            let Ok(children) = children(parent).or_else(|_| children(parent)) else {
                tree.is_whole &= !lives(parent);
                continue;
            };
            open.extend(&children);
            let children = children.into_iter();
            tree.processes
                .extend(children.map(|id| Process { id, parent }));
            if tree.processes.len() >= MOST {
                tree.is_whole = false;
                break;
            }
        }
        tree
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = i32> {
        self.processes.iter().map(|process| process.id)
    }
}

/// The children of all threads of a process.
pub(crate) fn children(of: i32) -> io::Result<Vec<i32>> {
    let mut all = Vec::new();
    for thread in fs::read_dir(format!("/proc/{of}/task"))? {
        // It may have ended meanwhile.
        if let Ok(list) = fs::read_to_string(thread?.path().join("children")) {
            all.extend(numbers(&list));
        }
    }
    Ok(all)
}

/// Whether there is such a process, be it shown or not.
fn lives(process: i32) -> bool {
    let process = Pid::from_raw(process);
    process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
}

fn numbers(text: &str) -> Vec<i32> {
    let words = text.split_ascii_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Bytes of memory that these processes have for themselves; what is only a part of a file is the
/// machine's to give back.
///
/// What relatives share is first counted for each, which is cheap and too much. Only if that is more
/// than `most` is each page counted once, which costs a walk over all of them: until the result is clear,
/// or the time is up.
///
/// `files` is what the program's own file systems in memory hold. All memory that its processes can share is in
/// there, so what they have mapped of it is not counted again.
pub(crate) fn memory(tree: &Tree, files: Option<u64>, most: u64, until: Instant) -> u64 {
    let shared = files.is_none();
    let accounts = tree.ids().filter_map(|id| Some((id, account(id)?)));
    let accounts: Vec<(i32, Account)> = accounts.collect();
    let rough = accounts.iter().map(|(_, account)| account.all(shared));
    let rough = rough.sum::<u64>() + files.unwrap_or(0);
    if rough <= most {
        return rough;
    }
    let tables = accounts.iter().map(|(_, account)| account.tables);
    let mut exact = tables.sum::<u64>() + files.unwrap_or(0);
    for (id, account) in accounts {
        if exact > most || Instant::now() >= until {
            break;
        }
        // A process can close itself to such looks, but not to the others.
        exact += own_pages(id, shared).unwrap_or_else(|| account.pages(shared));
    }
    exact
}

/// Bytes that the kernel may hold for these processes in sockets and pipes. It says nowhere how much it does, so each
/// counts as the most that it can hold; no program without a control group may make one that holds more.
///
/// In a network namespace of its own, `first` is a process in it, and the kernel tells the number of all sockets.
/// Elsewhere one that is on its way to another process does not show; the kernel allows a
/// user as many of these as a process may have open.
pub(crate) fn buffers(tree: &Tree, first: Option<i32>) -> u64 {
    let (mut sockets, mut pipes) = (HashSet::new(), HashSet::new());
    for id in tree.ids() {
        let Ok(handles) = fs::read_dir(format!("/proc/{id}/fd")) else {
            continue;
        };
        for meta in handles.flatten().map(|handle| fs::metadata(handle.path())) {
            let Ok(meta) = meta else { continue };
            let identity = (meta.dev(), meta.ino());
            if meta.file_type().is_socket() {
                sockets.insert(identity);
            } else if meta.file_type().is_fifo() {
                pipes.insert(identity);
            }
        }
    }
    let all = first.and_then(sockets_of).unwrap_or(0);
    let sockets = all.max(sockets.len() as u64);
    sockets * (send_buffer() + LAST_MESSAGE) + pipes.len() as u64 * PIPE
}

/// The sockets in the network namespace of a process.
fn sockets_of(process: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/net/sockstat")).ok()?;
    let mut lines = text.lines();
    let used = lines.find_map(|line| line.strip_prefix("sockets: used "))?;
    used.trim().parse().ok()
}

/// Bytes that may wait in a socket before the kernel takes no more.
fn send_buffer() -> u64 {
    const USUAL: u64 = 212_992;
    let text = fs::read_to_string("/proc/sys/net/core/wmem_default").ok();
    text.and_then(|text| text.trim().parse().ok())
        .unwrap_or(USUAL)
}

/// Bytes in a file system in memory.
pub(crate) fn held(file_system: &OwnedFd) -> u64 {
    let Ok(all) = rustix::fs::fstatfs(file_system) else {
        return 0;
    };
    let size = u64::try_from(all.f_bsize).unwrap_or(0);
    all.f_blocks.saturating_sub(all.f_bfree) * size
}

/// What the kernel has counted for a process, in bytes.
pub(crate) struct Account {
    /// Pages that are part of no file, in memory or swapped out.
    own: u64,
    /// Pages of files in memory.
    shared: u64,
    /// The tables of all its pages, its own or not.
    tables: u64,
}

impl Account {
    /// All pages that are part of no file on a disk, with those of files in memory or without.
    fn pages(&self, shared: bool) -> u64 {
        self.own + if shared { self.shared } else { 0 }
    }

    fn all(&self, shared: bool) -> u64 {
        self.pages(shared) + self.tables
    }
}

pub(crate) fn account(process: i32) -> Option<Account> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    Some(Account {
        own: sum_of(&text, &["RssAnon", "VmSwap", "HugetlbPages"])?,
        shared: sum_of(&text, &["RssShmem"])?,
        tables: sum_of(&text, &["VmPTE"])?,
    })
}

/// Bytes in pages that are part of no file on a disk, those that others have too by their share.
fn own_pages(process: i32, shared: bool) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let own = ["Pss_Anon", "SwapPss", "Private_Hugetlb", "Shared_Hugetlb"];
    let of_files = match shared {
        true => sum_of(&text, &["Pss_Shmem"])?,
        false => 0,
    };
    Some(sum_of(&text, &own)? + of_files)
}

/// The bytes of all lines with these names; none if there is no such line.
fn sum_of(text: &str, names: &[&str]) -> Option<u64> {
    let kilobytes = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let number = rest.trim().strip_suffix(" kB")?.trim().parse::<u64>();
        number.ok().filter(|_| names.contains(&name))
    });
    let sum = kilobytes.reduce(|sum, one| sum + one)?;
    Some(sum * 1024)
}

/// Bytes that a process, and those of its children that were waited for, wrote to disks; `last` is what was
/// known before. Who closed himself to such looks may have written any number.
pub(crate) fn written(process: i32, last: u64) -> Option<u64> {
    match fs::read_to_string(format!("/proc/{process}/io")) {
        Ok(text) => written_by(&text),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Some(match has_memory(process) {
                true => u64::MAX,
                false => last,
            })
        }
        Err(_) => None,
    }
}

/// Whether a process is still one, and not on its way out.
fn has_memory(process: i32) -> bool {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages = text.split_ascii_whitespace().next();
    pages.is_some_and(|pages| pages != "0")
}

/// The same from the text of its account.
pub(crate) fn written_by(account: &str) -> Option<u64> {
    let mut lines = account.lines();
    let bytes = lines.find_map(|line| line.strip_prefix("write_bytes: "))?;
    bytes.trim().parse().ok()
}

/// The processor time of these processes and of those of their children that were waited for.
pub(crate) fn cpu(tree: &Tree) -> Duration {
    let ticks = tree.ids().filter_map(|process| {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let fields = text
            .rsplit_once(')')?
            .1
            .split_ascii_whitespace()
            .skip(11)
            .take(4);
        Some(
            fields
                .filter_map(|field| field.parse::<u64>().ok())
                .sum::<u64>(),
        )
    });
    Duration::from_millis(ticks.sum::<u64>() * 1000 / rustix::param::clock_ticks_per_second())
}

/// Processes and threads that a user has.
pub(crate) fn count_of(user: u32) -> u64 {
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    let threads = processes.flatten().filter_map(|process| {
        process.file_name().to_str()?.parse::<i32>().ok()?;
        let own = process.metadata().ok()?.uid() == user;
        let threads = || fs::read_dir(process.path().join("task")).ok();
        own.then(|| threads().map_or(1, Iterator::count))
    });
    threads.sum::<usize>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_belongs_to_no_file_and_what_keeps_book_of_it() {
        let status = "\
VmRSS:\t  9000 kB\nRssAnon:\t  100 kB\nRssFile:\t  5000 kB\nRssShmem:\t  20 kB\n\
VmPTE:\t  7 kB\nVmSwap:\t  3 kB\nHugetlbPages:\t  2048 kB\nThreads:\t1\n";
        let pages = ["RssAnon", "RssShmem", "VmSwap", "HugetlbPages"];
        assert_eq!(sum_of(status, &pages), Some((100 + 20 + 3 + 2048) << 10));
        assert_eq!(sum_of(status, &["VmPTE"]), Some(7 << 10));
        assert_eq!(sum_of("Name:\tended\nState:\tZ (zombie)\n", &pages), None);
    }

    #[test]
    fn a_process_that_is_not_there_hides_nothing() {
        let tree = Tree::below(i32::MAX);
        assert!(tree.is_whole && tree.processes.is_empty());
    }
}
