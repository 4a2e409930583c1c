//! Starts programs and waits for them to end.

use crate::filter::{Memory, Network, filter, reported};
use crate::supervisor::{Executable, Supervisor, sealed_memfd, whole_reply};
use crate::transient::is_transient;
use crate::{Backend, ConfineError, End, Job, Limits, Mount, MountKind, NoBackendError, Script};
use skillrun_supervisor::{Guarded, GuardedPaths, MAX_MOUNTS, Plan, SYSTEM};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// File systems that support id-mapped mounts: ext4, XFS, Btrfs, and tmpfs. Others are probed.
const MAPPABLE: [i128; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];

/// Whether every program sees this path of the machine, with links resolved.
pub fn is_shown(path: &Path) -> bool {
    let real = path.canonicalize();
    real.is_ok_and(|real| SYSTEM.iter().any(|shown| real.starts_with(shown)))
}

/// A backend that was probed on this machine and works. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Confinement {
    shared: Arc<Shared>,
    probe: End,
    rejected: Vec<(Backend, ConfineError)>,
    keeps_spare: bool,
}

#[derive(Debug)]
struct Shared {
    executable: Executable,
    backend: Backend,
    /// An idle supervisor: starting one takes longer than starting a program.
    spare: Mutex<Option<Supervisor>>,
}

impl Shared {
    fn take_supervisor(&self) -> Result<Supervisor, ConfineError> {
        let spare = self
            .spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        spare.map_or_else(|| Supervisor::start(&self.executable, self.backend), Ok)
    }

    fn put_spare(&self, supervisor: Supervisor) {
        *self.spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(supervisor);
    }
}

/// A probe that was begun before it was known whether its result is needed.
static EXPECTED: Mutex<Option<Probing>> = Mutex::new(None);

/// A supervisor that probes.
#[derive(Debug)]
struct Probing {
    executable: Executable,
    supervisor: Supervisor,
}

impl Probing {
    fn begin(backend: Backend) -> Result<Self, ConfineError> {
        let executable = Executable::load()?;
        let mut supervisor = Supervisor::start(&executable, backend)?;
        begin_probe(&mut supervisor, backend, Vec::new())?;
        Ok(Self {
            executable,
            supervisor,
        })
    }
}

impl Confinement {
    /// Begins to probe the strongest backend, without waiting for the result, which the next [`Confinement::find`] uses. For a
    /// process that knows early that it will probably confine a program. If it does not after all, the supervisor ends
    /// with the process.
    pub fn expect() {
        // Whatever prevents it now, `find` meets and reports.
        if let Ok(probing) = Probing::begin(Backend::Namespaces) {
            *EXPECTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(probing);
        }
    }

    /// Probes the backends, the strongest first, and returns the first that works. A probe starts a
    /// confined process that attempts what must not be possible. A weaker backend is used only if this machine does not offer
    /// the stronger one, not if a probe failed for a reason that may pass.
    pub fn find() -> Result<Self, NoBackendError> {
        Self::find_by(Self::with)
    }

    fn find_by(
        probe: impl Fn(Backend) -> Result<Self, ConfineError>,
    ) -> Result<Self, NoBackendError> {
        let mut rejected = Vec::new();
        for backend in [Backend::Namespaces, Backend::Landlock] {
            match probe(backend) {
                Ok(found) => {
                    return Ok(Self { rejected, ..found });
                }
                Err(error) => {
                    let is_transient = is_transient(&error);
                    rejected.push((backend, error));
                    if is_transient {
                        return Err(NoBackendError {
                            rejected,
                            is_transient,
                        });
                    }
                }
            }
        }
        Err(NoBackendError {
            rejected,
            is_transient: false,
        })
    }

    /// Probes one backend.
    pub fn with(backend: Backend) -> Result<Self, ConfineError> {
        let expected = match backend {
            Backend::Namespaces => EXPECTED
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
            Backend::Landlock => None,
        };
        let Probing {
            executable,
            mut supervisor,
        } = expected.map_or_else(|| Probing::begin(backend), Ok)?;
        let probe = supervisor.receive()?;
        Ok(Self {
            shared: Arc::new(Shared {
                executable,
                backend,
                spare: Mutex::new(Some(supervisor)),
            }),
            probe,
            rejected: Vec::new(),
            keeps_spare: false,
        })
    }

    /// Starts the supervisor of the next program while one runs. This costs an idle process of one
    /// megabyte, and saves the time that the kernel takes to move it into its control group.
    pub fn with_spare_supervisor(self) -> Self {
        Self {
            keeps_spare: true,
            ..self
        }
    }

    /// How programs are confined.
    pub fn backend(&self) -> Backend {
        self.shared.backend
    }

    /// The layers and limits of the probe, which every program without network access and writable
    /// mounts has too.
    pub fn probe(&self) -> &End {
        &self.probe
    }

    /// Stronger backends that do not work here, with the reasons.
    pub fn rejected(&self) -> &[(Backend, ConfineError)] {
        &self.rejected
    }

    /// Whether a program could get this directory writable at `at`. Root's programs run under a
    /// private user, for which not every file system can be mounted.
    pub fn can_mount(&self, folder: OwnedFd, at: &Path) -> Result<(), ConfineError> {
        let kind = rustix::fs::fstatfs(&folder);
        let kind = kind.map_err(|error| failed("inspect a file system", error.into()))?;
        if self.backend() != Backend::Namespaces
            || !rustix::process::geteuid().is_root()
            || MAPPABLE.contains(&i128::from(kind.f_type))
        {
            return Ok(());
        }
        let mount = Mount {
            kind: MountKind::Open(folder),
            at: at.to_owned(),
            writable: true,
        };
        let mut supervisor = self.shared.take_supervisor()?;
        begin_probe(&mut supervisor, self.backend(), vec![mount])?;
        supervisor.receive()?;
        self.shared.put_spare(supervisor);
        Ok(())
    }

    /// Starts a program. Everything that it starts in turn ends when the returned value is dropped.
    ///
    /// Needs a tokio runtime with I/O and time.
    pub fn start(&self, job: Job) -> Result<Running, ConfineError> {
        let (plan, handles, guarded) = plan(self.backend(), job)?;
        let handles: Vec<BorrowedFd<'_>> = handles.iter().map(OwnedFd::as_fd).collect();
        let (theirs, ours) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|error| failed("create a pipe", error.into()))?;
        let mut supervisor = self.shared.take_supervisor()?;
        supervisor.send(&plan, theirs.as_fd(), &handles)?;
        // If it cannot start now, the next program reports the error.
        if self.keeps_spare
            && let Ok(next) = Supervisor::start(&self.shared.executable, self.backend())
        {
            self.shared.put_spare(next);
        }
        Running::new(supervisor, ours, guarded)
            .map_err(|error| failed("wait for the program", error))
    }
}

fn failed(step: &str, error: io::Error) -> ConfineError {
    ConfineError {
        step: step.into(),
        why: error.to_string(),
    }
}

/// A confined program. Dropping it kills the program and everything that it started. Outside of a tokio runtime this waits
/// until none of its processes is left; inside of one, another thread does, as with [`Running::abandon`].
#[derive(Debug)]
pub struct Running {
    /// Its standard input. Taking and dropping it closes the input.
    pub stdin: Option<pipe::Sender>,
    /// Its standard output. It reaches end of file when the last process that has it open exits. If
    /// it is taken and dropped, writing to it fails.
    pub stdout: Option<pipe::Receiver>,
    /// Its standard error.
    pub stderr: Option<pipe::Receiver>,
    control: UnixStream,
    /// The part of the supervisor's reply received so far.
    received: Vec<u8>,
    /// `None` once another thread waits for its end.
    program: Option<Program>,
}

/// The processes of a program. Dropping it kills them and blocks until none is left.
#[derive(Debug)]
struct Program {
    supervisor: Supervisor,
    /// Dropped after the supervisor, so when none of the program's processes is left.
    guarded: AsideGuard,
}

/// Moves aside protected paths that appeared, unless the supervisor has reported that it did.
#[derive(Debug)]
struct AsideGuard(Option<GuardedPaths>);

impl Drop for AsideGuard {
    fn drop(&mut self) {
        if let Some(guarded) = &mut self.0 {
            // The caller has given up, so nobody can be informed.
            let _ = guarded.move_aside();
        }
    }
}

impl Program {
    /// Whether there is nothing to do any more.
    fn is_gone(&self) -> bool {
        let guarded = self.guarded.0.as_ref();
        self.supervisor.ended && guarded.is_none_or(GuardedPaths::is_empty)
    }

    /// Kills the program, and drops `held` on another thread once none of its processes is left.
    fn end_elsewhere(self, held: impl Send + 'static) {
        let _ = self.supervisor.control.shutdown(Shutdown::Both);
        let rest = (self, held);
        let thread = std::thread::Builder::new().name("skillrun-ending".into());
        // If no thread can be started, this one waits.
        let _ = thread.spawn(move || drop(rest));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if tokio::runtime::Handle::try_current().is_ok()
            && let Some(program) = self.program.take_if(|program| !program.is_gone())
        {
            program.end_elsewhere(());
        }
    }
}

impl Running {
    fn new(mut supervisor: Supervisor, input: OwnedFd, guarded: GuardedPaths) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (stdout, stderr) = supervisor.output.take().ok_or_else(missing)?;
        let control = supervisor.control.try_clone()?;
        control.set_nonblocking(true)?;
        Ok(Self {
            stdin: Some(pipe::Sender::from_owned_fd(input)?),
            stdout: Some(pipe::Receiver::from_owned_fd(stdout)?),
            stderr: Some(pipe::Receiver::from_owned_fd(stderr)?),
            control: UnixStream::from_std(control)?,
            received: Vec::new(),
            program: Some(Program {
                supervisor,
                guarded: AsideGuard(Some(guarded)),
            }),
        })
    }

    /// Kills the program and everything that it started; [`Running::ended`] then returns its usage.
    pub fn stop(&self) {
        if let Some(program) = &self.program {
            // To the supervisor a closed socket means that the host gave up; its reply still arrives.
            let _ = program.supervisor.control.shutdown(Shutdown::Write);
        }
    }

    /// Kills the program and everything that it started, without waiting for that. Once none of its processes is left,
    /// `held` is dropped, on another thread: what the program may still use until then.
    pub fn abandon(mut self, held: impl Send + 'static) {
        if let Some(program) = self.program.take_if(|program| !program.is_gone()) {
            program.end_elsewhere(held);
        }
    }

    /// Waits until the program and everything that it started has ended. Its output must be read
    /// meanwhile, or the program blocks on it.
    ///
    /// If this fails, it has killed the program as far as that is possible. This is cancel-safe: it can be called again.
    pub async fn ended(&mut self) -> Result<End, ConfineError> {
        let gone = || failed("wait for the program", io::ErrorKind::BrokenPipe.into());
        let Program {
            supervisor,
            guarded,
        } = self.program.as_mut().ok_or_else(gone)?;
        let end = match reply(&mut self.control, &mut self.received).await {
            Ok(reply) => supervisor.finish(reply).await,
            Err(error) => Err(supervisor.disconnected(error).await),
        };
        if end.is_ok() {
            guarded.0 = None;
        }
        end
    }
}

/// Waits for the supervisor's reply; `received` is the part of it received so far.
async fn reply<'a>(control: &mut UnixStream, received: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    while whole_reply(received)?.is_none() {
        let mut part = [0; 4096];
        match control.read(&mut part).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => received.extend_from_slice(&part[..count]),
        }
    }
    Ok(whole_reply(received)?.unwrap_or_default())
}

/// Turns a job into a plan for a backend, its handles, and the guarded paths.
fn plan(backend: Backend, job: Job) -> Result<(Plan, Vec<OwnedFd>, GuardedPaths), ConfineError> {
    let invalid = |step: &str, why: String| ConfineError {
        step: step.into(),
        why,
    };
    if job.mounts.len() > MAX_MOUNTS {
        let step = format!("mount {} directories and files", job.mounts.len());
        let why = format!("at most {MAX_MOUNTS} are possible");
        return Err(invalid(&step, why));
    }
    let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let scratch = skillrun_supervisor::Scratch {
        at: bytes(job.scratch.seen_at(backend)),
        size: job.scratch.size,
    };
    let mut handles = Vec::new();
    let mut mounts = Vec::new();
    let mut protected = Vec::new();
    let mut numbers = Vec::new();
    for mount in job.mounts {
        let mut writable = mount.writable;
        let contents = match mount.kind {
            MountKind::Open(handle) => {
                numbers.push(Some(handles.len()));
                handles.push(handle);
                None
            }
            MountKind::Protected(handle, path) => {
                let stat = rustix::fs::fstat(&handle);
                let stat =
                    stat.map_err(|error| failed("inspect a protected path", error.into()))?;
                let original = Some((stat.st_dev, stat.st_ino));
                protected.push((mount.at.clone(), path, original));
                numbers.push(Some(handles.len()));
                handles.push(handle);
                writable = false;
                None
            }
            MountKind::Absent(path) => {
                protected.push((mount.at, path, None));
                continue;
            }
            MountKind::Contents(contents) => {
                numbers.push(None);
                Some(contents)
            }
        };
        mounts.push(skillrun_supervisor::Mount {
            at: bytes(&mount.at),
            writable: writable && contents.is_none(),
            contents,
        });
    }
    let guarded = guarded(&mounts, protected);
    let watched = watched(&guarded, &handles, &numbers)?;
    handles.push(job.scratch.handle);
    // Only the script's supervisor is asked about calls, and only namespaces refuse the network a second time.
    let network = match (job.network, backend, &job.script) {
        (true, ..) => Network::Granted,
        (false, Backend::Namespaces, Some(_)) => Network::Reported,
        (false, ..) => Network::Refused,
    };
    let script = job.script.map(|script| {
        let copy = sealed_memfd("script", &script.contents);
        handles.push(
            copy.map_err(|error| invalid("copy the script", error.to_string()))?
                .into(),
        );
        Ok::<_, ConfineError>(skillrun_supervisor::Script {
            paths: script.paths.iter().map(|path| bytes(path)).collect(),
            filter: reported(network),
        })
    });
    let script = script.transpose()?;
    let program_is_checked = job.checked.is_some();
    handles.extend(job.checked);
    let own = |text: OsString| text.into_vec();
    let mut arguments = vec![bytes(&job.program)];
    arguments.extend(job.arguments.into_iter().map(own));
    let environment = job.environment.into_iter();
    let plan = Plan {
        backend,
        program: bytes(&job.program),
        program_is_checked,
        script,
        arguments,
        environment: environment
            .map(|(name, value)| (own(name), own(value)))
            .collect(),
        directory: bytes(&job.directory),
        mounts,
        guarded,
        scratch,
        network: job.network,
        limits: job.limits,
        filter: filter(backend, network, Memory::InCgroup),
        filter_without_cgroup: filter(backend, network, Memory::InProcesses),
    };
    Ok((plan, handles, watched))
}

/// The device and inode of a file or directory.
type Identity = (u64, u64);

/// The protected paths at which nothing may appear, with the mounts in which the program could create something there.
fn guarded(
    mounts: &[skillrun_supervisor::Mount],
    protected: Vec<(PathBuf, PathBuf, Option<Identity>)>,
) -> Vec<Guarded> {
    let mut guarded = Vec::new();
    for (at, path, original) in protected {
        for (number, mount) in mounts
            .iter()
            .enumerate()
            .filter(|(_, mount)| mount.writable)
        {
            let below = at.strip_prefix(OsStr::from_bytes(&mount.at));
            let Some(below) = below.ok().filter(|below| !below.as_os_str().is_empty()) else {
                continue;
            };
            guarded.push(Guarded {
                mount: number,
                below: below.as_os_str().as_bytes().to_vec(),
                path: path.as_os_str().as_bytes().to_vec(),
                original,
            });
        }
    }
    guarded
}

/// The paths that the host checks itself if the supervisor is killed; `numbers` are the indices of
/// the mounts' handles.
fn watched(
    guarded: &[Guarded],
    handles: &[OwnedFd],
    numbers: &[Option<usize>],
) -> Result<GuardedPaths, ConfineError> {
    let mut watched = GuardedPaths::default();
    for one in guarded {
        let Guarded {
            mount,
            below,
            path,
            original,
        } = one;
        let number = numbers.get(*mount).copied().flatten();
        let Some(handle) = number.and_then(|number| handles.get(number)) else {
            continue;
        };
        let added = watched.add(handle.as_fd(), below, path, *original);
        let step = || format!("protect `{}`", String::from_utf8_lossy(path));
        added.map_err(|error| failed(&step(), error))?;
    }
    Ok(watched)
}

/// Asks a supervisor to set everything up and attempt what must not be possible; no program is
/// executed.
fn begin_probe(
    supervisor: &mut Supervisor,
    backend: Backend,
    mounts: Vec<Mount>,
) -> Result<(), ConfineError> {
    let open = |path: &Path| {
        let opened = path
            .canonicalize()
            .and_then(|path| Ok((File::open(&path)?, path)));
        opened.map_err(|error| failed(&format!("open `{}`", path.display()), error))
    };
    let (scratch, temporary) = open(&std::env::temp_dir())?;
    let (nothing, _) = open(Path::new("/dev/null"))?;
    let job = Job {
        program: PathBuf::new(),
        checked: None,
        // It exists nowhere, so it can only be opened if the supervisor answers the call.
        script: Some(Script {
            paths: vec!["/skillrun-probe".into()],
            contents: Vec::new(),
        }),
        arguments: Vec::new(),
        environment: Vec::new(),
        directory: "/".into(),
        mounts,
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
    let (mut plan, handles, _) = plan(backend, job)?;
    plan.arguments.clear();
    let handles: Vec<BorrowedFd<'_>> = handles.iter().map(OwnedFd::as_fd).collect();
    supervisor.send(&plan, nothing.as_fd(), &handles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Enforcement, LimitEnforcement, Stopped, Usage};
    use rustix::process::{Pid, test_kill_process};
    use std::sync::mpsc;
    use std::thread::ThreadId;

    /// A program that runs until it is stopped, and its supervisor.
    fn started(confinement: &Confinement) -> (Running, Pid, tempfile::TempDir) {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().canonicalize().unwrap();
        let running = confinement.start(Job {
            program: "/bin/sleep".into(),
            checked: None,
            script: None,
            arguments: vec!["infinity".into()],
            environment: Vec::new(),
            directory: "/".into(),
            mounts: Vec::new(),
            scratch: crate::Scratch {
                handle: File::open(&path).unwrap().into(),
                path,
                at: "/tmp".into(),
                size: 1 << 20,
            },
            network: false,
            limits: Limits {
                time: Duration::from_secs(30),
                memory: 64 << 20,
                processes: 8,
                file_size: 1 << 20,
                disk: 1 << 20,
                open_files: 64,
            },
        });
        let running = running.unwrap();
        let supervisor = &running.program.as_ref().unwrap().supervisor;
        let pid = Pid::from_child(&supervisor.process);
        (running, pid, scratch)
    }

    fn nothing() -> End {
        End {
            stopped: Stopped::Exited(0),
            time: Duration::ZERO,
            usage: Usage {
                cpu: Duration::ZERO,
                peak_memory: 0,
            },
            layers: Vec::new(),
            enforcement: LimitEnforcement {
                time: Enforcement::Hard,
                memory: Enforcement::Hard,
                disk: Enforcement::Hard,
                processes: Enforcement::Hard,
            },
            appeared: Vec::new(),
            refused_sockets: 0,
        }
    }

    /// What was probed after a probe of namespaces that failed for this reason, and what came of it.
    fn found_after(why: &str) -> (Vec<Backend>, Result<Backend, bool>) {
        let probed = std::cell::RefCell::new(Vec::new());
        let found = Confinement::find_by(|backend| {
            probed.borrow_mut().push(backend);
            match backend {
                Backend::Namespaces => Err(ConfineError {
                    step: "send the plan to the supervisor".into(),
                    why: why.into(),
                }),
                Backend::Landlock => Ok(Confinement {
                    shared: Arc::new(Shared {
                        executable: Executable::load()?,
                        backend,
                        spare: Mutex::new(None),
                    }),
                    probe: nothing(),
                    rejected: Vec::new(),
                    keeps_spare: false,
                }),
            }
        });
        let found = found.map(|found| found.backend());
        (
            probed.into_inner(),
            found.map_err(|error| error.is_transient),
        )
    }

    #[test]
    fn a_weaker_backend_is_not_used_for_a_reason_that_may_pass() {
        let transient = found_after("Too many references: cannot splice (os error 109)");
        assert_eq!(transient, (vec![Backend::Namespaces], Err(true)));
        let permanent = found_after("Operation not permitted (os error 1)");
        let both = vec![Backend::Namespaces, Backend::Landlock];
        assert_eq!(permanent, (both, Ok(Backend::Landlock)));
    }

    #[test]
    fn a_probe_leaves_its_sandbox_to_the_next_plan() {
        let Probing { mut supervisor, .. } = Probing::begin(Backend::Namespaces).unwrap();
        if supervisor.receive().is_err() {
            // There are no namespaces here.
            return;
        }
        let id = supervisor.process.id();
        // The first process of the sandbox is the supervisor's only child.
        let init = || std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let first = init();
        assert_eq!(first.split_whitespace().count(), 1, "{first}");
        begin_probe(&mut supervisor, Backend::Namespaces, Vec::new()).unwrap();
        supervisor.receive().unwrap();
        assert_eq!(init(), first);
    }

    #[test]
    fn what_an_abandoned_program_may_use_is_dropped_on_another_thread_after_its_end() {
        struct Held(Pid, mpsc::Sender<(ThreadId, bool)>);
        impl Drop for Held {
            fn drop(&mut self) {
                let is_left = test_kill_process(self.0).is_ok();
                let thread = std::thread::current().id();
                self.1.send((thread, is_left)).unwrap();
            }
        }
        let Ok(confinement) = Confinement::find() else {
            return;
        };
        let (dropped, was_dropped) = mpsc::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let (running, pid, scratch) = started(&confinement);
            running.abandon((Held(pid, dropped), scratch));
        });
        let (thread, is_left) = was_dropped.recv().unwrap();
        assert_ne!(thread, std::thread::current().id());
        assert!(!is_left);
    }
}
