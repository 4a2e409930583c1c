//! The keeper as an executable that this process holds.

use crate::Unable;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;

/// Built from `keeper/` for this target.
static ELF: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/keeper.elf"));

/// An executable that lives in memory: nothing on a disk can be replaced, and it is gone with this
/// process.
#[derive(Debug)]
pub(crate) struct Keeper(File);

impl Keeper {
    pub(crate) fn load() -> Result<Self, Unable> {
        load().map(Self).map_err(|error| Unable {
            step: "load the keeper".into(),
            why: error.to_string(),
        })
    }

    /// A path by which this process can execute it.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

fn load() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let named = |flags| memfd_create("skillrun-keeper", flags);
    // Kernels before 6.3 do not know the flag and need none.
    let memory = named(flags | MemfdFlags::EXEC).or_else(|_| named(flags))?;
    let mut file = File::from(memory);
    file.write_all(ELF)?;
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file)
}
