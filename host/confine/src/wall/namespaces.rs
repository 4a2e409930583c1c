//! Moves a process into namespaces of its own, or into none, and watches it from outside.
//!
//! The first process of a process namespace is a new one, so there are two: the worker inside, and a
//! watcher outside, which the host started. The watcher maps the worker's ids, which only a process
//! outside may do where the host is root. From then on it can do nothing but wait: it has no
//! capabilities and a filter with six system calls.
//!
//! A worker without namespaces has a watcher, too: a worker that was broken into must not outlive its host,
//! and the death signal of the host itself would come when the thread ends that started the worker.

use super::error::{At as _, Failed, fail, shared};
use super::{WallKind, calls};
use crate::ConfineError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, kill_process, pidfd_open,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{CapabilitySet, CapabilitySets};
use skillrun_supervisor::ids::Ids;
use skillrun_supervisor::kernel::{self, Fork, Wait};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// The namespaces of a worker.
pub(super) const NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// What `man 2 wait` calls it when a process is killed: the exit code of a shell for that signal.
const KILLED: i32 = 128;

/// Moves the calling process into new user, mount, process, network, IPC, UTS and cgroup namespaces,
/// and continues in a child that is the first process there. It must have one thread.
///
/// Must be called first of all: every handle but the first three and `host` is closed, because the
/// process may have inherited it.
///
/// In the original process the call does not return. That process waits for the child, and ends as the
/// child ended. Both end when the other end of `host`, a stream or sequenced-packet socket, is closed;
/// nothing is read from it. If the namespaces cannot be created, it returns an error in the original
/// process. If they cannot be set up, it returns an error in the child.
///
/// In the child every mount of the machine is read-only, and is gone after [`lock_down`](super::lock_down).
/// Files may be loaded in between.
///
/// An ordinary user keeps the own user id. Root never does: it gets an id that owns nothing, the same
/// for every worker, and [`detached`](super::detached) maps owners to it.
pub fn enter_namespaces(host: BorrowedFd<'_>) -> io::Result<()> {
    continue_in_child(host, WallKind::Namespaces)
}

/// Continues in a child without namespaces, for a worker that [`lock_down_to`](super::lock_down_to) confines. It must
/// have one thread.
///
/// As with [`enter_namespaces`], every handle but the first three and `host` is closed, the call does not return in the
/// original process, and both processes end when the other end of `host` is closed.
///
/// An ordinary user keeps the own user id. Root takes the private one of workers, with the capability to access files
/// whatever their owner: this user owns none, and Landlock decides which of them can be reached. It is in force only after
/// [`lock_down_to`](super::lock_down_to).
pub fn enter_watched(host: BorrowedFd<'_>) -> io::Result<()> {
    continue_in_child(host, WallKind::Landlock)
}

fn continue_in_child(host: BorrowedFd<'_>, wall: WallKind) -> io::Result<()> {
    require_one_thread().map_err(io::Error::other)?;
    kernel::close_others(&[host])?;
    let ids = Ids::of_workers().map_err(|error| io::Error::other(shared(error)))?;
    // No signal of a terminal reaches it. The leader of a process group has none already.
    let _ = rustix::process::setsid();
    let (wait, go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let (namespaces, step) = match wall {
        WallKind::Namespaces => (NAMESPACES, "create namespaces"),
        WallKind::Landlock => (0, "start a process"),
    };
    match kernel::fork(namespaces).at(step)? {
        Fork::Child => {
            drop(go);
            match wall {
                WallKind::Namespaces => enter(&ids, &wait),
                WallKind::Landlock => enter_without(&ids, &wait),
            }
        }
        Fork::Parent(worker) => {
            drop(wait);
            let mapped = match wall {
                WallKind::Namespaces => ids.map(worker),
                WallKind::Landlock => Ok(()),
            };
            let started = mapped
                .map_err(|error| io::Error::other(shared(error)))
                .and_then(|()| Ok(rustix::io::write(&go, &[1])?));
            if let Err(error) = started {
                let _ = kill_process(worker, Signal::KILL);
                let _ = kernel::wait(worker.as_raw_pid(), Wait::Block);
                return Err(error);
            }
            watch(host, worker, &ids, &go)
        }
    }
}

/// The child's part.
fn enter(ids: &Ids, watcher: &OwnedFd) -> io::Result<()> {
    await_ids(ids, watcher)?;
    // The host is worth more than one worker.
    kernel::prefer_oom_kill().at("raise its OOM score")?;
    super::root::seal_machine()?;
    Ok(())
}

/// The child's part without namespaces.
fn enter_without(ids: &Ids, watcher: &OwnedFd) -> io::Result<()> {
    await_go(watcher)?;
    reduce_privileges(ids).map_err(io::Error::other)?;
    confirm_watcher(watcher)?;
    kernel::prefer_oom_kill().at("raise its OOM score")?;
    Ok(())
}

/// The capabilities of a worker without namespaces, which may be the private user.
pub(super) fn kept_capabilities(is_private: bool) -> CapabilitySet {
    match is_private {
        // Its user owns no file.
        true => CapabilitySet::DAC_OVERRIDE,
        false => CapabilitySet::empty(),
    }
}

/// Takes the ids of a worker without namespaces, and drops all other privileges.
fn reduce_privileges(ids: &Ids) -> Result<(), ConfineError> {
    use rustix::process::{Gid, Uid};
    let step = "take the private user";
    let kept = kept_capabilities(ids.private);
    // First, because with another user it has no capability to do it with.
    skillrun_supervisor::keep_in_bounding_set(kept).map_err(shared)?;
    if ids.private {
        let (user, group) = (Uid::from_raw(ids.outside.0), Gid::from_raw(ids.outside.1));
        let take = || {
            rustix::thread::set_thread_groups(&[])?;
            rustix::thread::set_thread_res_gid(group, group, group)?;
            rustix::thread::set_keep_capabilities(true)?;
            rustix::thread::set_thread_res_uid(user, user, user)?;
            // A change of ids makes a process undumpable, and its own files in /proc unreadable.
            rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
        };
        take().map_err(|error| fail(step, error))?;
    }
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::clear_ambient_capability_set()
        .and_then(|()| rustix::thread::set_capabilities(None, sets))
        .map_err(|error| fail("drop capabilities", error))
}

/// Waits until the ids are mapped, and takes them. Makes system calls only.
pub(super) fn await_ids(ids: &Ids, watcher: &OwnedFd) -> Result<(), Failed> {
    await_go(watcher)?;
    if ids.private {
        ids.take().at("take the private user")?;
        // A change of ids makes a process undumpable, and its own files in /proc unreadable.
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
            .at("read its own page map")?;
    }
    confirm_watcher(watcher)
}

fn die_with_watcher() -> Result<(), Failed> {
    set_parent_process_death_signal(Some(Signal::KILL)).at("set the parent-death signal")
}

/// Waits until the watcher says that its part is done.
fn await_go(watcher: &OwnedFd) -> Result<(), Failed> {
    die_with_watcher()?;
    if rustix::io::read(watcher, &mut [0]) != Ok(1) {
        kernel::exit(1);
    }
    Ok(())
}

/// Makes sure that this process ends with its watcher.
fn confirm_watcher(watcher: &OwnedFd) -> Result<(), Failed> {
    // A change of ids clears the signal, and the watcher may have ended in between.
    die_with_watcher()?;
    let mut ended = [PollFd::new(watcher, PollFlags::empty())];
    poll(&mut ended, Some(&rustix::time::Timespec::default())).at("check for the watcher")?;
    if !ended[0].revents().is_empty() {
        kernel::exit(1);
    }
    Ok(())
}

/// The original process's part. `_alive` is closed when this process ends.
fn watch(host: BorrowedFd<'_>, worker: Pid, ids: &Ids, _alive: &OwnedFd) -> ! {
    let Ok((exit, own)) = restrict_watcher(worker, ids) else {
        // The kernel ends the worker as well.
        kernel::exit(1);
    };
    loop {
        // No event is asked for: that the other end is closed is always reported.
        let mut events = [
            PollFd::from_borrowed_fd(host, PollFlags::empty()),
            PollFd::new(&exit, PollFlags::IN),
        ];
        if let Err(error) = poll(&mut events, None)
            && error != rustix::io::Errno::INTR
        {
            kernel::exit(1);
        }
        if !events[1].revents().is_empty() {
            end_as(worker, own);
        }
        if !events[0].revents().is_empty() {
            kernel::exit(1);
        }
    }
}

/// Gives up all that the watcher does not need. Returns a handle that shows when the worker exits,
/// and the id of this process.
fn restrict_watcher(worker: Pid, ids: &Ids) -> Result<(OwnedFd, Pid), Failed> {
    let step = "restrict the watcher";
    let exit = pidfd_open(worker, PidfdFlags::empty()).at(step)?;
    kernel::reset_signals();
    no_core_dump().at(step)?;
    silence().at(step)?;
    let refused = Failed {
        step,
        errno: rustix::io::Errno::PERM,
    };
    // First, because with another user it has no capability to do it with.
    skillrun_supervisor::keep_in_bounding_set(CapabilitySet::empty()).map_err(|_| refused)?;
    if ids.private {
        use rustix::process::{Gid, Uid};
        let (user, group) = (Uid::from_raw(ids.outside.0), Gid::from_raw(ids.outside.1));
        rustix::thread::set_thread_groups(&[]).at(step)?;
        rustix::thread::set_thread_res_gid(group, group, group).at(step)?;
        // The same user as the worker: the kernel would not deliver the death signal of another one.
        rustix::thread::set_thread_res_uid(user, user, user).at(step)?;
    }
    drop_capabilities().map_err(|_| refused)?;
    rustix::thread::set_no_new_privs(true).at(step)?;
    // No Landlock: with a scope for signals the death signal would not reach the worker.
    let own = rustix::process::getpid();
    kernel::filter_calls(&calls::of_watcher(own)).at(step)?;
    Ok((exit, own))
}

/// Ends this process as the worker ended.
fn end_as(worker: Pid, own: Pid) -> ! {
    let status = kernel::wait(worker.as_raw_pid(), Wait::Block);
    let Ok(Some(status)) = status.map(|ended| ended.map(|ended| ended.status)) else {
        kernel::exit(1);
    };
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = kill_process(own, signal);
        }
        kernel::exit(KILLED + signal);
    }
    kernel::exit(libc::WEXITSTATUS(status));
}

/// Drops every capability, from the bounding set as well.
pub(super) fn drop_capabilities() -> Result<(), ConfineError> {
    let none = CapabilitySet::empty();
    skillrun_supervisor::keep_in_bounding_set(none).map_err(shared)?;
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    rustix::thread::clear_ambient_capability_set()
        .and_then(|()| rustix::thread::set_capabilities(None, sets))
        .map_err(|error| fail("drop capabilities", error))
}

/// Forbids core dumps. With a limit of 0 the kernel would still send them to a program that the machine
/// has for them (`core_pattern`); 1 is what stops both.
pub(super) fn no_core_dump() -> rustix::io::Result<()> {
    let one = Rlimit {
        current: Some(1),
        maximum: Some(1),
    };
    setrlimit(Resource::Core, one)
}

/// Replaces each standard handle that is not a socket by the null device. Anything else could be opened
/// again through `/proc/self/fd` with other permissions: a log could be read or cut, and from a pipe the
/// output of others could be read.
pub(super) fn silence() -> io::Result<()> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let null = rustix::fs::open(c"/dev/null", flags, Mode::empty())?;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    for (number, handle) in (0..).zip([stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]) {
        let mode = fstat(handle).map_or(0, |stat| stat.st_mode);
        if !FileType::from_raw_mode(mode).is_socket() {
            kernel::put_standard(&null, number)?;
        }
    }
    Ok(())
}

/// Fails if this process has more than one thread: the others would keep their rights.
pub(super) fn require_one_thread() -> Result<(), ConfineError> {
    use std::os::unix::fs::MetadataExt as _;
    let step = "confine the worker";
    let threads = std::fs::metadata("/proc/self/task").map_err(|error| fail(step, error))?;
    // One link for each thread, and those that every directory has.
    match threads.nlink().saturating_sub(2) {
        1 => Ok(()),
        threads => Err(fail(
            step,
            format!("it has {threads} threads instead of one"),
        )),
    }
}
