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
    /// The executable as it was checked. If its path leads to another file by then, nothing is started.
    pub checked: Option<Handle>,
    /// The script that the executable opens, if it was checked.
    pub script: Option<Script>,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub directory: PathBuf,
    /// What is granted to it besides the system's directories.
    pub places: Vec<Place>,
    /// Its private directory.
    pub scratch: Scratch,
    /// Whether it may reach the network, all of it.
    pub network: bool,
    /// How much it may use.
    pub limits: Limits,
}

/// A script that was read before its interpreter starts. The interpreter gets these bytes when it opens one of
/// the paths, whatever file is there by then.
#[derive(Debug)]
pub struct Script {
    /// Absolute paths at which the program sees it.
    pub paths: Vec<PathBuf>,
    /// Its bytes.
    pub contents: Vec<u8>,
}

/// A directory or file granted to a program. A read-only one in a writable one stays read-only.
#[derive(Debug)]
pub struct Place {
    /// What it is.
    pub what: What,
    /// Where the program sees it.
    pub at: PathBuf,
    /// Whether it may be changed.
    pub writable: bool,
}

/// What a place is.
#[derive(Debug)]
pub enum What {
    /// What was opened is what is granted, whatever its path names later.
    Open(Handle),
    /// A protected path of the machine in a writable place, and its name in messages. It does not exist, and
    /// must not while the program runs: the run ends if it appears, and what is there is then moved aside.
    Absent(PathBuf),
    /// A file with these contents, which exists nowhere else; only in namespaces.
    Contents(Vec<u8>),
}

/// The private directory of a program.
#[derive(Debug)]
pub struct Scratch {
    /// A directory of the caller's, used where the program cannot have a file system of its own.
    pub handle: Handle,
    /// The real path of that directory.
    pub path: PathBuf,
    /// Where the program sees its directory, if it can have a file system of its own.
    pub at: PathBuf,
    /// Bytes in it.
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
