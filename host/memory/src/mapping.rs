//! A range of addresses that belongs to one owner.

#![expect(unsafe_code, reason = "each block says why it is sound")]

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr::NonNull;

/// The size of a page of this machine.
pub(crate) fn page_size() -> usize {
    rustix::param::page_size()
}

/// A reserved range of addresses, unmapped when it is dropped. Nothing in it can be accessed until it is made accessible.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: a mapping is a range of addresses that nothing else in the process refers to. Who may read and write what is in
// it is up to its owner.
unsafe impl Send for Mapping {}
// SAFETY: as above; the methods that take `&self` change mappings inside the range, which is up to its owner too.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves `size` bytes, a multiple of the page size.
    pub(crate) fn reserve(size: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses changes no other.
        let start = unsafe {
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), size, ProtFlags::empty(), flags)?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, size })
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The address at `offset`, which may be the end.
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.size);
        // SAFETY: the offset is inside the mapping or at its end.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// The addresses of a part of it.
    pub(crate) fn addresses(&self, range: Range<usize>) -> Range<usize> {
        self.at(range.start).addr()..self.at(range.end).addr()
    }

    /// Maps a part of a file over a part of it.
    pub(crate) fn map_file(
        &self,
        at: usize,
        length: usize,
        access: ProtFlags,
        flags: MapFlags,
        file: &File,
        offset: u64,
    ) -> io::Result<()> {
        let start = self.part(at..at + length);
        // SAFETY: `MAP_FIXED` replaces only what is inside this mapping, to which nobody has a reference.
        unsafe {
            rustix::mm::mmap(start, length, access, flags | MapFlags::FIXED, file, offset)?;
        }
        Ok(())
    }

    /// Makes a part of it readable and writable, or neither.
    pub(crate) fn set_accessible(&self, range: Range<usize>, accessible: bool) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let access = match accessible {
            true => MprotectFlags::READ | MprotectFlags::WRITE,
            false => MprotectFlags::empty(),
        };
        let length = range.len();
        // SAFETY: the part is inside this mapping, to which nobody has a reference.
        unsafe { rustix::mm::mprotect(self.part(range), length, access)? };
        Ok(())
    }

    /// Discards what was written to a part of it: the next access finds what was mapped there, or zeros.
    pub(crate) fn discard(&self, range: Range<usize>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let length = range.len();
        // SAFETY: as above; and the bytes that appear are those of a new mapping.
        unsafe { rustix::mm::madvise(self.part(range), length, Advice::LinuxDontNeed)? };
        Ok(())
    }

    /// Makes it read as zeros in a child that is forked from this process.
    pub(crate) fn wipe_on_fork(&self) -> io::Result<()> {
        // SAFETY: it changes nothing in this process.
        unsafe {
            rustix::mm::madvise(self.part(0..self.size), self.size, Advice::LinuxWipeOnFork)?
        };
        Ok(())
    }

    /// Keeps the kernel from joining pages of it into a huge one, which it does in the background.
    pub(crate) fn forbid_huge_pages(&self) -> io::Result<()> {
        let advice = Advice::LinuxNoHugepage;
        // SAFETY: it changes no byte.
        match unsafe { rustix::mm::madvise(self.part(0..self.size), self.size, advice) } {
            // This kernel has none.
            Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn part(&self, range: Range<usize>) -> *mut c_void {
        assert!(range.start <= range.end && range.end <= self.size);
        self.at(range.start).cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned, so nobody uses it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.size) };
        debug_assert!(unmapped.is_ok());
    }
}
