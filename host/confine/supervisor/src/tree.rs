//! The process tree of a run and its usage, read from `/proc`.

use crate::sys;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// The least that a file counts as: a limit in bytes alone would let empty files fill memory.
pub(crate) const BYTES_PER_FILE: u64 = 4096;
/// The capacity of a pipe of default size.
const PIPE_BYTES: u64 = 64 << 10;
/// What the kernel adds to a message at most, because it rounds the size up.
const SOCKET_OVERSHOOT: u64 = 64 << 10;
/// The most processes in one sample; more than any limit allows.
const MAX_PROCESSES: usize = 100_000;

/// A process and its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) parent: i32,
}

/// All descendants of a process.
pub(crate) struct Tree {
    /// Parents come before their children.
    pub(crate) processes: Vec<Process>,
    /// Whether `/proc` shows every live descendant.
    pub(crate) is_complete: bool,
}

impl Tree {
    pub(crate) fn below(top: i32) -> Self {
        let mut tree = Self {
            processes: Vec::new(),
            is_complete: true,
        };
        let mut pending = vec![top];
        while let Some(parent) = pending.pop() {
            // A thread that calls exec takes over its process's id, which is missing for a moment. So
            // a failed read is repeated.
            let Ok(children) = children(parent).or_else(|_| children(parent)) else {
                tree.is_complete &= !is_alive(parent);
                continue;
            };
            pending.extend(&children);
            let children = children.into_iter();
            tree.processes
                .extend(children.map(|id| Process { id, parent }));
            if tree.processes.len() >= MAX_PROCESSES {
                tree.is_complete = false;
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
        // The thread may have exited meanwhile.
        if let Ok(list) = fs::read_to_string(thread?.path().join("children")) {
            all.extend(numbers(&list));
        }
    }
    Ok(all)
}

/// Whether the process exists, shown in `/proc` or not.
fn is_alive(process: i32) -> bool {
    let process = Pid::from_raw(process);
    process.is_some_and(|process| test_kill_process(process) != Err(Errno::SRCH))
}

fn numbers(text: &str) -> Vec<i32> {
    let words = text.split_ascii_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Bytes of memory that belong to these processes alone. Pages of files on disk do not count: the
/// kernel can reclaim them.
///
/// Shared pages are first counted once per process, which is cheap and too much. Only if that sum
/// exceeds `limit` is each page counted once, which costs a walk over all pages: until the result is
/// clear, or the deadline passes.
///
/// `files` is the size of the program's own file systems in memory. All memory that its processes can
/// share is in there, so what they have mapped of it is not counted again.
pub(crate) fn memory(tree: &Tree, files: Option<u64>, limit: u64, deadline: Instant) -> u64 {
    let shared = files.is_none();
    let counters = tree.ids().filter_map(|id| Some((id, memory_counters(id)?)));
    let counters: Vec<(i32, MemoryCounters)> = counters.collect();
    let rough = counters.iter().map(|(_, counters)| counters.all(shared));
    let rough = rough.sum::<u64>() + files.unwrap_or(0);
    if rough <= limit {
        return rough;
    }
    let tables = counters.iter().map(|(_, counters)| counters.tables);
    let mut exact = tables.sum::<u64>() + files.unwrap_or(0);
    for (id, _) in counters {
        if exact > limit || Instant::now() >= deadline {
            break;
        }
        exact += exact_pages(id, shared);
    }
    exact
}

/// Bytes in pages that do not belong to a file on disk, with shared pages in proportion if the process
/// shows them. A process can hide that file from us, but not its status, which is read anew: a process
/// that exited meanwhile has no memory left, and its former share now counts for those who remain.
fn exact_pages(process: i32, shared: bool) -> u64 {
    proportional_pages(process, shared)
        .unwrap_or_else(|| memory_counters(process).map_or(0, |counters| counters.pages(shared)))
}

/// The sockets and pipes that the handles of processes show.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    /// The inodes of sockets.
    pub(crate) sockets: HashSet<u64>,
    pipes: HashSet<(u64, u64)>,
}

impl Channels {
    pub(crate) fn of(tree: &Tree) -> Self {
        let mut all = Self::default();
        for table in tree.ids().flat_map(handle_tables) {
            let Ok(handles) = fs::read_dir(format!("{table}/fd")) else {
                continue;
            };
            for meta in handles.flatten().map(|handle| fs::metadata(handle.path())) {
                let Ok(meta) = meta else { continue };
                if meta.file_type().is_socket() {
                    all.sockets.insert(meta.ino());
                } else if meta.file_type().is_fifo() {
                    all.pipes.insert((meta.dev(), meta.ino()));
                }
            }
        }
        all
    }

    /// Bytes that the kernel may buffer in them. The kernel does not report how much it does buffer, so each counts with its
    /// capacity; a program without a control group, or with a network, cannot create larger sockets. Files that only a blocked
    /// call keeps open, `hidden` in number, count as sockets.
    ///
    /// If the program has its own network namespace, `init` is a process in it, and the kernel reports the number of all
    /// sockets. Otherwise a socket that is being passed to another process is not visible; the kernel allows a user as many of
    /// these as a process may have open.
    pub(crate) fn capacity(&self, init: Option<i32>, hidden: u64) -> u64 {
        let all = init.and_then(socket_count).unwrap_or(0);
        let sockets = all.max(self.sockets.len() as u64) + hidden;
        sockets * socket_capacity() + self.pipes.len() as u64 * PIPE_BYTES
    }
}

/// The text of a process's list of mappings, which may have names that are not UTF-8. If its first thread has exited, only its
/// other threads show it.
pub(crate) fn maps(process: i32) -> Option<String> {
    let of = |shown: &Path| {
        let text = fs::read(shown.join("maps")).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let mut texts = threads.filter_map(|thread| of(&thread.path()));
    texts.find(|text| !text.is_empty())
}

/// The `/proc` directories of threads that show all handles of a process. Its threads share one table of handles, because the
/// filter refuses to start others, but a first thread that has exited shows none.
pub(crate) fn handle_tables(process: i32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let threads = threads.filter_map(|thread| thread.file_name().to_str()?.parse::<i32>().ok());
    let mut distinct: Vec<i32> = Vec::new();
    for thread in threads {
        if !distinct
            .iter()
            .any(|other| sys::share_handles(*other, thread))
        {
            distinct.push(thread);
        }
    }
    let path = |thread| format!("/proc/{process}/task/{thread}");
    distinct.into_iter().map(path).collect()
}

/// Whether a process does not show its handles, so that nobody can count what it has open. A program hides them if its
/// executable cannot be read. Then either the list of handles is denied or, to the root of a user namespace, each handle in it.
/// A first thread that has exited shows an empty list, so every thread is asked. `init` is a process of ours.
pub(crate) fn hides_handles(tree: &Tree, init: Option<i32>) -> bool {
    let others = tree.ids().filter(|id| Some(*id) != init);
    let is_denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    others.flat_map(handle_tables).any(|table| {
        let error = match fs::read_dir(format!("{table}/fd")) {
            Ok(handles) => {
                let first = handles.flatten().next();
                first.and_then(|handle| fs::read_link(handle.path()).err())
            }
            Err(error) => Some(error),
        };
        error.is_some_and(is_denied) && has_memory(&table)
    })
}

/// The number of files that these processes watch by epoll, or a number above `most`. A handle that several processes have
/// counts for each.
pub(crate) fn epoll_watches(tree: &Tree, most: u64) -> u64 {
    let mut all = 0;
    for table in tree.ids().flat_map(handle_tables) {
        let Ok(handles) = fs::read_dir(format!("{table}/fd")) else {
            continue;
        };
        for handle in handles.flatten() {
            let is_epoll = fs::read_link(handle.path())
                .is_ok_and(|target| target.as_os_str() == "anon_inode:[eventpoll]");
            if is_epoll && let Some(number) = handle.file_name().to_str() {
                all += watches_of(&format!("{table}/fdinfo/{number}"), most);
            }
            if all > most {
                return all;
            }
        }
    }
    all
}

/// The number of files that one epoll handle watches: a line each. There may be millions.
fn watches_of(info: &str, most: u64) -> u64 {
    let Ok(file) = File::open(info) else {
        return 0;
    };
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    let watches = lines.filter(|line| line.starts_with(b"tfd:"));
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    watches.take(most.saturating_add(1)).count() as u64
}

/// Bytes of files in a directory that were removed while these processes have them open.
pub(crate) fn removed_files(tree: &Tree, directory: &OwnedFd) -> u64 {
    let own = fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let Ok(directory) = own else { return 0 };
    let handles = tree.ids().flat_map(handle_tables).flat_map(|table| {
        let handles = fs::read_dir(format!("{table}/fd"));
        handles.into_iter().flatten().flatten()
    });
    // The name that a removed file had last.
    let handles = handles.filter(|handle| {
        // The name of a file that is too deep cannot be read.
        fs::read_link(handle.path()).map_or(true, |target| target.starts_with(&directory))
    });
    let files = handles.filter_map(|handle| {
        let meta = fs::metadata(handle.path()).ok()?;
        let is_removed = meta.is_file() && meta.nlink() == 0;
        is_removed.then(|| ((meta.dev(), meta.ino()), meta.blocks() * 512))
    });
    let files: HashMap<(u64, u64), u64> = files.collect();
    files
        .values()
        .map(|bytes| (*bytes).max(BYTES_PER_FILE))
        .sum()
}

/// Whether one of these processes has mapped or executes a removed file of a directory. Then nothing shows how large the file is.
pub(crate) fn map_removed_files(tree: &Tree, directory: &OwnedFd) -> bool {
    let own = fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let Ok(directory) = own else { return true };
    let directory = directory.to_string_lossy();
    let is_removed = |name: &str| name.starts_with(&*directory) && name.ends_with(" (deleted)");
    tree.ids().any(|process| {
        // A name that is too long to be read is none of the machine's programs.
        let executes = match fs::read_link(format!("/proc/{process}/exe")) {
            Ok(name) => is_removed(&name.to_string_lossy()),
            Err(error) => error.kind() == io::ErrorKind::InvalidFilename,
        };
        let maps = maps(process).unwrap_or_default();
        // The name is the last of six fields, and the only one with slashes in it.
        let mut names = maps.lines().filter_map(|line| line.get(line.find('/')?..));
        executes || names.any(is_removed)
    })
}

/// The number of sockets in the network namespace of a process.
fn socket_count(process: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/net/sockstat")).ok()?;
    let mut lines = text.lines();
    let used = lines.find_map(|line| line.strip_prefix("sockets: used "))?;
    used.trim().parse().ok()
}

/// Bytes that a socket buffers at most: the kernel accepts one more message as long as the buffer is not full, and a message of
/// a sequenced packet or netlink socket may be as large as the buffer.
fn socket_capacity() -> u64 {
    const USUAL: u64 = 212_992;
    let default = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/net/core/{name}")).ok();
        text.and_then(|text| text.trim().parse().ok())
            .unwrap_or(USUAL)
    };
    2 * default("wmem_default").max(default("rmem_default")) + SOCKET_OVERSHOOT
}

/// Bytes used in a file system in memory.
pub(crate) fn tmpfs_usage(file_system: &OwnedFd) -> u64 {
    let Ok(all) = rustix::fs::fstatfs(file_system) else {
        return 0;
    };
    let size = u64::try_from(all.f_bsize).unwrap_or(0);
    all.f_blocks.saturating_sub(all.f_bfree) * size
}

/// The kernel's memory counters of a process, in bytes.
pub(crate) struct MemoryCounters {
    /// Anonymous pages, in memory or swapped out.
    anonymous: u64,
    /// Pages of shared memory and files in memory.
    shared: u64,
    /// Its page tables.
    tables: u64,
}

impl MemoryCounters {
    /// All pages that do not belong to a file on disk, with or without shared memory.
    fn pages(&self, shared: bool) -> u64 {
        self.anonymous + if shared { self.shared } else { 0 }
    }

    fn all(&self, shared: bool) -> u64 {
        self.pages(shared) + self.tables
    }
}

/// The counters of a process. If its first thread has exited, only its other threads show them.
pub(crate) fn memory_counters(process: i32) -> Option<MemoryCounters> {
    let threads = || {
        let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
        threads
            .flatten()
            .find_map(|thread| memory_counters_of(&thread.path()))
    };
    memory_counters_of(Path::new(&format!("/proc/{process}"))).or_else(threads)
}

fn memory_counters_of(shown: &Path) -> Option<MemoryCounters> {
    let text = fs::read_to_string(shown.join("status")).ok()?;
    Some(MemoryCounters {
        anonymous: sum_of(&text, &["RssAnon", "VmSwap", "HugetlbPages"])?,
        shared: sum_of(&text, &["RssShmem"])?,
        tables: sum_of(&text, &["VmPTE"])?,
    })
}

/// Bytes in pages that do not belong to a file on disk. A shared page counts in proportion.
fn proportional_pages(process: i32, shared: bool) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let own = ["Pss_Anon", "SwapPss", "Private_Hugetlb", "Shared_Hugetlb"];
    let of_files = match shared {
        true => sum_of(&text, &["Pss_Shmem"])?,
        false => 0,
    };
    Some(sum_of(&text, &own)? + of_files)
}

/// The sum of all lines with these names, in bytes; `None` if there is no such line.
fn sum_of(text: &str, names: &[&str]) -> Option<u64> {
    let kilobytes = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let number = rest.trim().strip_suffix(" kB")?.trim().parse::<u64>();
        number.ok().filter(|_| names.contains(&name))
    });
    let sum = kilobytes.reduce(|sum, one| sum + one)?;
    Some(sum * 1024)
}

/// Bytes that a process and its reaped children wrote to disk; `last` is the last known value. A
/// process that hides its counters may have written any number of bytes.
pub(crate) fn bytes_written(process: i32, last: u64) -> Option<u64> {
    match fs::read_to_string(format!("/proc/{process}/io")) {
        Ok(text) => parse_write_bytes(&text),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Some(match has_memory(&format!("/proc/{process}")) {
                true => u64::MAX,
                false => last,
            })
        }
        Err(_) => None,
    }
}

/// Whether the process or thread that a directory of `/proc` shows still has memory, and is not exiting.
fn has_memory(shown: &str) -> bool {
    let text = fs::read_to_string(format!("{shown}/statm")).unwrap_or_default();
    let pages = text.split_ascii_whitespace().next();
    pages.is_some_and(|pages| pages != "0")
}

/// Parses the bytes written from the text of `/proc/PID/io`.
pub(crate) fn parse_write_bytes(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let bytes = lines.find_map(|line| line.strip_prefix("write_bytes: "))?;
    bytes.trim().parse().ok()
}

/// The CPU time of these processes and their reaped children.
pub(crate) fn cpu_time(tree: &Tree) -> Duration {
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

/// The number of threads of a user, over all processes.
pub(crate) fn thread_count(user: u32) -> u64 {
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
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    use std::process::{Command, Stdio};

    #[test]
    fn anonymous_memory_swap_and_page_tables_are_counted() {
        let status = "\
VmRSS:\t  9000 kB\nRssAnon:\t  100 kB\nRssFile:\t  5000 kB\nRssShmem:\t  20 kB\n\
VmPTE:\t  7 kB\nVmSwap:\t  3 kB\nHugetlbPages:\t  2048 kB\nThreads:\t1\n";
        let pages = ["RssAnon", "RssShmem", "VmSwap", "HugetlbPages"];
        assert_eq!(sum_of(status, &pages), Some((100 + 20 + 3 + 2048) << 10));
        assert_eq!(sum_of(status, &["VmPTE"]), Some(7 << 10));
        assert_eq!(sum_of("Name:\tended\nState:\tZ (zombie)\n", &pages), None);
    }

    #[test]
    fn a_process_that_has_exited_counts_no_pages() {
        let mut child = Command::new("/bin/cat")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let id = i32::try_from(child.id()).unwrap();
        assert!(exact_pages(id, true) > 0);
        child.kill().unwrap();
        // Waits for the end without reaping it.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&child)), ended).unwrap();
        assert_eq!(exact_pages(id, true), 0);
        child.wait().unwrap();
    }

    #[test]
    fn files_that_are_watched_by_epoll_are_counted_once_for_each_process() {
        use rustix::event::epoll;
        let own = std::process::id().cast_signed();
        let tree = Tree {
            processes: vec![Process { id: own, parent: 1 }],
            is_complete: true,
        };
        // Other tests and threads of this process have some, too.
        let before = epoll_watches(&tree, u64::MAX);
        let watching = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let watched: Vec<_> = (0..20).map(|_| rustix::pipe::pipe().unwrap()).collect();
        for (number, (read, _)) in (0..).zip(&watched) {
            let data = epoll::EventData::new_u64(number);
            epoll::add(&watching, read, data, epoll::EventFlags::IN).unwrap();
        }
        assert_eq!(epoll_watches(&tree, u64::MAX), before + 20);
        assert!(epoll_watches(&tree, 5) > 5);
        let tables = handle_tables(own);
        assert_eq!(tables.len(), 1, "all threads share one table: {tables:?}");
    }

    #[test]
    fn removed_files_that_are_open_are_counted_once() {
        let own = std::process::id().cast_signed();
        let tree = Tree {
            processes: vec![Process { id: own, parent: 1 }],
            is_complete: true,
        };
        let path = std::env::temp_dir().join(format!("skillrun-removed-{own}"));
        fs::create_dir(&path).unwrap();
        let directory = OwnedFd::from(File::open(&path).unwrap());
        fs::write(path.join("kept"), vec![1; 1 << 20]).unwrap();
        fs::write(path.join("removed"), vec![1; 1 << 20]).unwrap();
        fs::write(path.join("empty"), "").unwrap();
        let open = ["kept", "removed", "removed", "empty"].map(|name| File::open(path.join(name)));
        assert_eq!(removed_files(&tree, &directory), 0);
        fs::remove_file(path.join("removed")).unwrap();
        fs::remove_file(path.join("empty")).unwrap();
        let counted = removed_files(&tree, &directory);
        assert!(
            (1 << 20..=(1 << 20) + (64 << 10)).contains(&counted),
            "{counted}"
        );
        drop(open);
        assert_eq!(removed_files(&tree, &directory), 0);
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn the_tree_below_a_missing_process_is_empty_and_complete() {
        let tree = Tree::below(i32::MAX);
        assert!(tree.is_complete && tree.processes.is_empty());
    }
}
