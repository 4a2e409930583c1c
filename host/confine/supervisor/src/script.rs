//! Passes a program the checked bytes of its script, whatever is at the script's path.
//!
//! An interpreter is started with the path of its script and opens that file itself. Between the last
//! check and that moment, any process that may write the directory can replace the file. So the
//! kernel asks the supervisor about every file that the program opens for reading (a seccomp user
//! notification). If the path is the script's, the supervisor answers with a handle of an immutable
//! copy; the kernel never looks the path up. Every other call continues unchanged. The interpreter
//! sees the path it was given, so `$0`, `BASH_SOURCE`, `__file__` and messages are the same as
//! without confinement.
//!
//! In namespaces the copy is the file that is mounted over the script, read-only and in a file system
//! of the program's own. So `stat` of the path and the opened file agree, which `cp` and `install`
//! check. Otherwise (without namespaces, if the skill is writable, or for a script that is run as a
//! command) it is a sealed memfd, and `cp "$0"` fails there: it takes the script for a file that was
//! replaced. Rejected: the file at the script's path as long as it has the checked bytes, because it
//! can be changed in place before it is read.
//!
//! Rejected: only a mount of the copy over the script, because the kernel drops a mount when a
//! process in another mount namespace replaces the file under it; `/dev/fd/N` as the script's path,
//! because the script would see that name. Also rejected: answering only the first call, because some
//! interpreters open a script twice.
//!
//! Paths are compared as the text of an absolute path. A script that opens itself by another path
//! reads the file that is there.
//!
//! Some interpreters inspect the path before they open it: if another process puts a directory there,
//! Python runs the `__main__.py` in it and Node its `index.js`; if nothing is there, Node tries the
//! path with an extension. So nothing below the script's path is ever opened, and no path that
//! extends it before the interpreter has its script. Python does not follow links in the path; Node
//! is started so that it does not follow them either.

use crate::error::{ConfineError, Step as _};
use crate::sys::{self, Call};
use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;
use skillrun_supervisor::Plan;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;

/// What a call opens, in relation to the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OpenedPath {
    /// The script.
    Script,
    /// A path below the script's, as if the script were a directory.
    Below,
    /// The script's path plus an extension.
    WithExtension,
    /// Anything else.
    Other,
}

/// Answers the calls by which a program opens files, and refuses those that create internet sockets.
pub(crate) struct OpenHandler {
    calls: OwnedFd,
    script: OwnedFd,
    paths: Vec<Vec<u8>>,
    passed: usize,
    /// Calls that would create an internet socket.
    sockets: u64,
}

impl OpenHandler {
    /// Answers the calls that arrive on `calls` for the script of a plan. `script` has the checked
    /// bytes. If a copy covers the script's file, programs get that copy; fails if the copy has other
    /// bytes.
    pub(crate) fn new(
        plan: &Plan,
        calls: OwnedFd,
        script: OwnedFd,
        cover: Option<OwnedFd>,
    ) -> io::Result<Self> {
        let script = match cover {
            Some(cover) if bytes(&cover)? == bytes(&script)? => cover,
            Some(_) => return Err(io::Error::other("its copy has other bytes")),
            None => script,
        };
        // The program may own the copy and take a write lease on it: every later open here would then
        // block until the lease is released. The kernel grants no lease while another process has the
        // file open for reading; a path handle and the handle of a new memfd do not count as such.
        let script = open_again(&script)?.into();
        let paths = plan.script.iter().flat_map(|script| &script.paths);
        // Paths in the caller's memory end with a zero byte.
        let paths = paths.map(|path| [path.as_slice(), &[0]].concat());
        sys::wake_synchronously(calls.as_fd());
        Ok(Self {
            calls,
            script,
            paths: paths.collect(),
            passed: 0,
            sockets: 0,
        })
    }

    /// Answers one call, which must be waiting.
    pub(crate) fn serve(&mut self) {
        // A process that was killed meanwhile has no pending call.
        if let Ok(call) = sys::next_call(self.calls.as_fd()) {
            self.answer(&call);
        }
    }

    /// Counts the program's sockets from now on, without those that `verify` attempted to create before it started.
    pub(crate) fn begin(&mut self) {
        self.sockets = 0;
    }

    /// Internet sockets that the program wanted.
    pub(crate) fn refused_sockets(&self) -> u64 {
        self.sockets
    }

    fn answer(&mut self, call: &Call) {
        let calls = self.calls.as_fd();
        if call.is_socket {
            self.sockets += 1;
            // Never continued: programs whose sockets are reported have no network.
            let _ = sys::fail_call(calls, call, &Errno::PERM.into());
            return;
        }
        // A process that has exited takes no answer.
        let _ = match self.classify(call) {
            Ok(OpenedPath::Script) => match self.pass(call) {
                Ok(()) => {
                    self.passed += 1;
                    Ok(())
                }
                Err(error) => sys::fail_call(calls, call, &error),
            },
            Ok(OpenedPath::Below) => sys::fail_call(calls, call, &Errno::NOTDIR.into()),
            Ok(OpenedPath::WithExtension) if !self.has_script() => {
                sys::fail_call(calls, call, &Errno::NOENT.into())
            }
            Ok(OpenedPath::WithExtension | OpenedPath::Other) => sys::continue_call(calls, call),
            // Once the interpreter has its script, a process that hides its memory loses nothing.
            Err(_) if self.has_script() => sys::continue_call(calls, call),
            Err(error) => sys::fail_call(calls, call, &error),
        };
    }

    /// Whether the interpreter has opened its script. Before that, `check` opened every path once.
    fn has_script(&self) -> bool {
        self.passed > self.paths.len()
    }

    /// Finds out what a call opens.
    fn classify(&self, call: &Call) -> io::Result<OpenedPath> {
        let longest = self.paths.iter().map(Vec::len).max().unwrap_or(0);
        let mut path = vec![0; longest];
        let read = match sys::read_memory(call, &mut path) {
            // The call may be forbidden in a container, and it ignores the file system user id that
            // `allow_inspection` sets. `/proc/PID/mem` respects that id.
            Err(error) if is_forbidden(&error) => {
                let memory = File::open(format!("/proc/{}/mem", call.process))?;
                memory.read_at(&mut path, call.path)?
            }
            read => read?,
        };
        // If the call still waits, it waited all the time: the process id was not reused.
        sys::check_call(self.calls.as_fd(), call)?;
        let path = &path[..read];
        let of = |own: &Vec<u8>| match own.split_last() {
            _ if path.starts_with(own) => OpenedPath::Script,
            Some((_, text)) if path.starts_with(text) => match path.get(text.len()) {
                Some(b'/') => OpenedPath::Below,
                Some(b'.') => OpenedPath::WithExtension,
                _ => OpenedPath::Other,
            },
            _ => OpenedPath::Other,
        };
        let targets = self.paths.iter().map(of);
        Ok(targets.min().unwrap_or(OpenedPath::Other))
    }

    /// Answers a call with a new handle of the script, which has its own file position.
    fn pass(&self, call: &Call) -> io::Result<()> {
        let script = open_again(&self.script)?;
        sys::answer_with_handle(self.calls.as_fd(), call, script.as_fd())
    }
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported
    )
}

impl AsFd for OpenHandler {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.calls.as_fd()
    }
}

/// Opens the file of a handle again, with its own file position.
fn open_again(handle: &OwnedFd) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

fn bytes(handle: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_again(handle)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The path at which a copy covers the script's file.
pub(crate) fn cover(plan: &Plan) -> Option<&[u8]> {
    let script = plan.script.as_ref()?;
    let mut copies = plan.mounts.iter().filter(|mount| mount.contents.is_some());
    let cover = copies.find(|mount| script.paths.contains(&mount.at))?;
    Some(&cover.at)
}

/// Opens the script as the program will, and fails if the result is not the checked copy.
pub(crate) fn check(plan: &Plan, checked: Option<&OwnedFd>) -> Result<(), ConfineError> {
    let step = "pass the script to the program";
    let Some(script) = &plan.script else {
        return Ok(());
    };
    let missing = || ConfineError::new(step, "its checked bytes are missing");
    let checked = fstat(checked.ok_or_else(missing)?).step(step)?;
    for path in &script.paths {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(path.as_slice(), flags, Mode::empty()).step(step)?;
        let opened = fstat(opened).step(step)?;
        if (opened.st_dev, opened.st_ino) != (checked.st_dev, checked.st_ino) {
            return Err(ConfineError::new(step, "the kernel opened another file"));
        }
    }
    Ok(())
}
