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
//! Where namespaces are forbidden (in most containers, by a `sysctl`), Landlock alone decides which files a worker
//! reaches. A ruleset cannot be extended, so the worker serves one run: it calls [`enter_watched`], receives the handles of
//! the run, and calls [`lock_down_to`] with them before the guest starts. Then
//!
//! | it cannot | because of |
//! |---|---|
//! | open or change a file that was not granted, or climb out of a directory | Landlock |
//! | change mode, owner, attributes of a file, or times by a path | no system call for it: Landlock does not cover them |
//! | reach a network, or a socket of the machine | Landlock, no system call for sockets |
//! | signal or trace another process, or read its memory | Landlock, no system call for it |
//!
//! and the rest as in namespaces. What it can see in addition is metadata: names, sizes, owners and link targets of the
//! files that its user could see, the ids of its watcher and of the machine's user, the name of the machine. It can also
//! set the times of files that it may read, or has open, and that belong to its user. [`probe`] tells which kind works.
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
//! Rejected in namespaces: Landlock for files. One ruleset cannot be extended by the handles of a later run, so each
//! run would need a process of its own, which makes a short one take twice as long.

mod calls;
mod detached;
mod error;
mod helper;
mod lockdown;
mod namespaces;
mod owner;
mod probe;
mod root;

pub use detached::{Access, detached};
pub use helper::{Detacher, serve_helper};
pub use lockdown::{lock_down, lock_down_to};
pub use namespaces::{enter_namespaces, enter_watched};
pub use owner::give_back;
pub use probe::{Wall, is_transient, probe};

/// What confines a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WallKind {
    /// Namespaces with an empty root, Landlock and seccomp. A worker serves any number of runs.
    Namespaces,
    /// Landlock and seccomp, without namespaces. A worker serves one run.
    Landlock,
}
