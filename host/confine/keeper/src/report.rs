//! What the keeper tells in the end.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the keeper sends for each plan, led by its length in four bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// What came of the plan.
    pub report: Report,
    /// A control group that is empty, and to be removed, once the keeper has ended.
    pub cgroup: Option<Vec<u8>>,
}

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The program ran, and nothing of it is left.
    Ended(End),
    /// It was never started: something could not be set up.
    Unable {
        /// What was tried.
        step: String,
        /// What came of it.
        why: String,
    },
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How.
    pub stopped: Stopped,
    /// Wall-clock time from its first instruction to its last.
    pub time: Duration,
    /// What it used.
    pub spent: Spent,
    /// What held it.
    pub layers: Vec<Layer>,
    /// How firmly each limit held.
    pub holds: Holds,
    /// Protected paths that did not exist before, and did while it ran.
    pub appeared: Vec<Appeared>,
}

/// A protected path that did not exist when a program was started, and did later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appeared {
    /// Its path on the machine.
    pub path: Vec<u8>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a protected path that appeared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It, or the link on the way to it, was moved here.
    Moved(Vec<u8>),
    /// It had vanished again.
    Gone,
    /// It is still there, since it could not be moved for this reason.
    Stays(String),
}

/// How a program came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stopped {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// By the limit on time.
    Time,
    /// By the limit on memory.
    Memory,
    /// By the limit on what is written.
    Disk,
    /// By the limit on its scratch directory.
    Scratch,
    /// Because somebody else replaced what it must not change.
    Seal,
    /// Because a protected path appeared that did not exist before.
    Protected,
}

/// What a program and its descendants used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Processor time.
    pub cpu: Duration,
    /// The most memory seen at once.
    pub peak_memory: u64,
}

/// One thing that holds a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layer {
    /// Ids of its own: what it may do inside is nothing outside.
    UserNamespace,
    /// Sees only what was put into its file tree.
    MountNamespace,
    /// Sees only its own processes, and dies with the first of them.
    PidNamespace,
    /// Has no network at all.
    NetNamespace,
    /// Has no shared memory or queues with others.
    IpcNamespace,
    /// Has a host name of its own.
    UtsNamespace,
    /// Has a private user id that owns nothing on the machine.
    PrivateUid,
    /// The kernel checks every path it opens.
    Landlock,
    /// The kernel checks every call it makes.
    Seccomp,
    /// Limits of the kernel on each process.
    Rlimits,
    /// Nothing it executes gains rights.
    NoNewPrivileges,
    /// A limit of the kernel on the memory of all its processes.
    MemoryCgroup,
    /// A limit of the kernel on the number of its processes.
    PidsCgroup,
}

impl Layer {
    /// The word used in outcomes.
    pub fn word(self) -> &'static str {
        match self {
            Self::UserNamespace => "user_namespace",
            Self::MountNamespace => "mount_namespace",
            Self::PidNamespace => "pid_namespace",
            Self::NetNamespace => "net_namespace",
            Self::IpcNamespace => "ipc_namespace",
            Self::UtsNamespace => "uts_namespace",
            Self::PrivateUid => "private_uid",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Rlimits => "rlimits",
            Self::NoNewPrivileges => "no_new_privileges",
            Self::MemoryCgroup => "memory_cgroup",
            Self::PidsCgroup => "pids_cgroup",
        }
    }
}

/// How firmly a limit held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hold {
    /// It cannot be passed.
    Hard,
    /// It is looked at now and then, and may be passed for a moment.
    Polled,
    /// Nothing enforces it.
    Absent,
}

/// How firmly each limit held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holds {
    /// The limit on time.
    pub time: Hold,
    /// The limit on memory.
    pub memory: Hold,
    /// The limits on what is written.
    pub disk: Hold,
    /// The limit on processes.
    pub processes: Hold,
}
