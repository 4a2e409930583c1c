//! The keeper: an executable that this process holds, and a process that it starts.

use crate::{Backend, End, Unable};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use skillrun_keeper::{MAX_MESSAGE, Message, Plan, Report};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Built from `keeper/` for this target.
static ELF: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/keeper.elf"));
/// How long a keeper that was told to give up is waited for. It takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the removal of a control group is tried, a millisecond apart: the kernel may still be
/// burying its last process.
const TRIES: u32 = 20;

/// The keeper's executable. It lives in memory: nothing on a disk can be replaced, and it is gone with
/// this process.
#[derive(Debug)]
pub(crate) struct Executable(File);

impl Executable {
    pub(crate) fn load() -> Result<Self, Unable> {
        sealed("skillrun-keeper", ELF)
            .map(Self)
            .map_err(|error: io::Error| Unable {
                step: "load the keeper".into(),
                why: error.to_string(),
            })
    }
}

/// A file in memory that nobody can change.
pub(crate) fn sealed(name: &str, contents: &[u8]) -> io::Result<File> {
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

/// A keeper process. Dropped, it ends whatever it keeps, and is waited for.
#[derive(Debug)]
pub(crate) struct Keeper {
    process: Child,
    pub(crate) control: UnixStream,
    /// The output of the program that it will start.
    pub(crate) output: Option<(OwnedFd, OwnedFd)>,
    ended: bool,
}

impl Keeper {
    pub(crate) fn start(executable: &Executable, backend: Backend) -> Result<Self, Unable> {
        let start = || {
            let flags = SocketFlags::CLOEXEC;
            let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            // No code of ours may run between fork and exec: this process may have threads. So the
            // socket comes to the keeper as its input, and all else through the socket.
            let mut process = Command::new(format!("/proc/self/fd/{}", executable.0.as_raw_fd()))
                .arg0("skillrun-keeper")
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
        start().map_err(|error: io::Error| Unable {
            step: "start the keeper".into(),
            why: error.to_string(),
        })
    }

    /// Sends a plan, in memory of its own so that no size of it blocks, and the handles that go with
    /// it.
    pub(crate) fn send(
        &mut self,
        plan: &Plan,
        stdin: BorrowedFd<'_>,
        handles: &[BorrowedFd<'_>],
    ) -> Result<(), Unable> {
        let send = || {
            let bytes = postcard::to_allocvec(plan).map_err(io::Error::other)?;
            let mut memory = File::from(memfd_create("plan", MemfdFlags::CLOEXEC)?);
            memory.write_all(&bytes)?;
            let mut all = vec![memory.as_fd(), stdin];
            all.extend_from_slice(handles);
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
            let mut buffer = SendAncillaryBuffer::new(&mut space);
            if !buffer.push(SendAncillaryMessage::ScmRights(&all)) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let byte = [IoSlice::new(&[0])];
            sendmsg(&self.control, &byte, &mut buffer, SendFlags::NOSIGNAL)?;
            Ok(())
        };
        send().map_err(|error: io::Error| Unable {
            step: "tell the keeper what to do".into(),
            why: error.to_string(),
        })
    }

    /// Waits for what came of a trial.
    pub(crate) fn receive(&mut self) -> Result<End, Unable> {
        let mut received = Vec::new();
        loop {
            match whole_message(&received) {
                Ok(Some(message)) => {
                    return understand(message).and_then(|message| result(message.report));
                }
                Ok(None) => {}
                Err(error) => return Err(self.lost(error)),
            }
            let mut part = [0; 4096];
            match self.control.read(&mut part) {
                Ok(0) => return Err(self.lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => received.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(error)),
            }
        }
    }

    /// Takes the keeper's last message, and waits for its own end.
    pub(crate) fn finish(&mut self, message: &[u8]) -> Result<End, Unable> {
        let Message { report, cgroup } = understand(message)?;
        self.end();
        remove(cgroup);
        result(report)
    }

    /// What a keeper means that says nothing more.
    pub(crate) fn lost(&mut self, error: io::Error) -> Unable {
        let status = self.process.try_wait().ok().flatten();
        let why = status.map_or(error.to_string(), |status| {
            format!("the keeper died: {status}")
        });
        Unable {
            step: "learn how the program ended".into(),
            why,
        }
    }

    /// Waits for the end of a keeper that has nothing more to do, and for its funeral.
    fn end(&mut self) {
        self.ended = true;
        let handle = Pid::from_raw(self.process.id().cast_signed())
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        if let Some(handle) = handle {
            let patience = rustix::time::Timespec::try_from(PATIENCE).unwrap_or_default();
            let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience));
        }
        // What still lives hangs in the kernel. Killed, it takes the program's first process along.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.control.shutdown(Shutdown::Both);
            self.end();
            // One that had already ended has left its control group to this process.
            let mut last = Vec::new();
            let _ = self.control.read_to_end(&mut last);
            if let Ok(Some(Ok(message))) = whole_message(&last).map(|last| last.map(understand)) {
                remove(message.cgroup);
            }
        }
    }
}

/// The message that these bytes begin with, if all of it is there.
pub(crate) fn whole_message(bytes: &[u8]) -> io::Result<Option<&[u8]>> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let size = usize::try_from(u32::from_ne_bytes(*length)).unwrap_or(usize::MAX);
    match size {
        0..=MAX_MESSAGE => Ok(rest.get(..size)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn understand(message: &[u8]) -> Result<Message, Unable> {
    postcard::from_bytes(message).map_err(|error| Unable {
        step: "understand the keeper".into(),
        why: error.to_string(),
    })
}

fn result(report: Report) -> Result<End, Unable> {
    match report {
        Report::Ended(end) => Ok(end),
        Report::Unable { step, why } => Err(Unable { step, why }),
    }
}

fn remove(cgroup: Option<Vec<u8>>) {
    let Some(cgroup) = cgroup else {
        return;
    };
    for _ in 0..TRIES {
        match std::fs::remove_dir(OsStr::from_bytes(&cgroup)) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(1));
            }
            _ => return,
        }
    }
}
