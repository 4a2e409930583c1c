//! The wall around a worker holds against arbitrary code inside it.
//!
//! This executable starts itself as a worker, which receives handles, locks itself down, and then attempts
//! what it is asked to. Each attempt that ends the worker is followed by a new one.

#![cfg_attr(not(target_os = "linux"), expect(unused, reason = "there is no wall"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod needed;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(target_os = "linux")]
mod trials;
#[cfg(target_os = "linux")]
mod without_namespaces;
#[cfg(target_os = "linux")]
mod worker;

/// A handle that every worker inherits by mistake.
const INHERITED: i32 = 77;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    use std::os::fd::AsFd as _;
    let socket = || std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    match std::env::args().next().as_deref() {
        Some("wall-worker") => worker::run(),
        Some("wall-helper") => skillrun_confine::wall::serve_helper(socket()),
        Some("wall-host") => ends::be_a_host(),
        Some("wall-submount") => trials::use_submount(),
        Some("wall-loosener") => trials::loosen(),
        _ => trials::main(),
    }
}

/// The name of an error number.
#[cfg(target_os = "linux")]
fn name_of(error: i32) -> String {
    let names = [
        (libc::EPERM, "EPERM"),
        (libc::ENOENT, "ENOENT"),
        (libc::ENXIO, "ENXIO"),
        (libc::EBADF, "EBADF"),
        (libc::EACCES, "EACCES"),
        (libc::EXDEV, "EXDEV"),
        (libc::ENOTDIR, "ENOTDIR"),
        (libc::EINVAL, "EINVAL"),
        (libc::ENOTTY, "ENOTTY"),
        (libc::EROFS, "EROFS"),
        (libc::ETXTBSY, "ETXTBSY"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    ];
    let known = names.into_iter().find(|(number, _)| *number == error);
    known.map_or_else(|| format!("error {error}"), |(_, name)| name.into())
}
