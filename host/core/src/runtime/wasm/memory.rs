//! The cap on a guest's memory, and what it used.

use wasmtime::ResourceLimiter;

/// Allows memory up to a limit; beyond it, the guest's allocation fails and the guest handles that.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: u64,
    pub(crate) peak: u64,
    pub(crate) denied: bool,
}

/// The maximum number of function references in a table; the guests' own tables need less than 10,000.
pub(crate) const MAX_TABLE: usize = 30_000;

impl Memory {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            peak: 0,
            denied: false,
        }
    }

    /// How much of the limit was never requested.
    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.peak)
    }
}

impl ResourceLimiter for Memory {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let desired = desired as u64;
        if desired > self.limit {
            self.denied = true;
            return Ok(false);
        }
        self.peak = self.peak.max(desired);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE)
    }
}
