//! System calls as an attacker makes them: by number.

#![expect(
    unsafe_code,
    reason = "an attacker inside the worker calls what it likes"
)]

use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// What an attempt met: what it got, or the error.
pub(crate) type Met = Result<String, Errno>;

pub(crate) trait Argument {
    fn number(&self) -> usize;
}

impl Argument for i32 {
    fn number(&self) -> usize {
        *self as isize as usize
    }
}

impl Argument for u32 {
    fn number(&self) -> usize {
        *self as usize
    }
}

impl Argument for u64 {
    fn number(&self) -> usize {
        *self as usize
    }
}

impl Argument for &CStr {
    fn number(&self) -> usize {
        self.as_ptr() as usize
    }
}

impl Argument for BorrowedFd<'_> {
    fn number(&self) -> usize {
        self.as_raw_fd().number()
    }
}

impl<T> Argument for &[T] {
    fn number(&self) -> usize {
        self.as_ptr() as usize
    }
}

/// Makes a system call; a child that it creates by mistake ends at once.
pub(crate) fn call(number: i64, arguments: &[&dyn Argument]) -> Met {
    let mut all = [0; 6];
    for (to, argument) in all.iter_mut().zip(arguments) {
        *to = argument.number();
    }
    let [a, b, c, d, e, f] = all;
    // SAFETY: this process exists to make such calls, and holds nothing that they could damage.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    let creates = [libc::SYS_clone, libc::SYS_clone3];
    #[cfg(target_arch = "x86_64")]
    let creates = [creates.as_slice(), &[libc::SYS_fork, libc::SYS_vfork]].concat();
    if result == 0 && creates.contains(&number) {
        // SAFETY: ends the process.
        unsafe { libc::_exit(0) }
    }
    match result {
        0.. => Ok(result.to_string()),
        _ => Err(last()),
    }
}

pub(crate) fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// A handle by its number.
pub(crate) fn handle(number: i32) -> BorrowedFd<'static> {
    // SAFETY: this process has one that it never closes, or attempts to use one that does not exist.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// A handle by its number that is about to be opened.
pub(crate) fn owned(number: i32) -> OwnedFd {
    // SAFETY: no other value has this number, and the caller opens it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Calls the kernel as a 32-bit program does: `getpid` has the number 20 there.
#[cfg(target_arch = "x86_64")]
pub(crate) fn call_32_bit() -> Met {
    let result: i64;
    // SAFETY: the call takes no argument.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") 20i64 => result, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    Ok(result.to_string())
}

/// Machine code for a function that returns 42.
#[cfg(target_arch = "x86_64")]
pub(crate) const CODE: &[u8] = &[0xb8, 42, 0, 0, 0, 0xc3];
#[cfg(target_arch = "aarch64")]
pub(crate) const CODE: &[u8] = &[0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6];

/// Maps machine code from a file and runs it.
pub(crate) fn run_code(file: BorrowedFd<'_>) -> Met {
    let (access, flags) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE);
    // SAFETY: a new mapping at an address that the kernel chooses. It begins with the code above.
    unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            4096,
            access,
            flags,
            file.as_raw_fd(),
            0,
        );
        if at == libc::MAP_FAILED {
            return Err(last());
        }
        let code: extern "C" fn() -> i32 = std::mem::transmute(at);
        Ok(code().to_string())
    }
}

/// Copies machine code into memory, as a compiler does, and runs it.
pub(crate) fn compile_code() -> Met {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let write = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which has room for the code.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), 4096, write, flags, -1, 0);
        if at == libc::MAP_FAILED {
            return Err(last());
        }
        std::ptr::copy_nonoverlapping(CODE.as_ptr(), at.cast(), CODE.len());
        if libc::mprotect(at, 4096, libc::PROT_READ | libc::PROT_EXEC) != 0 {
            return Err(last());
        }
        #[cfg(target_arch = "aarch64")]
        libc::syscall(libc::SYS_membarrier, 0, 0, 0);
        let code: extern "C" fn() -> i32 = std::mem::transmute(at);
        Ok(code().to_string())
    }
}

/// How many of two pages, of which one was written, the kernel says were.
pub(crate) fn written_pages() -> Met {
    let pages = std::fs::File::open("/proc/self/pagemap")
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let write = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the pages are new, and the structures live until the call returns.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), 8192, write, flags, -1, 0);
        at.cast::<u8>().write(1);
        let mut regions = [0u64; 6];
        let (start, is_present) = (at as u64, 8u64);
        let mut scan: [u64; 12] = [
            96,
            0,
            start,
            start + 8192,
            0,
            regions.as_mut_ptr() as u64,
            2,
            0,
            0,
            is_present,
            0,
            is_present,
        ];
        match libc::ioctl(pages.as_raw_fd(), 0xc060_6610, scan.as_mut_ptr()) {
            1 => Ok(((regions[1] - regions[0]) / 4096).to_string()),
            -1 => Err(last()),
            other => Ok(format!("{other} regions")),
        }
    }
}

/// Reads from an address that nothing is mapped at.
pub(crate) fn crash() -> Met {
    // SAFETY: not sound, which is the point: this is what a bug in the engine does.
    Ok(unsafe { std::ptr::null::<u8>().read_volatile() }.to_string())
}
