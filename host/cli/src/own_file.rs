//! Opens the files that `--answers` and `--events` name.
//!
//! A process that can write the answers can approve runs. A process that can replace the events file by a link chooses
//! the file that the next session appends to, with text that a model wrote. So such a file must be a regular file of
//! the user, in directories that neither other users nor scripts may write, reached without links that a script could
//! have created. It is opened once, before anything runs, and is a protected path while scripts run.
//!
//! Pipes and devices are accepted only through a descriptor that the caller opened (`/dev/stdin`, `/dev/stdout`,
//! `/dev/stderr` and `/dev/fd/N`, which is also what a shell makes of `>(command)`), and `/dev/null`: a script cannot
//! have replaced them.

use crate::failure::{Failure, REFUSED, plain};
use crate::paths::is_inside_skill;
use crate::text::printable;
use rustix::fs::{Mode, OFlags, openat};
use skillrun::ownership::{OtherWriter, Ownership, other_replacer, other_writer};
use skillrun::walk::{Links, WalkError, self_and_parents, walk};
use skillrun_skill::text::shell_path;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How the file is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    /// Created if it does not exist.
    Append,
}

/// A directory or a file that a script may write, and what it is, for messages.
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
            label: "refused",
            message: format!("{what} file `{name}` {why}"),
            hint: Some(hint.to_owned()),
        };
        let checked = |file: Option<&Ownership>, around: &[Ownership], by_name: bool| {
            let all = file.into_iter().chain(around).map(Ownership::metadata);
            let inside = reject_if_script_writable(all, writable);
            let others = || match by_name {
                true => reject_if_others_write(file, around),
                false => Ok(()),
            };
            // Its other name may be in a directory that a script can write.
            let linked = || match file.is_some_and(|file| file.metadata().nlink() > 1) {
                true => Err("has more than one hard link".to_owned()),
                false => Ok(()),
            };
            let checked = inside.and_then(|()| others()).and_then(|()| linked());
            checked.map_err(|why| refuse(&why, "keep it where only you can write"))?;
            // Text of a model in a skill is text that the next model follows.
            match access == Access::Append && is_inside_skill(path) {
                true => Err(refuse(
                    "is inside a skill",
                    "choose a file in another directory",
                )),
                false => Ok(()),
            }
        };
        let system = |error: io::Error| fail(&plain(&error));
        if path == Path::new("-") {
            return Err(fail("`-` is not supported").hint(access.descriptors()));
        }
        if is_descriptor(path) {
            let file = access.options().open(path).map_err(system)?;
            // The caller opened it, but it may still be a file that a script can write.
            let own = Self::of(file).map_err(system)?;
            if let Some(real) = &own.path {
                let found = walk(real, Links::System);
                let found = found.map_err(|error| fail(&error.to_string()))?;
                let around = found.parents().map_err(system)?;
                checked(Some(&found.ownership().map_err(system)?), &around, false)?;
            }
            return Ok(own);
        }
        reject_if_in_missing(path, writable)
            .map_err(|why| refuse(&why, "keep it where only you can write"))?;
        let file = match walk(path, Links::System) {
            Ok(found) => {
                let (meta, around) = (found.metadata(), found.parents().map_err(system)?);
                if meta.is_dir() {
                    return Err(fail("a directory, not a file"));
                }
                if !meta.is_file() {
                    return Err(fail("not a regular file").hint(access.descriptors()));
                }
                checked(Some(&found.ownership().map_err(system)?), &around, true)?;
                found.open(&access.options()).map_err(system)?
            }
            Err(WalkError::Missing { folder, name }) if access == Access::Append => {
                checked(None, &self_and_parents(&folder).map_err(system)?, true)?;
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
                let hint = match shell_path(target) {
                    Some(target) => format!("pass `{target}` if that is the file you mean"),
                    None => "pass the target of the link if that is the file you mean".to_owned(),
                };
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
        // No process can reach a file without a name, such as that of a shell's `<<EOF`.
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

    /// What to pass instead of a pipe or a device.
    fn descriptors(self) -> &'static str {
        match self {
            Self::Read => "name a file, or a descriptor such as /dev/fd/3",
            Self::Append => "name a file, or a descriptor: /dev/stderr, /dev/fd/3",
        }
    }
}

/// Whether a path names a descriptor that the caller opened, or `/dev/null`.
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
        // One that does not exist is compared by its path.
        let Ok(given) = path.metadata() else { continue };
        if all.contains(&id(&given)) {
            return Err(inside(what));
        }
    }
    Ok(())
}

/// Refuses a file in a missing directory that a script may write once it exists.
fn reject_if_in_missing(file: &Path, writable: &[Writable]) -> Result<(), String> {
    for Writable { what, path } in writable {
        if path.metadata().is_err()
            && skillrun::walk::real(file).starts_with(skillrun::walk::real(path))
        {
            return Err(inside(what));
        }
    }
    Ok(())
}

fn inside(what: &str) -> String {
    format!("is inside {what}, so a script could have written it")
}

/// `around` are the directories around a file, the innermost first. `file` is absent if it is yet to be created.
fn reject_if_others_write(file: Option<&Ownership>, around: &[Ownership]) -> Result<(), String> {
    if let Some(other) = file.and_then(other_writer) {
        return Err(other.to_string());
    }
    match around.iter().find_map(other_replacer) {
        Some(OtherWriter::Owner) => return Err("is in a directory of another user".into()),
        Some(OtherWriter::Mode) => {
            return Err("is in a directory that other users may write".into());
        }
        None => {}
    }
    // Another user may have linked a file of root there.
    let in_shared = around.first().and_then(other_writer).is_some();
    let own = rustix::process::geteuid().as_raw();
    match file {
        Some(file) if in_shared && file.metadata().uid() != own => {
            Err(OtherWriter::Owner.to_string())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
