//! The sandbox of one run: everything the guest has and sees, built from the permit alone and torn down after it.

use super::budget::Budget;
use super::deadline::End;
use super::files::{Files, FilesView, JAVASCRIPT_NOWHERE, PYTHON_LIBRARY};
use super::filesystem::MAX_LISTINGS;
use super::memory::Memory;
use super::stdio::GuestOutput;
use super::threads::Monitor;
use crate::error::Error;
use crate::files::plain;
use crate::limits::{Limit, Limits, show_bytes, show_duration};
use crate::outcome::{DenialHint, Status, Usage};
use crate::plan::{Checked, Mount, Plan};
use crate::runtime::RunContext;
use crate::runtime::artifacts::{Artifacts, ChangedPaths, in_time};
use crate::runtime::denials::Denials;
use crate::runtime::environment::{environment, scratch_path};
use crate::runtime::output::Output;
use crate::runtime::protected::ProtectedPaths;
use crate::runtime::teardown::Teardown;
use crate::skill::Language;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::{ComponentExportIndex, InstancePre, ResourceTable};
use wasmtime::{Engine, Store, Trap};
use wasmtime_wasi::cli::AsyncStdinStream;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// Fuel between two checks of the deadline: well under a millisecond of work.
pub(super) const SLICE: u64 = 1_000_000;
/// Handles of one guest besides its open files and a stream for each: timers, errors, listings.
const OTHER_HANDLES: usize = 512;
/// Bytes that one call may carry from the guest to the host. Guests write in pieces of 64 KiB.
const MAX_CALL: usize = 4 << 20;
/// Random bytes in one call.
const MAX_RANDOM: u64 = 16 << 20;

/// The host's state for one guest.
pub(super) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    files: Files,
    memory: Memory,
    monitor: Arc<Monitor>,
    denials: Arc<Denials>,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.revoke_if_unwatched();
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl State {
    pub(super) fn memory_left(&self) -> u64 {
        self.memory.left()
    }

    /// Counts a denial that the guest reports. It may report anything, so this is for people and decides nothing.
    pub(super) fn count_denial(&self, grant: &str) {
        let hint = match grant.split_once(':') {
            Some(("net", _)) => DenialHint::RunNativelyWithNetwork,
            Some(("run", _)) => DenialHint::RunNatively,
            // The host counts files itself, and there is nothing else to report.
            _ => return,
        };
        self.denials.count(grant, Some(hint));
    }

    pub(super) fn files(&mut self) -> FilesView<'_> {
        self.revoke_if_unwatched();
        FilesView {
            files: &mut self.files,
            table: &mut self.table,
        }
    }
}

impl State {
    /// Takes all handles away from a guest that nobody waits for: its thread was abandoned, and has just returned from a call
    /// that was stuck, or the caller dropped the run. Its next call traps.
    fn revoke_if_unwatched(&mut self) {
        if !self.monitor.has_caller() {
            self.table = ResourceTable::new();
            self.files = Files::new(0);
        }
    }
}

/// The arguments of the guest's `run`.
pub(super) struct RunArguments {
    script: String,
    source: Vec<u8>,
    args: Vec<String>,
    cwd: String,
}

impl RunArguments {
    pub(super) fn new(plan: &Plan) -> Result<Self, Error> {
        let (Checked::Script(script), Some(base)) = (&plan.target, plan.skill_base()) else {
            let why = "a command cannot run in an interpreter";
            return Err(Error::Sandbox(why.into()));
        };
        Ok(Self {
            script: format!("{base}/{}", script.script.path()),
            source: script.source.to_vec(),
            args: plan.args.clone(),
            cwd: plan.directory().unwrap_or(base).to_owned(),
        })
    }
}

/// A guest about to run, running, or just ended.
pub(super) struct Sandbox {
    store: Store<State>,
    fuel: u64,
    stderr: Output,
    teardown: Teardown,
    scratch_budget: Budget,
    disk_budget: Budget,
}

impl Sandbox {
    pub(super) fn new(
        engine: &Engine,
        plan: &Plan,
        protected: &[PathBuf],
        context: RunContext,
        monitor: Arc<Monitor>,
        denials: Arc<Denials>,
    ) -> Result<Self, Error> {
        let RunContext {
            stdin,
            stdout,
            stderr,
            teardown,
            ..
        } = context;
        let failed = |error: io::Error| Error::Sandbox(plain(&error));
        let limits = &plan.limits;
        let scratch_budget = Budget::private(limits.scratch);
        let disk_budget = Budget::shared(limits.disk);
        let mut files = add_mounts(plan, protected, &disk_budget).map_err(failed)?;
        if let Some(scratch) = teardown.scratch() {
            let at = scratch_path(plan).to_owned();
            let added = files.add_scratch(Arc::clone(scratch), at, scratch_budget.clone());
            added.map_err(failed)?;
        }
        let added = files.add_outside(Arc::clone(&denials));
        added.map_err(failed)?;

        let mut wasi = WasiCtxBuilder::new();
        wasi.allow_blocking_current_thread(true)
            .max_random_size(MAX_RANDOM)
            .stdout(GuestOutput(stdout))
            .stderr(GuestOutput(stderr.clone()))
            .envs(&environment(plan, scratch_path(plan)));
        match stdin {
            Some(reader) if plan.input.is_empty() => wasi.stdin(AsyncStdinStream::new(reader)),
            _ => wasi.stdin(MemoryInputPipe::new(plan.input.clone())),
        };
        let mut table = ResourceTable::new();
        let open_files = limits.open_files as usize;
        table.set_max_capacity(open_files.saturating_mul(2).saturating_add(OTHER_HANDLES));
        let memory = Memory::new(limits.memory);
        let mut store = Store::new(
            engine,
            State {
                wasi: wasi.build(),
                table,
                files,
                memory,
                monitor,
                denials,
            },
        );
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(MAX_CALL);
        let fuel = limits.fuel.unwrap_or(u64::MAX);
        let metered = store
            .set_fuel(fuel)
            .and_then(|()| store.fuel_async_yield_interval(Some(SLICE)));
        metered.map_err(|error| Error::Sandbox(format!("{error:#}")))?;
        Ok(Self {
            store,
            fuel,
            stderr,
            teardown,
            scratch_budget,
            disk_budget,
        })
    }

    /// Makes a fresh guest and runs the script in it; returns its exit code.
    pub(super) async fn run(
        &mut self,
        guest: &InstancePre<State>,
        run: &ComponentExportIndex,
        call: &RunArguments,
    ) -> wasmtime::Result<u8> {
        let store = &mut self.store;
        let guest = guest.instantiate_async(&mut *store).await?;
        let run =
            guest.get_typed_func::<(&str, &[u8], &[String], &str), (u8,)>(&mut *store, run)?;
        let arguments = (
            call.script.as_str(),
            call.source.as_slice(),
            call.args.as_slice(),
            call.cwd.as_str(),
        );
        Ok(run.call_async(store, arguments).await?.0)
    }

    /// The status and exit code of a run. If the host ended the script, the reason is added to its stderr.
    pub(super) fn status_and_code(
        &self,
        end: End<wasmtime::Result<u8>>,
        limits: &Limits,
    ) -> (Status, i32) {
        let error = match end {
            End::Returned(Ok(code)) => return (Status::Exited, code.into()),
            End::Returned(Err(error)) => error,
            End::TimedOut => return timed_out(&self.stderr, limits),
            End::Stopped => return CANCELLED,
        };
        if let Some(Exit(code)) = error.downcast_ref() {
            return (Status::Exited, (*code).into());
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => {
                self.stderr.note(&format!(
                    "Out of fuel: the limit is {} ({})",
                    self.fuel,
                    Limit::Fuel.key()
                ));
                (Status::OutOfFuel, 124)
            }
            _ if self.store.data().memory.denied => {
                let limit = show_bytes(limits.memory);
                self.stderr.note(&format!(
                    "Out of memory: the limit is {limit} ({})",
                    Limit::Memory.key()
                ));
                (Status::OutOfMemory, 137)
            }
            trap => {
                // Without the backtrace of wasm functions, which means nothing to the reader.
                let why = trap.map_or_else(|| error.root_cause().to_string(), Trap::to_string);
                self.stderr
                    .note(&format!("Trapped: the interpreter failed: {why}"));
                (Status::Trapped, 134)
            }
        }
    }

    pub(super) fn usage(&self, cpu: Duration) -> Usage {
        Usage {
            fuel: Some(self.fuel - self.store.get_fuel().unwrap_or(0)),
            peak_memory_bytes: self.store.data().memory.peak,
            cpu_time_ms: cpu.as_secs_f64() * 1e3,
        }
    }

    /// The files that the script created, changed or removed. Without the rest if that takes too long, or if nobody
    /// waits for the outcome any more.
    pub(super) fn artifacts(&mut self, plan: &Plan) -> Artifacts {
        let state = self.store.data_mut();
        let in_time = in_time();
        let in_time = || in_time() && state.monitor.has_caller();
        let changed = state.files.changed.take();
        changed.map_or_else(Artifacts::default, |changed| changed.list(plan, &in_time))
    }

    /// The limits that the script hit and may not have reported itself, and warnings about them.
    pub(super) fn limits_hit(
        &self,
        end: (Status, i32),
        limits: &Limits,
    ) -> (Vec<Limit>, Vec<String>) {
        let files = &self.store.data().files;
        let all = [
            (
                // Not if the script exited with 0: it may have freed memory, or the interpreter collected garbage.
                self.store.data().memory.denied && end.0 == Status::Exited && end.1 != 0,
                Some(Limit::Memory),
                format!(
                    "the script hit its memory limit of {} ({})",
                    show_bytes(limits.memory),
                    Limit::Memory.key()
                ),
            ),
            (
                self.scratch_budget.disk_was_full() || self.disk_budget.disk_was_full(),
                None,
                "a write failed because the disk is full".to_owned(),
            ),
            (
                self.scratch_budget.hit_limit(),
                Some(Limit::Scratch),
                format!(
                    "the scratch directory hit its limit of {}",
                    show_bytes(limits.scratch)
                ),
            ),
            (
                self.disk_budget.hit_limit(),
                Some(Limit::Disk),
                format!(
                    "the script hit its disk limit of {}",
                    show_bytes(limits.disk)
                ),
            ),
            (
                files.hit_max_open(),
                Some(Limit::OpenFiles),
                format!(
                    "the script hit its limit of {} open files",
                    limits.open_files
                ),
            ),
            (
                files.hit_max_listings(),
                None,
                format!(
                    "the script hit the limit of {MAX_LISTINGS} directories listed at the same time"
                ),
            ),
        ];
        let (mut hit, mut warnings) = (Vec::new(), Vec::new());
        for (_, limit, warning) in all.into_iter().filter(|(is_hit, ..)| *is_hit) {
            hit.extend(limit);
            warnings.push(warning);
        }
        (hit, warnings)
    }

    /// What is left of the run, in the order in which it must be dropped: freeing the memory and the directory takes
    /// longer than a caller should wait, and another run may only start when both are done.
    pub(super) fn into_rest(mut self) -> (Store<State>, Teardown) {
        self.teardown.set_ended();
        (self.store, self.teardown)
    }
}

/// The status of a run that the time limit ended.
pub(super) fn timed_out(stderr: &Output, limits: &Limits) -> (Status, i32) {
    let limit = show_duration(limits.time);
    // Not passed on to a caller who reads the stream: the outcome has a warning of its own.
    stderr.record(&format!("Timeout: stopped after {limit}"));
    (Status::TimedOut, 124)
}

/// The status of a run that the caller stopped.
pub(super) const CANCELLED: (Status, i32) = (Status::Cancelled, 130);

/// An error that unwinds the guest when it calls `exit`.
#[derive(Debug, thiserror::Error)]
#[error("exit {0}")]
pub(super) struct Exit(pub(super) u8);

/// Makes the mounts of the permit visible to the guest.
fn add_mounts(plan: &Plan, protected: &[PathBuf], budget: &Budget) -> io::Result<Files> {
    let mut files = Files::new(plan.limits.open_files);
    files.knows_sockets = matches!(&plan.target, Checked::Script(script) if script.script.language() == Language::Python);
    files.changed = plan.list_artifacts.then(ChangedPaths::default);
    files.skill = plan.skill_base().map(str::to_owned);
    files.own_paths = match files.knows_sockets {
        true => PYTHON_LIBRARY,
        false => JAVASCRIPT_NOWHERE,
    };
    // Resolving them costs several system calls for each path, and most runs may write nothing.
    let is_writable = plan.mounts().any(|mount| mount.writable);
    let protected = is_writable.then(|| Arc::new(ProtectedPaths::of(plan, protected)));
    for mount in plan.mounts() {
        // A guest resolves a path in its innermost mount. A mount of a single file inside a directory that is
        // mounted as a whole would hide its siblings.
        if plan.mounts().any(|other| shows(other, mount)) {
            continue;
        }
        let Mount {
            dir,
            guest,
            writable,
            only,
            ..
        } = mount;
        // Whether it overlaps a protected path is not known for good: another run may move it.
        let protected = protected.as_ref().filter(|_| *writable);
        files.add_mount(
            Arc::clone(dir),
            guest.clone(),
            *writable,
            only.clone(),
            budget.clone(),
            protected.cloned(),
        )?;
    }
    Ok(files)
}

/// Whether `whole` already contains the single file of `single` at the same path, with the same access.
fn shows(whole: &Mount, single: &Mount) -> bool {
    let (Some(_), None) = (&single.only, &whole.only) else {
        return false;
    };
    let below = |outer: &Path, inner: &Path| inner.strip_prefix(outer).map(Path::to_owned).ok();
    let on_host = below(&whole.host, &single.host);
    on_host.is_some()
        && on_host == below(whole.guest.as_ref(), single.guest.as_ref())
        && (whole.writable || !single.writable)
}
