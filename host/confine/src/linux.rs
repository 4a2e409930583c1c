//! Starting a program, and waiting for its end.

use crate::filter::filters;
use crate::keeper::Keeper;
use crate::{Backend, End, Job, Limits, Unable, Unavailable};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
};
use rustix::net::{SocketType, sendmsg, socketpair};
use skillrun_keeper::{MAX_PLACES, MAX_REPORT, Plan, Report};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Directories and files of the machine that every program may read and execute: what interpreters
/// and tools are made of. Nothing here is a person's.
const SYSTEM: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/perl",
    "/etc/pki",
    "/etc/ssl",
    "/etc/terminfo",
];
/// How long a keeper that was told to give up is waited for. It takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// A way of holding programs that was tried on this machine and works. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Confinement {
    keeper: Arc<Keeper>,
    backend: Backend,
    trial: End,
    passed_over: Vec<(Backend, Unable)>,
}

impl Confinement {
    /// Tries the backends, the strongest first, and takes the first that works: a process is started
    /// in it that attempts what must not be possible.
    pub fn find() -> Result<Self, Unavailable> {
        let mut tried = Vec::new();
        for backend in [Backend::Namespaces, Backend::Landlock] {
            match Self::with(backend) {
                Ok(found) => {
                    return Ok(Self {
                        passed_over: tried,
                        ..found
                    });
                }
                Err(unable) => tried.push((backend, unable)),
            }
        }
        Err(Unavailable { tried })
    }

    /// Tries one backend.
    pub fn with(backend: Backend) -> Result<Self, Unable> {
        let keeper = Arc::new(Keeper::load()?);
        let trial = try_out(&keeper, backend)?;
        Ok(Self {
            keeper,
            backend,
            trial,
            passed_over: Vec::new(),
        })
    }

    /// How programs are held.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The layers and limits that the trial had, and so every program without a writable place.
    pub fn trial(&self) -> &End {
        &self.trial
    }

    /// Stronger backends that do not work here, with what they met.
    pub fn passed_over(&self) -> &[(Backend, Unable)] {
        &self.passed_over
    }

    /// Starts a program. Whatever it starts in turn ends with the value that is returned.
    ///
    /// Needs a tokio runtime with I/O.
    pub fn start(&self, job: Job) -> Result<Running, Unable> {
        let unable = |step: &str| {
            let step = step.to_owned();
            move |error: io::Error| Unable {
                step,
                why: error.to_string(),
            }
        };
        let piped = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
        let (stdin, input) = piped().map_err(|e| unable("make a pipe")(e.into()))?;
        let started = self.launch(job, stdin)?;
        let asynchronous = || {
            io::Result::Ok((
                pipe::Sender::from_owned_fd(input)?,
                pipe::Receiver::from_owned_fd(started.stdout)?,
                pipe::Receiver::from_owned_fd(started.stderr)?,
                UnixStream::from_std(started.control)?,
            ))
        };
        let (stdin, stdout, stderr, control) =
            asynchronous().map_err(unable("wait for the program"))?;
        Ok(Running {
            stdin: Some(stdin),
            stdout,
            stderr,
            control: Some(control),
            keeper: started.keeper,
        })
    }

    fn launch(&self, job: Job, stdin: OwnedFd) -> Result<Started, Unable> {
        let (plan, handles) = plan(self.backend, job)?;
        let handles: Vec<BorrowedFd<'_>> = handles.iter().map(OwnedFd::as_fd).collect();
        launch(&self.keeper, &plan, &stdin, &handles)
    }
}

/// A confined program. Dropped, it is ended with everything that it started before this returns.
#[derive(Debug)]
pub struct Running {
    /// Its standard input; taken and dropped, the input ends.
    pub stdin: Option<pipe::Sender>,
    /// Its standard output. It ends when the last process that has it does.
    pub stdout: pipe::Receiver,
    /// Its standard error.
    pub stderr: pipe::Receiver,
    /// Closed, it tells the keeper to end everything.
    control: Option<UnixStream>,
    keeper: Child,
}

impl Running {
    /// Waits until the program and everything that it started has ended. Somebody must read its
    /// output meanwhile, or it waits for that.
    pub async fn ended(&mut self) -> Result<End, Unable> {
        let lost = |why: String| Unable {
            step: "learn how the program ended".into(),
            why,
        };
        let Some(control) = &mut self.control else {
            return Err(lost("it was told before".into()));
        };
        let mut bytes = Vec::new();
        let most = MAX_REPORT as u64;
        let read = control.take(most).read_to_end(&mut bytes).await;
        read.map_err(|error| lost(error.to_string()))?;
        self.control = None;
        let status = self.keeper.wait();
        let status = status.map_err(|error| lost(error.to_string()))?;
        if bytes.is_empty() {
            return Err(lost(format!("the keeper died: {status}")));
        }
        understand(&bytes)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.control.take().is_some() {
            give_up(&mut self.keeper);
        }
    }
}

/// Waits for a keeper whose host has closed the socket.
fn give_up(keeper: &mut Child) {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let handle = Pid::from_raw(keeper.id().cast_signed())
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if let Some(handle) = handle {
        let patience = rustix::time::Timespec::try_from(PATIENCE).unwrap_or_default();
        let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience));
    }
    // What still lives hangs in the kernel. Killed, it takes the program's first process along.
    let _ = keeper.kill();
    let _ = keeper.wait();
}

fn understand(report: &[u8]) -> Result<End, Unable> {
    match postcard::from_bytes(report) {
        Ok(Report::Ended(end)) => Ok(end),
        Ok(Report::Unable { step, why }) => Err(Unable { step, why }),
        Err(error) => Err(Unable {
            step: "understand the keeper".into(),
            why: error.to_string(),
        }),
    }
}

/// A keeper at work.
struct Started {
    keeper: Child,
    control: std::os::unix::net::UnixStream,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

/// What a job comes to in a backend, and the handles that go with it.
fn plan(backend: Backend, job: Job) -> Result<(Plan, Vec<OwnedFd>), Unable> {
    let unable = |step: &str, why: String| Unable {
        step: step.into(),
        why,
    };
    if job.places.len() > MAX_PLACES {
        let why = format!("{} are more than {MAX_PLACES}", job.places.len());
        return Err(unable("grant so many places", why));
    }
    let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let scratch = skillrun_keeper::Scratch {
        at: bytes(job.scratch.seen_at(backend)),
        size: job.scratch.size,
    };
    let mut handles = Vec::new();
    let mut places = Vec::new();
    for place in job.places {
        places.push(skillrun_keeper::Place {
            at: bytes(&place.at),
            writable: place.writable,
        });
        handles.push(place.handle);
    }
    handles.push(job.scratch.handle);
    let own = |text: OsString| text.into_vec();
    let mut arguments = vec![bytes(&job.program)];
    arguments.extend(job.arguments.into_iter().map(own));
    let environment = job.environment.into_iter();
    let plan = Plan {
        backend,
        program: bytes(&job.program),
        arguments,
        environment: environment
            .map(|(name, value)| (own(name), own(value)))
            .collect(),
        directory: bytes(&job.directory),
        system: SYSTEM.iter().map(|path| path.as_bytes().to_vec()).collect(),
        places,
        scratch,
        network: job.network,
        limits: job.limits,
        filters: filters(backend, job.network)?,
    };
    Ok((plan, handles))
}

/// Starts a keeper and tells it what to do.
fn launch(
    keeper: &Keeper,
    plan: &Plan,
    stdin: &OwnedFd,
    handles: &[BorrowedFd<'_>],
) -> Result<Started, Unable> {
    let unable = |error: io::Error| Unable {
        step: "start the keeper".into(),
        why: error.to_string(),
    };
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(|error| unable(error.into()))?;
    // Nothing may run between fork and exec here: this process may have threads. So the socket comes
    // to the keeper as its input, and all else through the socket.
    let mut child = Command::new(keeper.path())
        .arg0("skillrun-keeper")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(unable)?;
    let control = std::os::unix::net::UnixStream::from(ours);
    let sent = send(control.as_fd(), plan, stdin, handles);
    let output = child.stdout.take().zip(child.stderr.take());
    let (Ok(()), Some((stdout, stderr))) = (&sent, output) else {
        drop(control);
        give_up(&mut child);
        return Err(unable(
            sent.err()
                .unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()),
        ));
    };
    control.set_nonblocking(true).map_err(unable)?;
    Ok(Started {
        keeper: child,
        control,
        stdout: stdout.into(),
        stderr: stderr.into(),
    })
}

/// Sends a plan, in memory of its own so that no size of it blocks, and the handles that go with it.
fn send(
    to: BorrowedFd<'_>,
    plan: &Plan,
    stdin: &OwnedFd,
    handles: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = postcard::to_allocvec(plan).map_err(io::Error::other)?;
    let mut memory = File::from(memfd_create("plan", MemfdFlags::CLOEXEC)?);
    memory.write_all(&bytes)?;
    let mut all = vec![memory.as_fd(), stdin.as_fd()];
    all.extend_from_slice(handles);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut buffer = SendAncillaryBuffer::new(&mut space);
    if !buffer.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(to, &[IoSlice::new(&[0])], &mut buffer, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Has a keeper set everything up and try what must not be possible; nothing is executed.
fn try_out(keeper: &Keeper, backend: Backend) -> Result<End, Unable> {
    use std::io::Read as _;
    let unable = |error: io::Error| Unable {
        step: format!("try {}", backend.word()),
        why: error.to_string(),
    };
    let temporary = std::env::temp_dir().canonicalize().map_err(unable)?;
    let scratch = File::open(&temporary).map_err(unable)?;
    let nothing = File::open("/dev/null").map_err(unable)?;
    let job = Job {
        program: "/nothing".into(),
        arguments: Vec::new(),
        environment: Vec::new(),
        directory: "/".into(),
        places: Vec::new(),
        scratch: crate::Scratch {
            handle: scratch.into(),
            path: temporary,
            at: "/tmp".into(),
            size: 1 << 20,
        },
        network: false,
        limits: Limits {
            time: Duration::from_secs(10),
            memory: 64 << 20,
            processes: 8,
            file_size: 1 << 20,
            disk: 1 << 20,
            open_files: 64,
        },
    };
    let (mut plan, handles) = plan(backend, job)?;
    plan.program.clear();
    plan.arguments.clear();
    let handles: Vec<BorrowedFd<'_>> = handles.iter().map(OwnedFd::as_fd).collect();
    let mut started = launch(keeper, &plan, &nothing.into(), &handles)?;
    started.control.set_nonblocking(false).map_err(unable)?;
    let mut report = Vec::new();
    let most = MAX_REPORT as u64;
    let read = (&started.control).take(most).read_to_end(&mut report);
    let status = started.keeper.wait();
    read.map_err(unable)?;
    let status = status.map_err(unable)?;
    if report.is_empty() {
        return Err(unable(io::Error::other(format!(
            "the keeper died: {status}"
        ))));
    }
    understand(&report)
}
