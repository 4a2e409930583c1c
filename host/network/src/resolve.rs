//! Looks names up.

use std::future::Future;
use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::{Semaphore, oneshot};

/// The addresses of a name, once they are known.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks names up. What it returns is checked before anything is connected to.
pub trait Resolve: Send + Sync {
    /// The addresses of a name, in the order in which they are tried.
    fn resolve(&self, name: &str) -> Lookup;
}

/// How many lookups of all programs may be under way. Each has a thread, and may take as long as the servers of this machine let it.
const MAX_LOOKUPS: usize = 64;

/// The resolver of this machine.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    free: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self {
            free: Arc::new(Semaphore::new(MAX_LOOKUPS)),
        }
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: &str) -> Lookup {
        let (free, name) = (Arc::clone(&self.free), name.to_owned());
        Box::pin(async move {
            let permit = free.acquire_owned().await.map_err(io::Error::other)?;
            let (answer, answered) = oneshot::channel();
            // A thread of its own: a runtime waits for its blocking threads when it is dropped.
            let lookup = move || {
                let found = (name.as_str(), 0).to_socket_addrs();
                let found = found.map(|all| all.map(|address| address.ip()).collect());
                drop(permit);
                // Whoever asked may be gone.
                let _ = answer.send(found);
            };
            let thread = std::thread::Builder::new().name("skillrun-lookup".into());
            thread.spawn(lookup)?;
            answered.await.map_err(io::Error::other)?
        })
    }
}
