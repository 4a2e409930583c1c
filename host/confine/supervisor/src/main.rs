//! The process that starts, watches and reaps one confined program.
//!
//! A host with threads cannot safely turn a forked child into a confined program: between fork and
//! exec the child may neither allocate nor take a lock. So the host starts this program, which has
//! one thread and little memory, and sends it a plan over a socket. The supervisor sets up the
//! confinement and watches the limits. It kills every process when a limit is hit, when the program
//! exits, or when the socket closes because the host gave up or died. Then it reports the result over
//! the same socket.
//!
//! It trusts the host, and nothing that runs inside the sandbox.

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod connections;
#[cfg(target_os = "linux")]
mod disk_writes;
#[cfg(target_os = "linux")]
mod file_locks;
#[cfg(target_os = "linux")]
mod handles;
#[cfg(target_os = "linux")]
mod inotify;
#[cfg(target_os = "linux")]
mod landlock_only;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod lockdown;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod pipe;
#[cfg(target_os = "linux")]
mod polled;
#[cfg(target_os = "linux")]
mod protected;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod scratch_usage;
#[cfg(target_os = "linux")]
mod script;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod watch;

#[cfg(target_os = "linux")]
use skillrun_supervisor::{error, ids, walk};

#[cfg(all(target_os = "linux", target_env = "musl"))]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
