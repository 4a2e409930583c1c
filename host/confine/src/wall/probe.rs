//! Finds out whether this machine allows the wall.

use super::error::{Failed, fail, shared};
use super::{WallKind, lockdown, namespaces, root};
use crate::{ConfineError, transient};
use rustix::thread::CapabilitySet;
use skillrun_supervisor::ids::Ids;
use skillrun_supervisor::kernel::{self, Fork, Wait};
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;

/// What confines workers on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wall {
    /// The strongest kind that works.
    pub kind: WallKind,
    /// Why it is not [`WallKind::Namespaces`], if so.
    pub without_namespaces: Option<ConfineError>,
}

/// Finds out how a worker can be confined on this machine. Namespaces are attempted in a child that does nothing else. If
/// nothing works, the error names the steps that are not possible. May be called in a process with threads.
///
/// A reason that may pass, such as used up memory, is an error: it must not make the wall weaker.
pub fn probe() -> Result<Wall, ConfineError> {
    let why = match namespaces() {
        Ok(()) => {
            return Ok(Wall {
                kind: WallKind::Namespaces,
                without_namespaces: None,
            });
        }
        Err(why) if transient::is_transient(&why) => return Err(why),
        Err(why) => why,
    };
    match landlock_only() {
        Ok(()) => Ok(Wall {
            kind: WallKind::Landlock,
            without_namespaces: Some(why),
        }),
        // The same reason twice says nothing more.
        Err(same) if same == why => Err(why),
        Err(neither) => Err(ConfineError {
            why: format!("{}; without namespaces: {neither}", why.why),
            ..why
        }),
    }
}

/// Whether a probe that failed for this reason may succeed later, because something was used up or interrupted.
pub fn is_transient(error: &ConfineError) -> bool {
    transient::is_transient(error)
}

/// Checks whether a worker can be confined without namespaces.
fn landlock_only() -> Result<(), ConfineError> {
    lockdown::restrict_files(&[])?;
    let ids = Ids::of_workers().map_err(shared)?;
    if ids.private {
        let step = "take the private user";
        let sets = rustix::thread::capabilities(None).map_err(|error| fail(step, error))?;
        let needed = CapabilitySet::SETUID
            | CapabilitySet::SETGID
            | CapabilitySet::SETPCAP
            | namespaces::kept_capabilities(true);
        if !sets.effective.contains(needed) {
            return Err(fail(step, "root lacks the capabilities for that"));
        }
    }
    Ok(())
}

/// Checks whether a worker can be confined in namespaces.
fn namespaces() -> Result<(), ConfineError> {
    lockdown::landlock_version(WallKind::Namespaces)?;
    let ids = Ids::of_workers().map_err(shared)?;
    let pipe = || {
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|error| fail("create a pipe", error))
    };
    let ((wait, go), (result, report)) = (pipe()?, pipe()?);
    let forked = kernel::fork(namespaces::NAMESPACES);
    let child = match forked.map_err(|error| fail("create namespaces", error))? {
        Fork::Child => {
            drop((go, result));
            attempt(&ids, &wait, &report)
        }
        Fork::Parent(child) => child,
    };
    drop((wait, report));
    let mapped = ids.map(child);
    if mapped.is_ok() {
        let _ = rustix::io::write(&go, &[1]);
    }
    // Until it has reported, it ends with this process.
    let mut reported = Vec::new();
    if mapped.is_ok() {
        let _ = File::from(result).read_to_end(&mut reported);
    }
    drop(go);
    let _ = kernel::wait(child.as_raw_pid(), Wait::Block);
    mapped.map_err(shared)?;
    match reported.split_first_chunk::<4>() {
        Some((errno, step)) if !step.is_empty() => {
            let error = std::io::Error::from_raw_os_error(i32::from_ne_bytes(*errno));
            Err(fail(&String::from_utf8_lossy(step), error))
        }
        Some(_) => Ok(()),
        None => Err(fail("confine a probe", "it ended without a report")),
    }
}

/// The child's part. Makes system calls only, because its parent may have threads.
fn attempt(ids: &Ids, parent: &OwnedFd, report: &OwnedFd) -> ! {
    let confined = namespaces::await_ids(ids, parent)
        .and_then(|()| root::seal_machine())
        .and_then(|()| root::empty_root());
    let (step, errno) = match confined {
        Ok(()) => ("", 0),
        Err(Failed { step, errno }) => (step, errno.raw_os_error()),
    };
    // Both fit into a pipe.
    let _ = rustix::io::write(report, &errno.to_ne_bytes());
    let _ = rustix::io::write(report, step.as_bytes());
    kernel::exit(0);
}
