//! The memories of the instances of one guest.

#![expect(unsafe_code, reason = "each block says why it is sound")]

use crate::faults::page_faults;
use crate::image::Image;
use crate::mapping::Mapping;
use crate::pagemap::{Mapped, PageMap};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// A page of an ordinary WebAssembly memory, a multiple of the page size of every machine.
const PAGE: u64 = 64 << 10;

/// Creates the memories of a guest from its image, and keeps those of ended runs for the next ones.
///
/// It is given to an engine before the guest is loaded, and [`Memories::set_image`] completes it.
#[derive(Debug)]
pub struct Memories(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    image: OnceLock<Image>,
    /// Memories of ended runs, reset. The last one is the warmest.
    idle: Mutex<Vec<Area>>,
    max_idle: usize,
    /// Bytes of an idle memory that may stay private copies.
    max_resident: usize,
    /// How to find what was written; without it, a reset discards every private page.
    page_map: Option<PageMap>,
    /// Counts page faults.
    page_faults: fn() -> Option<u64>,
}

/// The reserved addresses of one memory: a guard, the memory, and a guard.
#[derive(Debug)]
struct Area {
    mapping: Mapping,
    /// Where the memory begins.
    base: usize,
    /// Its initial size.
    minimum: usize,
    /// How far it can grow.
    reserved: usize,
    /// Which pages the last reset left as private copies.
    private: Option<Private>,
}

/// The private copies of pages in a memory.
///
/// Another page becomes a private copy by a page fault, since there are no huge pages. So if there was none during a run, the next reset need not scan the page map:
/// that takes time for each page that is mapped, written or not, and for a guest of 30 MiB as much as copying
/// what a short run wrote.
#[derive(Debug)]
struct Private {
    /// Parts of the memory.
    parts: Vec<Range<usize>>,
    /// The page faults of this process before the memory was used again.
    faults: Option<u64>,
}

impl Memories {
    /// Keeps at most `max_idle` memories for later runs. One whose private pages exceed `max_resident` bytes is kept without
    /// them: copying them back would take longer than most runs, and an idle memory must be small.
    pub fn new(max_idle: usize, max_resident: usize) -> Self {
        Self::counting(max_idle, max_resident, page_faults)
    }

    pub(crate) fn counting(
        max_idle: usize,
        max_resident: usize,
        page_faults: fn() -> Option<u64>,
    ) -> Self {
        let page_map = match max_idle {
            0 => None,
            _ => PageMap::open(),
        };
        Self(Arc::new(Pool {
            image: OnceLock::new(),
            idle: Mutex::default(),
            max_idle,
            max_resident,
            page_map,
            page_faults,
        }))
    }

    /// Sets the initial contents of every memory. Later calls have no effect.
    pub fn set_image(&self, image: Image) {
        let _ = self.0.image.set(image);
    }

    #[cfg(test)]
    pub(crate) fn idle_count(&self) -> usize {
        self.0.idle().len()
    }
}

impl Clone for Memories {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

// SAFETY: each memory has addresses of its own: `reserved_size_in_bytes` of them for the memory and `guard_size_in_bytes`
// behind it, of which nothing but the current size of the memory is accessible. It starts with the image instead of zeros:
// the image holds what the data segments of the module were, and a guest defines one memory (`runtimes/build/image.rs`).
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        ty: MemoryType,
        minimum: usize,
        _: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        // A shared memory may outlive its instance, and one with other addresses or pages has no such image.
        if ty.is_shared() || ty.is_64() || ty.page_size() != PAGE {
            return Err("a guest's memory must be an ordinary memory of 32 bits".to_owned());
        }
        let reserved = reserved_size_in_bytes.unwrap_or(minimum);
        let area = self.0.area(minimum, reserved, guard_size_in_bytes);
        let area = area.map_err(|error| format!("cannot map a guest's memory: {error}"))?;
        Ok(Box::new(Memory {
            size: area.minimum,
            area: Some(area),
            pool: Arc::clone(&self.0),
        }))
    }
}

impl Pool {
    /// An idle memory, or a new one.
    fn area(&self, minimum: usize, reserved: usize, guard: usize) -> io::Result<Area> {
        let idle = self.idle().pop();
        if let Some(mut area) = idle
            && area.fits(minimum, reserved, guard)
        {
            if let Some(private) = &mut area.private {
                private.faults = (self.page_faults)();
            }
            return Ok(area);
        }
        let image = self.image.get();
        let image = image.ok_or_else(|| io::Error::other("the memory image is not loaded"))?;
        Area::new(image, minimum, reserved, guard)
    }

    /// Takes back the memory of an ended run. Keeps it if it can be reset.
    fn take_back(&self, mut area: Area, size: usize) {
        if self.max_idle == 0 || self.idle().len() >= self.max_idle {
            return;
        }
        if self.reset(&mut area, size).is_ok() {
            let mut idle = self.idle();
            if idle.len() < self.max_idle {
                idle.push(area);
            }
        }
    }

    /// Restores the initial contents and the initial size.
    fn reset(&self, area: &mut Area, size: usize) -> io::Result<()> {
        let grown = area.offsets(area.minimum..size.max(area.minimum));
        area.mapping.discard(grown.clone())?;
        area.mapping.set_accessible(grown, false)?;
        let whole = area.offsets(0..area.minimum);
        let (Some(page_map), Some(image)) = (&self.page_map, self.image.get()) else {
            return area.mapping.discard(whole);
        };
        if let Some(private) = area.private.take()
            && private.faults.is_some()
            && private.faults == (self.page_faults)()
        {
            for part in &private.parts {
                area.restore(part.clone(), image);
            }
            area.private = Some(private);
            return Ok(());
        }
        let (mut resident, mut private) = (0, Vec::new());
        let begin = area.mapping.addresses(whole.clone()).start;
        let parts = [
            (0..image.size(), Mapped::File),
            (image.size()..area.minimum, Mapped::Zeros),
        ];
        for (part, mapped) in parts {
            let addresses = area.mapping.addresses(area.offsets(part));
            page_map.written(addresses, mapped, |written| {
                resident += written.len();
                if resident <= self.max_resident {
                    let part = written.start - begin..written.end - begin;
                    area.restore(part.clone(), image);
                    private.push(part);
                }
            })?;
        }
        if resident > self.max_resident {
            area.mapping.discard(whole)?;
            private.clear();
        }
        area.private = Some(Private {
            parts: private,
            faults: None,
        });
        Ok(())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Area>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Area {
    fn new(image: &Image, minimum: usize, reserved: usize, guard: usize) -> io::Result<Self> {
        if image.size() > minimum || minimum > reserved {
            return Err(io::Error::other("the image is larger than the memory"));
        }
        // A guard in front, too: an address that is a little too small must not reach another memory.
        let mapping = Mapping::reserve(guard + reserved + guard)?;
        // In a huge page, a run could write next to what an earlier one wrote without a page fault.
        mapping.forbid_huge_pages()?;
        let area = Self {
            mapping,
            base: guard,
            minimum,
            reserved,
            private: None,
        };
        image.map_at(&area.mapping, area.base)?;
        let rest = area.offsets(image.size()..minimum);
        area.mapping.set_accessible(rest, true)?;
        Ok(area)
    }

    fn fits(&self, minimum: usize, reserved: usize, guard: usize) -> bool {
        (self.minimum, self.reserved, self.base) == (minimum, reserved, guard)
    }

    /// A part of the memory as a part of the mapping.
    fn offsets(&self, range: Range<usize>) -> Range<usize> {
        self.base + range.start..self.base + range.end
    }

    /// Copies the initial contents of a part back.
    fn restore(&self, range: Range<usize>, image: &Image) {
        assert!(range.start <= range.end && range.end <= self.minimum);
        let copied = range.start.min(image.size())..range.end.min(image.size());
        let zeroed = range.start.max(image.size())..range.end.max(image.size());
        let target = |offset: usize| self.mapping.at(self.base + offset);
        // SAFETY: both ranges are inside the memory, which is accessible up to `minimum` and used by nobody; the first one is
        // inside the image, too. Image and memory do not overlap.
        unsafe {
            let source = image.bytes().at(copied.start);
            std::ptr::copy_nonoverlapping(source, target(copied.start), copied.len());
            if !zeroed.is_empty() {
                std::ptr::write_bytes(target(zeroed.start), 0, zeroed.len());
            }
        }
    }
}

/// The memory of one instance.
struct Memory {
    /// Taken when it is dropped.
    area: Option<Area>,
    size: usize,
    pool: Arc<Pool>,
}

impl Memory {
    fn area(&self) -> &Area {
        match &self.area {
            Some(area) => area,
            None => unreachable!("it is dropped"),
        }
    }
}

// SAFETY: the base never moves, and exactly `byte_size` bytes from it on are accessible.
unsafe impl LinearMemory for Memory {
    fn byte_size(&self) -> usize {
        self.size
    }

    fn byte_capacity(&self) -> usize {
        self.area().reserved
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        let area = self.area();
        wasmtime::ensure!(new_size <= area.reserved, "the memory cannot grow so far");
        let new = area.offsets(self.size..new_size.max(self.size));
        area.mapping.set_accessible(new, true)?;
        self.size = new_size.max(self.size);
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        let area = self.area();
        area.mapping.at(area.base)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(area) = self.area.take() {
            self.pool.take_back(area, self.size);
        }
    }
}
