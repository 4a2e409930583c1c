//! Takes everything from a worker that it does not need for guests.

use super::detached::Access;
use super::error::fail;
use super::{WallKind, calls, namespaces, root};
use crate::ConfineError;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Resource, Rlimit, getpid, getppid, getrlimit, setrlimit};
use skillrun_supervisor::kernel;
use std::fs;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::Path;

/// The first version of Landlock that restricts the network (Linux 6.7). Earlier ones restrict files only,
/// which would forbid to move files between directories.
const NETWORK_ABI: i32 = 4;
/// The first version that restricts signals and abstract sockets (Linux 6.12). Before it the namespaces do, so without
/// namespaces it is the oldest that is accepted: nothing that a worker cannot do should rest on one mechanism, and with an
/// older version signals would rest on the filter alone. Truncation (3) and the network (4) are in it as well.
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
    refuse_directories(&[])?;
    let layers = layers()?;
    namespaces::silence().map_err(|error| fail("connect input and output", error))?;
    root::empty_root()?;
    limit_resources(MAX_THREADS)?;
    namespaces::drop_capabilities()?;
    forbid_privileges()?;
    enforce(restrict_network_and_scopes()?)?;
    filter_calls(WallKind::Namespaces)?;
    verify()?;
    Ok(layers)
}

/// Locks the calling process down for one run, without namespaces. It must have called
/// [`enter_watched`](super::enter_watched), have one thread, and have loaded everything that needs files. Returns the names
/// of the layers in force.
///
/// Afterwards it can use the files beneath the `granted` handles, talk over the sockets that it has, map memory and start
/// threads. Landlock decides by the file that a path leads to in the end, so `..`, absolute paths and links may be used
/// and open nothing outside. The handles are those of directories and regular files, each with what may be done in it; what
/// is mounted below a directory is included. Within a directory that may be changed, files can be moved and linked between
/// directories.
///
/// It must have no other directory open. Standard handles that are not sockets become the null device.
pub fn lock_down_to(
    granted: &[(BorrowedFd<'_>, Access)],
) -> Result<Vec<&'static str>, ConfineError> {
    if getpid().is_init() {
        return Err(fail(
            "confine the worker by Landlock",
            "it is in namespaces",
        ));
    }
    namespaces::require_one_thread()?;
    let handles: Vec<BorrowedFd<'_>> = granted.iter().map(|(handle, _)| *handle).collect();
    refuse_directories(&handles)?;
    let layers = layers_without_namespaces()?;
    namespaces::silence().map_err(|error| fail("connect input and output", error))?;
    limit_resources(all_threads()?.saturating_add(MAX_THREADS))?;
    forbid_privileges()?;
    enforce(restrict_files(granted)?)?;
    verify_scope()?;
    filter_calls(WallKind::Landlock)?;
    verify_files()?;
    Ok(layers)
}

fn forbid_privileges() -> Result<(), ConfineError> {
    rustix::thread::set_no_new_privs(true).map_err(|error| fail("forbid new privileges", error))
}

fn filter_calls(wall: WallKind) -> Result<(), ConfineError> {
    kernel::filter_calls(&calls::of_worker(wall, getpid()))
        .map_err(|error| fail("filter system calls", error))
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

/// The names of the layers of a worker without namespaces. Fails if it has more privileges than it needs.
fn layers_without_namespaces() -> Result<Vec<&'static str>, ConfineError> {
    let step = "confirm the worker's user";
    let error = |error: &dyn std::fmt::Display| fail(step, error);
    let sets = rustix::thread::capabilities(None).map_err(|why| error(&why))?;
    let kept = namespaces::kept_capabilities(true);
    let all = sets.effective | sets.permitted | sets.inheritable;
    let mut layers = Vec::new();
    match () {
        () if all.is_empty() => {}
        // Only root keeps this one, and only as the private user.
        () if all == kept && !rustix::process::geteuid().is_root() => layers.push("private-user"),
        () => return Err(error(&"it has capabilities")),
    }
    layers.extend(["landlock", "seccomp"]);
    Ok(layers)
}

/// Fails if a directory is open, except the `granted` ones.
fn refuse_directories(granted: &[BorrowedFd<'_>]) -> Result<(), ConfineError> {
    let step = "confine the worker to its handles";
    let names = fs::read_dir("/proc/self/fd").map_err(|error| fail(step, error))?;
    let names: Vec<_> = names
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect();
    let is_granted = |name: &std::ffi::OsString| {
        let number = name.to_str().and_then(|name| name.parse().ok());
        granted.iter().any(|one| Some(one.as_raw_fd()) == number)
    };
    // The one that was open to list them is closed.
    for name in names.into_iter().filter(|name| !is_granted(name)) {
        let path = Path::new("/proc/self/fd").join(&name);
        let kind = fs::metadata(path).map(|meta| meta.is_dir());
        if kind.unwrap_or(false) {
            let why = format!("the directory at descriptor {} is open", name.display());
            return Err(fail(step, why));
        }
    }
    Ok(())
}

/// The threads of the machine: at least those of this user, all of which the kernel counts where no user namespace is
/// around the worker. Counting the user's own would take a look at every process.
fn all_threads() -> Result<u64, ConfineError> {
    let step = "count the threads of the machine";
    let load = fs::read_to_string("/proc/loadavg").map_err(|error| fail(step, error))?;
    let threads = load.split(' ').nth(3).and_then(|part| part.split_once('/'));
    let count = threads.and_then(|(_, all)| all.parse().ok());
    count.ok_or_else(|| fail(step, "`/proc/loadavg` does not have it"))
}

/// `threads` are the most that the kernel may count for the user of the worker.
fn limit_resources(threads: u64) -> Result<(), ConfineError> {
    let step = "limit the worker's resources";
    namespaces::no_core_dump().map_err(|error| fail(step, error))?;
    let threads = getrlimit(Resource::Nproc)
        .maximum
        .map_or(threads, |own| own.min(threads));
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
pub(super) fn landlock_version(wall: WallKind) -> Result<i32, ConfineError> {
    let (oldest, linux) = match wall {
        WallKind::Namespaces => (NETWORK_ABI, "6.7"),
        WallKind::Landlock => (SCOPE_ABI, "6.12"),
    };
    match kernel::landlock_version() {
        0 => Err(fail(
            ENFORCE_LANDLOCK,
            "this kernel does not have it, or it is switched off",
        )),
        version if version < oldest => Err(fail(
            ENFORCE_LANDLOCK,
            format!(
                "this kernel has version {version}, and version {oldest} (Linux {linux}) is needed"
            ),
        )),
        version => Ok(version),
    }
}

/// A ruleset for the network and, where the kernel can, signals and abstract sockets. Here this is a second time: the
/// namespaces do so too. Files are not restricted: a ruleset that restricts anything of files also forbids
/// to move and link them between directories, and the handles of a run are not known yet.
fn restrict_network_and_scopes() -> Result<RulesetCreated, ConfineError> {
    let version = landlock_version(WallKind::Namespaces)?;
    let abi = ABI::from(version);
    let ruleset =
        strict()
            .handle_access(AccessNet::from_all(abi))
            .and_then(|ruleset| match version >= SCOPE_ABI {
                true => ruleset.scope(Scope::from_all(abi)),
                false => Ok(ruleset),
            });
    let created = ruleset.and_then(Ruleset::create);
    created.map_err(|why| fail(ENFORCE_LANDLOCK, why))
}

/// A ruleset for everything that the kernel's Landlock knows, with rules for the `granted` handles.
pub(super) fn restrict_files(
    granted: &[(BorrowedFd<'_>, Access)],
) -> Result<RulesetCreated, ConfineError> {
    let abi = ABI::from(landlock_version(WallKind::Landlock)?);
    let error = |error: &dyn std::fmt::Display| fail(ENFORCE_LANDLOCK, error);
    let created = strict()
        .handle_access(AccessFs::from_all(abi))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(abi)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create);
    let mut created = created.map_err(|why| error(&why))?;
    for (handle, access) in granted {
        let stat = fstat(handle).map_err(|why| error(&why))?;
        let rights = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => rights(*access),
            FileType::RegularFile => rights(*access) & AccessFs::from_file(abi),
            _ => return Err(error(&"a handle is neither a directory nor a regular file")),
        };
        let rule = PathBeneath::new(handle, rights);
        created = created.add_rule(rule).map_err(|why| error(&why))?;
    }
    Ok(created)
}

/// What a worker may do with the files beneath a handle.
fn rights(access: Access) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    match access {
        // Landlock does not restrict mapping files as code.
        Access::Read | Access::ReadCode => read,
        // Guests make no devices, pipes and sockets, and execute nothing.
        Access::Change => {
            let names = AccessFs::MakeReg
                | AccessFs::MakeDir
                | AccessFs::MakeSym
                | AccessFs::RemoveFile
                | AccessFs::RemoveDir;
            // Without `Refer`, files could not be moved and linked between the directories of a mount.
            read | names | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::Refer
        }
    }
}

/// Nothing may be dropped silently: everything that this version supports must be enforced.
fn strict() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

/// Restricts the calling thread, which must be the only one: a ruleset applies to it and to those that it starts later.
fn enforce(ruleset: RulesetCreated) -> Result<(), ConfineError> {
    let error = |error: &dyn std::fmt::Display| fail(ENFORCE_LANDLOCK, error);
    match ruleset.restrict_self().map_err(|why| error(&why))?.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        other => Err(error(&format!("{other:?}"))),
    }
}

fn possible(what: &str) -> Result<(), ConfineError> {
    Err(fail("confirm the wall", format!("{what} is possible")))
}

/// Attempts what a worker in namespaces must not be able to do, as far as an attempt does not end it.
fn verify() -> Result<(), ConfineError> {
    verify_sockets()?;
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

fn verify_sockets() -> Result<(), ConfineError> {
    // Without a filter this works, even in a namespace without network.
    match socket(AddressFamily::UNIX, SocketType::STREAM, None).err() {
        Some(Errno::PERM) => Ok(()),
        _ => possible("making a socket"),
    }
}

/// Attempts to signal the watcher. Once the filter is in force, an attempt would end the worker.
fn verify_scope() -> Result<(), ConfineError> {
    match getppid().map(rustix::process::test_kill_process) {
        Some(Err(Errno::PERM)) => Ok(()),
        // It has ended, and so will this process.
        None | Some(Err(Errno::SRCH)) => possible("continuing without a watcher"),
        Some(_) => possible("signalling another process"),
    }
}

/// Attempts what a worker without namespaces must not be able to do. The root and the kernel's own files are never granted.
fn verify_files() -> Result<(), ConfineError> {
    verify_sockets()?;
    let read = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if rustix::fs::open(c"/", read, Mode::empty()).err() != Some(Errno::ACCESS) {
        return possible("listing the root");
    }
    let write = OFlags::WRONLY | OFlags::CLOEXEC;
    if rustix::fs::open(c"/dev/null", write, Mode::empty()).err() != Some(Errno::ACCESS) {
        return possible("writing a file that was not granted");
    }
    Ok(())
}
