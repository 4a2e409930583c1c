//! Which pages of a mapping were written.
//!
//! Asks the kernel for the pages of a private mapping that are no longer those of its file (`PAGEMAP_SCAN`, Linux 6.7).

#![expect(unsafe_code, reason = "each block says why it is sound")]

use crate::image::Image;
use crate::mapping::{Mapping, page_size};
use rustix::ioctl::{self, Ioctl, IoctlOutput, Opcode};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;

/// Ranges that one call returns. Each takes 24 bytes on the stack.
const RANGES: usize = 512;

const IS_FILE: u64 = 1 << 2;
const IS_PRESENT: u64 = 1 << 3;
const IS_SWAPPED: u64 = 1 << 4;
const IS_ZERO_PAGE: u64 = 1 << 5;

/// The page map of this process.
#[derive(Debug)]
pub(crate) struct PageMap {
    file: File,
    /// A page that is filled in the process that the map describes, and wiped in a child that was forked from it: the child
    /// has pages of its own. Process ids would not do, because a child in a new namespace may have the same one.
    own: Mapping,
}

/// What is mapped where a page map is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mapped {
    /// A file: every page that is not one of its pages was written.
    File,
    /// Nothing: a page that was only read is the shared page of zeros.
    Zeros,
}

/// The kernel's `struct page_region`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

/// The kernel's `struct pm_scan_arg`.
#[repr(C)]
#[derive(Debug, Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

// SAFETY: the opcode is that of `PAGEMAP_SCAN`, whose argument is a `struct pm_scan_arg` that the kernel reads and writes,
// and which returns the number of regions it stored.
unsafe impl Ioctl for &mut Scan {
    type Output = usize;
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        ioctl::opcode::read_write::<Scan>(b'f', 16)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut::<Scan>(self).cast()
    }

    unsafe fn output_from_ptr(result: IoctlOutput, _: *mut c_void) -> rustix::io::Result<usize> {
        Ok(usize::try_from(result).unwrap_or(0))
    }
}

impl PageMap {
    /// The page map of this process; `None` if the kernel cannot scan it, or its answers are not what a reset relies on.
    pub(crate) fn open() -> Option<Self> {
        let file = File::open("/proc/self/pagemap").ok()?;
        let own = Mapping::reserve(page_size()).ok()?;
        own.set_accessible(0..page_size(), true).ok()?;
        own.wipe_on_fork().ok()?;
        // SAFETY: the page is accessible, and nobody else has a reference to it.
        unsafe { own.at(0).write(1) };
        let map = Self { file, own };
        let written = |range, mapped| {
            let mut found = Vec::new();
            map.written(range, mapped, |range| found.push(range))?;
            Ok(found)
        };
        is_exact(written).ok()?.then_some(map)
    }

    /// Calls `found` with each range of addresses in `range` whose pages were written since they were mapped.
    pub(crate) fn written(
        &self,
        range: Range<usize>,
        mapped: Mapped,
        mut found: impl FnMut(Range<usize>),
    ) -> io::Result<()> {
        // SAFETY: the page is accessible, and only `open` wrote it.
        if unsafe { self.own.at(0).read_volatile() } == 0 {
            return Err(io::Error::other("the page map is that of another process"));
        }
        let unwritten = match mapped {
            Mapped::File => IS_FILE,
            Mapped::Zeros => IS_ZERO_PAGE,
        };
        let mut regions = [PageRegion::default(); RANGES];
        let mut start = range.start as u64;
        loop {
            let mut scan = Scan {
                size: size_of::<Scan>() as u64,
                start,
                end: range.end as u64,
                vec: regions.as_mut_ptr().expose_provenance() as u64,
                vec_len: RANGES as u64,
                category_inverted: unwritten,
                category_mask: unwritten,
                category_anyof_mask: IS_PRESENT | IS_SWAPPED,
                ..Scan::default()
            };
            // SAFETY: the kernel stores at most `vec_len` regions in `vec`, which has as many.
            let count = unsafe { ioctl::ioctl(&self.file, &mut scan)? };
            for region in &regions[..count.min(RANGES)] {
                found(region.start as usize..region.end as usize);
            }
            // The kernel stops early if the regions do not fit.
            if scan.walk_end >= range.end as u64 {
                return Ok(());
            }
            if scan.walk_end <= start {
                return Err(io::Error::other(
                    "the scan of the page map makes no progress",
                ));
            }
            start = scan.walk_end;
        }
    }
}

/// Whether a scan finds the pages that were written and no others, in a file and in zeros. A kernel that answers otherwise
/// would leave bytes of one run to the next.
pub(crate) fn is_exact(
    written: impl Fn(Range<usize>, Mapped) -> io::Result<Vec<Range<usize>>>,
) -> io::Result<bool> {
    let page = page_size();
    let image = Image::from_bytes(&vec![1; page])?;
    let pages = Mapping::reserve(2 * page)?;
    image.map_at(&pages, 0)?;
    pages.set_accessible(page..2 * page, true)?;
    for (offset, mapped) in [(0, Mapped::File), (page, Mapped::Zeros)] {
        let addresses = pages.addresses(offset..offset + page);
        // SAFETY: the page is accessible, and nobody else has a reference to it. Reading it maps it.
        let initial = unsafe { pages.at(offset).read_volatile() };
        if !written(addresses.clone(), mapped)?.is_empty() {
            return Ok(false);
        }
        // SAFETY: as above.
        unsafe { pages.at(offset).write_volatile(!initial) };
        if written(addresses.clone(), mapped)? != [addresses] {
            return Ok(false);
        }
    }
    Ok(true)
}
