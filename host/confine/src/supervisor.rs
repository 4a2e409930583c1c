//! The supervisor's executable, and the process that runs it.

use crate::{Backend, ConfineError, End};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use skillrun_supervisor::{MAX_REPLY, Plan, Reply, Report, remove_cgroup, send_handles};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

/// Built from `supervisor/` for this target.
static ELF: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor.elf"));
/// How long we wait for a supervisor to exit. It takes milliseconds.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The supervisor's executable, kept in memory: there is no file on disk that could be replaced, and
/// it is gone with this process.
#[derive(Debug)]
pub(crate) struct Executable(File);

impl Executable {
    pub(crate) fn load() -> Result<Self, ConfineError> {
        sealed_memfd("skillrun-supervisor", ELF)
            .map(Self)
            .map_err(|error: io::Error| ConfineError {
                step: "load the supervisor".into(),
                why: error.to_string(),
            })
    }
}

/// A sealed memfd, which no process can change.
pub(crate) fn sealed_memfd(name: &str, contents: &[u8]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let named = |flags| memfd_create(name, flags);
    // Kernels before 6.3 do not know the flag and need none.
    let memory = named(flags | MemfdFlags::EXEC).or_else(|_| named(flags))?;
    let mut file = File::from(memory);
    file.write_all(contents)?;
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file)
}

/// A supervisor process. Dropping it ends its program and waits for both, so it blocks.
#[derive(Debug)]
pub(crate) struct Supervisor {
    pub(crate) process: Child,
    pub(crate) control: UnixStream,
    /// The output of the program that it will start.
    pub(crate) output: Option<(OwnedFd, OwnedFd)>,
    /// Whether it was reaped.
    pub(crate) ended: bool,
}

impl Supervisor {
    pub(crate) fn start(executable: &Executable, backend: Backend) -> Result<Self, ConfineError> {
        let start = || {
            let flags = SocketFlags::CLOEXEC;
            let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            // No code of ours may run between fork and exec, because this process may have threads.
            // So the supervisor gets the socket as its standard input, and everything else through
            // the socket.
            let mut process = Command::new(format!("/proc/self/fd/{}", executable.0.as_raw_fd()))
                .arg0("skillrun-supervisor")
                .arg(backend.word())
                .env_clear()
                .current_dir("/")
                .stdin(Stdio::from(theirs))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            let output = process.stdout.take().zip(process.stderr.take());
            Ok(Self {
                process,
                control: UnixStream::from(ours),
                output: output.map(|(stdout, stderr)| (stdout.into(), stderr.into())),
                ended: false,
            })
        };
        start().map_err(|error: io::Error| ConfineError {
            step: "start the supervisor".into(),
            why: error.to_string(),
        })
    }

    /// Sends a plan and its handles. The plan is written to a memfd, so that its size cannot block
    /// the socket.
    pub(crate) fn send(
        &mut self,
        plan: &Plan,
        stdin: BorrowedFd<'_>,
        handles: &[BorrowedFd<'_>],
    ) -> Result<(), ConfineError> {
        let send = || {
            let bytes = postcard::to_allocvec(plan).map_err(io::Error::other)?;
            let mut memory = File::from(memfd_create("plan", MemfdFlags::CLOEXEC)?);
            memory.write_all(&bytes)?;
            let mut all = vec![memory.as_fd(), stdin];
            all.extend_from_slice(handles);
            send_handles(&self.control, &all)
        };
        send().map_err(|error: io::Error| ConfineError {
            step: "send the plan to the supervisor".into(),
            why: error.to_string(),
        })
    }

    /// Waits for the result of a probe.
    pub(crate) fn receive(&mut self) -> Result<End, ConfineError> {
        let mut received = Vec::new();
        loop {
            match whole_reply(&received) {
                Ok(Some(message)) => {
                    return parse_reply(message).and_then(|message| result(message.report));
                }
                Ok(None) => {}
                Err(error) => return Err(self.no_reply(error)),
            }
            let mut part = [0; 4096];
            match self.control.read(&mut part) {
                Ok(0) => return Err(self.no_reply(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => received.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.no_reply(error)),
            }
        }
    }

    /// Parses the supervisor's last reply, and waits for the supervisor to exit. This is cancel-safe.
    pub(crate) async fn finish(&mut self, message: &[u8]) -> Result<End, ConfineError> {
        self.exit().await;
        let Reply { report, cgroup } = parse_reply(message)?;
        // It is not needed any more, so an error does not matter.
        let _ = tokio::task::spawn_blocking(move || remove(cgroup)).await;
        result(report)
    }

    /// The error for a supervisor that closed its socket without a reply. Waits for it to exit.
    pub(crate) async fn disconnected(&mut self, error: io::Error) -> ConfineError {
        let error = self.no_reply(error);
        self.exit().await;
        error
    }

    fn no_reply(&mut self, error: io::Error) -> ConfineError {
        let status = self.process.try_wait().ok().flatten();
        let why = status.map_or(error.to_string(), |status| {
            format!("the supervisor died: {status}")
        });
        ConfineError {
            step: "receive the program's result".into(),
            why,
        }
    }

    /// Waits for a supervisor that has nothing more to do, and reaps it.
    async fn exit(&mut self) {
        if self.ended {
            return;
        }
        // A supervisor that could not start the program waits for another plan.
        let _ = self.control.shutdown(Shutdown::Both);
        #[expect(
            deprecated,
            reason = "sound for an `OwnedFd`, which stays open; what replaces it is unsafe"
        )]
        let register = |handle| AsyncFd::with_interest(handle, Interest::READABLE).ok();
        let handle = self.handle().and_then(register);
        if let Some(handle) = handle
            && timeout(EXIT_TIMEOUT, handle.readable()).await.is_err()
        {
            let _ = self.process.kill();
            // It does not end before the system call in which it hangs.
            let _ = handle.readable().await;
        }
        self.reap();
    }

    /// The same for a thread that may block.
    fn exit_blocking(&mut self) {
        if let Some(handle) = self.handle() {
            let timeout = rustix::time::Timespec::try_from(EXIT_TIMEOUT).unwrap_or_default();
            let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout));
        }
        self.reap();
    }

    /// A handle that becomes readable when the supervisor exits.
    fn handle(&self) -> Option<OwnedFd> {
        let pid = Pid::from_raw(self.process.id().cast_signed())?;
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }

    /// Reaps the supervisor. If it is still alive, it hangs in the kernel. Killing it also kills the program's init process.
    fn reap(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.ended = true;
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.control.shutdown(Shutdown::Both);
            self.exit_blocking();
            // A supervisor that had already finished leaves its control group to this process.
            let mut last = Vec::new();
            let _ = self.control.read_to_end(&mut last);
            if let Ok(Some(Ok(message))) = whole_reply(&last).map(|last| last.map(parse_reply)) {
                remove(message.cgroup);
            }
        }
    }
}

/// The reply that these bytes begin with, if it is complete.
pub(crate) fn whole_reply(bytes: &[u8]) -> io::Result<Option<&[u8]>> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let size = usize::try_from(u32::from_ne_bytes(*length)).unwrap_or(usize::MAX);
    match size {
        0..=MAX_REPLY => Ok(rest.get(..size)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn parse_reply(message: &[u8]) -> Result<Reply, ConfineError> {
    postcard::from_bytes(message).map_err(|error| ConfineError {
        step: "parse the supervisor's reply".into(),
        why: error.to_string(),
    })
}

fn result(report: Report) -> Result<End, ConfineError> {
    match report {
        Report::Ended(end) => Ok(end),
        Report::Failed { step, why } => Err(ConfineError { step, why }),
    }
}

fn remove(cgroup: Option<Vec<u8>>) {
    if let Some(cgroup) = cgroup {
        remove_cgroup(Path::new(OsStr::from_bytes(&cgroup)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, kill_process};
    use std::cell::Cell;

    /// The task beside it lets the supervisor go on. If the wait blocked the thread, it would do so too late.
    #[test]
    fn waiting_for_a_supervisor_that_does_not_exit_does_not_block_the_thread() {
        let executable = Executable::load().unwrap();
        let mut supervisor = Supervisor::start(&executable, Backend::Namespaces).unwrap();
        let pid = Pid::from_child(&supervisor.process);
        kill_process(pid, Signal::STOP).unwrap();
        let reply = Reply {
            report: Report::Failed {
                step: "start".into(),
                why: "a test".into(),
            },
            cgroup: None,
        };
        let reply = postcard::to_allocvec(&reply).unwrap();
        let continued = Cell::new(false);
        let finish = async {
            let end = supervisor.finish(&reply).await;
            assert!(continued.get(), "it ended by itself");
            end.unwrap_err()
        };
        let go_on = async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            continued.set(true);
            kill_process(pid, Signal::CONT).unwrap();
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let both = async { tokio::join!(biased; finish, go_on) };
        let (error, ()) = runtime.unwrap().block_on(both);
        assert_eq!(error.to_string(), "cannot start: a test");
    }
}
