//! One program and everything that it may touch.

use crate::{Backend, Limits};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An open directory or file.
#[cfg(unix)]
pub type Handle = std::os::fd::OwnedFd;
/// An open directory or file.
#[cfg(windows)]
pub type Handle = std::os::windows::io::OwnedHandle;

/// One program and everything that it may touch.
#[derive(Debug)]
pub struct Job {
    /// The executable.
    pub program: PathBuf,
    /// The executable that was checked. If its path leads to another file by then, nothing is
    /// started.
    pub checked: Option<Handle>,
    /// The script that the executable opens, if it was checked.
    pub script: Option<Script>,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// Its complete environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub directory: PathBuf,
    /// What it may access in addition to the system's directories.
    pub mounts: Vec<Mount>,
    /// Its private directory.
    pub scratch: Scratch,
    /// Whether it may use the network, all of it.
    pub network: bool,
    /// How much it may use.
    pub limits: Limits,
}

/// A script that was read before its interpreter starts. When the interpreter opens one of the paths,
/// it gets these bytes, whatever file is there by then.
#[derive(Debug)]
pub struct Script {
    /// Absolute paths at which the program sees it.
    pub paths: Vec<PathBuf>,
    /// Its bytes.
    pub contents: Vec<u8>,
}

/// A directory or file that a program may access. A read-only mount inside a writable one stays
/// read-only in namespaces; without them such a job is refused.
#[derive(Debug)]
pub struct Mount {
    /// What is mounted.
    pub kind: MountKind,
    /// Where the program sees it.
    pub at: PathBuf,
    /// Whether the program may change it.
    pub writable: bool,
}

/// What is mounted.
#[derive(Debug)]
pub enum MountKind {
    /// An open file or directory. It is granted even if its path names something else later.
    Open(Handle),
    /// An open file or directory that is a protected path inside a writable mount. Read-only. The path is its name in
    /// messages. If something else is there at the end of the run, that is moved aside.
    Protected(Handle, PathBuf),
    /// A protected path inside a writable mount that does not exist. The path is its name in
    /// messages. It must not appear while the program runs: if it does, the run ends and whatever is
    /// there is moved aside.
    Absent(PathBuf),
    /// A file with these contents, which exists nowhere else. Only in namespaces.
    Contents(Vec<u8>),
}

/// The private directory of a program.
#[derive(Debug)]
pub struct Scratch {
    /// A directory of the caller, used if the program cannot have its own file system. In namespaces nothing uses it, so any
    /// handle will do.
    pub handle: Handle,
    /// The real path of that directory.
    pub path: PathBuf,
    /// Where the program sees its directory, if it can have its own file system.
    pub at: PathBuf,
    /// Its size limit in bytes.
    pub size: u64,
}

impl Scratch {
    /// Where a program in this backend sees it.
    pub fn seen_at(&self, backend: Backend) -> &Path {
        match backend {
            Backend::Namespaces => &self.at,
            Backend::Landlock => &self.path,
        }
    }
}
