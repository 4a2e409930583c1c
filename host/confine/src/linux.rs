//! Starting a program, and waiting for its end.

use crate::filter::{Memory, filter, opens};
use crate::keeper::{Executable, Keeper, sealed, whole_message};
use crate::{Backend, End, Job, Limits, Place, Script, Unable, Unavailable, What};
use skillrun_keeper::{Absent, AbsentPaths, MAX_PLACES, Plan, SYSTEM};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// File systems that can be mounted with other ids: ext4, XFS, Btrfs, and those in memory. What
/// others can is tried.
const MAPPABLE: [i128; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];

/// Whether every program sees this path of the machine, links resolved.
pub fn is_shown(path: &Path) -> bool {
    let real = path.canonicalize();
    real.is_ok_and(|real| SYSTEM.iter().any(|shown| real.starts_with(shown)))
}

/// A way of holding programs that was tried on this machine and works. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Confinement {
    shared: Arc<Shared>,
    trial: End,
    passed_over: Vec<(Backend, Unable)>,
    ahead: bool,
}

#[derive(Debug)]
struct Shared {
    executable: Executable,
    backend: Backend,
    /// A keeper that waits for something to do: it takes longer to come up than to start a program.
    spare: Mutex<Option<Keeper>>,
}

impl Shared {
    fn keeper(&self) -> Result<Keeper, Unable> {
        let spare = self
            .spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        spare.map_or_else(|| Keeper::start(&self.executable, self.backend), Ok)
    }

    fn keep(&self, keeper: Keeper) {
        *self.spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(keeper);
    }
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
        let executable = Executable::load()?;
        let mut keeper = Keeper::start(&executable, backend)?;
        let trial = try_out(&mut keeper, backend, Vec::new())?;
        Ok(Self {
            shared: Arc::new(Shared {
                executable,
                backend,
                spare: Mutex::new(Some(keeper)),
            }),
            trial,
            passed_over: Vec::new(),
            ahead: false,
        })
    }

    /// Has the keeper of the next program come up while one is at work. It costs an idle process of a
    /// megabyte, and saves the time in which the kernel puts it into its control group.
    pub fn ahead(self) -> Self {
        Self {
            ahead: true,
            ..self
        }
    }

    /// How programs are held.
    pub fn backend(&self) -> Backend {
        self.shared.backend
    }

    /// The layers and limits that the trial had, and so every program without a writable place.
    pub fn trial(&self) -> &End {
        &self.trial
    }

    /// Stronger backends that do not work here, with what they met.
    pub fn passed_over(&self) -> &[(Backend, Unable)] {
        &self.passed_over
    }

    /// Whether a program could be given this directory to change, and would see it at `at`. Root's
    /// programs have a user of their own, for whom not every file system can be mounted.
    pub fn can_give(&self, folder: OwnedFd, at: &Path) -> Result<(), Unable> {
        let kind = rustix::fs::fstatfs(&folder);
        let kind = kind.map_err(|error| unable("look at a file system", error.into()))?;
        if self.backend() != Backend::Namespaces
            || !rustix::process::geteuid().is_root()
            || MAPPABLE.contains(&i128::from(kind.f_type))
        {
            return Ok(());
        }
        let place = Place {
            what: What::Open(folder),
            at: at.to_owned(),
            writable: true,
        };
        let mut keeper = self.shared.keeper()?;
        try_out(&mut keeper, self.backend(), vec![place])?;
        self.shared.keep(keeper);
        Ok(())
    }

    /// Starts a program. Whatever it starts in turn ends with the value that is returned.
    ///
    /// Needs a tokio runtime with I/O.
    pub fn start(&self, job: Job) -> Result<Running, Unable> {
        let (plan, handles, absent) = plan(self.backend(), job)?;
        let handles: Vec<BorrowedFd<'_>> = handles.iter().map(OwnedFd::as_fd).collect();
        let (theirs, ours) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|error| unable("make a pipe", error.into()))?;
        let mut keeper = self.shared.keeper()?;
        keeper.send(&plan, theirs.as_fd(), &handles)?;
        // If it cannot start now, the next program will tell.
        if self.ahead
            && let Ok(next) = Keeper::start(&self.shared.executable, self.backend())
        {
            self.shared.keep(next);
        }
        Running::new(keeper, ours, absent).map_err(|error| unable("wait for the program", error))
    }
}

fn unable(step: &str, error: io::Error) -> Unable {
    Unable {
        step: step.into(),
        why: error.to_string(),
    }
}

/// A confined program. Dropped, it is ended with everything that it started before this returns.
#[derive(Debug)]
pub struct Running {
    /// Its standard input; taken and dropped, the input ends.
    pub stdin: Option<pipe::Sender>,
    /// Its standard output. It ends when the last process that has it does; taken and dropped, writing
    /// to it fails.
    pub stdout: Option<pipe::Receiver>,
    /// Its standard error.
    pub stderr: Option<pipe::Receiver>,
    control: UnixStream,
    /// What came of the keeper's message so far.
    received: Vec<u8>,
    keeper: Keeper,
    /// Dropped after the keeper, and so when nothing of the program runs any more.
    absent: MovesAside,
}

/// Moves aside what appeared of protected paths, unless the keeper has told that it did.
#[derive(Debug)]
struct MovesAside(Option<AbsentPaths>);

impl Drop for MovesAside {
    fn drop(&mut self) {
        if let Some(absent) = &mut self.0 {
            // Whoever could be told has given up.
            let _ = absent.move_aside();
        }
    }
}

impl Running {
    fn new(mut keeper: Keeper, input: OwnedFd, absent: AbsentPaths) -> io::Result<Self> {
        let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
        let (stdout, stderr) = keeper.output.take().ok_or_else(missing)?;
        let control = keeper.control.try_clone()?;
        control.set_nonblocking(true)?;
        Ok(Self {
            stdin: Some(pipe::Sender::from_owned_fd(input)?),
            stdout: Some(pipe::Receiver::from_owned_fd(stdout)?),
            stderr: Some(pipe::Receiver::from_owned_fd(stderr)?),
            control: UnixStream::from_std(control)?,
            received: Vec::new(),
            keeper,
            absent: MovesAside(Some(absent)),
        })
    }

    /// Has the program and everything that it started ended now; [`Running::ended`] tells what it used.
    pub fn stop(&self) {
        // The keeper takes a closed socket for a host that gave up; its report still comes through.
        let _ = self.keeper.control.shutdown(std::net::Shutdown::Write);
    }

    /// Waits until the program and everything that it started has ended. Somebody must read its
    /// output meanwhile, or it waits for that.
    ///
    /// Dropped before it is done, it can be called again.
    pub async fn ended(&mut self) -> Result<End, Unable> {
        loop {
            match whole_message(&self.received) {
                Ok(Some(message)) => {
                    let end = self.keeper.finish(message);
                    if end.is_ok() {
                        self.absent.0 = None;
                    }
                    return end;
                }
                Ok(None) => {}
                Err(error) => return Err(self.keeper.lost(error)),
            }
            let mut part = [0; 4096];
            match self.control.read(&mut part).await {
                Ok(0) => return Err(self.keeper.lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.received.extend_from_slice(&part[..count]),
                Err(error) => return Err(self.keeper.lost(error)),
            }
        }
    }
}

/// What a job comes to in a backend, the handles that go with it, and the paths that must stay absent.
fn plan(backend: Backend, job: Job) -> Result<(Plan, Vec<OwnedFd>, AbsentPaths), Unable> {
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
    let mut protected = Vec::new();
    let mut numbers = Vec::new();
    for place in job.places {
        let contents = match place.what {
            What::Open(handle) => {
                numbers.push(Some(handles.len()));
                handles.push(handle);
                None
            }
            What::Absent(path) => {
                protected.push((place.at, path));
                continue;
            }
            What::Contents(contents) => {
                numbers.push(None);
                Some(contents)
            }
        };
        places.push(skillrun_keeper::Place {
            at: bytes(&place.at),
            writable: place.writable && contents.is_none(),
            contents,
        });
    }
    let absent = absent(&places, protected);
    let watched = watched(&absent, &handles, &numbers)?;
    handles.push(job.scratch.handle);
    let script = job.script.map(|script| {
        let copy = sealed("script", &script.contents);
        handles.push(
            copy.map_err(|error| unable("copy the script", error.to_string()))?
                .into(),
        );
        Ok(skillrun_keeper::Script {
            paths: script.paths.iter().map(|path| bytes(path)).collect(),
            filter: opens(),
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
        places,
        absent,
        scratch,
        network: job.network,
        limits: job.limits,
        filter: filter(backend, job.network, Memory::InGroup),
        filter_without_group: filter(backend, job.network, Memory::InProcesses),
    };
    Ok((plan, handles, watched))
}

/// Protected paths that do not exist, by the places in which the program could create them.
fn absent(places: &[skillrun_keeper::Place], protected: Vec<(PathBuf, PathBuf)>) -> Vec<Absent> {
    let mut absent = Vec::new();
    for (at, path) in protected {
        for (number, place) in places
            .iter()
            .enumerate()
            .filter(|(_, place)| place.writable)
        {
            let below = at.strip_prefix(OsStr::from_bytes(&place.at));
            let Some(below) = below.ok().filter(|below| !below.as_os_str().is_empty()) else {
                continue;
            };
            absent.push(Absent {
                place: number,
                below: below.as_os_str().as_bytes().to_vec(),
                path: path.as_os_str().as_bytes().to_vec(),
            });
        }
    }
    absent
}

/// What the host looks up itself, should the keeper be killed before it could; `numbers` are those of the
/// places' handles.
fn watched(
    absent: &[Absent],
    handles: &[OwnedFd],
    numbers: &[Option<usize>],
) -> Result<AbsentPaths, Unable> {
    let mut watched = AbsentPaths::default();
    for Absent { place, below, path } in absent {
        let number = numbers.get(*place).copied().flatten();
        let Some(handle) = number.and_then(|number| handles.get(number)) else {
            continue;
        };
        let added = watched.add(handle.as_fd(), below, path);
        let step = || format!("protect `{}`", String::from_utf8_lossy(path));
        added.map_err(|error| unable(&step(), error))?;
    }
    Ok(watched)
}

/// Has a keeper set everything up and try what must not be possible; nothing is executed.
fn try_out(keeper: &mut Keeper, backend: Backend, places: Vec<Place>) -> Result<End, Unable> {
    let open = |path: &Path| {
        let opened = path
            .canonicalize()
            .and_then(|path| Ok((File::open(&path)?, path)));
        opened.map_err(|error| unable(&format!("open `{}`", path.display()), error))
    };
    let (scratch, temporary) = open(&std::env::temp_dir())?;
    let (nothing, _) = open(Path::new("/dev/null"))?;
    let job = Job {
        program: PathBuf::new(),
        checked: None,
        // It exists nowhere, so it can only be opened if the keeper hands it over.
        script: Some(Script {
            paths: vec!["/skillrun-trial".into()],
            contents: Vec::new(),
        }),
        arguments: Vec::new(),
        environment: Vec::new(),
        directory: "/".into(),
        places,
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
    keeper.send(&plan, nothing.as_fd(), &handles)?;
    keeper.receive()
}
