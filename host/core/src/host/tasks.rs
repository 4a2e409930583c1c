//! Work that may block, and how much of a tenant's runs at the same time.
//!
//! All blocking work of a process shares one pool of threads. Decisions hash skills and ask the approvals database, so one
//! tenant with a thousand of them would keep everybody else's waiting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Tasks of one tenant at the same time. They wait for the same disk, so more are hardly faster, and dozens of tenants
/// fit into the 512 threads of tokio's pool.
const MAX_OF_TENANT: usize = 16;

/// Does work on a thread where it may block.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and this future is about to be dropped.
            Err(_) => std::future::pending().await,
        },
    }
}

type Tenants = HashMap<Arc<str>, Arc<Semaphore>>;

/// The tenants that have tasks.
#[derive(Default, Clone)]
pub(super) struct Tasks(Arc<Mutex<Tenants>>);

/// The right to one task. It moves into the task, which goes on if its caller is gone.
pub(super) struct Place {
    tasks: Tasks,
    tenant: Arc<str>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Tasks {
    /// Waits until the tenant may start one more task. Tasks of one tenant start in the order of these calls.
    pub(super) async fn enter(&self, tenant: &str) -> Place {
        let (tenant, semaphore) = {
            let mut tenants = self.tenants();
            let tenant: Arc<str> = match tenants.get_key_value(tenant) {
                Some((tenant, _)) => Arc::clone(tenant),
                None => tenant.into(),
            };
            let semaphore = tenants.entry(Arc::clone(&tenant));
            let semaphore = semaphore.or_insert_with(|| Arc::new(Semaphore::new(MAX_OF_TENANT)));
            (tenant, Arc::clone(semaphore))
        };
        // Before it waits: if it is dropped meanwhile, the tenant is forgotten if it was the last.
        let mut place = Place {
            tasks: self.clone(),
            tenant,
            permit: None,
        };
        // It is never closed.
        place.permit = semaphore.acquire_owned().await.ok();
        place
    }

    fn tenants(&self) -> MutexGuard<'_, Tenants> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut tenants = self.tasks.tenants();
        self.permit = None;
        let semaphore = tenants.get(&self.tenant);
        // Whoever has or waits for a permit has a reference.
        if semaphore.is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            tenants.remove(&self.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// A place, if there is one now.
    fn enter(tasks: &Tasks, tenant: &str) -> Option<Place> {
        let mut entered = pin!(tasks.enter(tenant));
        match entered
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(place) => Some(place),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_tenant_with_many_tasks_leaves_the_threads_to_others() {
        let tasks = Tasks::default();
        let mut busy: Vec<Place> = (0..MAX_OF_TENANT)
            .map(|_| enter(&tasks, "busy").unwrap())
            .collect();
        assert!(enter(&tasks, "busy").is_none());
        assert!(enter(&tasks, "quiet").is_some());
        drop(busy.pop());
        busy.push(enter(&tasks, "busy").unwrap());
        assert!(enter(&tasks, "busy").is_none());
        drop(busy);
        assert_eq!(tasks.tenants().len(), 0);
    }
}
