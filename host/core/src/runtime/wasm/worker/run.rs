//! One run in a worker, on a thread of the host that may block.

use super::super::compiled::GuestFile;
use super::super::deadline::Signal;
use super::super::engine::Finished;
use super::super::files::empty_handle;
use super::super::job::{Job, JobMount};
use super::super::sandbox::Ending;
use super::super::threads::{Monitor, Returned};
use super::client::Worker;
use super::pool::{Pool, Serves, Shared};
use super::wire::{
    self, CLOSED, CONFINED, DENIED, Denied, ENDED, End, FAILED, HANDLES, MAX_HANDLES, RUN, Request,
    SCRATCH, STDERR, STDOUT, SentScratch, decode, encode, invalid,
};
use crate::error::Error;
use crate::files::{plain, show};
use crate::outcome::{Artifact, Denial, DenialHint, Status, Usage};
use crate::runtime::Stdin;
use crate::runtime::artifacts::Artifacts;
use crate::runtime::denials::Denials;
use crate::runtime::output::Output;
use crate::runtime::pump::feed;
use crate::runtime::scratch::Scratch;
use bytes::Bytes;
use cap_fs_ext::OpenOptionsFollowExt as _;
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use skillrun_confine::wall::{self, WallKind};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

/// How often a job is sent to another worker because one died before it had it.
const MAX_ATTEMPTS: u32 = 3;
/// The longest path of an artefact: what the kernel allows, relative to a directory that may be as deep.
const MAX_PATH: usize = 2 * 4096;
/// The longest text that is accepted from a worker: a warning, a note, a reason.
const MAX_TEXT: usize = 4096;

/// What a run in a worker has besides its job.
pub(in crate::runtime::wasm) struct WorkerRun<'a> {
    /// Which workers it may use, and who may use its worker after it.
    pub(in crate::runtime::wasm) serves: Serves,
    pub(in crate::runtime::wasm) stdin: Option<Stdin>,
    /// Its scratch directory, made when the guest uses it.
    pub(in crate::runtime::wasm) scratch: Option<Arc<Scratch>>,
    pub(in crate::runtime::wasm) stdout: Output,
    pub(in crate::runtime::wasm) stderr: Output,
    /// Counts what the guest is denied.
    pub(in crate::runtime::wasm) denials: Arc<Denials>,
    pub(in crate::runtime::wasm) monitor: Arc<Monitor>,
    /// Resolves when the guest has to stop.
    pub(in crate::runtime::wasm) signal: Signal,
    /// Records when its time begins: once a worker is ready.
    pub(in crate::runtime::wasm) returned: &'a Returned,
}

/// The end of a run in a worker.
pub(in crate::runtime::wasm) struct Ended {
    pub(in crate::runtime::wasm) finished: Finished,
    /// What confined the worker.
    pub(in crate::runtime::wasm) layers: Vec<&'static str>,
}

/// How the conversation with a worker ended.
enum Last {
    Ended(Box<End>),
    /// The worker reports that it could not run the job.
    Failed(String),
    /// The worker is gone, or sent something invalid.
    Lost(Option<io::Error>),
}

impl Pool {
    /// Runs a job in a worker that may have it; `guests` are loaded if the worker does not have them, and the first one runs.
    pub(in crate::runtime::wasm) async fn run(
        &self,
        guests: &[GuestFile],
        job: Job,
        mounts: &[Arc<File>],
        mut run: WorkerRun<'_>,
    ) -> Result<Ended, Error> {
        let failed = |what: &str, error: io::Error| {
            Error::Sandbox(format!("cannot {what} a worker: {}", plain(&error)))
        };
        let shared = self.shared();
        let (limit, listable) = (job.limits.time, Listable::of(&job));
        let wall = shared
            .wall()
            .map_err(|why| failed("start", io::Error::other(why)))?;
        let has_namespaces = wall == WallKind::Namespaces;
        let passed = match has_namespaces {
            true => detach_mounts(shared, &job, mounts),
            false => plain_mounts(&job, mounts),
        };
        let mut handles = passed.map_err(|error| failed("pass a directory to", error))?;
        // Without namespaces, a worker of root is another user and owns what it creates.
        let is_private = !has_namespaces && rustix::process::geteuid().is_root();
        let written: Vec<Arc<OwnedFd>> = job
            .mounts
            .iter()
            .zip(&handles)
            .filter(|(mount, _)| mount.writable && is_private)
            .map(|(_, handle)| Arc::clone(handle))
            .collect();
        let stdin = run.stdin.take().filter(|_| job.input.is_empty());
        let fed = stdin.map(feed_pipe).transpose();
        let fed = fed.map_err(|error| failed("pass the input to", error))?;
        let (pipe, _feeding) = fed.unzip();
        let has_stdin = pipe.is_some();
        handles.extend(pipe);
        let scratch = match has_namespaces {
            true => None,
            // A ruleset cannot be extended when the guest uses it.
            false => {
                let sent = pass_scratch(run.scratch.take(), &mut handles);
                Some(sent.map_err(|error| failed("pass a directory to", error))?)
            }
        };
        let request = Request {
            guest: guests.first().map_or("", |guest| guest.name).to_owned(),
            job,
            has_stdin,
            scratch,
        };
        let request = encode(&request).map_err(|error| failed("send a job to", error))?;

        let mut worker = self
            .take(&run.serves, guests)
            .map_err(|error| failed("start", error))?;
        let mut attempt = 1;
        let began = loop {
            run.monitor
                .set_remote(Some(Arc::clone(&worker.control) as _));
            let sent = shared.load(&mut worker, guests).and_then(|()| {
                let began = run.returned.begin();
                send_request(&worker, &request, &handles)?;
                Ok(began)
            });
            match sent {
                Ok(began) => break began,
                // A worker may have died since it was last used. A job that did not reach it goes to another.
                Err(error) => {
                    let was_killed = worker.control.was_killed();
                    let layers = worker.layers.clone();
                    run.monitor.set_remote(None);
                    shared.end(worker);
                    if was_killed {
                        let finished = killed(run.returned.begin().elapsed(), limit);
                        return Ok(Ended { finished, layers });
                    }
                    if attempt == MAX_ATTEMPTS {
                        return Err(failed("send a job to", error));
                    }
                    attempt += 1;
                    worker = self.start().map_err(|error| failed("start", error))?;
                }
            }
        };
        worker.jobs += 1;
        let last = converse(shared, &mut worker, &mut run).await;
        let time = began.elapsed();
        let was_killed = worker.control.was_killed();
        // From here on, the watchdog of this run must not end the worker: it may run another job. The guest has ended; what
        // follows takes as long as the workspace is large, and does not count as its time.
        run.monitor.set_remote(None);
        run.returned.end();
        let why_lost = match last {
            Last::Lost(None) => worker.why_it_ended(),
            _ => String::new(),
        };
        if !written.is_empty() {
            // It serves no other run. One that is not what it was started as could go on creating files where they are given
            // back, faster than that is done.
            worker.end();
        }
        for handle in written {
            // What stays with the private user is no more than a file that its owner cannot use, so the run has not failed.
            let _ = wall::give_back(handle.as_fd());
        }
        let (finished, is_reusable) = match last {
            Last::Lost(_) if was_killed => (killed(time, limit), false),
            Last::Ended(end) => {
                let is_spent = end.is_spent;
                match finished(*end, &run.denials, &listable, (time, limit)) {
                    Ok(finished) => {
                        let is_explained = finished.ending.status != Status::Trapped;
                        (finished, is_explained && !is_spent)
                    }
                    Err(error) => (lost(&format!("its worker {error}"), time), false),
                }
            }
            Last::Failed(why) => {
                shared.end(worker);
                return Err(Error::Sandbox(why));
            }
            Last::Lost(Some(error)) => {
                let why = format!("the worker process was ended: {}", plain(&error));
                (lost(&why, time), false)
            }
            Last::Lost(None) => (lost(&why_lost, time), false),
        };
        let layers = worker.layers.clone();
        match is_reusable && worker.is_usable() {
            true => shared.give_back(worker, run.serves),
            false => shared.end(worker),
        }
        Ok(Ended { finished, layers })
    }
}

/// The end of a run whose worker the watchdog has killed because it did not stop.
fn killed(time: Duration, limit: Duration) -> Finished {
    let ending = match time >= limit {
        true => Ending::timed_out(limit),
        false => Ending::cancelled(),
    };
    without_end(ending, time)
}

/// The end of a run whose worker is gone, or cannot be believed.
fn lost(why: &str, time: Duration) -> Finished {
    without_end(Ending::trapped(why), time)
}

/// The end of a run that the worker did not report.
fn without_end(ending: Ending, time: Duration) -> Finished {
    Finished {
        ending,
        time,
        usage: Usage::default(),
        // Only the worker had them.
        artifacts: Artifacts {
            truncated: true,
            ..Artifacts::default()
        },
        limits_hit: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Handles on the directories and files of a job, from which nothing else can be reached.
fn detach_mounts(
    shared: &Shared,
    job: &Job,
    mounts: &[Arc<File>],
) -> io::Result<Vec<Arc<OwnedFd>>> {
    let mounts = job.mounts.iter().zip(mounts);
    let detached = mounts.map(|(mount, dir)| match &mount.only {
        None => shared.detach(dir.as_fd(), &mount.host, mount.writable),
        Some(only) => {
            let file = open_only(dir, only)?;
            shared.detach(file.as_fd(), &mount.host.join(only), mount.writable)
        }
    });
    detached.collect()
}

/// The same for a worker without namespaces, which Landlock confines to them: a plain handle could be climbed out of.
fn plain_mounts(job: &Job, mounts: &[Arc<File>]) -> io::Result<Vec<Arc<OwnedFd>>> {
    let mounts = job.mounts.iter().zip(mounts);
    let plain = mounts.map(|(mount, dir)| match &mount.only {
        None => Ok(Arc::new(dir.as_fd().try_clone_to_owned()?)),
        Some(only) => open_only(dir, only).map(Arc::new),
    });
    plain.collect()
}

/// Makes the scratch directory of a run, and adds its handle and that of an empty directory to the others.
fn pass_scratch(
    scratch: Option<Arc<Scratch>>,
    handles: &mut Vec<Arc<OwnedFd>>,
) -> io::Result<SentScratch> {
    let made = match scratch {
        Some(scratch) => scratch.open(),
        None => Err(Errno::NOENT.into()),
    };
    let sent = match made {
        Ok(made) => {
            handles.push(Arc::new(made));
            SentScratch::Made
        }
        Err(error) => SentScratch::Failed(number(&error)),
    };
    handles.push(Arc::new(empty_handle()?));
    Ok(sent)
}

/// The number of an error, for a worker.
fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())
}

/// A task that ends when it is dropped.
struct Feeding(JoinHandle<()>);

impl Drop for Feeding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A pipe that is fed with the standard input of a script as long as the run lasts.
fn feed_pipe(stdin: Stdin) -> io::Result<(Arc<OwnedFd>, Feeding)> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    let ours = pipe::Sender::from_owned_fd(ours)?;
    let feeding = tokio::spawn(async move { feed(Some(ours), b"", Some(stdin)).await });
    Ok((Arc::new(theirs), Feeding(feeding)))
}

/// Sends a request with its handles.
fn send_request(worker: &Worker, request: &[u8], handles: &[Arc<OwnedFd>]) -> io::Result<()> {
    let handles: Vec<BorrowedFd<'_>> = handles.iter().map(|handle| handle.as_fd()).collect();
    let mut parts: Vec<_> = handles.chunks(MAX_HANDLES).collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        worker.send(HANDLES, &encode(&part.len())?, part)?;
    }
    worker.send(RUN, request, last)
}

/// The single file of a mount. What has replaced it since the grant was checked is not followed if it is a link.
fn open_only(dir: &File, name: &str) -> io::Result<OwnedFd> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .follow(FollowSymlinks::No)
        .custom_flags(OFlags::PATH.bits().cast_signed());
    let file = cap_primitives::fs::open(dir, Path::new(name), &options)?;
    match file.metadata()?.is_file() {
        true => Ok(file.into()),
        false => Err(io::Error::other(
            "a granted file is no regular file any more",
        )),
    }
}

/// Reads what the worker sends until the run has ended.
async fn converse(shared: &Shared, worker: &mut Worker, run: &mut WorkerRun<'_>) -> Last {
    let mut readers = [true; 2];
    let (mut has_to_stop, mut has_begun) = (false, false);
    let mut is_confined = worker.serves_many();
    loop {
        let (kind, payload) = match worker.frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => return Last::Lost(None),
            Err(error) => return Last::Lost(Some(error)),
        };
        has_begun |= !matches!(kind, FAILED | CONFINED);
        match kind {
            CONFINED if !is_confined => match worker.set_layers(&payload) {
                Ok(()) => is_confined = true,
                Err(error) => return Last::Lost(Some(error)),
            },
            // No guest runs before.
            kind if !is_confined && kind != FAILED => return Last::Lost(Some(invalid())),
            STDOUT | STDERR => {
                let index = usize::from(kind == STDERR);
                let output = if kind == STDOUT {
                    &run.stdout
                } else {
                    &run.stderr
                };
                let is_read = pass_on(output, payload, &mut run.signal, &mut has_to_stop).await;
                if !is_read && std::mem::take(&mut readers[index]) {
                    // If the worker is gone, the next frame tells.
                    let _ = worker.send(CLOSED, &[kind], &[]);
                }
            }
            // Once for a run.
            SCRATCH => match run.scratch.take() {
                Some(scratch) => match send_scratch(shared, worker, &scratch) {
                    Ok(true) => {}
                    // The guest may try again.
                    Ok(false) => run.scratch = Some(scratch),
                    Err(error) => return Last::Lost(Some(error)),
                },
                None => return Last::Lost(Some(invalid())),
            },
            DENIED => match decode(&payload).and_then(denial) {
                Ok(denial) => run.denials.count(&denial.grant, denial.hint),
                Err(error) => return Last::Lost(Some(error)),
            },
            ENDED => match decode(&payload) {
                Ok(end) => return Last::Ended(Box::new(end)),
                Err(error) => return Last::Lost(Some(error)),
            },
            FAILED => {
                let why = text(&String::from_utf8_lossy(&payload));
                return match has_begun {
                    false => Last::Failed(why),
                    true => Last::Lost(Some(io::Error::other(why))),
                };
            }
            _ => return Last::Lost(Some(invalid())),
        }
    }
}

/// Makes the scratch directory and sends its handle, or why it cannot be made. Returns whether it was made.
fn send_scratch(shared: &Shared, worker: &Worker, scratch: &Scratch) -> io::Result<bool> {
    let detach = || {
        let (opened, path) = (scratch.open()?, scratch.path()?);
        shared.detach_once(opened.as_fd(), &path, true)
    };
    match detach() {
        Ok(handle) => {
            worker.send(SCRATCH, b"", &[handle.as_fd()])?;
            Ok(true)
        }
        Err(error) => {
            worker.send(SCRATCH, &encode(&number(&error))?, &[])?;
            Ok(false)
        }
    }
}

/// Keeps output and passes it on; returns whether its reader still wants some. Once the guest has to stop, no reader is waited
/// for: what the guest wrote before is still kept.
async fn pass_on(
    output: &Output,
    bytes: Bytes,
    signal: &mut Signal,
    has_to_stop: &mut bool,
) -> bool {
    let Some(sink) = output.sink() else {
        output.keep(bytes);
        return true;
    };
    let Some(chunk) = output.keep(bytes) else {
        return !sink.is_closed();
    };
    if *has_to_stop {
        // The queue may be full: then the reader gets it with the outcome.
        let _ = sink.try_send(chunk);
        return true;
    }
    tokio::select! {
        biased;
        sent = sink.send(chunk) => sent.is_ok(),
        _ = signal => {
            *has_to_stop = true;
            true
        }
    }
}

/// Which artefacts a worker can have: files in the writable directories of its run.
struct Listable {
    /// The writable directories and single files, and what the skill is shown as.
    paths: Vec<PathBuf>,
    has_workspace: bool,
}

impl Listable {
    fn of(job: &Job) -> Self {
        let writable = job.mounts.iter().filter(|mount| mount.writable);
        let mut paths: Vec<PathBuf> = writable.map(JobMount::real).collect();
        paths.extend(job.shown_skill().map(Path::to_owned));
        Self {
            paths,
            has_workspace: job.has_listed_workspace(),
        }
    }

    /// Whether this can be an artefact of the run.
    fn allows(&self, artifact: &Artifact) -> bool {
        let path = Path::new(&artifact.path);
        let climbs = path.components().any(|part| part == Component::ParentDir);
        let is_inside = self.paths.iter().any(|allowed| path.starts_with(allowed))
            || (self.has_workspace && path.is_relative());
        let is_digest = |digest: &String| {
            digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let has_digest = artifact.sha256.as_ref().is_none_or(is_digest);
        is_inside && !climbs && artifact.path.len() <= MAX_PATH && has_digest
    }
}

/// What a worker reports, checked: an artefact is in a writable directory, a number is one that a guest can have, and a text
/// is short and without control characters. Its lists were bounded when they were read.
fn finished(
    end: End,
    denials: &Denials,
    listable: &Listable,
    (time, limit): (Duration, Duration),
) -> io::Result<Finished> {
    let status = wire::status(end.status)?;
    let exit_code = match status {
        Status::Exited => u8::try_from(end.exit_code).map_err(|_| invalid())?.into(),
        Status::TimedOut | Status::OutOfFuel => 124,
        Status::Cancelled => 130,
        Status::OutOfMemory => 137,
        Status::Trapped | Status::Signaled => 134,
    };
    let mut ending = Ending {
        status,
        exit_code,
        note: end.note,
    };
    if let Some(note) = &mut ending.note {
        note.text = text(&note.text);
    }
    // The deadline of the host stops the guest, too, and may be a little earlier than the guest's own.
    if status == Status::Cancelled && time >= limit {
        ending = Ending::timed_out(limit);
    }
    let denied: io::Result<Vec<Denial>> = end.denied.into_iter().map(denial).collect();
    denials.replace(denied?, end.denied_truncated);
    let listed = end.artifacts.into_iter().map(wire::Listed::into_artifact);
    let listed = listed.collect::<io::Result<Vec<_>>>()?;
    if !listed.iter().all(|artifact| listable.allows(artifact)) {
        return Err(invalid());
    }
    let limits_hit = end.limits_hit.into_iter().map(wire::limit);
    let cpu_time_ms = match end.cpu_time_ms {
        cpu if cpu.is_finite() && cpu >= 0.0 => cpu,
        _ => return Err(invalid()),
    };
    Ok(Finished {
        ending,
        time,
        usage: Usage {
            fuel: end.fuel,
            peak_memory_bytes: end.peak_memory,
            cpu_time_ms,
        },
        artifacts: Artifacts {
            listed,
            truncated: end.artifacts_truncated,
        },
        limits_hit: limits_hit.collect::<io::Result<_>>()?,
        warnings: end.warnings.iter().map(|warning| text(warning)).collect(),
    })
}

fn denial(denied: Denied) -> io::Result<Denial> {
    let hint: Option<DenialHint> = denied.hint.map(wire::hint).transpose()?;
    Ok(Denial {
        grant: denied.grant,
        count: denied.count,
        hint,
    })
}

/// A short text without control characters.
fn text(text: &str) -> String {
    let short: String = text.chars().take(MAX_TEXT).collect();
    show(&short)
}
