//! The report: what the supervisor returns for a plan.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The reply to one plan, preceded on the socket by its length in four bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The result of the plan.
    pub report: Report,
    /// An empty control group that the host removes once the supervisor has exited.
    pub cgroup: Option<Vec<u8>>,
}

/// The result of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The program ran, and none of its processes is left.
    Ended(End),
    /// It was never started, because a step of the setup failed.
    Failed {
        /// The step that failed.
        step: String,
        /// The reason.
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
    /// Its resource usage.
    pub usage: Usage,
    /// The layers that confined it.
    pub layers: Vec<Layer>,
    /// How each limit was enforced.
    pub enforcement: LimitEnforcement,
    /// Protected paths that did not exist before the run and appeared during it.
    pub appeared: Vec<Appeared>,
    /// How often it wanted an internet socket and was refused one. Only known in namespaces, and only for
    /// a program with a script.
    pub refused_sockets: u64,
}

/// A protected path at which something appeared while a program ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appeared {
    /// Its path on the machine.
    pub path: Vec<u8>,
    /// Whether something else was there when the program was started.
    pub replaced: bool,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a protected path that appeared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It, or a symbolic link on the way to it, was moved here.
    Moved(Vec<u8>),
    /// It had disappeared again.
    Gone,
    /// It is still there, because it could not be moved for this reason.
    Stays(String),
}

/// Why a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stopped {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Signaled(i32),
    /// It hit the time limit.
    Time,
    /// It hit the memory limit.
    Memory,
    /// It hit the limit on bytes written.
    Disk,
    /// It hit the size limit of its scratch directory.
    Scratch,
    /// Another process replaced a protected path.
    ProtectedReplaced,
    /// A protected path appeared that did not exist before.
    ProtectedAppeared,
}

/// Resource usage of a program and its descendants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time.
    pub cpu: Duration,
    /// The highest memory use seen.
    pub peak_memory: u64,
}

/// One layer of a program's confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layer {
    /// It has its own user ids: privileges inside mean nothing outside.
    UserNamespace,
    /// It sees only what was mounted into its file tree.
    MountNamespace,
    /// It sees only its own processes, and all die with the init process.
    PidNamespace,
    /// It has no network at all.
    NetNamespace,
    /// It shares no memory segments or message queues with other processes.
    IpcNamespace,
    /// It has its own host name.
    UtsNamespace,
    /// It runs under a private user id that owns nothing on the machine.
    PrivateUid,
    /// The kernel checks every path that it opens.
    Landlock,
    /// The kernel checks every system call that it makes.
    Seccomp,
    /// Kernel limits on each process.
    Rlimits,
    /// Nothing it executes gains privileges.
    NoNewPrivileges,
    /// A kernel limit on the memory of all its processes together.
    MemoryCgroup,
    /// A kernel limit on the number of its processes.
    PidsCgroup,
}

impl Layer {
    /// The name used in outcomes.
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

/// How a limit is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Enforcement {
    /// It cannot be exceeded.
    Hard,
    /// The supervisor samples usage, so it can be exceeded for some milliseconds.
    Polled,
    /// Nothing enforces it.
    Absent,
}

/// How each limit was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitEnforcement {
    /// The time limit.
    pub time: Enforcement,
    /// The memory limit.
    pub memory: Enforcement,
    /// The limits on bytes written.
    pub disk: Enforcement,
    /// The process limit.
    pub processes: Enforcement,
}
