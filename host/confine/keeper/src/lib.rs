//! What passes between a host and the keeper of one confined program.
//!
//! Both are built from this file, so they cannot disagree. Paths and arguments are bytes: nothing
//! here assumes that they are text.
//!
//! A keeper is started before it is needed, with the word of a backend as its argument, sets up what
//! every run needs, and waits for a plan. Plans without a program are trials, of which it serves any
//! number; with the first program it ends.

#[cfg(target_os = "linux")]
mod absent;
mod plan;
mod report;

#[cfg(target_os = "linux")]
pub use absent::AbsentPaths;
pub use plan::{Absent, Backend, Limits, Place, Plan, Scratch, Script};
pub use report::{Appeared, End, Fate, Hold, Holds, Layer, Message, Report, Spent, Stopped};

/// Bytes that one message may have.
pub const MAX_MESSAGE: usize = 64 * 1024;
/// Handles that one message of the kernel's can carry, less those that are not places.
pub const MAX_PLACES: usize = 240;

/// Directories and files of the machine that every program may read and execute: what interpreters
/// and tools are made of. Nothing here is a person's.
pub const SYSTEM: [&str; 22] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/perl",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
];
