//! The worker process: gets ready, locks itself in, and runs what the host sends.

use super::super::compiled::{Compiled, Idle};
use super::super::engine::{Finished, Loaded, Surroundings};
use super::super::files::{MakeScratch, set_empty};
use super::super::interpreter::{self, Interpreter};
use super::super::job::{Handle, Job};
use super::super::priority::{Priority, is_lowered};
use super::super::sandbox::Io;
use super::super::threads::Threads;
use super::super::typescript::Transpiler;
use super::connection::{Connection, RunConnection, Stream, wired};
use super::wire::{
    CLOSED, CONFINED, ENDED, End, FAILED, HANDLES, LOAD, Listed, READY, RUN, Request, SCRATCH,
    STDERR, STDOUT, STOP, SentScratch, WAITING, decode, encode, invalid, limit_number, send_frame,
    status_number,
};
use super::{LANDLOCK, MOUNTS, NAME};
use crate::error::Error;
use crate::runtime::artifacts::Artifacts;
use crate::runtime::denials::Denials;
use skillrun_confine::ConfineError;
use skillrun_confine::wall::{self, Access, WallKind};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Instant;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};

/// Serves as a worker if this process was started as one, and does not return then. Call it first in `main`, before any
/// thread is started, in a program that is named by [`Workers::Processes`](crate::runtime::Workers).
pub fn serve_if_worker() {
    if !is_worker() {
        return;
    }
    let word = std::env::args_os().nth(1).unwrap_or_default();
    if word == MOUNTS {
        match own_socket() {
            Ok(socket) => wall::serve_helper(socket),
            Err(_) => std::process::exit(1),
        }
    }
    let serve = match word == LANDLOCK {
        true => serve_one,
        false => serve,
    };
    let code = match own_socket().and_then(serve) {
        Ok(()) => 0,
        Err(_) => 1,
    };
    std::process::exit(code)
}

/// Whether this process was started as a worker.
pub(super) fn is_worker() -> bool {
    std::env::args_os().next().is_some_and(|name| name == NAME)
}

/// The socket that the host gave us as standard input.
fn own_socket() -> io::Result<OwnedFd> {
    std::io::stdin().as_fd().try_clone_to_owned()
}

fn serve(socket: OwnedFd) -> io::Result<()> {
    let ready = wall::enter_namespaces(socket.as_fd())
        .map_err(|error| error.to_string())
        .and_then(|()| {
            // Read once from a file of the kernel that a worker does not have.
            let _ = rustix::param::page_size();
            // Before the lock-down, which forbids to make new kinds of descriptors.
            let runtime = event_loop().map_err(|error| error.to_string())?;
            let layers = wall::lock_down().map_err(|error| error.to_string())?;
            let empty = File::open("/empty").map_err(|error| error.to_string())?;
            set_empty(empty);
            Ok((runtime, layers))
        });
    match ready {
        Ok((runtime, layers)) => {
            send_frame(&socket, READY, &encode(&layers)?, &[], None)?;
            runtime.block_on(async { Worker::new(socket, WallKind::Namespaces)?.serve().await })
        }
        Err(why) => send_frame(&socket, FAILED, why.as_bytes(), &[], None),
    }
}

/// Serves one run as a worker without namespaces. It confines itself when it has the handles of the run.
fn serve_one(socket: OwnedFd) -> io::Result<()> {
    let ready = wall::enter_watched(socket.as_fd()).and_then(|()| {
        let _ = rustix::param::page_size();
        event_loop()
    });
    match ready {
        Ok(runtime) => {
            send_frame(&socket, WAITING, b"", &[], None)?;
            runtime.block_on(async { Worker::new(socket, WallKind::Landlock)?.serve().await })
        }
        Err(why) => send_frame(&socket, FAILED, why.to_string().as_bytes(), &[], None),
    }
}

fn event_loop() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
}

struct Worker {
    /// Whether it is confined already, or has to confine itself to the handles of its run.
    wall: WallKind,
    connection: Arc<Connection>,
    guests: HashMap<String, Arc<Loaded>>,
    transpiler: Arc<Transpiler>,
    threads: Threads,
    /// Handles that arrived before their request.
    handles: Vec<OwnedFd>,
}

impl Worker {
    fn new(socket: OwnedFd, wall: WallKind) -> io::Result<Self> {
        Ok(Self {
            wall,
            connection: Arc::new(Connection::new(socket)?),
            guests: HashMap::new(),
            transpiler: Arc::new(Transpiler::in_worker()),
            threads: Threads::new(Arc::new(watch::Sender::new(0))),
            handles: Vec::new(),
        })
    }

    /// Does what the host says until it is gone.
    async fn serve(mut self) -> io::Result<()> {
        while let Some((kind, payload)) = self.connection.next_frame().await? {
            match kind {
                LOAD => self.load(&payload)?,
                HANDLES => {
                    let count: usize = decode(&payload)?;
                    for _ in 0..count {
                        self.handles.push(self.connection.handle()?);
                    }
                }
                RUN => {
                    self.run(decode(&payload)?).await?;
                    if self.wall == WallKind::Landlock {
                        return Ok(());
                    }
                }
                // The run that they are for has ended.
                STOP | CLOSED | SCRATCH => {}
                _ => return Err(invalid()),
            }
        }
        Ok(())
    }

    /// Loads a guest from the file that comes with its name.
    fn load(&mut self, name: &[u8]) -> io::Result<()> {
        let handle = self.connection.handle()?;
        // It is a handle for the path only.
        let file = File::open(format!("/proc/self/fd/{}", handle.as_raw_fd()))?;
        let name = std::str::from_utf8(name).map_err(|_| invalid())?;
        let loaded = match name {
            interpreter::TYPESCRIPT => self.transpiler.load_file(file).map(|()| None),
            _ => match Interpreter::by_name(name, &self.transpiler) {
                Some(interpreter) => load(interpreter, file).map(Some),
                None => return Err(invalid()),
            },
        };
        match loaded {
            Ok(loaded) => self
                .guests
                .extend(loaded.map(|loaded| (name.to_owned(), loaded))),
            // The run that needs it fails with this.
            Err(error) => self.connection.send(FAILED, error.to_string().as_bytes())?,
        }
        Ok(())
    }

    async fn run(&mut self, request: Request) -> io::Result<()> {
        let Request {
            guest,
            job,
            has_stdin,
            scratch,
        } = request;
        // Not what the host says decides whether this worker has to confine itself.
        if scratch.is_some() != (self.wall == WallKind::Landlock) {
            return Err(invalid());
        }
        let mut handles = std::mem::take(&mut self.handles).into_iter();
        let mut next = || handles.next().map_or_else(|| self.connection.handle(), Ok);
        let mut mounts = Vec::new();
        for _ in &job.mounts {
            let file = next()?.into();
            mounts.push(match scratch {
                None => Handle::detached(file),
                Some(_) => Handle::passed(file),
            });
        }
        let stdin = match has_stdin {
            true => Some(pipe::Receiver::from_owned_fd(next()?)?),
            false => None,
        };
        let scratch = match scratch {
            None => None,
            Some(SentScratch::Made) => Some(Ok(next()?)),
            Some(SentScratch::Failed(number)) => Some(Err(number)),
        };
        let scratch = match scratch {
            None => None,
            Some(made) => {
                let empty = File::from(next()?);
                match confine(&job, &mounts, made.as_ref().ok(), &empty) {
                    Ok(layers) => self.connection.send(CONFINED, &encode(&layers)?)?,
                    Err(error) => {
                        // It may have a part of its rights left, so it runs nothing any more.
                        return self.connection.send(FAILED, error.to_string().as_bytes());
                    }
                }
                set_empty(empty);
                Some(made)
            }
        };
        let Some(loaded) = self.guests.get(&guest).map(Arc::clone) else {
            return self.connection.send(FAILED, b"the guest is not loaded");
        };
        let (sink, denied) = mpsc::unbounded_channel();
        let run = RunConnection::new(&self.connection, denied);
        let (stop, signal) = oneshot::channel();
        let denials = Arc::new(Denials::new(Some(sink)));
        let stream = |kind| Stream {
            run: Arc::clone(&run),
            kind,
        };
        let make_scratch: MakeScratch = match scratch {
            None => {
                let run = Arc::clone(&run);
                Arc::new(move || run.request_scratch())
            }
            Some(made) => Arc::new(move || match &made {
                Ok(made) => made.try_clone(),
                Err(number) => Err(io::Error::from_raw_os_error(*number)),
            }),
        };
        let surroundings = Surroundings {
            io: Io {
                stdin: stdin.map(|stdin| Box::new(stdin) as _),
                stdout: stream(STDOUT),
                stderr: stream(STDERR),
                make_scratch: Some(make_scratch),
            },
            denials: Arc::clone(&denials),
            monitor: self.threads.monitor(),
            signal,
            began: Instant::now(),
            priority: Priority::lowered_for_long_runs(),
        };
        let ran = tokio::select! {
            ran = loaded.run(&job, &mounts, surroundings) => ran,
            never = run.follow(stop) => match never {},
        };
        run.pass_on_denials()?;
        match ran {
            Ok((finished, store)) => {
                let end = end(finished, &denials);
                self.connection.send(ENDED, &encode(&end)?)?;
                // The caller does not wait until the memory is reset.
                drop(store);
                Ok(())
            }
            Err(error) => self.connection.send(FAILED, error.to_string().as_bytes()),
        }
    }
}

/// Confines this process to the handles of a run. Returns the layers in force.
fn confine(
    job: &Job,
    mounts: &[Handle],
    scratch: Option<&OwnedFd>,
    empty: &File,
) -> Result<Vec<&'static str>, ConfineError> {
    let mounts = job.mounts.iter().zip(mounts).map(|(mount, handle)| {
        let access = match mount.writable {
            true => Access::Change,
            false => Access::Read,
        };
        (handle.file.as_fd(), access)
    });
    let granted: Vec<_> = mounts
        .chain(scratch.map(|scratch| (scratch.as_fd(), Access::Change)))
        .chain([(empty.as_fd(), Access::Read)])
        .collect();
    wall::lock_down_to(&granted)
}

/// Loads an interpreter.
fn load(interpreter: Interpreter, file: File) -> Result<Arc<Loaded>, Error> {
    let idle = Idle {
        // One run at a time.
        count: 1,
        resident: interpreter.resident,
    };
    let transpiler = interpreter.transpiler;
    let settings = super::super::settings(interpreter.stack);
    let compiled = Compiled::in_worker(
        interpreter.guest,
        settings,
        idle,
        move |engine, component| Loaded::link(engine, component, transpiler.as_ref()).map(Arc::new),
    );
    compiled.load_file(file).cloned()
}

fn end(finished: Finished, denials: &Denials) -> End {
    let Finished {
        ending,
        usage,
        artifacts: Artifacts { listed, truncated },
        limits_hit,
        warnings,
        ..
    } = finished;
    let (denied, denied_truncated) = denials.take();
    End {
        status: status_number(ending.status),
        exit_code: ending.exit_code,
        note: ending.note,
        fuel: usage.fuel,
        peak_memory: usage.peak_memory_bytes,
        cpu_time_ms: usage.cpu_time_ms,
        denied: denied.into_iter().map(wired).collect(),
        denied_truncated,
        artifacts: listed.into_iter().map(Listed::new).collect(),
        artifacts_truncated: truncated,
        limits_hit: limits_hit.into_iter().map(limit_number).collect(),
        warnings,
        is_spent: is_lowered(),
    }
}
