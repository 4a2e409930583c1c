//! The initial contents of a memory.

#![expect(unsafe_code, reason = "each block says why it is sound")]

use crate::mapping::{Mapping, page_size};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io::{self, Write as _};

/// The memory of a guest before its first instruction, in whole pages. Zeros follow it.
#[derive(Debug)]
pub struct Image {
    file: File,
    offset: u64,
    /// A view of the file that nothing writes: the source of resets. Private, because kernels before 6.7 refuse a shared
    /// mapping of a memfd that is sealed against writing. Pages that nobody writes are those of the file either way.
    bytes: Mapping,
}

impl Image {
    /// The `length` bytes of `file` from `offset` on, both multiples of the page size.
    ///
    /// # Safety
    ///
    /// Nobody may change or shorten the file as long as the image exists: it and the memories of guests are views of it.
    /// A read beyond the end of a shortened file is a SIGBUS, and changed bytes appear in memories that are in use.
    pub unsafe fn from_file(file: File, offset: u64, length: usize) -> io::Result<Self> {
        let page = page_size();
        let end = offset.checked_add(length as u64);
        let is_whole = offset.is_multiple_of(page as u64) && length.is_multiple_of(page);
        if !is_whole
            || length == 0
            || end.is_none_or(|end| end > file.metadata().map_or(0, |m| m.len()))
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a memory image must consist of whole pages of its file",
            ));
        }
        let bytes = Mapping::reserve(length)?;
        bytes.map_file(0, length, ProtFlags::READ, MapFlags::PRIVATE, &file, offset)?;
        Ok(Self {
            file,
            offset,
            bytes,
        })
    }

    /// An image of these bytes, in a file in memory.
    pub fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(rustix::fs::memfd_create("skillrun-image", flags)?);
        file.write_all(bytes)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        // SAFETY: the seals forbid to change the file, and they cannot be removed.
        unsafe { Self::from_file(file, 0, bytes.len()) }
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.bytes.size()
    }

    /// Maps a private view of it at the offset `at` of `mapping`, writable.
    pub(crate) fn map_at(&self, mapping: &Mapping, at: usize) -> io::Result<()> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        mapping.map_file(
            at,
            self.size(),
            access,
            MapFlags::PRIVATE,
            &self.file,
            self.offset,
        )
    }

    pub(crate) fn bytes(&self) -> &Mapping {
        &self.bytes
    }
}
