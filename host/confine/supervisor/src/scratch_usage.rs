//! The size of a scratch directory that is a directory of the machine.

use crate::tree::{self, BYTES_PER_FILE, Tree};
use crate::walk;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Instant;

/// How often the directory is walked if its file system has grown by more than what is found in it.
const WALKS: usize = 8;

/// What is in a scratch directory, and what was removed from it and is still open.
///
/// A program can keep more than that shows: a removed file that is only mapped to memory, and files that it moves about while
/// the directory is walked. On a disk, that counts as bytes written. In memory nothing else would limit it, so there the growth of
/// the whole file system counts as soon as the program may hide files.
#[derive(Debug)]
pub(crate) struct ScratchUsage {
    directory: OwnedFd,
    /// Bytes used in its file system before the program started, if that is in memory.
    before: Option<u64>,
}

impl ScratchUsage {
    pub(crate) fn new(directory: OwnedFd) -> Self {
        let kind = rustix::fs::fstatfs(&directory).map(|all| all.f_type);
        // TMPFS_MAGIC.
        let is_in_memory = kind.is_ok_and(|kind| kind == 0x0102_1994);
        let before = is_in_memory.then(|| tree::tmpfs_usage(&directory));
        Self { directory, before }
    }

    /// Whether it uses more than `limit` bytes. Where a control group counts files in memory, nothing can be hidden. If the
    /// deadline passes, the answer is no.
    pub(crate) fn exceeds(
        &self,
        tree: &Tree,
        limit: u64,
        has_cgroup: bool,
        deadline: Instant,
    ) -> bool {
        let exceeds = || {
            let removed = tree::removed_files(tree, &self.directory);
            let Some(rest) = limit.checked_sub(removed) else {
                return true;
            };
            walk::exceeds(self.directory.as_fd(), rest, BYTES_PER_FILE, deadline)
        };
        if exceeds() {
            return true;
        }
        let Some(before) = self.before.filter(|_| !has_cgroup) else {
            return false;
        };
        let growth = tree::tmpfs_usage(&self.directory).saturating_sub(before);
        growth > limit
            && (tree::map_removed_files(tree, &self.directory)
                || (1..WALKS).any(|_| Instant::now() < deadline && exceeds()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Process;
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_removed_file_in_memory_that_no_handle_shows_counts() {
        let path = Path::new("/dev/shm").join(format!("skillrun-usage-{}", std::process::id()));
        if fs::create_dir(&path).is_err() {
            // This machine has no file system in memory for everyone.
            return;
        }
        let directory = File::open(&path).unwrap().into();
        let usage = ScratchUsage {
            before: Some(0),
            ..ScratchUsage::new(directory)
        };
        let program = path.join("program");
        fs::copy("/bin/sleep", &program).unwrap();
        let mut file = File::options().append(true).open(&program).unwrap();
        file.write_all(&vec![0; 8 << 20]).unwrap();
        drop(file);
        let later = Instant::now() + Duration::from_secs(600);
        let exceeds = |id, has_cgroup| {
            let processes = vec![Process { id, parent: 1 }];
            let is_complete = true;
            let tree = Tree {
                processes,
                is_complete,
            };
            usage.exceeds(&tree, 4 << 20, has_cgroup, later)
        };
        let own = std::process::id().cast_signed();
        assert!(exceeds(own, false) && exceeds(own, true));
        if let Ok(mut child) = Command::new(&program).arg("1000").spawn() {
            fs::remove_file(&program).unwrap();
            let id = child.id().cast_signed();
            assert!(exceeds(id, false));
            // The group counts it as memory.
            assert!(!exceeds(id, true));
            // Another program, whose file system has grown as much, hides nothing.
            assert!(!exceeds(own, false));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        fs::remove_dir_all(path).unwrap();
    }
}
