//! What the processes of a run are and use, read from `/proc`.

use std::fs;
use std::path::Path;

/// Bytes for each file at least: a limit in bytes alone would let empty files fill memory.
pub(crate) const BYTES_PER_FILE: u64 = 4096;
/// Processes looked at in one go; more than any limit allows.
const MOST: usize = 100_000;

/// All descendants of a process.
pub(crate) fn descendants(of: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut open = children(of);
    while let Some(process) = open.pop() {
        found.push(process);
        if found.len() >= MOST {
            break;
        }
        open.extend(children(process));
    }
    found
}

/// The children of all threads of a process.
fn children(of: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{of}/task")) else {
        return Vec::new();
    };
    let lists = threads.flatten().filter_map(|thread| {
        let list = fs::read_to_string(thread.path().join("children")).ok()?;
        Some(numbers(&list))
    });
    lists.flatten().collect()
}

fn numbers(text: &str) -> Vec<i32> {
    let words = text.split_ascii_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Bytes of memory that these processes have, shared ones counted for each: cheap, and too much.
pub(crate) fn rough_memory(processes: &[i32]) -> u64 {
    let resident = processes.iter().filter_map(|process| {
        let text = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    });
    resident.sum::<u64>() * page_size()
}

/// Bytes of memory that these processes have for themselves, each page counted once; what is only
/// a part of a file is the machine's to give back. Costs a walk over all of it.
pub(crate) fn memory(processes: &[i32]) -> u64 {
    let own = processes.iter().filter_map(|process| {
        let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
        let kilobytes = text.lines().filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            let counts = matches!(name, "Pss_Anon" | "Pss_Shmem" | "SwapPss");
            let number = rest.trim().strip_suffix(" kB")?.trim().parse::<u64>();
            number.ok().filter(|_| counts)
        });
        Some(kilobytes.sum::<u64>() * 1024)
    });
    own.sum()
}

/// Bytes that these processes, and those of their children that have ended, wrote to disks.
pub(crate) fn written(processes: &[i32]) -> u64 {
    let bytes = processes.iter().filter_map(|process| {
        let text = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("write_bytes: "))?;
        line.trim().parse::<u64>().ok()
    });
    bytes.sum()
}

/// Whether everything in a directory takes more than `most` bytes, each file and directory at least
/// as much as one takes at least.
pub(crate) fn is_larger(folder: &Path, most: u64) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let mut taken = 0u64;
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            taken += (meta.blocks() * 512).max(BYTES_PER_FILE);
            if taken > most {
                return true;
            }
            if meta.is_dir() {
                open.push(entry.path());
            }
        }
    }
    false
}

/// Processes and threads that a user has.
pub(crate) fn count_of(user: u32) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
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

fn page_size() -> u64 {
    rustix::param::page_size() as u64
}
