//! The stacks that guests run on.

#![expect(unsafe_code, reason = "each block says why it is sound")]

use crate::mapping::{Mapping, page_size};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasmtime::{StackCreator, StackMemory};

/// The part of an idle stack that stays in memory: deeper calls are rare.
const RESIDENT: usize = 1 << 20;

/// Creates the stacks of guests, and keeps those of ended runs for the next ones.
///
/// What an ended run left on a stack stays there: a guest can read nothing of the engine's stack, only its own memory. Only what
/// deep calls made resident is given back, by a system call that most runs do not need.
#[derive(Debug)]
pub struct Stacks(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    idle: Mutex<Vec<Mapping>>,
    max_idle: usize,
}

impl Stacks {
    /// Keeps at most `max_idle` stacks for later runs.
    pub fn new(max_idle: usize) -> Self {
        Self(Arc::new(Pool {
            idle: Mutex::default(),
            max_idle,
        }))
    }
}

// SAFETY: each stack has addresses of its own, all accessible but for a page below it.
unsafe impl StackCreator for Stacks {
    fn new_stack(&self, size: usize, zeroed: bool) -> wasmtime::Result<Box<dyn StackMemory>> {
        let guard = page_size();
        let size = size.next_multiple_of(guard);
        let idle = match zeroed {
            true => None,
            false => self.0.idle().pop(),
        };
        let mapping = match idle.filter(|idle| idle.size() == guard + size) {
            Some(idle) => idle,
            None => {
                let mapping = Mapping::reserve(guard + size)?;
                mapping.set_accessible(guard..guard + size, true)?;
                mapping
            }
        };
        Ok(Box::new(Stack {
            mapping: Some(mapping),
            pool: Arc::clone(&self.0),
        }))
    }
}

impl Pool {
    fn idle(&self) -> MutexGuard<'_, Vec<Mapping>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Stack {
    /// Taken when it is dropped.
    mapping: Option<Mapping>,
    pool: Arc<Pool>,
}

impl Stack {
    fn mapping(&self) -> &Mapping {
        match &self.mapping {
            Some(mapping) => mapping,
            None => unreachable!("it is dropped"),
        }
    }
}

// SAFETY: the range is page-aligned and accessible, and the page below it is not.
unsafe impl StackMemory for Stack {
    fn top(&self) -> *mut u8 {
        self.mapping().at(self.mapping().size())
    }

    fn range(&self) -> Range<usize> {
        self.mapping().addresses(page_size()..self.mapping().size())
    }

    fn guard_range(&self) -> Range<*mut u8> {
        self.mapping().at(0)..self.mapping().at(page_size())
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let Some(mapping) = self.mapping.take() else {
            return;
        };
        if self.pool.idle().len() >= self.pool.max_idle {
            return;
        }
        let deep = page_size()..mapping.size().saturating_sub(RESIDENT).max(page_size());
        if !is_used(&mapping, &deep) || mapping.discard(deep).is_ok() {
            let mut idle = self.pool.idle();
            if idle.len() < self.pool.max_idle {
                idle.push(mapping);
            }
        }
    }
}

/// Whether calls have reached the part `deep` of a stack. A guest's calls write into each page that they pass: each leaves a
/// return address, and one with a large frame is preceded by a probe of each page. So the page at the edge shows it. Only calls of
/// the host, which has two mebibytes at most, may pass it without a trace: as much stays resident then.
fn is_used(mapping: &Mapping, deep: &Range<usize>) -> bool {
    let page = deep.end.saturating_sub(page_size()).max(deep.start);
    (page..deep.end)
        .step_by(size_of::<u64>())
        // SAFETY: the page is accessible and aligned, and nobody uses the stack.
        .any(|offset| unsafe { mapping.at(offset).cast::<u64>().read() } != 0)
}
