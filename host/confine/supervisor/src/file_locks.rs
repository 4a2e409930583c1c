//! Counts the file locks of a run.
//!
//! A lock takes some 200 bytes of the kernel's memory, which no control group counts, and no limit of the kernel's holds for
//! their number. `/proc/locks` lists all locks of the machine with the process that took each. The filter refuses locks
//! without an owner, and processes that share a table of handles, whose locks would outlive the one that took them.

use crate::tree::{self, Tree};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read};
use std::time::{Duration, Instant};

/// The most locks that a program may hold: some 200 KiB. Databases and version control hold a handful.
const MOST: usize = 1024;

/// The most lines of `/proc/locks` that are read. While the kernel writes a page of them, nobody on this machine can lock or
/// unlock a file, and it walks its list from the start for each page. So the time grows with the square of their number: this
/// many take some milliseconds.
const MAX_LINES: usize = 8192;

/// How much time passes between two counts, at least, for the same reason. A script can make some ten thousand locks in it.
const INTERVAL: Duration = Duration::from_millis(250);
/// The part of its time that a supervisor counts, at most, is one in this many.
const MAX_SHARE: u32 = 50;

/// Counts the locks of a run now and then.
#[derive(Debug, Default)]
pub(crate) struct FileLocks {
    next: Option<Instant>,
}

impl FileLocks {
    /// Whether these processes hold too many locks, as far as it is time to count them.
    pub(crate) fn exceed(&mut self, tree: &Tree) -> bool {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return false;
        }
        let is_exceeded = exceed(tree, MOST);
        self.next = Some(began + INTERVAL.max(began.elapsed() * MAX_SHARE));
        is_exceeded
    }
}

/// Whether these processes hold more than `most` locks.
fn exceed(tree: &Tree, most: usize) -> bool {
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
    let mut held = HashSet::new();
    for line in lines.by_ref().take(MAX_LINES).filter(own) {
        // A line that moves while the list is read may be there twice, under another number.
        let lock = line.splitn(2, |byte| *byte == b':').nth(1);
        held.insert(lock.unwrap_or_default().to_owned());
        if held.len() > most {
            return Some(held.len());
        }
    }
    match lines.next() {
        Some(_) => None,
        None => Some(held.len()),
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
        assert_eq!(
            count(&LIST.repeat(9).replace("2:", "20:"), &[708], 10),
            Some(2)
        );
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
