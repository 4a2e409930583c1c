//! What the keeper is to do.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a program is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backend {
    /// In namespaces of its own, with Landlock and seccomp inside.
    Namespaces,
    /// Among the processes of the machine, held by Landlock and seccomp.
    Landlock,
}

impl Backend {
    /// The word used in messages and in policies.
    pub fn word(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
        }
    }
}

/// One program and everything that it may touch.
///
/// Handles travel beside it: standard input first, then one for each place that is open, then the
/// scratch directory, then the script and the executable if these were checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// How it is held.
    pub backend: Backend,
    /// The executable.
    pub program: Vec<u8>,
    /// Whether the executable was checked: only the file whose handle travels along is started.
    pub program_is_checked: bool,
    /// The script that the executable opens, if it was checked.
    pub script: Option<Script>,
    /// All arguments, the name of the program first; empty for a trial.
    pub arguments: Vec<Vec<u8>>,
    /// Names with their values.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Where it starts.
    pub directory: Vec<u8>,
    /// Directories and files granted to it.
    pub places: Vec<Place>,
    /// Protected paths in those places that must stay absent.
    pub absent: Vec<Absent>,
    /// Its private directory.
    pub scratch: Scratch,
    /// Whether it may reach the network.
    pub network: bool,
    /// How much it may use.
    pub limits: Limits,
    /// The seccomp filter, as the kernel takes it.
    pub filter: Vec<u8>,
    /// The one for where no control group counts memory.
    pub filter_without_group: Vec<u8>,
}

/// A script whose checked bytes travel as a handle of a sealed copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Absolute paths by which the program opens it.
    pub paths: Vec<Vec<u8>>,
    /// The seccomp filter that reports the calls that open files for reading.
    pub filter: Vec<u8>,
}

/// A directory or file granted to a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Where the program sees it.
    pub at: Vec<u8>,
    /// Whether it may be changed.
    pub writable: bool,
    /// A file with these contents, which exists nowhere else.
    pub contents: Option<Vec<u8>>,
}

/// A protected path in a writable place that does not exist, and must not while the program runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// The number of the place it is in.
    pub place: usize,
    /// Where in there.
    pub below: Vec<u8>,
    /// Its path on the machine, for messages.
    pub path: Vec<u8>,
}

/// The private directory of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratch {
    /// Where the program sees it.
    pub at: Vec<u8>,
    /// Bytes in it.
    pub size: u64,
}

impl Plan {
    /// Whether it only shows that a program would be held.
    pub fn is_trial(&self) -> bool {
        self.arguments.is_empty()
    }

    /// Leaves the program no memory but what shows in its processes.
    pub fn count_all_memory(&mut self) {
        self.filter = std::mem::take(&mut self.filter_without_group);
    }
}

/// How much a program and all its descendants may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Bytes of memory, with what is in file systems in memory.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u32,
    /// Bytes in one file.
    pub file_size: u64,
    /// Bytes written to places.
    pub disk: u64,
    /// Files open at once in one process.
    pub open_files: u32,
}
