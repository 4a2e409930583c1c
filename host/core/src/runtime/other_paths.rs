//! Other paths of the same files: a file system may be mounted at several places.
//!
//! A container may have one volume for a project, and another one for the skills of a home directory that the project is in.
//! A script that may write the first one must not write the second one through it. Comparing the identity of every directory around a
//! changed file was rejected: that costs system calls for each of them, and a missing path has none.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// The mounts of this process.
#[derive(Debug, Default)]
pub(super) struct MountTable {
    mounts: Vec<Mounted>,
    /// The index of the one at `/`.
    top: Option<usize>,
    /// The mounts of file systems that are mounted more than once.
    repeated: HashMap<Vec<u8>, Vec<usize>>,
}

/// A line of the kernel's table.
#[derive(Debug)]
struct Mounted {
    id: u64,
    /// The mount that it is in.
    parent: u64,
    /// The file system.
    device: Vec<u8>,
    /// What of the file system is mounted.
    root: PathBuf,
    /// Where.
    at: PathBuf,
}

impl MountTable {
    /// Reads the table. Without it, paths have no other ones: the kernel's own files are not mounted.
    pub(super) fn read() -> Self {
        let table = fs::read("/proc/self/mountinfo");
        Self::parse(&table.unwrap_or_default())
    }

    fn parse(table: &[u8]) -> Self {
        let lines = table.split(|byte| *byte == b'\n');
        let mounts: Vec<Mounted> = lines.filter_map(Mounted::parse).collect();
        let mut repeated: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (index, mount) in mounts.iter().enumerate() {
            repeated
                .entry(mount.device.clone())
                .or_default()
                .push(index);
        }
        repeated.retain(|_, mounts| mounts.len() > 1);
        // What is mounted over it is found from there.
        let is_listed = |id| mounts.iter().any(|mount| mount.id == id);
        let top = mounts.iter().position(|mount| {
            let is_outermost = mount.parent == mount.id || !is_listed(mount.parent);
            mount.at == Path::new("/") && is_outermost
        });
        Self {
            mounts,
            top,
            repeated,
        }
    }

    /// The other paths of what is at a real path, or of the parts of it that are mounted elsewhere. It need not exist.
    pub(super) fn others(&self, path: &Path) -> Vec<PathBuf> {
        if self.repeated.is_empty() {
            return Vec::new();
        }
        let Some(own) = self.mount_of(path) else {
            return Vec::new();
        };
        let Some(others) = self.repeated.get(&own.device) else {
            return Vec::new();
        };
        let below = path.strip_prefix(&own.at).unwrap_or(Path::new(""));
        let inside = own.root.join(below);
        let others = others.iter().map(|index| &self.mounts[*index]);
        let others = others.filter_map(|other| {
            match (
                inside.strip_prefix(&other.root),
                other.root.starts_with(&inside),
            ) {
                (Ok(below), _) if below.as_os_str().is_empty() => Some(other.at.clone()),
                (Ok(below), _) => Some(other.at.join(below)),
                (Err(_), true) => Some(other.at.clone()),
                (Err(_), false) => None,
            }
        });
        others.filter(|other| other != path).collect()
    }

    /// The mount in which a path is found. Others at places around it may be covered.
    fn mount_of(&self, path: &Path) -> Option<&Mounted> {
        let mut own = &self.mounts[self.top?];
        for _ in &self.mounts {
            let inner = self.mounts.iter();
            let inner = inner.filter(|mount| {
                mount.parent == own.id && mount.id != own.id && path.starts_with(&mount.at)
            });
            match inner.min_by_key(|mount| mount.at.as_os_str().len()) {
                Some(inner) => own = inner,
                None => break,
            }
        }
        Some(own)
    }
}

impl Mounted {
    /// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
        Some(Self {
            id: number()?,
            parent: number()?,
            device: fields.next()?.to_vec(),
            root: unescaped(fields.next()?),
            at: unescaped(fields.next()?),
        })
    }
}

/// The path of a field, in which spaces, tabs, newlines and backslashes are octal numbers.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt as _;

    fn others(table: &str, path: &str) -> Vec<PathBuf> {
        MountTable::parse(table.as_bytes()).others(path.as_ref())
    }

    const TABLE: &str = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        22 21 0:20 / /proc rw - proc proc rw\n\
        30 21 8:2 /home/ann /host\\040home rw master:1 - ext4 /dev/sdb rw\n\
        31 21 8:2 /home/ann/.claude /root/.claude rw - ext4 /dev/sdb rw\n\
        32 21 8:2 /home/ann/.claude/skills/a /work/a rw - ext4 /dev/sdb rw\n";

    #[test]
    fn a_path_has_another_one_wherever_its_file_system_is_mounted() {
        for (path, expected) in [
            ("/etc/skillrun", vec![]),
            ("/proc/1", vec![]),
            (
                "/root/.claude/skills",
                vec!["/host home/.claude/skills", "/work/a"],
            ),
            (
                "/root/.claude/skills/b",
                vec!["/host home/.claude/skills/b"],
            ),
            (
                "/host home/.claude/skills/a/x",
                vec!["/root/.claude/skills/a/x", "/work/a/x"],
            ),
            ("/root/.claude", vec!["/host home/.claude", "/work/a"]),
            ("/root", vec![]),
        ] {
            let expected: Vec<PathBuf> = expected.into_iter().map(PathBuf::from).collect();
            assert_eq!(others(TABLE, path), expected, "{path}");
        }
    }

    #[test]
    fn the_mount_that_is_seen_decides() {
        for covers in [
            "40 31 8:3 / /root/.claude rw - ext4 /dev/sdc rw\n",
            "20 21 8:3 / /root rw - ext4 /dev/sdc rw\n",
        ] {
            let table = format!("{TABLE}{covers}");
            assert!(others(&table, "/root/.claude/skills").is_empty());
        }
    }

    #[test]
    fn what_is_no_line_of_the_table_is_ignored() {
        let rootfs = "1 1 0:2 / / rw - rootfs rootfs rw\n2 1 0:2 /a /b rw - rootfs rootfs rw\n";
        assert_eq!(others(rootfs, "/a/c"), [Path::new("/b/c")]);
        for table in ["", "\n", "1 2 3", "1 2 8:1 /\n", "\\\\\\"] {
            assert!(others(table, "/a").is_empty(), "{table:?}");
        }
        assert_eq!(unescaped(b"/a\\0401\\134\\9"), Path::new("/a 1\\\\9"));
        assert_eq!(unescaped(b"\\777").as_os_str().as_bytes(), b"\\777");
    }
}
