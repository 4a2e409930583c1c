//! A guest that is loaded into this process, and its runs. Each run is a fresh instance, on the thread that calls it.

use super::deadline::{Deadline, Signal};
use super::files::HasFiles;
use super::job::{Handle, Job};
use super::priority::Priority;
use super::sandbox::{Ending, Exit, Io, Sandbox, State};
use super::threads::Monitor;
use super::typescript::{self, Transpiler};
use crate::error::Error;
use crate::limits::Limit;
use crate::outcome::Usage;
use crate::runtime::artifacts::Artifacts;
use crate::runtime::denials::Denials;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};
use wasmtime::{Engine, Store, StoreContextMut, Trap};
use wasmtime_wasi::cli::StdoutStream;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

/// An interpreter, linked and ready to be instantiated.
pub(super) struct Loaded {
    engine: Engine,
    guest: InstancePre<State>,
    run: ComponentExportIndex,
}

/// What a run has besides its job.
pub(super) struct Surroundings<O> {
    pub(super) io: Io<O>,
    /// Counts what the guest is denied.
    pub(super) denials: Arc<Denials>,
    /// Knows whether somebody waits for the outcome.
    pub(super) monitor: Arc<Monitor>,
    /// Resolves when the guest has to stop before its deadline.
    pub(super) signal: Signal,
    /// When its time began.
    pub(super) began: Instant,
    pub(super) priority: Priority,
}

/// The end of a run.
pub(super) struct Finished {
    pub(super) ending: Ending,
    pub(super) time: Duration,
    pub(super) usage: Usage,
    pub(super) artifacts: Artifacts,
    pub(super) limits_hit: Vec<Limit>,
    pub(super) warnings: Vec<String>,
}

impl Loaded {
    /// Links a guest. One that imports `transpile` gets it from the `transpiler`.
    pub(super) fn link(
        engine: Engine,
        component: &Component,
        transpiler: Option<&Arc<Transpiler>>,
    ) -> wasmtime::Result<Self> {
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
        Ok(Self { engine, guest, run })
    }

    /// Runs a job. The guest's memory is returned, to be dropped when nobody waits any more: that takes longer than a caller
    /// should wait.
    pub(super) async fn run<O: StdoutStream + 'static>(
        &self,
        job: &Job,
        handles: &[Handle],
        surroundings: Surroundings<O>,
    ) -> Result<(Finished, Store<State>), Error> {
        let Surroundings {
            io,
            denials,
            monitor,
            signal,
            began,
            priority,
        } = surroundings;
        let mut sandbox = Sandbox::new(&self.engine, job, handles, io, monitor, denials)?;
        let call = sandbox.run(&self.guest, &self.run, job);
        let (end, cpu) = Deadline::new(call, began + job.limits.time, signal, priority).await;
        let time = began.elapsed();
        let ending = sandbox.ending(end, &job.limits);
        let artifacts = sandbox.artifacts(&job.directories(handles));
        let (limits_hit, warnings) = sandbox.limits_hit(&ending, &job.limits);
        let finished = Finished {
            time,
            usage: sandbox.usage(cpu),
            artifacts,
            limits_hit,
            warnings,
            ending,
        };
        Ok((finished, sandbox.into_store()))
    }
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
    match transpiler.transpile(&name, &source, left).await {
        Ok((answer, fuel)) => {
            store.set_fuel(fuel)?;
            Ok((answer,))
        }
        Err(error) => {
            if let Some(Trap::OutOfFuel) = error.downcast_ref() {
                store.set_fuel(0)?;
            }
            Err(error)
        }
    }
}
