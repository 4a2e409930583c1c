//! Scripts in WASI interpreters, under wasmtime.
//!
//! Each run is a fresh instance of the guest: its memory is a copy-on-write view of a snapshot taken
//! when the interpreter was ready, so a start costs page faults instead of start-up code. The guest has
//! the directories of its permit and nothing else: no sockets, no processes, none of our environment.
//!
//! Time is enforced by fuel: the guest yields after every slice of fuel, and the deadline is checked
//! each time it does. Fuel cannot end a host call that does not return: for that, each run has a watchdog
//! ([`threads`]). An amount of fuel is not a time, so total fuel is a limit of its own. Epochs would
//! be a little faster, but a count that repeats exactly is worth more to those who meter runs.

pub(crate) mod alone;
mod budget;
mod compiled;
mod deadline;
mod engine;
mod file_streams;
mod files;
mod filesystem;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
#[cfg(feature = "hole")]
mod hole;
mod interpreter;
mod job;
mod located;
mod memory;
mod operations;
mod priority;
mod sandbox;
mod stdio;
mod threads;
mod typescript;
mod worker;

pub(crate) use interpreter::Interpreter;
pub(crate) use typescript::Transpiler;
pub(crate) use worker::Pool;
pub use worker::{Wall, Workers, serve_if_worker};

use super::{BoxFuture, Ended, Record, RunContext, Runtime};
use crate::decision::Permit;
use crate::error::Error;
use crate::files::plain;
use crate::outcome::{Denial, Enforcement, Isolation, LimitEnforcement, Usage};
use crate::plan::{Plan, RunsIn};
use crate::refusal::{Check, Refusal};
use crate::runtime::RuntimeState;
use crate::runtime::artifacts::Artifacts;
use crate::runtime::cache::Cache;
use crate::runtime::denials::Denials;
use crate::runtime::output::Output;
use crate::skill::Language;
use crate::tier::Tier;
use compiled::{Compiled, GuestFile, Idle};
use engine::{Finished, Loaded, Surroundings};
use job::{Handle, Job};
use priority::Priority;
use sandbox::{Ending, Io};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stdio::GuestOutput;
use threads::{Reason, Returned, Threads, Watched};
use tokio::sync::watch;
use wasmtime::Config;
use wasmtime::component::Component;
use worker::{Serves, WorkerRun};

/// The part of the fiber's stack left to the host's own calls.
const HOST_STACK: usize = 2 << 20;

/// One interpreter, ready to run scripts once it is compiled for this machine.
pub(crate) struct Wasm {
    compiled: Compiled<Arc<Loaded>>,
    language: Language,
    transpiler: Option<Arc<Transpiler>>,
    protected: Arc<[PathBuf]>,
    threads: Threads,
    /// Whether several runs share this process.
    shared: bool,
    /// The processes in which guests run; `None` runs them in this one.
    workers: Option<Arc<Pool>>,
}

/// A guest that is ready to run.
enum Ready {
    /// In this process.
    Here(Arc<Loaded>),
    /// In a worker that loads these files. The first one is the guest.
    InWorker(Arc<Pool>, Vec<GuestFile>),
}

impl Wasm {
    /// `protected` are the host's own paths that no script may write; `slots` is the number of live guests
    /// for which memory is reserved ahead, where `None` reserves nothing; `stuck` counts runs whose host call does not
    /// return; `workers` run the guests unless this process does.
    pub(crate) fn new(
        interpreter: Interpreter,
        cache: Cache,
        protected: Arc<[PathBuf]>,
        slots: Option<u32>,
        stuck: Arc<watch::Sender<usize>>,
        workers: Option<Arc<Pool>>,
    ) -> Self {
        let Interpreter {
            guest,
            language,
            stack,
            resident,
            transpiler,
        } = interpreter;
        // A process that runs one script keeps nothing for the next one.
        let idle = Idle {
            count: slots.unwrap_or(0) as usize,
            resident,
        };
        let imported = transpiler.clone();
        let link = move |engine, component: &Component| {
            Loaded::link(engine, component, imported.as_ref()).map(Arc::new)
        };
        Self {
            compiled: Compiled::new(guest, cache, settings(stack), idle, link),
            language,
            transpiler,
            protected,
            threads: Threads::new(stuck),
            shared: slots.is_some(),
            workers,
        }
    }

    /// Its state on this machine.
    pub(crate) fn state(&self) -> Result<RuntimeState, Error> {
        self.compiled.state()
    }

    /// Makes the guest ready; also returns a warning if it cannot be stored.
    async fn ready(&self) -> Result<(Ready, Option<String>), Error> {
        let Some(workers) = &self.workers else {
            let warning = self.compile().await?;
            return Ok((Ready::Here(Arc::clone(self.compiled.loaded()?)), warning));
        };
        let (guest, prepared) = self.compiled.prepare_file().await?;
        let (mut guests, mut warning) = (vec![guest], prepared.warning);
        // A worker cannot compile, so the transpiler comes along.
        if let Some(transpiler) = &self.transpiler {
            let (guest, unstored) = transpiler.prepare_file().await?;
            guests.push(guest);
            warning = warning.or(unstored);
        }
        Ok((Ready::InWorker(Arc::clone(workers), guests), warning))
    }

    async fn compile(&self) -> Result<Option<String>, Error> {
        if self.workers.is_some() {
            return Ok(Box::pin(self.ready()).await?.1);
        }
        let prepared = self.compiled.prepare().await?;
        // If the interpreter was compiled now, so is its transpiler, and no script has to wait for it. Otherwise only a
        // script in TypeScript loads it: mapping it takes a millisecond.
        let transpiler = match &self.transpiler {
            Some(transpiler) if prepared.was_compiled => transpiler.prepare().await?,
            _ => None,
        };
        Ok(prepared.warning.or(transpiler))
    }

    async fn execute(&self, permit: Arc<Permit>, mut context: RunContext) -> Result<Ended, Error> {
        let mut stop = context.stop.take();
        let (ready, unstored) = tokio::select! {
            ready = self.ready() => ready?,
            () = stopped(&mut stop) => return Ok(Ended::cancelled_before_start(isolation())),
        };
        let limit = permit.plan().limits.time;
        let stderr = context.stderr.clone();
        let monitor = self.threads.monitor();
        let own = Arc::clone(&monitor);
        let protected = Arc::clone(&self.protected);
        let denials = Arc::new(Denials::new(context.denied.take()));
        let counted = Arc::clone(&denials);
        let shared = self.shared;
        let Record { started, finish } = std::mem::take(&mut context.record);
        let waited = Instant::now();
        // Everything that touches the guest's memory happens on one thread, so it stays in one processor's cache. That thread
        // may block, so it also writes the lines of the run in the audit log.
        let start = move |mut signal, returned: Returned| async move {
            if let Some(mut started) = started {
                started.write_now();
                tokio::select! {
                    biased;
                    written = started => if let Err(error) = written {
                        return (Err(error), None);
                    },
                    _ = &mut signal => {
                        return (Ok(Ended::cancelled_before_start(isolation())), None);
                    }
                }
            }
            let RunContext {
                stdin,
                stdout,
                stderr,
                mut teardown,
                ..
            } = context;
            let plan = permit.plan();
            let ran = async {
                let (job, handles) = Job::new(plan, &protected)?;
                match &ready {
                    Ready::Here(loaded) => {
                        let scratch = teardown.scratch().cloned();
                        let surroundings = Surroundings {
                            io: Io {
                                stdin,
                                stdout: GuestOutput(stdout),
                                stderr: GuestOutput(stderr.clone()),
                                make_scratch: scratch
                                    .map(|scratch| Arc::new(move || scratch.open()) as _),
                            },
                            denials: Arc::clone(&denials),
                            monitor: Arc::clone(&own),
                            signal,
                            began: returned.begin(),
                            priority: match shared {
                                true => Priority::lowered_for_long_runs(),
                                false => Priority::unchanged(),
                            },
                        };
                        let handles: Vec<Handle> = handles.into_iter().map(Handle::new).collect();
                        let (finished, store) = loaded.run(&job, &handles, surroundings).await?;
                        Ok((finished, Vec::new(), Some(store)))
                    }
                    Ready::InWorker(workers, guests) => {
                        let run = WorkerRun {
                            serves: Serves::new(plan.workers, &plan.tenant),
                            scratch: teardown.scratch().cloned(),
                            stdin,
                            stdout,
                            stderr: stderr.clone(),
                            denials: Arc::clone(&denials),
                            monitor: Arc::clone(&own),
                            signal,
                            returned: &returned,
                        };
                        let ended = workers.run(guests, job, &handles, run).await?;
                        Ok((ended.finished, ended.layers, None))
                    }
                }
            };
            let (finished, layers, rest) = match ran.await {
                Ok(ran) => ran,
                Err(error) => return (Err(error), None),
            };
            drop(returned);
            let mut ended = ended(finished, denials.take(), &stderr);
            ended.isolation.layers.extend(layers);
            ended.warnings.extend(unstored);
            if let Some(finish) = finish
                && own.has_caller()
            {
                finish(&ended);
            }
            teardown.set_ended();
            // In the order in which it must be dropped: another run may only start when the memory is freed and the directory
            // removed.
            (Ok(ended), Some((rest, teardown)))
        };
        let watched = self.threads.run(monitor, limit, &mut stop, start).await;
        match watched.map_err(|error| Error::Sandbox(plain(&error)))? {
            Watched::Finished(ended) => ended,
            Watched::Stuck(reason) => {
                let finished = stuck(reason, limit, waited.elapsed());
                Ok(ended(finished, counted.take(), &stderr))
            }
            Watched::Failed => Err(Error::Sandbox("the guest's thread panicked".into())),
        }
    }
}

impl Runtime for Wasm {
    fn name(&self) -> &'static str {
        self.compiled.name()
    }

    fn runs(&self, language: Language, tier: Tier) -> RunsIn {
        match language == self.language && tier != Tier::Native {
            true => RunsIn::Wasm,
            false => RunsIn::Nowhere,
        }
    }

    fn can_enforce(&self, plan: &Plan) -> Result<(), Refusal> {
        // The engine and the guest are part of this program, on every machine. Confined workers are not.
        let Some(workers) = &self.workers else {
            return alone::check(plan);
        };
        workers.check().map_err(|why| {
            let message = format!("no worker process can be confined on this machine: {why}");
            Refusal::new(Check::Isolation, message)
                .hint("run guests in the process of the host (`Workers::InProcess`)")
        })
    }

    fn is_prepared(&self) -> Result<bool, Error> {
        match self.workers {
            Some(_) => self.compiled.has_file(),
            None => self.compiled.is_prepared(),
        }
    }

    fn prepare(&self) -> BoxFuture<'_, Result<Option<String>, Error>> {
        Box::pin(self.compile())
    }

    fn isolation(&self) -> Isolation {
        isolation()
    }

    fn run<'a>(
        &'a self,
        permit: Arc<Permit>,
        context: RunContext,
    ) -> BoxFuture<'a, Result<Ended, Error>> {
        Box::pin(self.execute(permit, context))
    }
}

/// Resolves when the caller stops the run.
async fn stopped(stop: &mut Option<BoxFuture<'static, ()>>) {
    match stop {
        Some(stop) => stop.await,
        None => std::future::pending().await,
    }
}

/// The engine settings of all guests, with a stack of this size.
fn settings(stack: usize) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK)
        // None of these is needed, and each costs time at every start or load.
        .concurrency_support(false)
        .generate_address_map(false)
        .native_unwind_info(false);
    config
}

/// The end of a run as its caller sees it. If the host ended the script, the reason is added to its stderr.
fn ended(finished: Finished, denied: (Vec<Denial>, bool), stderr: &Output) -> Ended {
    let Finished {
        ending,
        time,
        usage,
        artifacts,
        limits_hit,
        warnings,
    } = finished;
    match &ending.note {
        Some(note) if note.is_passed_on => stderr.note(&note.text),
        Some(note) => stderr.record(&note.text),
        None => {}
    }
    let (denied, denied_truncated) = denied;
    Ended {
        status: ending.status,
        exit_code: ending.exit_code,
        signal: None,
        time,
        usage,
        denied,
        denied_truncated,
        artifacts: artifacts.listed,
        artifacts_truncated: artifacts.truncated,
        isolation: isolation(),
        warnings,
        limits_hit,
    }
}

/// The end of a run whose thread was abandoned. Its usage is unknown: only that thread has it.
fn stuck(reason: Reason, limit: Duration, time: Duration) -> Finished {
    let why = "a host call of the script did not return; that call may still take effect, nothing after it will";
    Finished {
        ending: match reason {
            Reason::Deadline => Ending::timed_out(limit),
            Reason::Caller => Ending::cancelled(),
        },
        time,
        usage: Usage::default(),
        // Only that thread has them.
        artifacts: Artifacts {
            truncated: true,
            ..Artifacts::default()
        },
        limits_hit: Vec::new(),
        warnings: vec![why.to_owned()],
    }
}

fn isolation() -> Isolation {
    Isolation {
        tier: "wasm",
        layers: vec!["wasm", "preopens", "fuel"],
        limits: LimitEnforcement {
            time: Enforcement::Hard,
            memory: Enforcement::Hard,
            disk: Enforcement::Hard,
            processes: Enforcement::Hard,
        },
    }
}
