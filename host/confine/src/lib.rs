//! Runs one native program confined, and says how well.
//!
//! A [`Confinement`] is a way of holding programs that was tried on this machine and works; a
//! [`Job`] is one program with everything that it may touch. The program sees the system's directories
//! read-only, the places that were granted, and a private directory; its environment is what the job
//! says; it has no network unless the job grants it; its time, memory, processes and disk are
//! limited, and what it started ends with it. The [`End`] names the layers that held it and how firmly
//! each limit did. Nothing is weaker than it says: what cannot be put in force keeps the program from
//! starting.
//!
//! | | [`Backend::Namespaces`] | [`Backend::Landlock`] |
//! |---|---|---|
//! | other files | are not there | cannot be opened |
//! | other processes | are not there | show in `/proc`, cannot be touched |
//! | network | a namespace without any | no sockets |
//! | its script | opened as it was checked, whatever is at its path | the same |
//! | its end | the kernel ends all its processes | the keeper kills until none is left |
//! | scratch | a file system in memory, with a size | a directory, polled |
//!
//! ```no_run
//! # #[cfg(target_os = "linux")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use skillrun_confine::{Confinement, Job, Limits, Scratch};
//!
//! let confinement = Confinement::find()?; // tries the machine; keep it
//! let folder = std::env::temp_dir().join("scratch-of-this-run");
//! std::fs::create_dir(&folder)?;
//! let running = confinement.start(Job {
//!     program: "/usr/bin/sort".into(),
//!     checked: None,
//!     script: None,
//!     arguments: vec!["-n".into()],
//!     environment: Vec::new(),
//!     directory: "/".into(),
//!     places: Vec::new(),
//!     scratch: Scratch {
//!         handle: std::fs::File::open(&folder)?.into(),
//!         path: folder,
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
//! println!("{:?}, held by {:?}: {} bytes", end.stopped, end.layers, stdout.total);
//! # Ok(())
//! # }
//! ```
//!
//! The program is started by a *keeper*, a small program that is embedded in this library: it has one
//! thread, so it may fork, and it ends everything when the host gives up or dies.
//!
//! This is all there is for other systems than Linux: they compile, and [`Confinement::find`] says that
//! nothing can be confined there. macOS has Seatbelt and Windows has job objects and app containers;
//! each would be a backend here.

#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod filter;
mod job;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub use capture::Captured;
pub use job::{Handle, Job, Place, Scratch, Script, What};
#[cfg(target_os = "linux")]
pub use linux::{Confinement, Running, is_shown};
#[cfg(not(target_os = "linux"))]
pub use other::{Confinement, Running};
pub use skillrun_keeper::{
    Appeared, Backend, End, Fate, Hold, Holds, Layer, Limits, Spent, Stopped,
};

/// Why a program was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot {step}: {why}")]
pub struct Unable {
    /// What was tried.
    pub step: String,
    /// What came of it.
    pub why: String,
}

/// Why no program can be confined on this machine: what each backend met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words())]
pub struct Unavailable {
    /// Each backend that was tried, with what it met.
    pub tried: Vec<(Backend, Unable)>,
}

impl Unavailable {
    fn words(&self) -> String {
        let met = |(backend, unable): &(Backend, Unable)| format!("{}: {unable}", backend.word());
        match self.tried.as_slice() {
            [] => "native programs are confined on Linux only".into(),
            tried => tried.iter().map(met).collect::<Vec<_>>().join("; "),
        }
    }
}
