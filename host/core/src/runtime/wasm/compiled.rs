//! A guest compiled for this machine: mapped from the cache, or compiled once and stored there.
//!
//! A worker has no cache. It maps the file that the host opened, checked and sent.

use crate::error::Error;
use crate::runtime::RuntimeState;
use crate::runtime::cache::{Cache, Loaded, load_checked};
use skillrun_memory::{Memories, Stacks};
use skillrun_runtimes::Guest;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::OnceCell;
use wasmtime::component::Component;
use wasmtime::{Config, Engine};

/// Links a compiled guest, so that runs can instantiate it.
type Link<T> = Box<dyn Fn(Engine, &Component) -> wasmtime::Result<T> + Send + Sync>;

/// One guest, and what its runs need once it is loaded.
pub(super) struct Compiled<T> {
    guest: Guest,
    /// `None` in a worker.
    cache: Option<Cache>,
    config: Config,
    memories: Memories,
    link: Link<T>,
    loaded: OnceCell<T>,
    /// The compiled file, for workers.
    file: OnceCell<GuestFile>,
}

/// A compiled guest that a worker can load.
#[derive(Debug, Clone)]
pub(super) struct GuestFile {
    /// The name of the guest.
    pub(super) name: &'static str,
    pub(super) file: Arc<File>,
    /// Where it is; `None` for a sealed file in memory.
    pub(super) path: Option<PathBuf>,
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
    /// A guest that is loaded from the cache, and compiled if it is not there.
    pub(super) fn new(
        guest: Guest,
        cache: Cache,
        config: Config,
        idle: Idle,
        link: impl Fn(Engine, &Component) -> wasmtime::Result<T> + Send + Sync + 'static,
    ) -> Self {
        Self {
            cache: Some(cache),
            ..Self::in_worker(guest, config, idle, link)
        }
    }

    /// A guest that is loaded from a file that the host of this worker sends.
    pub(super) fn in_worker(
        guest: Guest,
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
            cache: None,
            config,
            memories,
            link: Box::new(link),
            loaded: OnceCell::new(),
            file: OnceCell::new(),
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
            if let Some(loaded) = self.cache()?.entry(&engine, self.guest).load(&engine) {
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
            let (guest, cache, worker) = (self.guest, self.cache()?.clone(), engine.clone());
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
        Ok(Prepared {
            was_compiled,
            warning: unstored.map(|error| self.unstored(&error)),
        })
    }

    fn unstored(&self, error: &std::io::Error) -> String {
        let folder = self
            .cache
            .as_ref()
            .map(Cache::folder)
            .unwrap_or(Path::new(""));
        let (folder, why) = (folder.display(), crate::files::plain(error));
        format!("cannot store the compiled runtime in `{folder}`: {why}")
    }

    /// The compiled file, for a worker to load; compiles the guest for this machine if necessary. Loads nothing here.
    pub(super) async fn prepare_file(&self) -> Result<(GuestFile, Prepared), Error> {
        let mut prepared = Prepared::default();
        let open = async {
            let engine = self.engine()?;
            let (guest, cache) = (self.guest, self.cache()?.clone());
            let opened = tokio::task::spawn_blocking(move || {
                let entry = cache.entry(&engine, guest);
                let path = entry.path();
                entry.file(&engine, guest).map(|opened| (opened, path))
            });
            let opened = opened.await.map_err(|error| self.failed(error))?;
            let ((file, was_compiled, unstored), path) =
                opened.map_err(|error| self.failed(format!("{error:#}")))?;
            let path = unstored.is_none().then_some(path);
            prepared = Prepared {
                was_compiled,
                warning: unstored.map(|error| self.unstored(&error)),
            };
            Ok::<_, Error>(GuestFile {
                name: self.guest.name(),
                file: file.into(),
                path,
            })
        };
        let file = self.file.get_or_try_init(|| open).await?;
        Ok((file.clone(), prepared))
    }

    /// Whether there is a compiled file, without loading it.
    pub(super) fn has_file(&self) -> Result<bool, Error> {
        let is_valid = || {
            let (cache, engine) = (self.cache()?, self.engine()?);
            Ok::<_, Error>(cache.entry(&engine, self.guest).is_valid())
        };
        Ok(self.file.initialized() || is_valid()?)
    }

    /// Loads a compiled file that the host of this worker sent.
    pub(super) fn load_file(&self, file: File) -> Result<&T, Error> {
        let engine = self.engine()?;
        let loaded = load_checked(&engine, file, self.guest.image_size());
        let loaded = loaded.map_err(|error| self.failed(format!("{error:#}")))?;
        // It is sent once.
        let _ = self.loaded.set(self.link(engine, loaded)?);
        self.loaded()
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
        Ok(self.cache()?.entry(&self.engine()?, self.guest).path())
    }

    fn cache(&self) -> Result<&Cache, Error> {
        let cache = self.cache.as_ref();
        cache.ok_or_else(|| self.failed("the host did not send it"))
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
