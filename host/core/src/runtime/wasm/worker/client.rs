//! A worker as its host sees it.

use super::super::threads::Remote;
use super::server::is_worker;
use super::wire::{FAILED, FromWorker, READY, STOP, WAITING, decode, invalid, send_frame};
use super::{LANDLOCK, NAME};
use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use skillrun_confine::wall::WallKind;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long a worker may take to get ready: on a busy machine, some hundred times what it needs.
const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a worker may leave what we send it unread: it reads whenever it has nothing else to do.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a worker that has closed its socket may take to exit.
const EXIT_TIMEOUT: Duration = Duration::from_millis(200);
/// How long the end of a killed worker is waited for: some thousand times what it needs.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// The names of layers that a worker can report.
const LAYERS: [&str; 4] = ["namespaces", "private-user", "landlock", "seccomp"];

/// A worker process. Dropping it kills the process and waits for its end.
pub(super) struct Worker {
    process: Child,
    pub(super) control: Arc<Control>,
    frames: FromWorker,
    /// The guests that it has loaded.
    pub(super) loaded: Vec<&'static str>,
    /// How many jobs it was given.
    pub(super) jobs: u32,
    /// What confines it. Nothing yet, if it confines itself to the handles of its run.
    pub(super) layers: Vec<&'static str>,
    pub(super) wall: WallKind,
}

/// What the watchdog of a run needs of its worker.
pub(super) struct Control {
    socket: OwnedFd,
    /// The process that we started. It watches the one in the namespaces, and ends with it.
    process: OwnedFd,
    /// The one in the namespaces, which runs the guests. The kernel kills it when the watcher has died, so this saves the time
    /// until then: half a millisecond, several on a busy machine. `None` if this kernel does not list it.
    inner: OnceLock<OwnedFd>,
    was_killed: AtomicBool,
}

impl Control {
    /// Whether the host has ended the worker.
    pub(super) fn was_killed(&self) -> bool {
        self.was_killed.load(Ordering::Relaxed)
    }
}

impl Remote for Control {
    fn stop(&self) {
        // This may be an async thread, so it does not wait. A worker that does not read cannot be told to stop.
        if send_frame(&self.socket, STOP, b"", &[], Some(Duration::ZERO)).is_err() {
            self.kill();
        }
    }

    fn kill(&self) {
        self.was_killed.store(true, Ordering::Relaxed);
        // Fails if it has exited.
        for process in self.inner.get().into_iter().chain([&self.process]) {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

/// Starts an executable as a worker with this socket as its standard input. It inherits nothing else.
pub(super) fn spawn(program: &Path, arguments: &[&str], socket: OwnedFd) -> io::Result<Child> {
    Command::new(program)
        .arg0(NAME)
        .args(arguments)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

impl Worker {
    /// Starts a worker and waits until it is confined. Blocks for some milliseconds.
    pub(super) fn start(program: &Path, wall: WallKind) -> io::Result<Self> {
        if is_worker() {
            let why = "this program was started as a worker, but does not call `serve_if_worker`";
            return Err(io::Error::other(why));
        }
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let arguments: &[&str] = match wall {
            WallKind::Landlock => &[LANDLOCK],
            _ => &[],
        };
        let process = spawn(program, arguments, theirs)?;
        let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("it has no process id"))?;
        let mut worker = Self {
            control: Arc::new(Control {
                socket: ours,
                process: pidfd_open(pid, PidfdFlags::empty())?,
                inner: OnceLock::new(),
                was_killed: AtomicBool::new(false),
            }),
            process,
            frames: FromWorker::default(),
            loaded: Vec::new(),
            jobs: 0,
            layers: Vec::new(),
            wall,
        };
        worker.wait_until_ready()?;
        if let Some(inner) = only_child(pid) {
            let _ = worker.control.inner.set(inner);
        }
        Ok(worker)
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let timeout = Timespec::try_from(READY_TIMEOUT).map_err(io::Error::other)?;
        let mut ready = [PollFd::new(&self.control.socket, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match (self.frame()?, self.wall) {
            (Some((WAITING, _)), WallKind::Landlock) => Ok(()),
            (Some((READY, payload)), WallKind::Namespaces) => self.set_layers(&payload),
            (Some((FAILED, why)), _) => Err(io::Error::other(String::from_utf8_lossy(&why))),
            (Some(_), _) => Err(invalid()),
            (None, _) => Err(io::Error::other(format!(
                "it ended before it was ready: {}",
                self.why_it_ended()
            ))),
        }
    }

    /// Keeps the layers that the worker reports to be confined by.
    pub(super) fn set_layers(&mut self, payload: &[u8]) -> io::Result<()> {
        let layers: Vec<String> = decode(payload)?;
        let known = |name: &String| LAYERS.into_iter().find(|known| known == name);
        let layers = layers.iter().filter_map(known);
        self.layers = ["worker"].into_iter().chain(layers).collect();
        Ok(())
    }

    /// Whether it can serve another run.
    pub(super) fn serves_many(&self) -> bool {
        self.wall == WallKind::Namespaces
    }

    /// Sends a frame.
    pub(super) fn send(
        &self,
        kind: u8,
        payload: &[u8],
        handles: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        send_frame(
            &self.control.socket,
            kind,
            payload,
            handles,
            Some(SEND_TIMEOUT),
        )
    }

    /// Waits for the next frame; `None` if the worker is gone.
    pub(super) fn frame(&mut self) -> io::Result<Option<(u8, Bytes)>> {
        self.frames.next(self.control.socket.as_fd())
    }

    /// Whether it waits for a job, as far as can be known without one.
    pub(super) fn is_usable(&self) -> bool {
        let mut socket = [PollFd::new(&self.control.socket, PollFlags::IN)];
        let now = Timespec::default();
        // A worker without a job has nothing to say. If there is something to read, it is its end.
        !self.control.was_killed()
            && self.frames.is_empty()
            && poll(&mut socket, Some(&now)) == Ok(0)
    }

    /// Kills it, and waits until it has exited.
    pub(super) fn end(&self) {
        self.control.kill();
        let mut process = [PollFd::new(&self.control.process, PollFlags::IN)];
        let timeout = Timespec::try_from(END_TIMEOUT).ok();
        let _ = poll(&mut process, timeout.as_ref());
    }

    /// Why it ended. It has closed its end of the socket, but that does not mean that it has exited: if it does not soon, it
    /// is killed.
    pub(super) fn why_it_ended(&mut self) -> String {
        let mut process = [PollFd::new(&self.control.process, PollFlags::IN)];
        let timeout = Timespec::try_from(EXIT_TIMEOUT).ok();
        if poll(&mut process, timeout.as_ref()) == Ok(0) {
            self.control.kill();
        }
        match self.process.wait() {
            Ok(status) => match status.signal() {
                Some(signal) => {
                    let name = crate::outcome::signal_name(signal);
                    format!("the worker process was killed by {name}")
                }
                None => format!("the worker process ended ({status})"),
            },
            Err(error) => format!("the worker process ended: {error}"),
        }
    }
}

/// The only child of a process.
fn only_child(parent: Pid) -> Option<OwnedFd> {
    let parent = parent.as_raw_nonzero();
    let children = || std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let listed = children().ok()?;
    let child = Pid::from_raw(listed.trim().parse().ok()?)?;
    let handle = pidfd_open(child, PidfdFlags::empty()).ok()?;
    // Its number may have been that of another process when the handle was made, but not if it is still there: the watcher
    // has one child in its life.
    (children().ok()? == listed).then_some(handle)
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.control.kill();
        let _ = self.process.wait();
        // The one in the namespaces is not our child, but has the socket too.
        let mut socket = [PollFd::new(&self.control.socket, PollFlags::empty())];
        let timeout = Timespec::try_from(END_TIMEOUT).ok();
        let _ = poll(&mut socket, timeout.as_ref());
    }
}
