//! The sandbox of one run: everything the guest has and sees, built from its job alone.

use super::budget::Budget;
use super::deadline::End;
use super::files::{Files, FilesView, JAVASCRIPT_NOWHERE, MakeScratch, PYTHON_LIBRARY};
use super::filesystem::MAX_LISTINGS;
use super::job::{Handle, Job, JobLimits};
use super::memory::Memory;
use super::threads::Monitor;
use crate::error::Error;
use crate::files::plain;
use crate::limits::{Limit, show_bytes, show_duration};
use crate::outcome::{DenialHint, Status, Usage};
use crate::runtime::Stdin;
use crate::runtime::artifacts::{Artifacts, ChangedPaths, Directories, in_time};
use crate::runtime::denials::Denials;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::{ComponentExportIndex, InstancePre, ResourceTable};
use wasmtime::{Engine, Store, Trap};
use wasmtime_wasi::cli::{AsyncStdinStream, StdoutStream};
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

/// The streams of a guest, and what makes its scratch directory.
pub(super) struct Io<O> {
    /// The script's standard input, if the job has no `input`.
    pub(super) stdin: Option<Stdin>,
    pub(super) stdout: O,
    pub(super) stderr: O,
    pub(super) make_scratch: Option<MakeScratch>,
}

/// How a guest ended: the status and the exit code, and what the host adds to its stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) status: Status,
    pub(super) exit_code: i32,
    pub(super) note: Option<Note>,
}

/// A line that the host adds to the stderr of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) text: String,
    /// Whether a caller who reads the stream gets it. A timeout is not passed on: the outcome has a warning of its own.
    pub(super) is_passed_on: bool,
}

impl Ending {
    fn new(status: Status, exit_code: i32) -> Self {
        Self {
            status,
            exit_code,
            note: None,
        }
    }

    fn with_note(status: Status, exit_code: i32, text: String, is_passed_on: bool) -> Self {
        let note = Note { text, is_passed_on };
        Self {
            note: Some(note),
            ..Self::new(status, exit_code)
        }
    }

    /// The end of a run that the time limit ended.
    pub(super) fn timed_out(limit: Duration) -> Self {
        let text = format!("Timeout: stopped after {}", show_duration(limit));
        Self::with_note(Status::TimedOut, 124, text, false)
    }

    /// The end of a run whose interpreter failed.
    pub(super) fn trapped(why: &str) -> Self {
        let text = format!("Trapped: the interpreter failed: {why}");
        Self::with_note(Status::Trapped, 134, text, true)
    }

    /// The end of a run that the caller stopped.
    pub(super) fn cancelled() -> Self {
        Self::new(Status::Cancelled, 130)
    }
}

/// A guest about to run, running, or just ended.
pub(super) struct Sandbox {
    store: Store<State>,
    fuel: u64,
    scratch_budget: Budget,
    disk_budget: Budget,
}

impl Sandbox {
    pub(super) fn new<O: StdoutStream + 'static>(
        engine: &Engine,
        job: &Job,
        handles: &[Handle],
        io: Io<O>,
        monitor: Arc<Monitor>,
        denials: Arc<Denials>,
    ) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::Sandbox(plain(&error));
        let limits = &job.limits;
        let scratch_budget = Budget::private(limits.scratch);
        let disk_budget = Budget::shared(limits.disk);
        let mut files = add_mounts(job, handles, &disk_budget).map_err(failed)?;
        if let Some(make) = io.make_scratch {
            let added = files.add_scratch(make, job.scratch.clone(), scratch_budget.clone());
            added.map_err(failed)?;
        }
        let added = files.add_outside(Arc::clone(&denials));
        added.map_err(failed)?;

        let mut wasi = WasiCtxBuilder::new();
        wasi.allow_blocking_current_thread(true)
            .max_random_size(MAX_RANDOM)
            .stdout(io.stdout)
            .stderr(io.stderr)
            .envs(&job.environment);
        match io.stdin {
            Some(reader) if job.input.is_empty() => wasi.stdin(AsyncStdinStream::new(reader)),
            _ => wasi.stdin(MemoryInputPipe::new(job.input.clone())),
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
            scratch_budget,
            disk_budget,
        })
    }

    /// Makes a fresh guest and runs the script in it; returns its exit code.
    pub(super) async fn run(
        &mut self,
        guest: &InstancePre<State>,
        run: &ComponentExportIndex,
        job: &Job,
    ) -> wasmtime::Result<u8> {
        let store = &mut self.store;
        let guest = guest.instantiate_async(&mut *store).await?;
        let run =
            guest.get_typed_func::<(&str, &[u8], &[String], &str), (u8,)>(&mut *store, run)?;
        let arguments = (
            job.script.as_str(),
            job.source.as_slice(),
            job.args.as_slice(),
            job.directory.as_str(),
        );
        Ok(run.call_async(store, arguments).await?.0)
    }

    /// How the run ended. If the host ended the script, it also says why.
    pub(super) fn ending(&self, end: End<wasmtime::Result<u8>>, limits: &JobLimits) -> Ending {
        let error = match end {
            End::Returned(Ok(code)) => return Ending::new(Status::Exited, code.into()),
            End::Returned(Err(error)) => error,
            End::TimedOut => return Ending::timed_out(limits.time),
            End::Stopped => return Ending::cancelled(),
        };
        if let Some(Exit(code)) = error.downcast_ref() {
            return Ending::new(Status::Exited, (*code).into());
        }
        let noted = |status, code, text| Ending::with_note(status, code, text, true);
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => {
                let (limit, key) = (self.fuel, Limit::Fuel.key());
                let text = format!("Out of fuel: the limit is {limit} ({key})");
                noted(Status::OutOfFuel, 124, text)
            }
            _ if self.store.data().memory.denied => {
                let (limit, key) = (show_bytes(limits.memory), Limit::Memory.key());
                let text = format!("Out of memory: the limit is {limit} ({key})");
                noted(Status::OutOfMemory, 137, text)
            }
            trap => {
                // Without the backtrace of wasm functions, which means nothing to the reader.
                let why = trap.map_or_else(|| error.root_cause().to_string(), Trap::to_string);
                Ending::trapped(&why)
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
    pub(super) fn artifacts(&mut self, directories: &Directories) -> Artifacts {
        let state = self.store.data_mut();
        let in_time = in_time();
        let in_time = || in_time() && state.monitor.has_caller();
        let changed = state.files.changed.take();
        changed.map_or_else(Artifacts::default, |changed| {
            changed.list(directories, &in_time)
        })
    }

    /// The limits that the script hit and may not have reported itself, and warnings about them.
    pub(super) fn limits_hit(&self, end: &Ending, limits: &JobLimits) -> (Vec<Limit>, Vec<String>) {
        let files = &self.store.data().files;
        let all = [
            (
                // Not if the script exited with 0: it may have freed memory, or the interpreter collected garbage.
                self.store.data().memory.denied
                    && end.status == Status::Exited
                    && end.exit_code != 0,
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

    /// What is left of the run. Dropping it frees its memory, which takes longer than a caller should wait.
    pub(super) fn into_store(self) -> Store<State> {
        self.store
    }
}

/// An error that unwinds the guest when it calls `exit`.
#[derive(Debug, thiserror::Error)]
#[error("exit {0}")]
pub(super) struct Exit(pub(super) u8);

/// Makes the mounts of the job visible to the guest.
fn add_mounts(job: &Job, handles: &[Handle], budget: &Budget) -> io::Result<Files> {
    let mut files = Files::new(job.limits.open_files);
    files.knows_sockets = job.is_python;
    files.changed = job.listed.is_some().then(ChangedPaths::default);
    files.skill = Some(job.skill.clone());
    files.own_paths = match job.is_python {
        true => PYTHON_LIBRARY,
        false => JAVASCRIPT_NOWHERE,
    };
    let protected = job.protected.clone().map(Arc::new);
    for (mount, handle) in job.mounts.iter().zip(handles) {
        // Whether it overlaps a protected path is not known for good: another run may move it.
        let protected = protected.as_ref().filter(|_| mount.writable);
        files.add_mount(
            Arc::clone(&handle.file),
            mount.guest.clone(),
            mount.writable,
            mount.only.clone(),
            budget.clone(),
            protected.cloned(),
        )?;
        if handle.is_passed {
            files.set_passed(handle.is_detached.then_some(&mount.host))?;
        }
    }
    Ok(files)
}
