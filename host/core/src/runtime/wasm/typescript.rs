//! Transpiles TypeScript to JavaScript when a script loads a file.
//!
//! oxc does the work, and oxc trusts its input: it recurses as deep as the source nests, and where the
//! grammar is ambiguous it keeps every attempt in memory. Run natively, eight kilobytes of `a<a<a<…` took a
//! gigabyte and half a minute, and a long row of `(` crashed the whole process. A thread cannot be stopped,
//! and no check of the source beforehand bounds all of this. So oxc is a guest like the interpreters: it gets
//! the memory and the fuel that the run has left, yields to the run's deadline, can only overflow a stack of
//! its own, and is discarded after one file.

use super::compiled::{Compiled, GuestFile, Idle};
use super::memory::Memory;
use super::sandbox::SLICE;
use super::settings;
use crate::error::Error;
use crate::files::show;
use crate::limits::show_bytes;
use crate::runtime::RuntimeState;
use crate::runtime::cache::Cache;
use std::fs::File;
use wasmtime::component::{
    Component, ComponentExportIndex, ComponentType, InstancePre, Lift, Linker, Lower,
};
use wasmtime::{Engine, Store, Trap};

/// Far more than any source that a person or a model writes. Anything larger was generated, and can be
/// generated as JavaScript.
const MAX_SOURCE: usize = 2 << 20;
/// Enough for a few thousand levels of nesting; hand-written sources have dozens.
const STACK: usize = 32 << 20;
/// Bytes of code and mappings from one call.
const MAX_ANSWER: usize = 256 << 20;

/// A position in the code and the position in the source that it comes from, as in the guests' WIT worlds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct Mapping {
    pub(super) line: u32,
    column: u32,
    #[component(name = "original-line")]
    pub(super) original_line: u32,
    #[component(name = "original-column")]
    original_column: u32,
}

/// JavaScript code and its source map.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct Transpiled {
    pub(super) code: String,
    pub(super) mappings: Vec<Mapping>,
}

/// JavaScript, or an error message.
pub(super) type TranspileResult = Result<Transpiled, String>;

/// The memory and fuel that a run has left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) memory: u64,
    pub(super) fuel: u64,
}

/// The transpiler, ready once it is compiled for this machine.
pub(crate) struct Transpiler(Compiled<Loaded>);

struct Loaded {
    engine: Engine,
    guest: InstancePre<Memory>,
    transpile: ComponentExportIndex,
}

impl Transpiler {
    pub(crate) fn new(cache: Cache) -> Self {
        let guest = skillrun_runtimes::typescript();
        Self(Compiled::new(
            guest,
            cache,
            settings(STACK),
            Idle::default(),
            link,
        ))
    }

    /// In a worker.
    pub(super) fn in_worker() -> Self {
        let guest = skillrun_runtimes::typescript();
        let idle = Idle::default();
        Self(Compiled::in_worker(guest, settings(STACK), idle, link))
    }

    /// Loads the compiled file that the host of this worker sent.
    pub(super) fn load_file(&self, file: File) -> Result<(), Error> {
        self.0.load_file(file).map(drop)
    }

    /// The compiled file, for a worker to load; compiles it if necessary. Also returns a warning if it cannot be stored.
    pub(super) async fn prepare_file(&self) -> Result<(GuestFile, Option<String>), Error> {
        let (file, prepared) = self.0.prepare_file().await?;
        Ok((file, prepared.warning))
    }

    pub(crate) fn state(&self) -> Result<RuntimeState, Error> {
        self.0.state()
    }

    pub(crate) async fn prepare(&self) -> Result<Option<String>, Error> {
        Ok(self.0.prepare().await?.warning)
    }

    /// Transpiles one file within what is `left`; also returns the fuel that remains.
    ///
    /// A mistake in the source is an answer. An error ends the run.
    pub(super) async fn transpile(
        &self,
        name: &str,
        source: &[u8],
        left: Left,
    ) -> wasmtime::Result<(TranspileResult, u64)> {
        let refuse = |why: &str| Err(format!("{}\n{why}", show(name)));
        if source.len() > MAX_SOURCE {
            let max = show_bytes(MAX_SOURCE as u64);
            let why = format!("TypeScript of more than {max} is not transpiled");
            return Ok((refuse(&why), left.fuel));
        }
        self.0.prepare().await?;
        let Loaded {
            engine,
            guest,
            transpile,
        } = self.0.loaded()?;
        let mut store = Store::new(engine, Memory::new(left.memory));
        store.limiter(|memory| memory);
        store.set_hostcall_fuel(MAX_ANSWER);
        store.set_fuel(left.fuel)?;
        store.fuel_async_yield_interval(Some(SLICE))?;
        let called = async {
            let guest = guest.instantiate_async(&mut store).await?;
            let transpile =
                guest.get_typed_func::<(&str, &[u8]), (TranspileResult,)>(&mut store, transpile)?;
            Ok::<_, wasmtime::Error>(transpile.call_async(&mut store, (name, source)).await?.0)
        };
        let answer = match called.await {
            Ok(answer) => answer,
            Err(error) => match error.downcast_ref::<Trap>() {
                Some(Trap::OutOfFuel) => return Err(error),
                _ if store.data().denied => {
                    refuse("transpiling it takes more memory than the script has left")
                }
                // The stack is partly the engine's and partly at the start of the guest's memory.
                Some(Trap::StackOverflow | Trap::MemoryOutOfBounds) => {
                    refuse("it is nested too deeply to be transpiled")
                }
                _ => refuse("the transpiler failed on it"),
            },
        };
        Ok((answer, store.get_fuel()?))
    }
}

fn link(engine: Engine, component: &Component) -> wasmtime::Result<Loaded> {
    // It imports nothing: its arguments are its only input.
    let guest = Linker::new(&engine).instantiate_pre(component)?;
    let transpile = component.get_export_index(None, "transpile");
    let transpile =
        transpile.ok_or_else(|| wasmtime::format_err!("the guest has no `transpile`"))?;
    Ok(Loaded {
        engine,
        guest,
        transpile,
    })
}

#[cfg(test)]
#[path = "typescript_tests.rs"]
mod tests;
