//! One run's sandbox: what the guest holds and sees, from the permit alone, until it is gone.

use super::budget::Budget;
use super::deadline::End;
use super::files::{Files, FilesView};
use super::memory::Memory;
use super::threads::Lane;
use crate::decision::{Checked, Mount, Permit};
use crate::error::Error;
use crate::files::plain;
use crate::limits::{Limits, show_bytes, show_duration};
use crate::outcome::{Status, Usage};
use crate::runtime::environment::{environment, scratch_path};
use crate::runtime::output::{Kept, Output};
use crate::runtime::scratch::{Scratch, Scratches};
use crate::runtime::sealed::Sealed;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncRead;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::{ComponentExportIndex, InstancePre, ResourceTable};
use wasmtime::{Engine, Store, Trap};
use wasmtime_wasi::cli::AsyncStdinStream;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// Fuel between two looks at the clock: well under a millisecond of work.
pub(super) const SLICE: u64 = 1_000_000;
/// Handles of one guest besides its open files and a stream for each: timers, errors, listings.
const FURTHER_HANDLES: usize = 512;
/// Bytes that one call may carry from the guest to the host. Guests write in pieces of 64 KiB.
const MAX_CALL: usize = 4 << 20;
/// Random bytes in one call.
const MAX_RANDOM: u64 = 16 << 20;
/// From this size on a guest's memory takes milliseconds to give back.
const LARGE: u64 = 64 << 20;

/// What one guest holds.
pub(super) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    files: Files,
    memory: Memory,
    lane: Arc<Lane>,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.cut_off();
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

    pub(super) fn files(&mut self) -> FilesView<'_> {
        self.cut_off();
        FilesView {
            files: &mut self.files,
            table: &mut self.table,
        }
    }
}

impl State {
    /// Takes everything away from a guest whose run is over for its caller. It has just come back from a
    /// call that hung: what it calls next traps.
    fn cut_off(&mut self) {
        if self.lane.is_abandoned() {
            self.table = ResourceTable::new();
            self.files = Files::new(0);
        }
    }
}

/// What the guest is asked to run.
pub(super) struct Call {
    script: String,
    source: Vec<u8>,
    args: Vec<String>,
    cwd: String,
}

impl Call {
    pub(super) fn new(permit: &Permit) -> Result<Self, Error> {
        let (Checked::Script(asked), Some(base)) = (&permit.subject, permit.skill_base()) else {
            let why = "a command of this machine is no script";
            return Err(Error::Sandbox(why.into()));
        };
        Ok(Self {
            script: format!("{base}/{}", asked.script.path()),
            source: asked.source.to_vec(),
            args: permit.args.clone(),
            cwd: permit.workspace.as_deref().unwrap_or(base).to_owned(),
        })
    }
}

/// A guest about to run, running, or just ended.
pub(super) struct Sandbox {
    store: Store<State>,
    fuel: u64,
    stdout: Output,
    stderr: Output,
    scratch: Scratch,
    scratch_budget: Budget,
    disk_budget: Budget,
}

type Stdin = Box<dyn AsyncRead + Send + Sync + Unpin>;

impl Sandbox {
    pub(super) fn new(
        engine: &Engine,
        permit: &Permit,
        sealed: &[PathBuf],
        scratches: &Scratches,
        stdin: Option<Stdin>,
        (stdout, stderr): (Output, Output),
        lane: Arc<Lane>,
    ) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::Sandbox(plain(&error));
        let limits = &permit.limits;
        let scratch = scratches.make().map_err(failed)?;
        let scratch_budget = Budget::new(limits.scratch, Some(scratch.path().to_owned()));
        let disk_budget = Budget::new(limits.disk, None);
        let mut files = show_mounts(permit, sealed, &disk_budget).map_err(failed)?;
        let private = Dir::open_ambient_dir(scratch.path(), ambient_authority()).map_err(failed)?;
        let at = scratch_path(permit).to_owned();
        files.show(
            private.into_std_file(),
            at,
            true,
            None,
            scratch_budget.clone(),
            None,
        );

        let mut wasi = WasiCtxBuilder::new();
        wasi.allow_blocking_current_thread(true)
            .max_random_size(MAX_RANDOM)
            .stdout(stdout.clone())
            .stderr(stderr.clone())
            .envs(&environment(permit, scratch_path(permit)));
        match stdin {
            Some(reader) if permit.input.is_empty() => wasi.stdin(AsyncStdinStream::new(reader)),
            _ => wasi.stdin(MemoryInputPipe::new(permit.input.clone())),
        };
        let mut table = ResourceTable::new();
        let open_files = limits.open_files as usize;
        table.set_max_capacity(open_files.saturating_mul(2).saturating_add(FURTHER_HANDLES));
        let memory = Memory::new(limits.memory);
        let mut store = Store::new(
            engine,
            State {
                wasi: wasi.build(),
                table,
                files,
                memory,
                lane,
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
            stdout,
            stderr,
            scratch,
            scratch_budget,
            disk_budget,
        })
    }

    /// Makes a fresh guest and runs the script in it; returns its exit code.
    pub(super) async fn run(
        &mut self,
        guest: &InstancePre<State>,
        run: &ComponentExportIndex,
        call: &Call,
    ) -> wasmtime::Result<u8> {
        let store = &mut self.store;
        let guest = guest.instantiate_async(&mut *store).await?;
        let run =
            guest.get_typed_func::<(&str, &[u8], &[String], &str), (u8,)>(&mut *store, run)?;
        let asked = (
            call.script.as_str(),
            call.source.as_slice(),
            call.args.as_slice(),
            call.cwd.as_str(),
        );
        Ok(run.call_async(store, asked).await?.0)
    }

    /// What the way it ended means; what the script could not say itself is added to its stderr.
    pub(super) fn verdict(&self, end: End<wasmtime::Result<u8>>, limits: &Limits) -> (Status, i32) {
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
                    "Out of fuel: the budget of {} is spent",
                    self.fuel
                ));
                (Status::OutOfFuel, 124)
            }
            _ if self.store.data().memory.denied => {
                let limit = show_bytes(limits.memory);
                self.stderr
                    .note(&format!("Out of memory: the limit is {limit}"));
                (Status::OutOfMemory, 137)
            }
            trap => {
                let why = trap.map_or_else(|| format!("{error:#}"), ToString::to_string);
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

    /// The limits that the script met and may not have told of.
    pub(super) fn met_limits(&self, limits: &Limits) -> Vec<String> {
        let files = self.store.data().files.met_max_open();
        let met = [
            (
                self.scratch_budget.met(),
                format!(
                    "the scratch directory met its limit of {}",
                    show_bytes(limits.scratch)
                ),
            ),
            (
                self.disk_budget.met(),
                format!("writing met the disk limit of {}", show_bytes(limits.disk)),
            ),
            (
                files,
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

    /// What was kept of stdout and stderr.
    pub(super) fn output(&self) -> (Kept, Kept) {
        (self.stdout.take(), self.stderr.take())
    }

    /// Frees its slot and removes everything of it, or has it removed; returns a warning if something
    /// stays behind.
    pub(super) async fn take_down(self, slot: OwnedSemaphorePermit) -> Option<String> {
        let Self { store, scratch, .. } = self;
        let large = store.data().memory.peak > LARGE;
        let store = large.then_some(store);
        let removed = match scratch.leave() {
            // As many wait for their removal as may. This one removes its own, and those who come next
            // wait for its slot: there must not be ever more of them.
            Ok(Some(rest)) => {
                let remove = tokio::task::spawn_blocking(move || {
                    drop(store);
                    let removed = rest.finish();
                    drop(slot);
                    removed
                });
                remove.await.unwrap_or(Ok(()))
            }
            left => {
                // The script has ended; giving much memory back takes longer than a caller who set
                // a time limit should wait.
                if let Some(store) = store {
                    drop(tokio::task::spawn_blocking(move || drop((store, slot))));
                }
                left.map(drop)
            }
        };
        let error = removed.err()?;
        Some(format!(
            "the scratch directory was not removed: {}",
            plain(&error)
        ))
    }
}

/// What a run is that the time limit ended.
pub(super) fn timed_out(stderr: &Output, limits: &Limits) -> (Status, i32) {
    let limit = show_duration(limits.time);
    stderr.note(&format!("Timeout: stopped after {limit}"));
    (Status::TimedOut, 124)
}

/// What a run is that the caller ended.
pub(super) const CANCELLED: (Status, i32) = (Status::Cancelled, 130);

/// A guest's way out of the middle of its code, on its way to the host.
#[derive(Debug, thiserror::Error)]
#[error("exit {0}")]
pub(super) struct Exit(pub(super) u8);

/// The directories of the permit as the guest sees them.
fn show_mounts(permit: &Permit, sealed: &[PathBuf], budget: &Budget) -> io::Result<Files> {
    let mut files = Files::new(permit.limits.open_files);
    let sealed = Arc::new(Sealed::of(permit, sealed));
    for Mount {
        dir,
        host,
        guest,
        writable,
        only,
    } in &permit.mounts
    {
        let overlaps = *writable && sealed.overlaps(host);
        files.show(
            dir.try_clone()?.into_std_file(),
            guest.clone(),
            *writable,
            only.clone(),
            budget.clone(),
            overlaps.then(|| Arc::clone(&sealed)),
        );
    }
    Ok(files)
}
