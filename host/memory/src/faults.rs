//! The page faults of this process.

#![expect(unsafe_code, reason = "the block says why it is sound")]

use std::mem::MaybeUninit;

/// How many page faults the threads of this process have caused so far; `None` if the kernel does not tell.
///
/// Those of all threads, although one run stays on one thread: nothing here could check that it did.
pub(crate) fn page_faults() -> Option<u64> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure, for which zeros are valid, too.
    let usage = unsafe {
        match libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) {
            0 => usage.assume_init(),
            _ => return None,
        }
    };
    let count = |faults: libc::c_long| u64::try_from(faults).ok();
    count(usage.ru_minflt)?.checked_add(count(usage.ru_majflt)?)
}
