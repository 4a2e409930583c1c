//! Scripts in WASI interpreters, under wasmtime.
//!
//! Each run is a fresh instance of the guest: its memory is a copy-on-write view of a snapshot taken
//! when the interpreter was ready, so a start costs page faults and not start-up code. The guest has
//! the directories of its permit and nothing else: no sockets, no processes, no environment of ours.
//!
//! Time is enforced by fuel: the guest yields after every slice of it, and the deadline is looked at
//! each time it does. An amount of fuel is no clock, so a total is a budget of its own. Epochs would
//! be a little faster, but a count that repeats exactly is worth more to those who meter runs.

mod budget;
mod deadline;
mod file_streams;
mod files;
mod filesystem;
mod memory;
mod sandbox;
mod scratch;
mod sealed;

use super::{BoxFuture, Ended, Live, Runtime};
use crate::decision::Permit;
use crate::error::Error;
use crate::limits::Limits;
use crate::outcome::{Enforcement, Hold, Isolation, Status, Usage};
use crate::request::Tier;
use crate::runtime::cache::Cache;
use crate::runtime::output::Kept;
use crate::skill::Language;
use deadline::Deadline;
use files::HasFiles;
use memory::MAX_TABLE;
use sandbox::{Exit, Sandbox, State};
use scratch::Scratches;
use skillrun_runtimes::Guest;
use std::future::{Future as _, poll_fn};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

/// CPython checks its own stack and raises `RecursionError`; wasm's must not end before that does.
const WASM_STACK: usize = 128 << 20;
/// The part of the fiber's stack left to the host's own calls.
const HOST_STACK: usize = 2 << 20;

/// One interpreter, ready to run scripts once it is compiled for this machine.
pub(crate) struct Wasm {
    guest: Guest,
    language: Language,
    cache: Cache,
    sealed: Vec<PathBuf>,
    /// Places for live guests, reserved ahead; `None` makes one for each.
    slots: Option<u32>,
    /// One for each slot; a run that finds none waits.
    free: Arc<Semaphore>,
    scratches: Scratches,
    loaded: OnceCell<Loaded>,
}

struct Loaded {
    engine: Engine,
    guest: InstancePre<State>,
    run: ComponentExportIndex,
}

impl Wasm {
    /// `sealed` are the host's own places that no script may write.
    pub(crate) fn new(
        guest: Guest,
        language: Language,
        cache: Cache,
        sealed: Vec<PathBuf>,
        slots: Option<u32>,
    ) -> Self {
        let free = slots.map_or(Semaphore::MAX_PERMITS, |slots| slots as usize);
        Self {
            guest,
            language,
            cache,
            sealed,
            slots,
            free: Arc::new(Semaphore::new(free)),
            scratches: Scratches::new(),
            loaded: OnceCell::new(),
        }
    }

    pub(crate) fn version(&self) -> &'static str {
        self.guest.version()
    }

    /// Whether the guest is compiled for this machine; loads it if so.
    pub(crate) fn is_prepared(&self) -> Result<bool, Error> {
        if !self.loaded.initialized() {
            let engine = self.engine()?;
            if let Some(component) = self.entry(&engine).load(&engine) {
                // Another task may have been faster; its guest is the same.
                let _ = self.loaded.set(self.link(engine, &component)?);
            }
        }
        Ok(self.loaded.initialized())
    }

    /// The file in the cache.
    pub(crate) fn cached_file(&self) -> Result<PathBuf, Error> {
        Ok(self.entry(&self.engine()?).path())
    }

    /// Compiles the guest for this machine if that was not done yet.
    pub(crate) async fn prepare(&self) -> Result<Option<String>, Error> {
        // Mapping takes a millisecond and is done here; compiling takes many seconds of every
        // processor and must not hold up other tasks.
        if self.is_prepared()? {
            return Ok(None);
        }
        let mut unstored = None;
        let load = async {
            let engine = self.engine()?;
            let (guest, cache, worker) = (self.guest, self.cache.clone(), engine.clone());
            let built = tokio::task::spawn_blocking(move || {
                let entry = cache.entry(&worker, guest.name(), guest.digest());
                entry.build(&worker, || guest.component())
            });
            let built = built.await.map_err(|error| self.failed(error))?;
            let (component, error) = built.map_err(|error| self.failed(format!("{error:#}")))?;
            unstored = error;
            self.link(engine, &component)
        };
        self.loaded.get_or_try_init(|| load).await?;
        Ok(unstored.map(|error| {
            let folder = self.cache.folder().display();
            let why = crate::files::plain(&error);
            format!("cannot keep the compiled runtime in `{folder}`: {why}")
        }))
    }

    fn entry(&self, engine: &Engine) -> super::cache::Entry<'_> {
        self.cache
            .entry(engine, self.guest.name(), self.guest.digest())
    }

    fn engine(&self) -> Result<Engine, Error> {
        let mut config = Config::new();
        config
            .consume_fuel(true)
            .max_wasm_stack(WASM_STACK)
            .async_stack_size(WASM_STACK + HOST_STACK)
            // None of these is used, and each costs time at every start or load.
            .concurrency_support(false)
            .generate_address_map(false)
            .native_unwind_info(false);
        if let Some(slots) = self.slots {
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(slots)));
        }
        Engine::new(&config).map_err(|error| self.failed(format!("{error:#}")))
    }

    fn link(&self, engine: Engine, component: &Component) -> Result<Loaded, Error> {
        let link = || {
            let mut linker = Linker::<State>::new(&engine);
            linker.allow_shadowing(true);
            wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
            preopens::add_to_linker::<_, HasFiles>(&mut linker, State::files)?;
            types::add_to_linker::<_, HasFiles>(&mut linker, State::files)?;
            linker
                .root()
                .func_wrap("exit", |_, (code,): (u8,)| Err::<(), _>(Exit(code).into()))?;
            let guest = linker.instantiate_pre(component)?;
            let run = component.get_export_index(None, "run");
            let run = run.ok_or_else(|| wasmtime::format_err!("the guest has no `run`"))?;
            Ok((guest, run))
        };
        let (guest, run) =
            link().map_err(|error: wasmtime::Error| self.failed(format!("{error:#}")))?;
        Ok(Loaded { engine, guest, run })
    }

    fn failed(&self, why: impl ToString) -> Error {
        Error::Runtime {
            runtime: self.guest.name(),
            why: why.to_string(),
        }
    }

    /// Waits for a free slot; `None` if `stop` comes first.
    async fn slot(
        &self,
        stop: &mut Option<BoxFuture<'static, ()>>,
    ) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let mut free = pin!(Arc::clone(&self.free).acquire_owned());
        let slot = poll_fn(|cx| {
            let stopped = stop
                .as_mut()
                .is_some_and(|stop| stop.as_mut().poll(cx).is_ready());
            if stopped {
                return Poll::Ready(None);
            }
            free.as_mut().poll(cx).map(Some)
        });
        slot.await.transpose().map_err(|error| self.failed(error))
    }

    async fn execute(&self, permit: &Permit, live: Live) -> Result<Ended, Error> {
        let unstored = self.prepare().await?;
        let loaded = self.loaded.get().ok_or_else(|| self.failed("not loaded"))?;
        let Live {
            stdin,
            output,
            mut stop,
        } = live;
        let Some(slot) = self.slot(&mut stop).await? else {
            return Ok(never_began());
        };
        let (engine, scratches) = (&loaded.engine, &self.scratches);
        let mut sandbox = Sandbox::new(engine, permit, &self.sealed, scratches, stdin, output)?;
        let began = Instant::now();
        let call = sandbox.run(&loaded.guest, &loaded.run, permit);
        let (end, cpu) = Deadline::new(call, permit.limits.time, stop).await;
        let time = began.elapsed();

        let (status, exit_code) = sandbox.verdict(end, &permit.limits);
        let usage = sandbox.usage(cpu);
        let mut warnings = sandbox.met_limits(&permit.limits);
        warnings.extend(unstored);
        let (stdout, stderr) = sandbox.output();
        warnings.extend(sandbox.take_down(slot).await);
        Ok(Ended {
            status,
            exit_code,
            stdout,
            stderr,
            time,
            usage,
            isolation: isolation(),
            warnings,
        })
    }
}

impl Runtime for Wasm {
    fn name(&self) -> &'static str {
        self.guest.name()
    }

    fn runs(&self, language: Language, tier: Tier) -> bool {
        language == self.language && tier != Tier::Native
    }

    fn run<'a>(&'a self, permit: &'a Permit, live: Live) -> BoxFuture<'a, Result<Ended, Error>> {
        Box::pin(self.execute(permit, live))
    }

    fn clean_up(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.scratches.clean_up())
    }
}

/// Memory, tables and stacks for `slots` guests at once, used again from run to run.
///
/// A guest's memory is mapped anew for each run otherwise, which costs more than most scripts take
/// and makes threads wait for each other. What a run touched stays resident up to these sizes and is
/// only reset: memory is what interpreters touch, the table and the stack hardly change.
fn pool(slots: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(slots)
        .total_memories(slots)
        .total_stacks(slots)
        // The guest's module and the small ones around it.
        .total_core_instances(slots.saturating_mul(8))
        .total_tables(slots.saturating_mul(4))
        .max_core_instances_per_component(8)
        .max_tables_per_component(4)
        .max_memories_per_component(1)
        .max_component_instance_size(1 << 20)
        .max_core_instance_size(4 << 20)
        .table_elements(MAX_TABLE)
        .max_memory_size(usize::try_from(*Limits::MEMORY.end()).unwrap_or(usize::MAX))
        .linear_memory_keep_resident(64 << 20)
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

/// What came of a run that was stopped while it waited for a slot.
fn never_began() -> Ended {
    Ended {
        status: Status::Cancelled,
        exit_code: 130,
        stdout: Kept::default(),
        stderr: Kept::default(),
        time: Duration::ZERO,
        usage: Usage::default(),
        isolation: isolation(),
        warnings: Vec::new(),
    }
}

fn isolation() -> Isolation {
    Isolation {
        tier: "wasm",
        layers: vec!["wasm", "preopens", "fuel"],
        limits: Enforcement {
            time: Hold::Hard,
            memory: Hold::Hard,
            disk: Hold::Hard,
            processes: Hold::Hard,
        },
    }
}
