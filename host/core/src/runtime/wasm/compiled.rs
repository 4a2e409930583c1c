//! A guest compiled for this machine: mapped from the cache, or compiled once and stored there.

use crate::error::Error;
use crate::runtime::RuntimeState;
use crate::runtime::cache::{Cache, Entry, Loaded};
use skillrun_memory::{Memories, Stacks};
use skillrun_runtimes::Guest;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::OnceCell;
use wasmtime::component::Component;
use wasmtime::{Config, Engine};

/// Links a compiled guest, so that runs can instantiate it.
type Link<T> = Box<dyn Fn(Engine, &Component) -> wasmtime::Result<T> + Send + Sync>;

/// One guest, and what its runs need once it is loaded.
pub(super) struct Compiled<T> {
    guest: Guest,
    cache: Cache,
    config: Config,
    memories: Memories,
    link: Link<T>,
    loaded: OnceCell<T>,
}

/// What is kept between the runs of a guest.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Idle {
    /// Memories and stacks that wait for the next run.
    pub(super) count: usize,
    /// Bytes of each such memory that stay resident: as much as most scripts write.
    pub(super) resident: usize,
}

/// What was done to make a guest ready.
#[derive(Default)]
pub(super) struct Prepared {
    /// Whether it was compiled now.
    pub(super) was_compiled: bool,
    /// Why it can be used but not stored, if so.
    pub(super) warning: Option<String>,
}

impl<T> Compiled<T> {
    pub(super) fn new(
        guest: Guest,
        cache: Cache,
        mut config: Config,
        idle: Idle,
        link: impl Fn(Engine, &Component) -> wasmtime::Result<T> + Send + Sync + 'static,
    ) -> Self {
        let memories = Memories::new(idle.count, idle.resident);
        config
            .with_host_memory(Arc::new(memories.clone()))
            .with_host_stack(Arc::new(Stacks::new(idle.count)));
        Self {
            guest,
            cache,
            config,
            memories,
            link: Box::new(link),
            loaded: OnceCell::new(),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.guest.name()
    }

    /// Its state on this machine. Loads the guest if it is compiled.
    pub(super) fn state(&self) -> Result<RuntimeState, Error> {
        Ok(RuntimeState {
            name: self.guest.name(),
            version: self.guest.version(),
            tier: "wasm",
            prepared: self.is_prepared()?,
            file: self.cached_file()?,
        })
    }

    /// Whether the guest is compiled for this machine; loads it if so.
    pub(super) fn is_prepared(&self) -> Result<bool, Error> {
        if !self.loaded.initialized() {
            let engine = self.engine()?;
            if let Some(loaded) = self.entry(&engine).load(&engine) {
                // Another task may have loaded it first; the guest is the same.
                let _ = self.loaded.set(self.link(engine, loaded)?);
            }
        }
        Ok(self.loaded.initialized())
    }

    /// Compiles the guest for this machine if necessary, and loads it.
    pub(super) async fn prepare(&self) -> Result<Prepared, Error> {
        if self.loaded.initialized() {
            return Ok(Prepared::default());
        }
        // Mapping takes a millisecond, and compiling keeps all processors busy for many seconds: neither may block other
        // tasks.
        let (mut was_compiled, mut unstored) = (false, None);
        let load = async {
            let engine = self.engine()?;
            let (guest, cache, worker) = (self.guest, self.cache.clone(), engine.clone());
            let built = tokio::task::spawn_blocking(move || {
                let entry = cache.entry(&worker, guest);
                match entry.load(&worker) {
                    Some(loaded) => Ok((false, loaded, None)),
                    None => {
                        let built = entry.build(&worker, guest);
                        built.map(|(loaded, unstored)| (true, loaded, unstored))
                    }
                }
            });
            let built = built.await.map_err(|error| self.failed(error))?;
            let loaded;
            (was_compiled, loaded, unstored) =
                built.map_err(|error| self.failed(format!("{error:#}")))?;
            self.link(engine, loaded)
        };
        self.loaded.get_or_try_init(|| load).await?;
        let warning = unstored.map(|error| {
            let folder = self.cache.folder().display();
            let why = crate::files::plain(&error);
            format!("cannot store the compiled runtime in `{folder}`: {why}")
        });
        Ok(Prepared {
            was_compiled,
            warning,
        })
    }

    /// What [`Compiled::prepare`] loaded.
    pub(super) fn loaded(&self) -> Result<&T, Error> {
        self.loaded.get().ok_or_else(|| self.failed("not loaded"))
    }

    pub(super) fn failed(&self, why: impl ToString) -> Error {
        Error::Runtime {
            runtime: self.guest.name(),
            why: why.to_string(),
        }
    }

    fn cached_file(&self) -> Result<PathBuf, Error> {
        Ok(self.entry(&self.engine()?).path())
    }

    fn entry(&self, engine: &Engine) -> Entry<'_> {
        self.cache.entry(engine, self.guest)
    }

    fn engine(&self) -> Result<Engine, Error> {
        Engine::new(&self.config).map_err(|error| self.failed(format!("{error:#}")))
    }

    fn link(&self, engine: Engine, loaded: Loaded) -> Result<T, Error> {
        let Loaded { component, image } = loaded;
        self.memories.set_image(image);
        (self.link)(engine, &component).map_err(|error| self.failed(format!("{error:#}")))
    }
}
