//! A guest compiled for this machine: mapped from the cache, or compiled once and stored there.

use crate::error::Error;
use crate::runtime::RuntimeState;
use crate::runtime::cache::{Cache, Entry};
use skillrun_runtimes::Guest;
use std::path::PathBuf;
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
    link: Link<T>,
    loaded: OnceCell<T>,
}

impl<T> Compiled<T> {
    pub(super) fn new(
        guest: Guest,
        cache: Cache,
        config: Config,
        link: impl Fn(Engine, &Component) -> wasmtime::Result<T> + Send + Sync + 'static,
    ) -> Self {
        Self {
            guest,
            cache,
            config,
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
            if let Some(component) = self.entry(&engine).load(&engine) {
                // Another task may have loaded it first; the guest is the same.
                let _ = self.loaded.set(self.link(engine, &component)?);
            }
        }
        Ok(self.loaded.initialized())
    }

    /// Compiles the guest for this machine if necessary; returns a warning if it can be used but not stored.
    pub(super) async fn prepare(&self) -> Result<Option<String>, Error> {
        // Mapping takes a millisecond and is done here; compiling keeps all processors busy for many
        // seconds and must not block other tasks.
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
            format!("cannot store the compiled runtime in `{folder}`: {why}")
        }))
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
        self.cache
            .entry(engine, self.guest.name(), self.guest.digest())
    }

    fn engine(&self) -> Result<Engine, Error> {
        Engine::new(&self.config).map_err(|error| self.failed(format!("{error:#}")))
    }

    fn link(&self, engine: Engine, component: &Component) -> Result<T, Error> {
        (self.link)(engine, component).map_err(|error| self.failed(format!("{error:#}")))
    }
}
