//! Counts the file locks of a run.
//!
//! A lock takes some 200 bytes of the kernel's memory, which no control group counts, and no limit of the kernel's holds for
//! their number. `/proc/locks` lists all locks of the machine with the process that took each. The filter refuses locks
//! without an owner, and processes that share a table of handles, whose locks would outlive the one that took them.

use crate::tree::{self, Tree};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read};

/// The most locks that a program may hold: less than a mebibyte. Databases and version control hold a handful.
pub(crate) const MOST: usize = 4096;

/// The most lines of `/proc/locks` that are read. The kernel walks its list from the start for every page of text, so the time
/// grows with the square of their number: this many take a tenth of a second or two.
const MAX_LINES: usize = 65_536;

/// Whether these processes hold more than `most` locks.
pub(crate) fn exceed(tree: &Tree, most: usize) -> bool {
    let held = File::open("/proc/locks").map(|list| held(list, &tree.ids().collect(), most));
    match held {
        Ok(Some(held)) => held > most,
        // Where `/proc` does not list locks, or other programs hold very many, those of each handle are counted.
        Ok(None) | Err(_) => tree.ids().map(held_by_handles).sum::<usize>() > most,
    }
}

/// The number of locks in a list that these processes hold, or a number above `most`; `None` if the list is too long to tell.
fn held(list: impl Read, processes: &HashSet<i32>, most: usize) -> Option<usize> {
    let mut lines = BufReader::new(list).split(b'\n').map_while(Result::ok);
    let own = |line: &Vec<u8>| holder(line).is_some_and(|holder| processes.contains(&holder));
    let held = lines.by_ref().take(MAX_LINES).filter(own);
    let held = held.take(most.saturating_add(1)).count();
    match held <= most && lines.next().is_some() {
        true => None,
        false => Some(held),
    }
}

/// The process in a line such as `1: POSIX  ADVISORY  WRITE 708 08:01:26 0 EOF`; one that waits for its lock has `->` first.
fn holder(line: &[u8]) -> Option<i32> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace().skip(1);
    let mut words = words.by_ref().filter(|word| *word != "->");
    words.nth(3)?.parse().ok()
}

/// The number of locks that the handles of a process show. A file that is open twice shows its locks twice.
fn held_by_handles(process: i32) -> usize {
    let tables = tree::handle_tables(process).into_iter();
    let infos = tables.flat_map(|table| {
        let infos = fs::read_dir(format!("{table}/fdinfo"));
        infos.into_iter().flatten().flatten()
    });
    let locks = infos.filter_map(|info| {
        let lines = BufReader::new(File::open(info.path()).ok()?).split(b'\n');
        let lines = lines.map_while(Result::ok);
        Some(lines.filter(|line| line.starts_with(b"lock:")).count())
    });
    locks.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Process;
    use rustix::fs::{FlockOperation, flock};

    const LIST: &str = "\
1: POSIX  ADVISORY  WRITE 708 08:01:262146 0 EOF
1: -> POSIX  ADVISORY  WRITE 709 08:01:262146 0 EOF
2: FLOCK  ADVISORY  READ 708 08:01:262147 0 EOF
3: OFDLCK ADVISORY  READ -1 08:01:262148 5 5
4: LEASE  ACTIVE    READ 7 08:01:262149 0 EOF
";

    #[test]
    fn locks_are_counted_for_the_processes_that_hold_them() {
        let count = |list: &str, processes: &[i32], most| {
            held(list.as_bytes(), &processes.iter().copied().collect(), most)
        };
        assert_eq!(count(LIST, &[708], 10), Some(2));
        assert_eq!(count(LIST, &[708, 709], 10), Some(3));
        assert_eq!(count(LIST, &[708, 709], 1), Some(2));
        assert_eq!(count(LIST, &[1, 2, 70], 10), Some(0));
        let others = "1: POSIX  ADVISORY  WRITE 1 08:01:26 0 EOF\n".repeat(MAX_LINES);
        assert_eq!(count(&others, &[708], 10), Some(0));
        // What comes after that many is not read.
        assert_eq!(count(&(others + LIST), &[708], 10), None);
    }

    #[test]
    fn both_ways_count_the_locks_of_a_live_process() {
        let own = std::process::id().cast_signed();
        let tree = Tree {
            processes: vec![Process { id: own, parent: 1 }],
            is_complete: true,
        };
        let files: Vec<_> = (0..20)
            .map(|_| tempfile())
            .inspect(|file| flock(file, FlockOperation::LockExclusive).unwrap())
            .collect();
        assert!(exceed(&tree, 19));
        assert!(held_by_handles(own) >= 20);
        drop(files);
        assert!(!exceed(&tree, 1000));
    }

    fn tempfile() -> File {
        use rustix::fs::{Mode, OFlags, open};
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        open(std::env::temp_dir(), flags, Mode::RUSR)
            .unwrap()
            .into()
    }
}
