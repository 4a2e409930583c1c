//! Gives a program the checked bytes of its script, whatever is at the script's path.
//!
//! An interpreter is started with the path of its script and opens that file itself. Between the last
//! check and that moment anybody who may write the directory can replace the file. So the kernel asks the
//! keeper about every file that the program opens for reading (a seccomp user notification). If the path is
//! the script's, the keeper answers with a handle of a sealed copy; the kernel never looks the path up.
//! Every other call goes on as it would have. The interpreter sees the path it was given, so `$0`,
//! `BASH_SOURCE`, `__file__` and messages are what they are without confinement.
//!
//! Rejected: a mount of the copy over the script, because the kernel drops a mount when a process in another mount
//! namespace replaces the file under it; `/dev/fd/N` as the script's path, because the script would see
//! that name. Also rejected: answering only the first call, because some interpreters open a script twice.
//!
//! The comparison is by the text of an absolute path. A script that opens itself by another path reads the file
//! that is there.
//!
//! Some interpreters look at the path before they open it: if somebody puts a directory there, Python runs the
//! `__main__.py` in it and Node its `index.js`; if nothing is there, Node tries the path with an extension. So nothing
//! below the script's path is ever opened, and nothing whose path continues it before the interpreter has its script.
//! Links in the path are not followed by Python; Node is started so that it does not follow them either.

use crate::sys::{self, Call};
use crate::unable::{Step as _, Unable};
use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;
use skillrun_keeper::Plan;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;

/// What a call opens, compared with the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// The script.
    Script,
    /// A path below the script's, as if that were a directory.
    Below,
    /// The script's path with an extension.
    Continued,
    /// Anything else.
    Other,
}

/// Answers the calls by which a program opens files.
pub(crate) struct Opens {
    calls: OwnedFd,
    script: OwnedFd,
    paths: Vec<Vec<u8>>,
    handed: usize,
}

impl Opens {
    /// Answers what comes through `calls` for the script of a plan.
    pub(crate) fn new(plan: &Plan, calls: OwnedFd, script: OwnedFd) -> Self {
        let paths = plan.script.iter().flat_map(|script| &script.paths);
        // Paths come from the kernel with the byte that ends them.
        let paths = paths.map(|path| [path.as_slice(), &[0]].concat());
        sys::wake_synchronously(calls.as_fd());
        Self {
            calls,
            script,
            paths: paths.collect(),
            handed: 0,
        }
    }

    /// Answers one call, which must be waiting.
    pub(crate) fn serve(&mut self) {
        // A process that was killed meanwhile has no call any more.
        if let Ok(call) = sys::next_call(self.calls.as_fd()) {
            self.answer(&call);
        }
    }

    fn answer(&mut self, call: &Call) {
        let calls = self.calls.as_fd();
        // A process that has ended takes no answer.
        let _ = match self.target(call) {
            Ok(Target::Script) => match self.hand(call) {
                Ok(()) => {
                    self.handed += 1;
                    Ok(())
                }
                Err(error) => sys::fail_call(calls, call, &error),
            },
            Ok(Target::Below) => sys::fail_call(calls, call, &Errno::NOTDIR.into()),
            Ok(Target::Continued) if !self.has_script() => {
                sys::fail_call(calls, call, &Errno::NOENT.into())
            }
            Ok(Target::Continued | Target::Other) => sys::continue_call(calls, call),
            // Once the interpreter has its script, a process that hides its memory misses nothing.
            Err(_) if self.has_script() => sys::continue_call(calls, call),
            Err(error) => sys::fail_call(calls, call, &error),
        };
    }

    /// Whether the interpreter has opened its script; before it, the check opened every path once.
    fn has_script(&self) -> bool {
        self.handed > self.paths.len()
    }

    /// What a call opens.
    fn target(&self, call: &Call) -> io::Result<Target> {
        let longest = self.paths.iter().map(Vec::len).max().unwrap_or(0);
        let mut path = vec![0; longest];
        let read = match sys::read_memory(call, &mut path) {
            // Root without all rights may look at it as the program's user, which only this file takes into account;
            // and a container may forbid the call.
            Err(error) if is_forbidden(&error) => {
                let memory = File::open(format!("/proc/{}/mem", call.process))?;
                memory.read_at(&mut path, call.path)?
            }
            read => read?,
        };
        // If it still waits, it waited all the time: the number was no other process's.
        sys::check_call(self.calls.as_fd(), call)?;
        let path = &path[..read];
        let of = |own: &Vec<u8>| match own.split_last() {
            _ if path.starts_with(own) => Target::Script,
            Some((_, text)) if path.starts_with(text) => match path.get(text.len()) {
                Some(b'/') => Target::Below,
                Some(b'.') => Target::Continued,
                _ => Target::Other,
            },
            _ => Target::Other,
        };
        let targets = self.paths.iter().map(of);
        Ok(targets.min().unwrap_or(Target::Other))
    }

    /// Makes a new handle of the script the result of a call. It has a position of its own.
    fn hand(&self, call: &Call) -> io::Result<()> {
        let script = File::open(format!("/proc/self/fd/{}", self.script.as_raw_fd()))?;
        sys::answer_with_handle(self.calls.as_fd(), call, script.as_fd())
    }
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported
    )
}

impl AsFd for Opens {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.calls.as_fd()
    }
}

/// Opens the script as the program will, and fails if that gives anything but the checked copy.
pub(crate) fn check(plan: &Plan, checked: Option<&OwnedFd>) -> Result<(), Unable> {
    let step = "give the program its script";
    let Some(script) = &plan.script else {
        return Ok(());
    };
    let missing = || Unable::new(step, "its checked bytes are missing");
    let checked = fstat(checked.ok_or_else(missing)?).step(step)?;
    for path in &script.paths {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path.as_slice(), flags, Mode::empty()).step(step)?;
        let opened = fstat(opened).step(step)?;
        if (opened.st_dev, opened.st_ino) != (checked.st_dev, checked.st_ino) {
            return Err(Unable::new(step, "the kernel opened another file"));
        }
    }
    Ok(())
}
