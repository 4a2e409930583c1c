//! The messages between a host and the supervisor of one confined program, and what both do to confine
//! a process.
//!
//! Both sides are built from this crate, so they cannot disagree. Paths and arguments are bytes:
//! nothing here assumes that they are text.
//!
//! A supervisor is started before it is needed, with the name of a backend as its argument. It sets
//! up what every run needs and waits for a plan. A plan without a program is a probe; a supervisor
//! serves any number of probes, and exits after the first program.

#[cfg(target_os = "linux")]
mod common;
#[cfg(target_os = "linux")]
pub mod error;
#[cfg(target_os = "linux")]
mod guarded;
#[cfg(target_os = "linux")]
pub mod ids;
#[cfg(target_os = "linux")]
pub mod kernel;
mod plan;
mod report;
#[cfg(target_os = "linux")]
pub mod walk;

#[cfg(target_os = "linux")]
pub use common::{keep_in_bounding_set, remove_cgroup, send_handles};
#[cfg(target_os = "linux")]
pub use guarded::GuardedPaths;
pub use plan::{Backend, Guarded, Limits, Mount, Plan, Scratch, Script};
pub use report::{
    Appeared, End, Enforcement, Fate, Layer, LimitEnforcement, Reply, Report, Stopped, Usage,
};

/// The largest reply, in bytes.
pub const MAX_REPLY: usize = 64 * 1024;
/// The most mounts in one plan. One kernel message carries 253 handles, and up to five of a plan's are
/// not mounts.
pub const MAX_MOUNTS: usize = 240;

/// Directories and files of the machine that every program may read and execute: interpreters, tools
/// and what they need. None of them contains personal data.
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
