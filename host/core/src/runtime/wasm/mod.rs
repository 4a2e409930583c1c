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

mod budget;
mod compiled;
mod deadline;
mod file_streams;
mod files;
mod filesystem;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod located;
mod memory;
mod priority;
mod sandbox;
mod stdio;
mod threads;
mod typescript;

pub(crate) use typescript::Transpiler;

use super::{BoxFuture, Ended, Record, RunContext, Runtime};
use crate::decision::Permit;
use crate::error::Error;
use crate::files::plain;
use crate::limits::Limits;
use crate::outcome::{Enforcement, Isolation, LimitEnforcement, Usage};
use crate::plan::{Plan, RunsIn};
use crate::refusal::Refusal;
use crate::runtime::RuntimeState;
use crate::runtime::cache::Cache;
use crate::runtime::denials::Denials;
use crate::runtime::output::Output;
use crate::skill::Language;
use crate::tier::Tier;
use compiled::{Compiled, Idle};
use deadline::Deadline;
use files::HasFiles;
use priority::Priority;
use sandbox::{CANCELLED, Exit, RunArguments, Sandbox, State, timed_out};
use skillrun_runtimes::Guest;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threads::{Reason, Returned, Threads, Watched};
use tokio::sync::watch;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};
use wasmtime::{Config, Engine, StoreContextMut};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

/// The part of the fiber's stack left to the host's own calls.
const HOST_STACK: usize = 2 << 20;

/// An interpreter and what is particular to it.
pub(crate) struct Interpreter {
    pub(crate) guest: Guest,
    pub(crate) language: Language,
    /// The size of the engine's stack. The interpreter checks its own stack and raises an error that the
    /// script can catch; the engine's stack must not overflow before that.
    pub(crate) stack: usize,
    /// Memory that stays resident in a slot from one run to the next: as much as most scripts touch.
    pub(crate) resident: usize,
    /// The transpiler from TypeScript, for the interpreter that imports it.
    pub(crate) transpiler: Option<Arc<Transpiler>>,
}

/// One interpreter, ready to run scripts once it is compiled for this machine.
pub(crate) struct Wasm {
    compiled: Compiled<Loaded>,
    language: Language,
    transpiler: Option<Arc<Transpiler>>,
    protected: Arc<[PathBuf]>,
    threads: Threads,
    /// Whether several runs share this process.
    shared: bool,
}

struct Loaded {
    engine: Engine,
    guest: InstancePre<State>,
    run: ComponentExportIndex,
}

impl Wasm {
    /// `protected` are the host's own paths that no script may write; `slots` is the number of live guests
    /// for which memory is reserved ahead, where `None` reserves nothing; `stuck` counts runs whose host call does not
    /// return.
    pub(crate) fn new(
        interpreter: Interpreter,
        cache: Cache,
        protected: Arc<[PathBuf]>,
        slots: Option<u32>,
        stuck: Arc<watch::Sender<usize>>,
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
        let link = move |engine, component: &Component| link(engine, component, imported.as_ref());
        Self {
            compiled: Compiled::new(guest, cache, settings(stack), idle, link),
            language,
            transpiler,
            protected,
            threads: Threads::new(stuck),
            shared: slots.is_some(),
        }
    }

    /// Its state on this machine.
    pub(crate) fn state(&self) -> Result<RuntimeState, Error> {
        self.compiled.state()
    }

    async fn compile(&self) -> Result<Option<String>, Error> {
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
        let unstored = tokio::select! {
            unstored = self.compile() => unstored?,
            () = stopped(&mut stop) => return Ok(Ended::cancelled_before_start(isolation())),
        };
        let loaded = self.compiled.loaded()?;
        let limits = permit.plan().limits.clone();
        let stderr = context.stderr.clone();
        let monitor = self.threads.monitor();
        let (engine, own) = (loaded.engine.clone(), Arc::clone(&monitor));
        let (guest, run) = (loaded.guest.clone(), loaded.run);
        let protected = Arc::clone(&self.protected);
        let denials = Arc::new(Denials::new(context.denied.take()));
        let counted = Arc::clone(&denials);
        let (shared, limit) = (self.shared, limits.time);
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
            let began = returned.begin();
            let plan = permit.plan();
            let made = RunArguments::new(plan).and_then(|call| {
                let own = Arc::clone(&own);
                let counted = Arc::clone(&denials);
                let sandbox = Sandbox::new(&engine, plan, &protected, context, own, counted)?;
                Ok((call, sandbox))
            });
            let (call, mut sandbox) = match made {
                Ok(made) => made,
                Err(error) => return (Err(error), None),
            };
            let call = sandbox.run(&guest, &run, &call);
            let priority = match shared {
                true => Priority::lowered_for_long_runs(),
                false => Priority::unchanged(),
            };
            let (end, cpu) = Deadline::new(call, began + limit, signal, priority).await;
            let time = began.elapsed();
            let (status, exit_code) = sandbox.status_and_code(end, &plan.limits);
            // Reads files, so the watchdog still watches it.
            let artifacts = sandbox.artifacts(plan);
            drop(returned);
            let end = (status, exit_code);
            let (limits_hit, mut warnings) = sandbox.limits_hit(end, &plan.limits);
            warnings.extend(unstored);
            let (denied, denied_truncated) = denials.take();
            let ended = Ended {
                status,
                exit_code,
                signal: None,
                time,
                usage: sandbox.usage(cpu),
                denied,
                denied_truncated,
                artifacts: artifacts.listed,
                artifacts_truncated: artifacts.truncated,
                isolation: isolation(),
                warnings,
                limits_hit,
            };
            if let Some(finish) = finish
                && own.has_caller()
            {
                finish(&ended);
            }
            (Ok(ended), Some(sandbox.into_rest()))
        };
        let watched = self.threads.run(monitor, limit, &mut stop, start).await;
        match watched.map_err(|error| Error::Sandbox(plain(&error)))? {
            Watched::Finished(ended) => ended,
            Watched::Stuck(reason) => {
                let mut ended = stuck(reason, &limits, waited.elapsed(), &stderr);
                (ended.denied, ended.denied_truncated) = counted.take();
                Ok(ended)
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

    fn can_enforce(&self, _: &Plan) -> Result<(), Refusal> {
        // The engine and the guest are part of this program, on every machine.
        Ok(())
    }

    fn is_prepared(&self) -> Result<bool, Error> {
        self.compiled.is_prepared()
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

fn link(
    engine: Engine,
    component: &Component,
    transpiler: Option<&Arc<Transpiler>>,
) -> wasmtime::Result<Loaded> {
    let mut linker = Linker::<State>::new(&engine);
    linker.allow_shadowing(true);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    preopens::add_to_linker::<_, HasFiles>(&mut linker, State::files)?;
    types::add_to_linker::<_, HasFiles>(&mut linker, State::files)?;
    let mut own = linker.root();
    own.func_wrap("exit", |_, (code,): (u8,)| Err::<(), _>(Exit(code).into()))?;
    let type_of = |mut store: StoreContextMut<'_, State>, (path, follow): (String, bool)| {
        Ok((store.data_mut().files().type_of(&path, follow),))
    };
    own.func_wrap("file-type", type_of)?;
    let denied = |store: StoreContextMut<'_, State>, (grant,): (String,)| {
        store.data().count_denial(&grant);
        Ok(())
    };
    own.func_wrap("denied", denied)?;
    if let Some(transpiler) = transpiler {
        let transpiler = Arc::clone(transpiler);
        own.func_wrap_async("transpile", move |store, (name, source)| {
            Box::new(transpile(Arc::clone(&transpiler), store, name, source))
        })?;
    }
    let guest = linker.instantiate_pre(component)?;
    let run = component.get_export_index(None, "run");
    let run = run.ok_or_else(|| wasmtime::format_err!("the guest has no `run`"))?;
    Ok(Loaded { engine, guest, run })
}

/// Transpiles a file with the memory and fuel of the run that requests it.
async fn transpile(
    transpiler: Arc<Transpiler>,
    mut store: StoreContextMut<'_, State>,
    name: String,
    source: Vec<u8>,
) -> wasmtime::Result<(typescript::TranspileResult,)> {
    let left = typescript::Left {
        memory: store.data().memory_left(),
        fuel: store.get_fuel()?,
    };
    let (answer, fuel) = transpiler.transpile(&name, &source, left).await?;
    store.set_fuel(fuel)?;
    Ok((answer,))
}

/// The result of a run whose thread was abandoned. Its usage is unknown: only that thread has it.
fn stuck(reason: Reason, limits: &Limits, time: Duration, stderr: &Output) -> Ended {
    let (status, exit_code) = match reason {
        Reason::Deadline => timed_out(stderr, limits),
        Reason::Caller => CANCELLED,
    };
    let why = "a host call of the script did not return; that call may still take effect, nothing after it will";
    Ended {
        status,
        exit_code,
        signal: None,
        time,
        usage: Usage::default(),
        denied: Vec::new(),
        denied_truncated: false,
        artifacts: Vec::new(),
        // Only that thread has them.
        artifacts_truncated: true,
        isolation: isolation(),
        warnings: vec![why.to_owned()],
        limits_hit: Vec::new(),
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
