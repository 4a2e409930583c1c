//! The file descriptors that open questions, waiting runs and private directories keep.
//!
//! A question and a run keep their directories open until the run starts or the question is closed, and a skill or workspace
//! that was given as bytes does as long as it exists. Without a bound, one tenant could use up the descriptors of
//! the process, and then nothing runs for anybody. So each kind together keeps at most a part of RLIMIT_NOFILE, and an eighth
//! is left for everything else. A tenant keeps no more than are left for the others, so that some are always left for one
//! that keeps none.
//!
//! The limit is that of the process, so its hosts share these counts.

use crate::refusal::of_tenant;
use rustix::process::{Resource, getrlimit};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Of open questions.
pub(crate) static QUESTIONS: Pool = Pool::new("open questions", 2);
/// Of runs that wait for a slot.
pub(crate) static WAITING: Pool = Pool::new("waiting runs", 3);
/// Of skills and workspaces that were given as bytes.
pub(crate) static PRIVATE: Pool = Pool::new("skills and workspaces in private directories", 2);

/// Descriptors that are kept for one purpose.
pub(crate) struct Pool {
    /// Who keeps them, for messages.
    purpose: &'static str,
    /// The eighths of RLIMIT_NOFILE that may be kept.
    eighths: u64,
    kept: LazyLock<Mutex<HashMap<String, u64>>>,
}

/// Descriptors of a tenant, until it is dropped.
pub(crate) struct Reservation {
    pool: &'static Pool,
    tenant: String,
    count: u64,
}

impl Pool {
    const fn new(purpose: &'static str, eighths: u64) -> Self {
        Self {
            purpose,
            eighths,
            kept: LazyLock::new(Mutex::default),
        }
    }

    /// Counts descriptors of a tenant. Fails with the reason if it would keep too many.
    pub(crate) fn reserve(
        &'static self,
        tenant: &str,
        count: usize,
    ) -> Result<Reservation, String> {
        // Reading it takes a system call, so it is read again only if it seems to be reached: the process may have raised it.
        static LIMIT: AtomicU64 = AtomicU64::new(0);
        let known = LIMIT.load(Ordering::Relaxed);
        if let Ok(reserved) = self.reserve_below(known / 8 * self.eighths, tenant, count) {
            return Ok(reserved);
        }
        // No limit is as good as a very high one.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        LIMIT.store(limit, Ordering::Relaxed);
        self.reserve_below(limit / 8 * self.eighths, tenant, count)
    }

    fn reserve_below(
        &'static self,
        limit: u64,
        tenant: &str,
        count: usize,
    ) -> Result<Reservation, String> {
        let count = count as u64;
        let mut kept = self.kept();
        let left = limit.saturating_sub(kept.values().sum());
        let own = kept.get(tenant).copied().unwrap_or_default();
        if own + count > left {
            return Err(format!(
                "the {}{} keep {own} of {limit} file descriptors, a full share",
                self.purpose,
                of_tenant(tenant)
            ));
        }
        kept.insert(tenant.to_owned(), own + count);
        Ok(Reservation {
            pool: self,
            tenant: tenant.to_owned(),
            count,
        })
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Reservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reservation").field(&self.count).finish()
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut kept = self.pool.kept();
        if let Some(own) = kept.get_mut(&self.tenant) {
            *own = own.saturating_sub(self.count);
            if *own == 0 {
                kept.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_keeps_no_more_descriptors_than_are_left_for_others() {
        static POOL: Pool = Pool::new("waiting runs", 8);
        let reserve = |tenant, count| POOL.reserve_below(16, tenant, count);
        let first = reserve("a", 8).unwrap();
        let why = "the waiting runs of tenant `a` keep 8 of 16 file descriptors, a full share";
        assert_eq!(reserve("a", 1).unwrap_err(), why);
        let second = reserve("b", 4).unwrap();
        assert!(reserve("b", 1).is_err());
        let third = reserve("c", 2).unwrap();
        // What was dropped is free again.
        drop(first);
        let _more = reserve("c", 4).unwrap();
        drop((second, third));
        assert_eq!(POOL.kept().len(), 1);
    }
}
