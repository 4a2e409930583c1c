//! The plan: what the supervisor has to do.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a program is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backend {
    /// In its own namespaces, with Landlock and seccomp inside.
    Namespaces,
    /// Among the processes of the machine, confined by Landlock and seccomp.
    Landlock,
}

impl Backend {
    /// The name used in messages and as the supervisor's argument.
    pub fn word(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
        }
    }
}

/// One program and everything that it may access.
///
/// File descriptors are sent with it, in this order: the plan itself (a memfd), standard input, one
/// for each mount that is open, the scratch directory, and the script and the executable if these were
/// checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// How it is confined.
    pub backend: Backend,
    /// The executable.
    pub program: Vec<u8>,
    /// Whether the executable was checked. If so, only the file whose handle was sent is executed.
    pub program_is_checked: bool,
    /// The script that the executable opens, if it was checked.
    pub script: Option<Script>,
    /// All arguments, the program's name first. Empty for a probe.
    pub arguments: Vec<Vec<u8>>,
    /// Names with their values.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// Its working directory.
    pub directory: Vec<u8>,
    /// Directories and files granted to it.
    pub mounts: Vec<Mount>,
    /// Protected paths inside those mounts at which nothing else may appear.
    pub guarded: Vec<Guarded>,
    /// Its private directory.
    pub scratch: Scratch,
    /// Whether it may reach the network.
    pub network: bool,
    /// How much it may use.
    pub limits: Limits,
    /// The seccomp filter, in the kernel's format.
    pub filter: Vec<u8>,
    /// The filter to use if no control group counts memory.
    pub filter_without_cgroup: Vec<u8>,
}

/// A script whose checked bytes are sent as a sealed memfd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// The absolute paths by which the program opens it.
    pub paths: Vec<Vec<u8>>,
    /// The seccomp filter that reports calls that open files for reading.
    pub filter: Vec<u8>,
}

/// A directory or file granted to a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where the program sees it.
    pub at: Vec<u8>,
    /// Whether the program may change it.
    pub writable: bool,
    /// A file with these contents, which exists nowhere else.
    pub contents: Option<Vec<u8>>,
}

/// A protected path in a writable mount at which nothing may appear while the program runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guarded {
    /// The index of the mount that contains it.
    pub mount: usize,
    /// Its path relative to that mount.
    pub below: Vec<u8>,
    /// Its path on the machine, for messages.
    pub path: Vec<u8>,
    /// The device and inode of what is there, if anything. A read-only mount covers it.
    pub original: Option<(u64, u64)>,
}

/// The private directory of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratch {
    /// Where the program sees it.
    pub at: Vec<u8>,
    /// Its size limit in bytes.
    pub size: u64,
}

impl Plan {
    /// Whether it only checks that a program could be confined.
    pub fn is_probe(&self) -> bool {
        self.arguments.is_empty()
    }

    /// Whether it is a probe without mounts of its own. It adds nothing to the file tree of a sandbox, not even a scratch
    /// directory, so a program can use the same sandbox afterwards.
    pub fn is_bare_probe(&self) -> bool {
        self.is_probe() && self.mounts.is_empty()
    }

    /// Whether the memory limit cannot be exceeded, given that a control group counts memory or not. No control group counts
    /// all buffers of sockets on a network: those of netlink never, those of TCP not together with other memory in cgroup v1.
    pub fn has_hard_memory(&self, in_cgroup: bool) -> bool {
        in_cgroup && !self.network
    }

    /// Switches to the filter that denies memory which `/proc` does not show.
    pub fn use_filter_without_cgroup(&mut self) {
        self.filter = std::mem::take(&mut self.filter_without_cgroup);
    }
}

/// How much a program and all its descendants may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Bytes of memory, including the contents of file systems in memory.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u32,
    /// Bytes in one file.
    pub file_size: u64,
    /// Bytes written to writable mounts.
    pub disk: u64,
    /// Files open at once in one process.
    pub open_files: u32,
}
