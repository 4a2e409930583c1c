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
mod sandbox;
mod threads;
mod typescript;

pub(crate) use typescript::Transpiler;

use super::{BoxFuture, Ended, RunContext, Runtime};
use crate::decision::Permit;
use crate::error::Error;
use crate::files::plain;
use crate::limits::Limits;
use crate::outcome::{Enforcement, Isolation, LimitEnforcement, Usage};
use crate::plan::{Plan, RunsIn};
use crate::refusal::Refusal;
use crate::request::Tier;
use crate::runtime::RuntimeState;
use crate::runtime::cache::Cache;
use crate::runtime::output::Output;
use crate::skill::Language;
use compiled::Compiled;
use deadline::Deadline;
use files::HasFiles;
use memory::MAX_TABLE;
use sandbox::{CANCELLED, Exit, RunArguments, Sandbox, State, timed_out};
use skillrun_runtimes::Guest;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threads::{Monitor, Reason, Threads, Watched};
use tokio::sync::watch;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, StoreContextMut,
};
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
        let mut config = settings(stack);
        if let Some(slots) = slots {
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(slots, resident)));
        }
        let imported = transpiler.clone();
        let link = move |engine, component: &Component| link(engine, component, imported.as_ref());
        Self {
            compiled: Compiled::new(guest, cache, config, link),
            language,
            transpiler,
            protected,
            threads: Threads::new(stuck),
        }
    }

    /// Its state on this machine.
    pub(crate) fn state(&self) -> Result<RuntimeState, Error> {
        self.compiled.state()
    }

    async fn compile(&self) -> Result<Option<String>, Error> {
        // A run whose interpreter is compiled does not need the transpiler unless its script is TypeScript: mapping it
        // takes a millisecond.
        if self.compiled.is_prepared()? {
            return Ok(None);
        }
        let unstored = self.compiled.prepare().await?;
        // Compiled now as well, so that no script has to wait for it.
        let transpiler = match &self.transpiler {
            Some(transpiler) => transpiler.prepare().await?,
            None => None,
        };
        Ok(unstored.or(transpiler))
    }

    async fn execute(&self, permit: Arc<Permit>, mut context: RunContext) -> Result<Ended, Error> {
        let unstored = self.compile().await?;
        let loaded = self.compiled.loaded()?;
        let limits = permit.plan().limits.clone();
        let mut stop = context.stop.take();
        let stderr = context.stderr.clone();
        let monitor = Arc::new(Monitor::default());
        let (engine, own) = (loaded.engine.clone(), Arc::clone(&monitor));
        let (guest, run) = (loaded.guest.clone(), loaded.run);
        let protected = Arc::clone(&self.protected);
        let began = Instant::now();
        let deadline = began + limits.time;
        // Everything that touches the guest's memory happens on one thread, so it stays in one processor's cache.
        let start = move |signal, returned| async move {
            let plan = permit.plan();
            let made = RunArguments::new(plan).and_then(|call| {
                let sandbox = Sandbox::new(&engine, plan, &protected, context, own)?;
                Ok((call, sandbox))
            });
            let (call, mut sandbox) = match made {
                Ok(made) => made,
                Err(error) => return (Err(error), None),
            };
            let call = sandbox.run(&guest, &run, &call);
            let (end, cpu) = Deadline::new(call, deadline, signal).await;
            drop(returned);
            let time = began.elapsed();
            let (status, exit_code) = sandbox.status_and_code(end, &plan.limits);
            let ended = Ended {
                status,
                exit_code,
                signal: None,
                time,
                usage: sandbox.usage(cpu),
                isolation: isolation(),
                warnings: sandbox.hit_limits((status, exit_code), &plan.limits),
            };
            (Ok(ended), Some(sandbox.into_rest()))
        };
        let watched = self.threads.run(monitor, deadline, &mut stop, start).await;
        let mut ended = match watched.map_err(|error| Error::Sandbox(plain(&error)))? {
            Watched::Finished(ended) => ended?,
            Watched::Stuck(reason) => stuck(reason, &limits, began.elapsed(), &stderr),
            Watched::Failed => return Err(Error::Sandbox("the guest's thread panicked".into())),
        };
        ended.warnings.extend(unstored);
        Ok(ended)
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

/// The engine settings of all guests, with a stack of this size.
fn settings(stack: usize) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK)
        // A snapshot is always mapped, even if it is sparse, instead of copied at every start.
        .memory_guaranteed_dense_image_size(256 << 20)
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

/// Memory, tables and stacks for `slots` guests at the same time, reused from run to run.
///
/// Without a pool, a guest's memory is mapped again for each run, which costs more than most scripts take
/// and makes threads wait for each other. What a run touched stays resident up to these sizes and is
/// only reset. Interpreters mostly touch memory; the table and the stack hardly change.
fn pool(slots: u32, resident: usize) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(slots)
        .total_memories(slots)
        .total_stacks(slots)
        // The guest's module and the small adapter modules around it.
        .total_core_instances(slots.saturating_mul(8))
        .total_tables(slots.saturating_mul(4))
        .max_core_instances_per_component(8)
        .max_tables_per_component(4)
        .max_memories_per_component(1)
        .max_component_instance_size(1 << 20)
        .max_core_instance_size(4 << 20)
        .table_elements(MAX_TABLE)
        .max_memory_size(usize::try_from(*Limits::MEMORY.end()).unwrap_or(usize::MAX))
        .linear_memory_keep_resident(resident)
        .table_keep_resident(1 << 20)
        .async_stack_keep_resident(1 << 20)
        .max_unused_warm_slots(slots);
    // Without it a reset copies the whole snapshot instead of the pages that were touched.
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes);
    } else {
        pool.linear_memory_keep_resident(0);
    }
    pool
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
        isolation: isolation(),
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
