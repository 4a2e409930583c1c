//! A deliberate hole in the guest's host side: a script reads and writes any address of its process, and makes any system
//! call that the process may make.
//!
//! With it, a test proves that the second wall holds when the first one does not: it runs arbitrary code in a real worker, in
//! the middle of a run. It exists with the feature `hole` only, which the binary `skillrun` refuses to be built with.
//!
//! A script reads the link `/hole/COMMAND`, with numbers in decimal. The link leads to the answer:
//!
//! | command | answer |
//! |---|---|
//! | `syscall NUMBER ARGUMENT…` | what the kernel returns: a negative number is an error |
//! | `peek ADDRESS LENGTH` | the bytes there, in hexadecimal |
//! | `poke ADDRESS BYTES` | `ok`; the bytes are hexadecimal |
//!
//! Imports of their own were rejected: each guest is built with its imports, so a guest for the test alone would have to be
//! built, and it would not be the interpreter that real runs use.

#![expect(
    unsafe_code,
    reason = "this is a hole: nothing makes it sound, and no release has it"
)]

use std::fmt::Write as _;

/// The most bytes of one `peek`. The answer has to fit into a path.
const MAX_PEEK: usize = 1024;

/// The answer to the path of a link, if it is one of the hole.
pub(super) fn answer(path: &str) -> Option<String> {
    let mut words = path.strip_prefix("hole/")?.split(' ');
    let command = words.next()?;
    let words: Vec<&str> = words.collect();
    let number = |index: usize| words.get(index)?.parse::<i64>().ok();
    match command {
        "syscall" => {
            let arguments = [1, 2, 3, 4, 5, 6].map(|index| number(index).unwrap_or(0));
            Some(syscall(number(0)?, arguments).to_string())
        }
        "peek" => {
            let length = usize::try_from(number(1)?).ok()?.min(MAX_PEEK);
            Some(peek(usize::try_from(number(0)?).ok()?, length))
        }
        "poke" => {
            poke(usize::try_from(number(0)?).ok()?, words.get(1)?)?;
            Some("ok".into())
        }
        _ => None,
    }
}

fn syscall(number: i64, [a, b, c, d, e, f]: [i64; 6]) -> i64 {
    // SAFETY: none; see above.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match result {
        -1 => {
            let error = std::io::Error::last_os_error();
            -i64::from(error.raw_os_error().unwrap_or(libc::EIO))
        }
        result => result,
    }
}

fn peek(address: usize, length: usize) -> String {
    let start = std::ptr::with_exposed_provenance::<u8>(address);
    let mut hex = String::new();
    for index in 0..length {
        // SAFETY: none; see above.
        let byte = unsafe { start.add(index).read_volatile() };
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn poke(address: usize, hex: &str) -> Option<()> {
    let start = std::ptr::with_exposed_provenance_mut::<u8>(address);
    for (index, pair) in hex.as_bytes().chunks(2).enumerate() {
        let byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        // SAFETY: none; see above.
        unsafe { start.add(index).write_volatile(byte) };
    }
    Some(())
}
