//! Opens the files that `--answers` and `--events` name.
//!
//! Whoever can write the answers approves runs. Whoever can replace the events file by a link chooses the file that
//! the next session appends to, with text that a model wrote. So such a file must be a regular file of the user,
//! in directories that neither other users nor scripts may write, reached without links that a script could have
//! made. It is opened once, before anything runs, and is a protected path while scripts run.
//!
//! Pipes and devices are accepted only through a descriptor that the caller opened (`/dev/stdin`, `/dev/stdout`,
//! `/dev/stderr` and `/dev/fd/N`, which is also what a shell makes of `>(command)`), and `/dev/null`: a script cannot
//! have put anything in their place.

use crate::failure::{Failure, REFUSED, plain};
use crate::list::printable;
use rustix::fs::{Mode, OFlags, openat};
use rustix::process::geteuid;
use skillrun::walk::{Links, WalkError, upwards, walk};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What is done with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Made if it is not there.
    Append,
}

/// A directory or a file that a script may write, and what makes it so.
#[derive(Debug)]
pub(crate) struct Writable {
    pub(crate) what: String,
    pub(crate) path: PathBuf,
}

/// A file that no script can write.
#[derive(Debug)]
pub(crate) struct OwnFile {
    pub(crate) file: File,
    /// Where it is, for protecting it; absent for pipes and devices.
    pub(crate) path: Option<PathBuf>,
}

impl OwnFile {
    /// Opens the `what` file at `path`. Fails if a script, or another user, could have written it.
    pub(crate) fn open(
        what: &str,
        path: &Path,
        access: Access,
        writable: &[Writable],
    ) -> Result<Self, Failure> {
        let name = printable(&path.display().to_string());
        let fail = |why: &str| Failure::host(format!("{what} `{name}`: {why}"));
        let refuse = |why: &str, hint: &str| Failure {
            code: REFUSED,
            word: "refused",
            message: format!("{what} file `{name}` {why}"),
            hint: Some(hint.to_owned()),
        };
        let checked = |file: Option<&Metadata>, around: &[Metadata], by_name: bool| {
            let inside = reject_if_script_writable(file.into_iter().chain(around), writable);
            let others = || match by_name {
                true => reject_if_others_write(file, around),
                false => Ok(()),
            };
            let checked = inside.and_then(|()| others());
            checked.map_err(|why| refuse(&why, "keep it where only you can write"))
        };
        let system = |error: io::Error| fail(&plain(&error));
        if path == Path::new("-") {
            return Err(fail("does not name a stream here").hint(DESCRIPTORS));
        }
        if is_descriptor(path) {
            let file = access.options().open(path).map_err(system)?;
            // The caller opened it, but it may still be a file that a script can write.
            let own = Self::of(file).map_err(system)?;
            if let Some(real) = &own.path {
                let found = walk(real, Links::System);
                let found = found.map_err(|error| fail(&error.to_string()))?;
                let around = found.around().map_err(system)?;
                checked(Some(found.metadata()), &around, false)?;
            }
            return Ok(own);
        }
        let file = match walk(path, Links::System) {
            Ok(found) => {
                let (meta, around) = (found.metadata(), found.around().map_err(system)?);
                if meta.is_dir() {
                    return Err(fail("is a directory"));
                }
                if !meta.is_file() {
                    return Err(fail("is not a regular file").hint(DESCRIPTORS));
                }
                checked(Some(meta), &around, true)?;
                found.open(&access.options()).map_err(system)?
            }
            Err(WalkError::Missing { folder, name }) if access == Access::Append => {
                checked(None, &upwards(&folder).map_err(system)?, true)?;
                let flags = OFlags::WRONLY
                    | OFlags::APPEND
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                let made = openat(&folder, name, flags, Mode::from_raw_mode(0o600));
                made.map_err(|error| system(error.into()))?.into()
            }
            Err(error) => {
                let WalkError::Link { target, .. } = &error else {
                    return Err(fail(&error.to_string()));
                };
                let target = printable(&target.display().to_string());
                let hint = format!("pass `{target}` itself if that is meant");
                return Err(refuse(&error.to_string(), &hint));
            }
        };
        Self::of(file).map_err(system)
    }

    fn of(file: File) -> io::Result<Self> {
        use std::os::fd::AsRawFd as _;
        let path = match file.metadata()?.is_file() {
            true => Some(format!("/proc/self/fd/{}", file.as_raw_fd())),
            false => None,
        };
        let path = path.map(std::fs::read_link).transpose()?;
        // Nobody can reach a file without a name, such as that of a shell's `<<EOF`.
        let path = path.filter(|path| path.exists());
        Ok(Self { file, path })
    }
}

impl Access {
    fn options(self) -> OpenOptions {
        let mut options = OpenOptions::new();
        match self {
            Self::Read => options.read(true),
            Self::Append => options.append(true),
        };
        options
    }
}

const DESCRIPTORS: &str = "name a file, or a descriptor: /dev/stderr, /dev/fd/3";

/// Whether a path stands for something that the caller opened, or for `/dev/null`.
pub(crate) fn is_descriptor(path: &Path) -> bool {
    let Some(path) = path.to_str() else {
        return false;
    };
    let numbered = ["/dev/fd/", "/proc/self/fd/"]
        .iter()
        .filter_map(|folder| path.strip_prefix(folder));
    let is_number = |number: &str| number.parse::<u16>().is_ok();
    ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"].contains(&path)
        || numbered.into_iter().any(is_number)
}

/// `all` are a file and the directories around it. They are compared by inode, not by name.
fn reject_if_script_writable<'a>(
    all: impl Iterator<Item = &'a Metadata>,
    writable: &[Writable],
) -> Result<(), String> {
    let id = |meta: &Metadata| (meta.dev(), meta.ino());
    let all: Vec<(u64, u64)> = all.map(id).collect();
    for Writable { what, path } in writable {
        // The decision refuses a grant for a path that does not exist.
        let Ok(given) = path.metadata() else { continue };
        if all.contains(&id(&given)) {
            return Err(format!(
                "is inside {what}, so a script could have written it"
            ));
        }
    }
    Ok(())
}

/// `around` are the directories around a file, the innermost first. `file` is absent if it is yet to be created.
fn reject_if_others_write(file: Option<&Metadata>, around: &[Metadata]) -> Result<(), String> {
    let own = geteuid().as_raw();
    let is_own = |meta: &Metadata| meta.uid() == own || meta.uid() == 0;
    if let Some(file) = file {
        if !is_own(file) {
            return Err("belongs to another user".into());
        }
        if is_shared(file) {
            return Err("may be written by other users".into());
        }
    }
    if !around.iter().all(is_own) {
        return Err("is in a directory of another user".into());
    }
    // In a sticky directory such as /tmp nobody can replace the files of others.
    const STICKY: u32 = 0o1000;
    let is_open = |meta: &&Metadata| is_shared(meta) && meta.mode() & STICKY == 0;
    if around.iter().any(|meta| is_open(&meta)) {
        return Err("is in a directory that other users may write".into());
    }
    let in_shared = around.first().is_some_and(is_shared);
    match file {
        Some(file) if in_shared && file.uid() != own => Err("belongs to another user".into()),
        _ => Ok(()),
    }
}

/// Whether anybody but its owner may write something.
fn is_shared(meta: &Metadata) -> bool {
    let group = || {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        let own = geteuid().as_raw();
        is_private(own, meta.gid(), &read("/etc/passwd"), &read("/etc/group"))
    };
    meta.mode() & 0o002 != 0 || (meta.mode() & 0o020 != 0 && !group())
}

/// Whether this user is the only member of a group. Systems that give each user a group of their own let groups
/// write by default (umask 002). If the users are not listed in these files, the answer is no.
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

    #[test]
    fn a_group_is_private_if_nobody_else_is_in_it() {
        let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:\nbob:x:1001:1001::/:\n\
                      eve:x:1002:1001::/:\n";
        let groups = "root:x:0:\nann:x:1000:\nbob:x:1001:\nteam:x:2000:ann\nown:x:1000:ann\n";
        assert!(is_private(0, 0, passwd, groups));
        assert!(is_private(1000, 1000, passwd, groups));
        // Somebody else's, with somebody else in it, not a first group, and unknown ones.
        assert!(!is_private(1000, 0, passwd, groups));
        assert!(!is_private(1001, 1001, passwd, groups));
        assert!(!is_private(1000, 2000, passwd, groups));
        assert!(!is_private(1000, 1000, passwd, "ann:x:1000:bob\n"));
        assert!(!is_private(1000, 1000, passwd, ""));
        assert!(!is_private(5000, 5000, passwd, groups));
    }

    #[test]
    fn a_descriptor_is_named_by_number() {
        for (path, is) in [
            ("/dev/null", true),
            ("/dev/stderr", true),
            ("/dev/fd/63", true),
            ("/proc/self/fd/3", true),
            ("/dev/fd/", false),
            ("/dev/fd/3/x", false),
            ("/dev/fd/../null", false),
            ("/dev/full", false),
            ("dev/null", false),
        ] {
            assert_eq!(is_descriptor(Path::new(path)), is, "{path}");
        }
    }
}
