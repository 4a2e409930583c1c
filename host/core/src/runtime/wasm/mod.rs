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
mod memory;
mod sealed;

use super::output::Output;
use super::{BoxFuture, Ended, Live, Runtime, Stream};
use crate::decision::{Mount, Permit};
use crate::error::Error;
use crate::limits::{Limits, show_bytes, show_duration};
use crate::outcome::{Enforcement, Hold, Isolation, Status, Usage};
use crate::request::Tier;
use crate::runtime::cache::Cache;
use crate::skill::Language;
use budget::Budget;
use deadline::{Deadline, End};
use files::{Files, FilesView, HasFiles};
use memory::{MAX_TABLE, Memory};
use sealed::Sealed;
use skillrun_runtimes::Guest;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tempfile::TempDir;
use tokio::sync::{OnceCell, Semaphore};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker, ResourceTable};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, Trap,
};
use wasmtime_wasi::cli::AsyncStdinStream;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// Fuel between two looks at the clock: well under a millisecond of work.
const SLICE: u64 = 1_000_000;
/// CPython checks its own stack and raises `RecursionError`; wasm's must not end before that does.
const WASM_STACK: usize = 128 << 20;
/// The part of the fiber's stack left to the host's own calls.
const HOST_STACK: usize = 2 << 20;
/// Handles of one guest: files, streams, timers, errors.
const MAX_HANDLES: usize = 4096;
/// Bytes that one call may carry from the guest to the host. Guests write in pieces of 64 KiB.
const MAX_CALL: usize = 4 << 20;
/// Random bytes in one call.
const MAX_RANDOM: u64 = 16 << 20;
/// From this size on a guest's memory takes milliseconds to give back.
const LARGE: u64 = 64 << 20;
/// Where a script sees its scratch directory.
const SCRATCH: &str = "/tmp";

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
    loaded: OnceCell<Loaded>,
}

struct Loaded {
    engine: Engine,
    guest: InstancePre<State>,
    run: ComponentExportIndex,
}

/// What one guest holds.
struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    files: Files,
    memory: Memory,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl State {
    fn files(&mut self) -> FilesView<'_> {
        FilesView {
            files: &mut self.files,
            table: &mut self.table,
        }
    }
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

    async fn execute(&self, permit: &Permit, live: Live) -> Result<Ended, Error> {
        let mut warnings: Vec<String> = self.prepare().await?.into_iter().collect();
        let loaded = self.loaded.get().ok_or_else(|| self.failed("not loaded"))?;
        let slot = Arc::clone(&self.free).acquire_owned().await;
        let slot = slot.map_err(|error| self.failed(error))?;
        let failed = |error: std::io::Error| Error::Sandbox(crate::files::plain(&error));

        let scratch = tempfile::Builder::new()
            .prefix("skillrun-")
            .tempdir()
            .map_err(failed)?;
        let stdout = Output::new(Stream::Stdout, permit.limits.output, live.output.clone());
        let stderr = Output::new(Stream::Stderr, permit.limits.output, live.output);
        let budgets = Budgets {
            scratch: Budget::new(permit.limits.scratch, Some(scratch.path().to_owned())),
            disk: Budget::new(permit.limits.disk, None),
        };
        let mut wasi = WasiCtxBuilder::new();
        wasi.allow_blocking_current_thread(true)
            .max_random_size(MAX_RANDOM)
            .stdout(stdout.clone())
            .stderr(stderr.clone())
            .envs(&environment(permit));
        match live.stdin {
            Some(reader) if permit.input.is_empty() => wasi.stdin(AsyncStdinStream::new(reader)),
            _ => wasi.stdin(MemoryInputPipe::new(permit.input.clone())),
        };
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        let state = State {
            wasi: wasi.build(),
            table,
            files: self
                .show_files(permit, scratch.path(), &budgets)
                .map_err(failed)?,
            memory: Memory::new(permit.limits.memory),
        };
        let mut store = Store::new(&loaded.engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(MAX_CALL);
        let fuel = permit.limits.fuel.unwrap_or(u64::MAX);
        let metered = store
            .set_fuel(fuel)
            .and_then(|()| store.fuel_async_yield_interval(Some(SLICE)));
        metered.map_err(|error| Error::Sandbox(format!("{error:#}")))?;

        let began = Instant::now();
        let call = async {
            let guest = loaded.guest.instantiate_async(&mut store).await?;
            let run = guest
                .get_typed_func::<(&str, &[u8], &[String], &str), (u8,)>(&mut store, &loaded.run)?;
            let script = format!("{}/{}", permit.skill_base(), permit.script.path());
            let cwd = permit.workspace.as_deref().unwrap_or(permit.skill_base());
            let (code,) = run
                .call_async(&mut store, (&script, &permit.source, &permit.args, cwd))
                .await?;
            Ok::<u8, wasmtime::Error>(code)
        };
        let (end, cpu) = Deadline::new(call, permit.limits.time, live.stop).await;
        let time = began.elapsed();

        let left = store.get_fuel().unwrap_or(0);
        let State { memory, files, .. } = store.data();
        let usage = Usage {
            fuel: Some(fuel - left),
            peak_memory_bytes: memory.peak,
            cpu_time_ms: milliseconds(cpu),
        };
        let (status, exit_code) = match end {
            End::Returned(Ok(code)) => (Status::Exited, i32::from(code)),
            End::Returned(Err(error)) if error.is::<Exit>() => {
                let code = error.downcast_ref::<Exit>().map_or(0, |Exit(code)| *code);
                (Status::Exited, i32::from(code))
            }
            End::Returned(Err(error)) => match error.downcast_ref::<Trap>() {
                Some(Trap::OutOfFuel) => {
                    stderr.note(&format!("Out of fuel: the budget of {fuel} is spent"));
                    (Status::OutOfFuel, 124)
                }
                _ if memory.denied => {
                    stderr.note(&format!(
                        "Out of memory: the limit is {}",
                        show_bytes(permit.limits.memory)
                    ));
                    (Status::OutOfMemory, 137)
                }
                trap => {
                    let why = trap.map_or_else(|| format!("{error:#}"), ToString::to_string);
                    stderr.note(&format!("Trapped: the interpreter failed: {why}"));
                    (Status::Trapped, 134)
                }
            },
            End::TimedOut => {
                stderr.note(&format!(
                    "Timeout: stopped after {}",
                    show_duration(permit.limits.time)
                ));
                (Status::TimedOut, 124)
            }
            End::Stopped => (Status::Cancelled, 130),
        };
        warnings.extend(met_limits(permit, &budgets, files.met_max_open()));
        let large = memory.peak > LARGE;
        let taken_down = move || {
            drop(store);
            drop(slot);
        };
        if large {
            // The script has ended; giving its memory back takes longer than a caller who set a time
            // limit should wait.
            drop(tokio::task::spawn_blocking(taken_down));
        } else {
            taken_down();
        }
        warnings.extend(remove(scratch).await);
        let (stdout, stderr) = (stdout.take(), stderr.take());
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

    /// The directories of the permit, then the scratch directory.
    fn show_files(
        &self,
        permit: &Permit,
        scratch: &std::path::Path,
        budgets: &Budgets,
    ) -> std::io::Result<Files> {
        let mut files = Files::new(permit.limits.open_files);
        let [skill, ..] = permit.mounts.as_slice() else {
            return Ok(files);
        };
        let own = (!skill.writable).then(|| skill.host.clone());
        let workspace = permit.mounts.get(1).map(|mount| mount.host.clone());
        let sealed = Arc::new(Sealed::new(
            self.sealed.iter().cloned().chain(own),
            workspace,
        ));
        let mut taken = false;
        for Mount {
            dir,
            host,
            guest,
            writable,
            only,
        } in &permit.mounts
        {
            let overlaps = *writable && sealed.overlaps(host);
            let handle = dir.try_clone()?.into_std_file();
            taken |= guest == SCRATCH;
            files.show(
                handle,
                guest.clone(),
                *writable,
                only.clone(),
                budgets.disk.clone(),
                overlaps.then(|| Arc::clone(&sealed)),
            );
        }
        let at = if taken { "/scratch" } else { SCRATCH };
        let handle = cap_std::fs::Dir::open_ambient_dir(scratch, cap_std::ambient_authority())?
            .into_std_file();
        files.show(
            handle,
            at.to_owned(),
            true,
            None,
            budgets.scratch.clone(),
            None,
        );
        Ok(files)
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

/// A guest's way out of the middle of its code, on its way to the host.
#[derive(Debug, thiserror::Error)]
#[error("exit {0}")]
struct Exit(u8);

struct Budgets {
    scratch: Budget,
    disk: Budget,
}

/// What a script finds in its environment: nothing of ours.
fn environment(permit: &Permit) -> Vec<(String, String)> {
    let taken = permit.mounts.iter().any(|mount| mount.guest == SCRATCH);
    let scratch = if taken { "/scratch" } else { SCRATCH };
    let version = env!("CARGO_PKG_VERSION");
    let own = [
        ("SKILL_NAME", permit.skill.name()),
        ("SKILL_BASE_DIR", permit.skill_base()),
        ("SKILL_VERSION", permit.skill.version()),
        ("SKILLKIT_VERSION", version),
        ("SKILLRUN_VERSION", version),
        ("HOME", scratch),
        ("TMPDIR", scratch),
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
    ];
    let mut all: Vec<(String, String)> = own
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    if !permit.env.iter().any(|(name, _)| name == "TZ") {
        all.push(("TZ".into(), "UTC".into()));
    }
    all.extend(permit.env.iter().cloned());
    all
}

/// Removes the scratch directory; returns a warning if something stays behind.
async fn remove(scratch: TempDir) -> Option<String> {
    if std::fs::remove_dir(scratch.path()).is_ok() {
        let _ = scratch.keep();
        return None;
    }
    // Removing many files takes a while, and the caller's thread is not the place for it.
    match tokio::task::spawn_blocking(move || scratch.close()).await {
        Ok(Err(error)) => Some(format!(
            "the scratch directory was not removed: {}",
            crate::files::plain(&error)
        )),
        _ => None,
    }
}

fn met_limits(permit: &Permit, budgets: &Budgets, open_files: bool) -> Vec<String> {
    let limits = &permit.limits;
    let met = [
        (
            budgets.scratch.met(),
            format!(
                "the scratch directory met its limit of {}",
                show_bytes(limits.scratch)
            ),
        ),
        (
            budgets.disk.met(),
            format!("writing met the disk limit of {}", show_bytes(limits.disk)),
        ),
        (
            open_files,
            format!(
                "the script met its limit of {} open files",
                limits.open_files
            ),
        ),
    ];
    met.into_iter()
        .filter(|(met, _)| *met)
        .map(|(_, text)| text)
        .collect()
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

fn milliseconds(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
