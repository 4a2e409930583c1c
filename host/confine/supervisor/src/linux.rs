//! The supervisor's main loop: receives plans over the socket and replies with reports.

use crate::cgroup::Cgroup;
use crate::error::{ConfineError, Step as _};
use crate::handles::{Handles, Output};
use crate::sandbox::{Sandbox, SandboxConfig};
use crate::supervisor::Supervisor;
use crate::{landlock_only, namespaces, sys};
use rustix::fs::{Mode, OFlags};
use rustix::net::{SendFlags, send};
use skillrun_supervisor::{
    Appeared, Backend, End, Guarded, GuardedPaths, MAX_REPLY, Mount, Plan, Reply, Report, Stopped,
};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

/// The most bytes that the fate of a protected path takes in a reply: a path, or an error.
const MAX_FATE_BYTES: usize = 4096 + 64;

pub(crate) fn main() {
    sys::close_inherited();
    sys::block_signals();
    // It was executed as `/proc/self/fd/N`, so its name would be a number.
    let _ = rustix::thread::set_name(c"skillrun-supervisor");
    // Without its socket the supervisor cannot report anything.
    let Ok((control, output)) = take_over() else {
        return;
    };
    let supervisor = Supervisor {
        control,
        cgroup: Cgroup::join(),
    };
    let namespaces = std::env::args().nth(1).as_deref() == Some(Backend::Namespaces.word());
    if !namespaces {
        // The program's processes would outlive this one, so the kernel should not kill it when
        // memory runs out; the call may be refused. Inside namespaces the init process is killed
        // first.
        let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    }
    let host_is_connected = supervisor.serve(output, namespaces);
    if let (Some(cgroup), false) = (supervisor.cgroup, host_is_connected) {
        cgroup.leave();
    }
}

impl Supervisor {
    /// Serves probes and one program. Returns whether the host stayed connected to the end.
    fn serve(&self, output: Output, namespaces: bool) -> bool {
        let (mut output, mut sandbox) = (Some(output), None);
        while output.is_some() {
            if namespaces && sandbox.is_none() {
                let config = SandboxConfig::common();
                // If it cannot be created, the plan that needs it gets the error.
                sandbox = Sandbox::create(config, &mut output, self.cgroup.is_some()).ok();
            }
            let has_handle = |mount: &Mount| mount.contents.is_none();
            let (plan, handles) = match Handles::receive(self.control.as_fd(), has_handle) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return false,
                Err(error) => {
                    let error = ConfineError::new("receive the plan", error.to_string());
                    return self.reply(Err(error));
                }
            };
            if !self.reply(self.execute(&plan, handles, &mut output, &mut sandbox)) {
                return false;
            }
        }
        true
    }

    fn execute(
        &self,
        plan: &Plan,
        handles: Handles,
        output: &mut Option<Output>,
        sandbox: &mut Option<Sandbox>,
    ) -> Result<End, ConfineError> {
        if let Some(cgroup) = &self.cgroup {
            cgroup.limit(plan).step("limit the cgroup")?;
        }
        let mut guarded = guarded_paths(plan, &handles)?;
        let ended = match plan.backend {
            Backend::Namespaces => {
                namespaces::run(self, plan, handles, output, sandbox, &mut guarded)
            }
            Backend::Landlock => landlock_only::run(self, plan, handles, output, &mut guarded),
        };
        // However it ended, none of the program's processes is left.
        with_appeared(ended, guarded.move_aside())
    }

    fn reply(&self, result: Result<End, ConfineError>) -> bool {
        let report = match result {
            Ok(end) => Report::Ended(end),
            Err(ConfineError { step, why }) => Report::Failed { step, why },
        };
        let cgroup = self.cgroup.as_ref().map(Cgroup::path);
        let message = Reply { report, cgroup };
        let Ok(mut bytes) = postcard::to_allocvec(&message) else {
            return false;
        };
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_ne_bytes();
        bytes.splice(0..0, length);
        send(&self.control, &bytes, SendFlags::NOSIGNAL).is_ok()
    }
}

/// The protected paths at which nothing may appear. At none of them has anything appeared yet.
fn guarded_paths(plan: &Plan, handles: &Handles) -> Result<GuardedPaths, ConfineError> {
    let mut guarded = GuardedPaths::default();
    for path in &plan.guarded {
        let Guarded {
            mount,
            below,
            path,
            original,
        } = path;
        let handle = handles.mounts.get(*mount).and_then(Option::as_ref);
        let handle = handle.ok_or_else(|| ConfineError::new("find a mount", "it has no handle"))?;
        let added = guarded.add(handle.as_fd(), below, path, *original);
        added.step_on("protect", path)?;
    }
    guarded.watch_moves();
    let reserved = guarded.reserve_space();
    reserved.or_else(|(path, error)| {
        Err(error).step_on("reserve 256 KiB of disk space to protect", &path)
    })?;
    Ok(guarded)
}

/// Adds the protected paths that appeared to the result. A program that exited or was killed then
/// counts as stopped for that reason.
fn with_appeared(
    ended: Result<End, ConfineError>,
    mut appeared: Vec<Appeared>,
) -> Result<End, ConfineError> {
    // They must fit into one reply. Those that do not fit were handled too, and are only not
    // reported.
    let mut budget = MAX_REPLY / 2;
    appeared.retain(|one| {
        let size = one.path.len() + MAX_FATE_BYTES;
        let fits = size <= budget;
        budget = budget.saturating_sub(size);
        fits
    });
    match (ended, appeared.first()) {
        (Ok(mut end), Some(_)) => {
            let is_replaced = appeared.iter().all(|one| one.replaced);
            match end.stopped {
                Stopped::Exited(_)
                | Stopped::Signaled(_)
                | Stopped::ProtectedReplaced
                | Stopped::ProtectedAppeared => {
                    end.stopped = match is_replaced {
                        true => Stopped::ProtectedReplaced,
                        false => Stopped::ProtectedAppeared,
                    }
                }
                Stopped::Time | Stopped::Memory | Stopped::Disk | Stopped::Scratch => {}
            }
            end.appeared = appeared;
            Ok(end)
        }
        (Err(error), Some(first)) => {
            let path = String::from_utf8_lossy(&first.path);
            let why = format!(
                "{}; the protected path `{path}` appeared meanwhile",
                error.why
            );
            Err(ConfineError::new(error.step, why))
        }
        (ended, None) => ended,
    }
}

/// Takes over the socket and the program's output, and points the standard handles to `/dev/null`.
fn take_over() -> io::Result<(OwnedFd, Output)> {
    let taken = sys::take_standard()?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    for number in 0..3 {
        sys::put_standard(&null, number)?;
    }
    let [control, stdout, stderr] = taken;
    // A terminal's signals are for the host alone. Orphans of the program become children of this
    // process.
    rustix::process::setsid()?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok((control, Output { stdout, stderr }))
}
