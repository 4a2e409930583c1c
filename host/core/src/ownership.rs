//! Whether another user may write a file or a directory.
//!
//! Files that control a run (policies, records of trust, answers) are accepted only if no user but this one, or root,
//! can have written them. Root may write everything anyway. All of them use this one rule. The approvals
//! file and the cache are stricter.
//!
//! An access control list may name other users. The group bits of the mode then are an upper bound for them, so the list
//! matters only if the mode lets the group write. The default list of a directory does not matter: it applies to files
//! that are created there, and the mode 0600 of ours is the upper bound of what it gives.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The largest value of an extended attribute (`XATTR_SIZE_MAX`).
const MAX_ACL_BYTES: usize = 64 * 1024;

/// Why another user may write something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherWriter {
    /// Another user owns it.
    Owner,
    /// Its mode lets other users write it.
    Mode,
}

impl fmt::Display for OtherWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owner => "belongs to another user",
            Self::Mode => "may be written by other users",
        })
    }
}

/// The owner, the group, the mode and the access control list of a file or a directory.
#[derive(Debug)]
pub struct Ownership {
    metadata: Metadata,
    /// Whether the access control list lets another user write.
    others_by_acl: bool,
}

impl Ownership {
    /// Those of an open file. The handle may be one without the right to read (`O_PATH`).
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        let file = file.as_fd();
        let metadata = File::from(file.try_clone_to_owned()?).metadata()?;
        Ok(Self::known(file, metadata))
    }

    /// Those of an open file whose metadata was just read.
    pub(crate) fn known(file: impl AsFd, metadata: Metadata) -> Self {
        let group_writes = metadata.mode() & 0o020 != 0;
        Self {
            others_by_acl: group_writes && others_by_acl(file.as_fd().as_raw_fd()),
            metadata,
        }
    }

    /// Those of a path. If it is a symbolic link, those of the link.
    pub fn at(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Self::of(rustix::fs::open(path, flags, Mode::empty())?)
    }

    /// The metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

/// Whether an access control list lets another user write. If it cannot be read, it may.
fn others_by_acl(file: i32) -> bool {
    let mut list = vec![0; MAX_ACL_BYTES];
    // `fgetxattr` does not accept a handle without the right to read.
    let path = format!("/proc/self/fd/{file}");
    match rustix::fs::getxattr(path, "system.posix_acl_access", &mut list[..]) {
        Ok(length) => lists_other_writer(geteuid().as_raw(), &list[..length]),
        // There is none, or the file system has none.
        Err(Errno::NODATA | Errno::OPNOTSUPP) => false,
        Err(_) => true,
    }
}

/// Whether a list has an entry for another user, or for any group, that lets them write. Its format is that of the kernel
/// (`include/uapi/linux/posix_acl_xattr.h`): a version, then a tag, permissions and an id for each entry.
fn lists_other_writer(own: u32, list: &[u8]) -> bool {
    const VERSION: [u8; 4] = 2u32.to_le_bytes();
    const WRITE: u16 = 2;
    const USER: u16 = 2;
    const GROUP: u16 = 8;
    let Some(entries) = list.strip_prefix(&VERSION) else {
        return true;
    };
    let (entries, rest) = entries.as_chunks::<8>();
    let is_other = |entry: &[u8; 8]| {
        let [tag, tag_high, mode, mode_high, id @ ..] = *entry;
        let mode = u16::from_le_bytes([mode, mode_high]);
        let id = u32::from_le_bytes(id);
        let named = match u16::from_le_bytes([tag, tag_high]) {
            USER => id != own && id != 0,
            GROUP => true,
            _ => false,
        };
        named && mode & WRITE != 0
    };
    !rest.is_empty() || entries.iter().any(is_other)
}

/// Why a user other than this one and root may write a file, or add files to a directory.
pub fn other_writer(file: &Ownership) -> Option<OtherWriter> {
    other_writer_than(geteuid().as_raw(), file)
}

/// The same for the user `own`.
pub(crate) fn other_writer_than(own: u32, file: &Ownership) -> Option<OtherWriter> {
    let meta = &file.metadata;
    let is_private = || {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        is_private(own, meta.gid(), &read("/etc/passwd"), &read("/etc/group"))
    };
    match meta.mode() {
        _ if meta.uid() != own && meta.uid() != 0 => Some(OtherWriter::Owner),
        mode if mode & 0o002 != 0 => Some(OtherWriter::Mode),
        mode if mode & 0o020 != 0 && !is_private() => Some(OtherWriter::Mode),
        _ if file.others_by_acl => Some(OtherWriter::Mode),
        _ => None,
    }
}

/// Why a user other than this one and root may replace files in a directory. Unlike [`other_writer`], this accepts a
/// directory with the sticky bit, such as `/tmp`: other users may add files there, but not replace ours.
pub fn other_replacer(folder: &Ownership) -> Option<OtherWriter> {
    const STICKY: u32 = 0o1000;
    let meta = &folder.metadata;
    let sticky = meta.is_dir() && meta.mode() & STICKY != 0;
    other_writer(folder).filter(|other| !(sticky && *other == OtherWriter::Mode))
}

/// Whether this user is the only member of a group. Systems that create a group for each user let groups write by
/// default (umask 002). If the users are not listed in these files, the answer is no.
fn is_private(user: u32, group: u32, passwd: &str, groups: &str) -> bool {
    let users = || {
        passwd
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
    };
    let has = |line: &Vec<&str>, at: usize, number: u32| {
        line.get(at).and_then(|text| text.parse().ok()) == Some(number)
    };
    let mut members = users().filter(|line| has(line, 3, group));
    let Some(name) = members
        .next()
        .filter(|line| has(line, 2, user))
        .and_then(|line| line.first().copied())
    else {
        return false;
    };
    let mut listed = groups
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .filter(|line| has(line, 2, group))
        .peekable();
    members.next().is_none()
        && listed.peek().is_some()
        && listed.all(|line| {
            let members = line.get(3).copied().unwrap_or_default();
            members
                .split(',')
                .all(|member| member.is_empty() || member == name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown};

    #[test]
    fn a_group_is_private_if_it_has_no_other_member() {
        let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:\nbob:x:1001:1001::/:\n\
                      eve:x:1002:1001::/:\n";
        let groups = "root:x:0:\nann:x:1000:\nbob:x:1001:\nteam:x:2000:ann\nown:x:1000:ann\n";
        assert!(is_private(0, 0, passwd, groups));
        assert!(is_private(1000, 1000, passwd, groups));
        // Another user's group, one with another member, one that is not a primary group, and unknown ones.
        assert!(!is_private(1000, 0, passwd, groups));
        assert!(!is_private(1001, 1001, passwd, groups));
        assert!(!is_private(1000, 2000, passwd, groups));
        assert!(!is_private(1000, 1000, passwd, "ann:x:1000:bob\n"));
        assert!(!is_private(1000, 1000, passwd, ""));
        assert!(!is_private(5000, 5000, passwd, groups));
    }

    #[test]
    fn owner_and_mode_decide_whether_another_user_may_write() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let other = |mode: u32| {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            other_writer(&Ownership::at(&file).unwrap())
        };
        assert_eq!((other(0o600), other(0o644)), (None, None));
        assert_eq!(other(0o602), Some(OtherWriter::Mode));
        let folder_mode = |mode: u32| {
            fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            let folder = Ownership::at(folder.path()).unwrap();
            (other_writer(&folder), other_replacer(&folder))
        };
        assert_eq!(folder_mode(0o700), (None, None));
        assert_eq!(
            folder_mode(0o777),
            (Some(OtherWriter::Mode), Some(OtherWriter::Mode))
        );
        assert_eq!(folder_mode(0o1777), (Some(OtherWriter::Mode), None));
        if geteuid().is_root() {
            // A shared group, and another owner.
            chown(&file, None, Some(100)).unwrap();
            assert_eq!(other(0o660), Some(OtherWriter::Mode));
            chown(&file, Some(65534), None).unwrap();
            assert_eq!(other(0o600), Some(OtherWriter::Owner));
        }
    }

    /// An access control list: read and write for the owner, the group and the mask, nothing for the rest, and `named`.
    fn list(named: &[(u16, u16, u32)]) -> Vec<u8> {
        const ANY: u32 = u32::MAX;
        let mut entries = vec![(1, 6, ANY), (4, 6, ANY), (0x10, 6, ANY), (0x20, 0, ANY)];
        entries.extend(named);
        // The kernel accepts entries in the order of their tags.
        entries.sort_unstable();
        let entry = |(tag, mode, id): (u16, u16, u32)| {
            [
                &tag.to_le_bytes()[..],
                &mode.to_le_bytes(),
                &id.to_le_bytes(),
            ]
            .concat()
        };
        let entries = entries.into_iter().flat_map(entry);
        2u32.to_le_bytes().into_iter().chain(entries).collect()
    }

    #[test]
    fn an_access_control_list_is_read_entry_by_entry() {
        for (named, other) in [
            ([].as_slice(), false),
            (&[(2, 6, 1001)], true),
            (&[(2, 2, 1001)], true),
            (&[(2, 4, 1001)], false),
            (&[(2, 6, 1000), (2, 7, 0)], false),
            (&[(8, 4, 50)], false),
            (&[(8, 6, 50)], true),
        ] {
            assert_eq!(lists_other_writer(1000, &list(named)), other, "{named:?}");
        }
        // What we do not know may let others write.
        assert!(lists_other_writer(1000, &[]));
        assert!(lists_other_writer(1000, &[3, 0, 0, 0]));
        assert!(lists_other_writer(1000, &list(&[])[..10]));
    }

    #[test]
    fn an_access_control_list_lets_another_user_write() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let other = |path: &Path| other_writer(&Ownership::at(path).unwrap());
        for path in [file.as_path(), folder.path()] {
            fs::set_permissions(path, Permissions::from_mode(0o760)).unwrap();
            if other(path).is_some() {
                println!("not run: the group of this user has other members");
                return;
            }
            let name = "system.posix_acl_access";
            for (named, expected) in [
                ((2, 6, 65534), Some(OtherWriter::Mode)),
                ((8, 6, 65534), Some(OtherWriter::Mode)),
                ((2, 4, 65534), None),
            ] {
                let list = list(&[named]);
                let flags = rustix::fs::XattrFlags::empty();
                match rustix::fs::setxattr(path, name, &list, flags) {
                    Err(Errno::OPNOTSUPP) => {
                        println!("not run: this file system has no access control lists");
                        return;
                    }
                    set => set.unwrap(),
                }
                assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o660);
                assert_eq!(other(path), expected, "{named:?}");
            }
            // Without write permission for the group, nobody in the list has it.
            rustix::fs::setxattr(
                path,
                name,
                &list(&[(2, 6, 65534)]),
                rustix::fs::XattrFlags::empty(),
            )
            .unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o740)).unwrap();
            assert_eq!(other(path), None);
        }
    }
}
