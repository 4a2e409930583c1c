//! TypeScript, made JavaScript when a script's file is loaded.
//!
//! oxc does it, and oxc trusts its input: it recurses as deep as the source nests, and where the
//! grammar is ambiguous it keeps what it tried. Natively eight kilobytes of `a<a<a<…` took a gigabyte and
//! half a minute, and one long row of `(` the whole process; a thread cannot be stopped, and
//! no look at the source beforehand bounds all of it. So oxc is a guest as the interpreters are: it gets
//! the memory and the fuel that the run has left, yields to the run's deadline, overflows a stack of its
//! own, and is gone after one file.

use super::compiled::Compiled;
use super::memory::Memory;
use super::sandbox::SLICE;
use super::settings;
use crate::error::Error;
use crate::files::show;
use crate::host::RuntimeState;
use crate::limits::show_bytes;
use crate::runtime::cache::Cache;
use wasmtime::component::{
    Component, ComponentExportIndex, ComponentType, InstancePre, Lift, Linker, Lower,
};
use wasmtime::{Engine, Store, Trap};

/// Far above any source that was written by hand or by a model; what is larger was generated, and can
/// be generated as JavaScript.
const MAX_SOURCE: usize = 2 << 20;
/// Room for a few thousand levels of nesting, of which sources by hand have dozens.
const STACK: usize = 32 << 20;
/// Bytes of code and mappings from one call.
const MAX_ANSWER: usize = 256 << 20;

/// A place in the code and where it comes from, as the guests' worlds define it.
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

/// JavaScript, and where each place in it comes from.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
pub(super) struct Transpiled {
    pub(super) code: String,
    pub(super) mappings: Vec<Mapping>,
}

/// JavaScript, or the message why not.
pub(super) type Answer = Result<Transpiled, String>;

/// What a run has left for a file of its script.
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
        Self(Compiled::new(guest, cache, settings(STACK), link))
    }

    pub(crate) fn state(&self) -> Result<RuntimeState, Error> {
        self.0.state()
    }

    pub(crate) async fn prepare(&self) -> Result<Option<String>, Error> {
        self.0.prepare().await
    }

    /// Transpiles one file with what is `left`; returns the fuel it left.
    ///
    /// What is wrong with the source is an answer. An error ends the run.
    pub(super) async fn transpile(
        &self,
        name: &str,
        source: &[u8],
        left: Left,
    ) -> wasmtime::Result<(Answer, u64)> {
        let refuse = |why: &str| Err(format!("{}\n{why}", show(name)));
        if source.len() > MAX_SOURCE {
            let most = show_bytes(MAX_SOURCE as u64);
            let why = format!("TypeScript of more than {most} is not transpiled");
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
                guest.get_typed_func::<(&str, &[u8]), (Answer,)>(&mut store, transpile)?;
            Ok::<_, wasmtime::Error>(transpile.call_async(&mut store, (name, source)).await?.0)
        };
        let answer = match called.await {
            Ok(answer) => answer,
            Err(error) => match error.downcast_ref::<Trap>() {
                Some(Trap::OutOfFuel) => return Err(error),
                _ if store.data().denied => {
                    refuse("transpiling it takes more memory than the script has left")
                }
                // The stack is partly the engine's and partly in the guest's memory, before all else.
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
    // It imports nothing: all that it gets are the arguments.
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
