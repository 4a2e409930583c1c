//! The second wall: confines a process that runs guests of an engine, so that a hole in the engine is not
//! a hole in the machine.
//!
//! A worker is a process that a host starts, with a socket as its standard input. It calls
//! [`enter_namespaces`] first of all, loads the engine, and calls [`lock_down`]. From then on it runs
//! guests with the handles that it gets over its socket, and can do nothing else:
//!
//! | it cannot | because of |
//! |---|---|
//! | name a file of the machine | an empty root in a mount namespace |
//! | leave a directory, or change a read-only one | [`detached`] handles: copies of mounts, dissolved |
//! | reach a network, or a socket of the machine | a network namespace, Landlock, no system call for sockets |
//! | see or signal another process | a process namespace, Landlock, no system call for it |
//! | start a program or a process | no system call for it |
//! | become another user | no capabilities, no new privileges, a user namespace |
//! | attack the kernel's larger interfaces | a table of system calls, each with a reason |
//!
//! It must never become weaker than reported: each step that fails is an error that names it, and the
//! process must then end.
//!
//! ```no_run
//! # #[cfg(target_os = "linux")]
//! # fn worker() -> Result<(), Box<dyn std::error::Error>> {
//! use skillrun_confine::wall;
//! use std::os::fd::AsFd as _;
//!
//! wall::enter_namespaces(std::io::stdin().as_fd())?;
//! // Load what needs files here.
//! let layers = wall::lock_down()?;
//! assert_eq!(layers.last(), Some(&"seccomp"));
//! // Receive handles and run guests here.
//! # Ok(())
//! # }
//! ```
//!
//! Rejected: Landlock for files. One ruleset cannot be extended by the handles of a later run, and any
//! ruleset for files forbids to move and link files between directories that it does not name.

mod calls;
mod detached;
mod error;
mod helper;
mod lockdown;
mod namespaces;
mod probe;
mod root;

pub use detached::{Access, detached};
pub use helper::{Detacher, serve_helper};
pub use lockdown::lock_down;
pub use namespaces::enter_namespaces;
pub use probe::probe;

/// What confines a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WallKind {
    /// Namespaces with an empty root, Landlock and seccomp.
    Namespaces,
}
