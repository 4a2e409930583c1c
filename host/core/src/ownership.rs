//! Whether another user may write a file or a directory.
//!
//! Files that control a run (policies, records of trust, answers) are accepted only if no user but this one, or root,
//! can have written them. Root may write everything anyway. All of them use this one rule. The approvals
//! file and the cache are stricter.

use rustix::process::geteuid;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

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

/// Why a user other than this one and root may write a file, or add files to a directory.
pub fn other_writer(meta: &Metadata) -> Option<OtherWriter> {
    let own = geteuid().as_raw();
    let is_private = || {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        is_private(own, meta.gid(), &read("/etc/passwd"), &read("/etc/group"))
    };
    match meta.mode() {
        _ if meta.uid() != own && meta.uid() != 0 => Some(OtherWriter::Owner),
        mode if mode & 0o002 != 0 => Some(OtherWriter::Mode),
        mode if mode & 0o020 != 0 && !is_private() => Some(OtherWriter::Mode),
        _ => None,
    }
}

/// Why a user other than this one and root may replace files in a directory. Unlike [`other_writer`], this accepts a
/// directory with the sticky bit, such as `/tmp`: other users may add files there, but not replace ours.
pub fn other_replacer(folder: &Metadata) -> Option<OtherWriter> {
    const STICKY: u32 = 0o1000;
    let sticky = folder.is_dir() && folder.mode() & STICKY != 0;
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
            other_writer(&file.metadata().unwrap())
        };
        assert_eq!((other(0o600), other(0o644)), (None, None));
        assert_eq!(other(0o602), Some(OtherWriter::Mode));
        let folder_mode = |mode: u32| {
            fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
            let meta = folder.path().metadata().unwrap();
            (other_writer(&meta), other_replacer(&meta))
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
}
