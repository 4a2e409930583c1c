//! What the processes of a run are and use, read from `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Duration;

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
pub(crate) fn children(of: i32) -> Vec<i32> {
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
    processes.iter().map(|process| resident(*process)).sum()
}

fn resident(process: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages = text.split_ascii_whitespace().nth(1);
    pages
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * page_size()
}

/// Bytes of memory that these processes have for themselves, each page counted once; what is only
/// a part of a file is the machine's to give back. Costs a walk over all of it.
pub(crate) fn memory(processes: &[i32]) -> u64 {
    let own = processes.iter().map(|process| {
        let Ok(text) = fs::read_to_string(format!("/proc/{process}/smaps_rollup")) else {
            // A process can close itself to such looks, but not to this one.
            return resident(*process);
        };
        let kilobytes = text.lines().filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            let counts = matches!(name, "Pss_Anon" | "Pss_Shmem" | "SwapPss");
            let number = rest.trim().strip_suffix(" kB")?.trim().parse::<u64>();
            number.ok().filter(|_| counts)
        });
        kilobytes.sum::<u64>() * 1024
    });
    own.sum()
}

/// Bytes that these processes, and those of their children that were waited for, wrote to disks.
///
/// `seen` holds what each was last known to have written: of one that has ended, and was not waited
/// for, nothing more can be learnt. Who closed himself to such looks may have written any number.
pub(crate) fn written(processes: &[i32], seen: &mut BTreeMap<i32, u64>) -> u64 {
    let last = std::mem::take(seen);
    for process in processes {
        let bytes = match fs::read_to_string(format!("/proc/{process}/io")) {
            Ok(text) => written_by(&text).unwrap_or(0),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                match has_memory(*process) {
                    true => u64::MAX,
                    false => last.get(process).copied().unwrap_or(0),
                }
            }
            Err(_) => 0,
        };
        seen.insert(*process, bytes);
    }
    seen.values().copied().fold(0, u64::saturating_add)
}

/// Whether a process is still one, and not on its way out.
fn has_memory(process: i32) -> bool {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages = text.split_ascii_whitespace().next();
    pages.is_some_and(|pages| pages != "0")
}

/// The same from the text of one process's account.
pub(crate) fn written_by(account: &str) -> Option<u64> {
    let mut lines = account.lines();
    let bytes = lines.find_map(|line| line.strip_prefix("write_bytes: "))?;
    bytes.trim().parse().ok()
}

/// The processor time of these processes and of those of their children that were waited for.
pub(crate) fn cpu(processes: &[i32]) -> Duration {
    let ticks = processes.iter().filter_map(|process| {
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
