//! Takes everything from a worker that it does not need for guests.

use super::error::fail;
use super::{calls, namespaces, root};
use crate::ConfineError;
use landlock::{
    ABI, Access as _, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Resource, Rlimit, getpid, getrlimit, setrlimit};
use skillrun_supervisor::kernel;
use std::fs;
use std::path::Path;

/// The first version of Landlock that restricts the network (Linux 6.7). Earlier ones restrict files only,
/// which would forbid to move files between directories.
const NETWORK_ABI: i32 = 4;
/// The first version that restricts signals and abstract sockets (Linux 6.12). Before it the namespaces do.
const SCOPE_ABI: i32 = 6;
const ENFORCE_LANDLOCK: &str = "enforce Landlock";
/// The most threads of a worker: tokio has up to 512 for file operations.
const MAX_THREADS: u64 = 1024;

/// Locks the calling process down, which must be inside namespaces, have one thread, and have loaded
/// everything that needs files. Returns the names of the layers in force.
///
/// It must have no directory open: one of the machine could be climbed out of with `..`. Standard handles
/// that are not sockets become the null device.
///
/// Afterwards it can use the files beneath the handles that it gets, talk over the sockets that it has,
/// map memory and start threads. Its host must send it nothing but sockets, sealed memory files and what
/// [`detached`](super::detached) returns: any other file can be opened again through `/proc/self/fd` with
/// all permissions of the user.
pub fn lock_down() -> Result<Vec<&'static str>, ConfineError> {
    if !getpid().is_init() {
        return Err(fail("confine the worker in namespaces", "it is in none"));
    }
    namespaces::require_one_thread()?;
    refuse_directories()?;
    let layers = layers()?;
    namespaces::silence().map_err(|error| fail("connect input and output", error))?;
    root::empty_root()?;
    limit_resources()?;
    namespaces::drop_capabilities()?;
    rustix::thread::set_no_new_privs(true).map_err(|error| fail("forbid new privileges", error))?;
    landlock()?;
    kernel::filter_calls(&calls::of_worker())
        .map_err(|error| fail("filter system calls", error))?;
    verify()?;
    Ok(layers)
}

/// The names of the layers. This process cannot ask any more once it is locked down.
fn layers() -> Result<Vec<&'static str>, ConfineError> {
    let step = "read the worker's ids";
    let map = fs::read_to_string("/proc/self/uid_map").map_err(|error| fail(step, error))?;
    let mut ids = map.split_ascii_whitespace();
    let (inside, outside) = (ids.next(), ids.next());
    let mut layers = vec!["namespaces"];
    // An ordinary user keeps the own id. Root has one inside that is not its own, unless there is no other.
    if inside != outside && outside != Some("0") {
        layers.push("private-user");
    }
    layers.extend(["landlock", "seccomp"]);
    Ok(layers)
}

/// Fails if a directory is open.
fn refuse_directories() -> Result<(), ConfineError> {
    let step = "confine the worker to its handles";
    let names = fs::read_dir("/proc/self/fd").map_err(|error| fail(step, error))?;
    let names: Vec<_> = names
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect();
    // The one that was open to list them is closed.
    for name in names {
        let path = Path::new("/proc/self/fd").join(&name);
        let kind = fs::metadata(path).map(|meta| meta.is_dir());
        if kind.unwrap_or(false) {
            let why = format!("the directory at descriptor {} is open", name.display());
            return Err(fail(step, why));
        }
    }
    Ok(())
}

fn limit_resources() -> Result<(), ConfineError> {
    let step = "limit the worker's resources";
    namespaces::no_core_dump().map_err(|error| fail(step, error))?;
    // The kernel counts the threads of each user namespace.
    let threads = getrlimit(Resource::Nproc)
        .maximum
        .map_or(MAX_THREADS, |own| own.min(MAX_THREADS));
    let all = [
        (Resource::Nproc, threads),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        // No priority over other processes.
        (Resource::Rtprio, 0),
        (Resource::Nice, 0),
    ];
    for (resource, most) in all {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit).map_err(|error| fail(step, error))?;
    }
    Ok(())
}

/// The kernel's version of Landlock, or why it cannot restrict a worker.
pub(super) fn landlock_version() -> Result<i32, ConfineError> {
    match kernel::landlock_version() {
        version @ NETWORK_ABI.. => Ok(version),
        0 => Err(fail(
            ENFORCE_LANDLOCK,
            "this kernel does not have it, or it is switched off",
        )),
        version => Err(fail(
            ENFORCE_LANDLOCK,
            format!(
                "this kernel has version {version}, and version {NETWORK_ABI} (Linux 6.7) is needed"
            ),
        )),
    }
}

/// Restricts the network and, where the kernel can, signals and abstract sockets. A second time: the
/// namespaces do so too. Files are not restricted: a ruleset that restricts anything of files also forbids
/// to move and link them between directories, and the handles of a run are not known yet.
fn landlock() -> Result<(), ConfineError> {
    let version = landlock_version()?;
    let error = |error: &dyn std::fmt::Display| fail(ENFORCE_LANDLOCK, error);
    let abi = ABI::from(version);
    // Nothing may be dropped silently: everything that this version supports must be enforced.
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessNet::from_all(abi))
        .map_err(|why| error(&why))?;
    if version >= SCOPE_ABI {
        ruleset = ruleset
            .scope(Scope::from_all(abi))
            .map_err(|why| error(&why))?;
    }
    let created = ruleset.create().map_err(|why| error(&why))?;
    match created.restrict_self().map_err(|why| error(&why))?.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        other => Err(error(&format!("{other:?}"))),
    }
}

/// Attempts what a worker must not be able to do, as far as an attempt does not end it.
fn verify() -> Result<(), ConfineError> {
    let possible = |what: &str| Err(fail("confirm the wall", format!("{what} is possible")));
    // Without a filter this works, even in a namespace without network.
    if socket(AddressFamily::UNIX, SocketType::STREAM, None).err() != Some(Errno::PERM) {
        return possible("making a socket");
    }
    if rustix::fs::stat(c"/etc").err() != Some(Errno::NOENT) {
        return possible("naming a file of the machine");
    }
    let write = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    if rustix::fs::open(c"/probe", write, Mode::RUSR).err() != Some(Errno::ROFS) {
        return possible("writing into the root");
    }
    if !getpid().is_init() {
        return possible("naming other processes");
    }
    Ok(())
}
