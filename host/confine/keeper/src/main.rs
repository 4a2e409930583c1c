//! The process beside a confined program.
//!
//! A host that has threads cannot safely become a confined program: between fork and exec it may
//! neither allocate nor take a lock. So it starts this program, which has one thread and little
//! memory, tells it over a socket what to do, and learns over the same socket what came of it. The
//! keeper sets up the confinement, watches the limits, ends every process when one is met, when the
//! program is done, or when the socket closes because the host gave up or died.
//!
//! It trusts the host, and nothing that runs inside.

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod flat;
#[cfg(target_os = "linux")]
mod handles;
#[cfg(target_os = "linux")]
mod ids;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod lockdown;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod notices;
#[cfg(target_os = "linux")]
mod pipe;
#[cfg(target_os = "linux")]
mod room;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod script;
#[cfg(target_os = "linux")]
mod seal;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod unable;
#[cfg(target_os = "linux")]
mod walk;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod written;

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
