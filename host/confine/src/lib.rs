//! Runs one native program in a sandbox, and reports how each limit was enforced.
//!
//! A [`Confinement`] is a backend that was probed on this machine and works. A [`Job`] is one program
//! with everything that it may access. The program sees the system's directories read-only, the
//! granted mounts, and a private directory. It gets exactly the environment of the job, and no
//! network unless the job grants it. Its time, memory, processes and disk are limited, and everything
//! that it started ends with it. The [`End`] names the layers that confined it and how each limit was
//! enforced. Nothing is weaker than reported: if a layer cannot be enforced, the program is not
//! started.
//!
//! | | [`Backend::Namespaces`] | [`Backend::Landlock`] |
//! |---|---|---|
//! | other files | do not exist | cannot be opened |
//! | other processes | do not exist | show in `/proc`, cannot be touched |
//! | network | a namespace without any | no sockets |
//! | its script | opened as it was checked, whatever is at its path | the same |
//! | its end | the kernel kills all its processes | the supervisor kills until none is left |
//! | scratch | a file system in memory, with a size | a directory, polled |
//!
//! ```no_run
//! # #[cfg(target_os = "linux")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use skillrun_confine::{Confinement, Job, Limits, Scratch};
//!
//! let confinement = Confinement::find()?; // probes the machine; keep it
//! let directory = std::env::temp_dir().join("scratch-of-this-run");
//! std::fs::create_dir(&directory)?;
//! let running = confinement.start(Job {
//!     program: "/usr/bin/sort".into(),
//!     checked: None,
//!     script: None,
//!     arguments: vec!["-n".into()],
//!     environment: Vec::new(),
//!     directory: "/".into(),
//!     mounts: Vec::new(),
//!     scratch: Scratch {
//!         handle: std::fs::File::open(&directory)?.into(),
//!         path: directory,
//!         at: "/tmp".into(),
//!         size: 64 << 20,
//!     },
//!     network: false,
//!     limits: Limits {
//!         time: std::time::Duration::from_secs(5),
//!         memory: 256 << 20,
//!         processes: 32,
//!         file_size: 64 << 20,
//!         disk: 64 << 20,
//!         open_files: 256,
//!     },
//! })?;
//! let (end, stdout, _stderr) = running.capture(b"2\n1\n", 1 << 20).await?;
//! println!("{:?}, confined by {:?}: {} bytes", end.stopped, end.layers, stdout.total);
//! # Ok(())
//! # }
//! ```
//!
//! The program is started by a *supervisor*, a small executable embedded in this library. It has one
//! thread, so it can fork safely, and it kills everything when the host gives up or dies.
//!
//! The library also compiles on other systems; there [`Confinement::find`] reports that nothing can
//! be confined. macOS has Seatbelt and Windows has job objects and app containers; each would be a
//! backend here.

#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod filter;
mod job;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod transient;
#[cfg(target_os = "linux")]
pub mod wall;

pub use job::{Handle, Job, Mount, MountKind, Scratch, Script};
#[cfg(target_os = "linux")]
pub use linux::{Confinement, Running, is_shown};
#[cfg(not(target_os = "linux"))]
pub use other::{Confinement, Running, is_shown};
pub use skillrun_supervisor::{
    Appeared, Backend, End, Enforcement, Fate, Layer, LimitEnforcement, Limits, Stopped, Usage,
};

/// The captured part of an output stream.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Its first bytes, as many as the limit allows.
    pub bytes: Vec<u8>,
    /// How many there were in all.
    pub total: u64,
}

/// Why a program was not started, or its result is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {step}: {why}")]
pub struct ConfineError {
    /// The step that failed.
    pub step: String,
    /// The reason.
    pub why: String,
}

/// Why no program can be confined on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct NoBackendError {
    /// Each backend that was probed, with the reason why it does not work.
    pub rejected: Vec<(Backend, ConfineError)>,
    /// Whether the last of them may work later: the machine offers it, but something was used up or interrupted. Weaker
    /// backends were not probed then.
    pub is_transient: bool,
}

impl NoBackendError {
    fn text(&self) -> String {
        let one =
            |(backend, error): &(Backend, ConfineError)| format!("{}: {error}", backend.word());
        match self.rejected.as_slice() {
            [] => "native programs are confined on Linux only".into(),
            rejected => rejected.iter().map(one).collect::<Vec<_>>().join("; "),
        }
    }
}
