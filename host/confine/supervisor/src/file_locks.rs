//! Counts the file locks of a run.
//!
//! A lock takes some 200 bytes of the kernel's memory, which no control group counts, and no limit of the kernel's holds for
//! their number. Each open file of a process shows the locks that the process holds by it: closing the file releases them. The
//! filter refuses locks of open files instead of processes, and processes that share a table of handles, whose locks would
//! outlive the one that took them.
//!
//! Rejected: `/proc/locks`, which lists all locks of the machine. While the kernel writes a page of it, nobody can lock or unlock
//! a file. A script that reads it all the time makes that take so long that it could take a million locks between two counts.

use crate::tree::{self, Tree};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Instant;

/// The most locks that a program may hold: some 200 KiB. Databases and version control hold a handful.
const MOST: usize = 1024;

/// Whether these processes hold too many locks. A file may show a hundred thousand lines of other kinds, so it stops at the
/// deadline; the answer then is no.
pub(crate) fn exceed(tree: &Tree, deadline: Instant) -> bool {
    held(tree, MOST, deadline) > MOST
}

/// The number of locks that these processes hold, or a number above `most`. A file that is open twice shows its locks twice.
fn held(tree: &Tree, most: usize, deadline: Instant) -> usize {
    let mut all = 0;
    for table in tree.ids().flat_map(tree::handle_tables) {
        let Ok(infos) = fs::read_dir(format!("{table}/fdinfo")) else {
            continue;
        };
        for info in infos.flatten() {
            all += held_by(&info.path(), most);
            if all > most || Instant::now() >= deadline {
                return all;
            }
        }
    }
    all
}

/// The number of locks that a process holds by one open file: a line each. There may be very many.
fn held_by(info: &Path, most: usize) -> usize {
    let Ok(file) = File::open(info) else {
        return 0;
    };
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    let locks = lines.filter(|line| line.starts_with(b"lock:"));
    locks.take(most.saturating_add(1)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Process;
    use rustix::fs::{FlockOperation, flock};
    use std::time::Duration;

    #[test]
    fn the_locks_of_a_live_process_are_counted_until_the_deadline() {
        let own = std::process::id().cast_signed();
        let tree = Tree {
            processes: vec![Process { id: own, parent: 1 }],
            is_complete: true,
        };
        let now = Instant::now();
        let later = now + Duration::from_secs(600);
        assert_eq!(held(&tree, usize::MAX, later), 0);
        let files: Vec<_> = (0..20)
            .map(|_| tempfile())
            .inspect(|file| flock(file, FlockOperation::LockExclusive).unwrap())
            .collect();
        assert_eq!(held(&tree, usize::MAX, later), 20);
        assert_eq!(held(&tree, 5, later), 6);
        assert!(held(&tree, usize::MAX, now) <= 1);
        assert!(!exceed(&tree, later));
        drop(files);
    }

    fn tempfile() -> File {
        use rustix::fs::{Mode, OFlags, open};
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        open(std::env::temp_dir(), flags, Mode::RUSR)
            .unwrap()
            .into()
    }
}
