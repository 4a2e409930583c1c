//! Runs a program among the processes of the machine, where namespaces are forbidden.
//!
//! Landlock controls what it may open, seccomp what it may call. No kernel mechanism ends its
//! processes together: orphans become children of the supervisor, which kills until nothing is left.

use crate::cgroup::Cgroup;
use crate::error::{ConfineError, Step as _};
use crate::handles::{Handles, Output};
use crate::ids::Ids;
use crate::lockdown::{self, Access, Privileges, Rule, SIGNAL_SCOPE_ABI, TRUNCATE_ABI};
use crate::pipe::{Reporter, pipe};
use crate::protected::ProtectedPaths;
use crate::scratch_usage::ScratchUsage;
use crate::supervisor::Supervisor;
use crate::sys::{self, Fork, Wait};
use crate::tree::Tree;
use crate::watch::{EndReason, Watch, stopped_by};
use crate::{root, tree, walk};
use rustix::process::{Pid, Signal, kill_process};
use skillrun_supervisor::{End, Enforcement, GuardedPaths, Layer, LimitEnforcement, Plan, SYSTEM};
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Files that a program may read in addition to the system's directories.
const READABLE: [&str; 5] = [
    // Not writable: a shared writable mapping of `/dev/zero` is memory that no counter shows.
    "/dev/zero",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
];
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];
/// The time between two rounds of killing.
const KILL_INTERVAL: Duration = Duration::from_micros(200);
/// Rounds in a row, one second in total, in which children exist but `/proc` shows none.
const MAX_BLIND_ROUNDS: u32 = 5000;

pub(crate) fn run(
    supervisor: &Supervisor,
    plan: &Plan,
    handles: Handles,
    output: &mut Option<Output>,
    guarded: &mut GuardedPaths,
) -> Result<End, ConfineError> {
    let ids = Ids::choose()?;
    refuse_unsupported(plan, &handles, &ids)?;
    handles.chown_pipes(&ids, output.as_ref())?;
    let mut plan = plan.clone();
    if supervisor.cgroup.is_none() {
        plan.use_filter_without_cgroup();
    }
    if !ids.private {
        // The kernel counts all processes of the user, including unrelated ones.
        let others = tree::thread_count(ids.outside.0);
        let most = others.saturating_add(plan.limits.processes.into());
        plan.limits.processes = u32::try_from(most).unwrap_or(u32::MAX);
    }
    let (listener, reporter) = pipe().step("create a pipe")?;
    let (ours, theirs) = UnixStream::pair().step("create a socket")?;
    let program = match sys::fork(0).step("start a process")? {
        Fork::Child => {
            drop((listener, ours));
            become_program(&plan, &handles, output.take(), &ids, (&reporter, &theirs))
        }
        Fork::Parent(program) => program,
    };
    let Handles {
        mounts,
        stdin,
        scratch,
        script,
        cover: _,
        plan: _,
        program: _,
    } = handles;
    drop((reporter, theirs, stdin));
    if !plan.is_probe() {
        *output = None;
    }
    let watch = ids.allow_inspection().and_then(|()| {
        Watch::new(
            supervisor,
            &plan,
            (program, ids),
            listener,
            ProtectedPaths::default(),
            guarded,
        )
    });
    let mut watch = match watch {
        Ok(watch) => watch,
        Err(error) => {
            // A program that cannot be watched must not run.
            kill_all(program, EndReason::SetupTimeout)?;
            return Err(error);
        }
    };
    watch.scratch = Some(ScratchUsage::new(scratch));
    watch.from_program = Some(ours.into());
    watch.script = script;
    let why = watch.wait_for_end();
    let time = watch.time();
    let (status, cpu, peak) = kill_all(program, why)?;
    give_back(&plan, &mounts, &ids);
    let early = watch.final_report()?;
    debug_assert!(
        early.is_none(),
        "only an init process reports how the program ended"
    );
    let usage = watch.usage(cpu, peak);
    let stopped = stopped_by(why, status, supervisor)?;

    let mut layers = vec![
        Layer::Landlock,
        Layer::Seccomp,
        Layer::Rlimits,
        Layer::NoNewPrivileges,
    ];
    if ids.private {
        layers.push(Layer::PrivateUid);
    }
    layers.extend(supervisor.cgroup.iter().flat_map(Cgroup::layers));
    let hard_if = |hard| {
        if hard {
            Enforcement::Hard
        } else {
            Enforcement::Polled
        }
    };
    let enforcement = LimitEnforcement {
        time: Enforcement::Hard,
        memory: hard_if(plan.has_hard_memory(supervisor.cgroup.is_some())),
        disk: Enforcement::Polled,
        processes: hard_if(ids.private || layers.contains(&Layer::PidsCgroup)),
    };
    Ok(End {
        stopped,
        time,
        usage,
        layers,
        enforcement,
        appeared: Vec::new(),
        refused_sockets: watch.refused_sockets,
    })
}

/// Refuses plans that only a separate file tree could enforce.
fn refuse_unsupported(plan: &Plan, handles: &Handles, ids: &Ids) -> Result<(), ConfineError> {
    let version = sys::landlock_version();
    if version < TRUNCATE_ABI {
        return Err(ConfineError::new(
            "restrict file access",
            format!(
                "this kernel has Landlock {version}, and version {TRUNCATE_ABI} (Linux 6.2) is needed"
            ),
        ));
    }
    if version < SIGNAL_SCOPE_ABI && !ids.private {
        return Err(ConfineError::new(
            "restrict signals",
            format!(
                "this kernel has Landlock {version}, and version {SIGNAL_SCOPE_ABI} (Linux 6.12) is needed"
            ),
        ));
    }
    if plan.mounts.iter().any(|mount| mount.contents.is_some()) {
        return Err(ConfineError::new(
            "mount a file with given contents",
            "without namespaces a program sees everything at its real path",
        ));
    }
    if let Some((read_only, around)) = root::nested(plan).next() {
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        return Err(ConfineError::new(
            format!("make `{}` read-only", text(&read_only.at)),
            format!(
                "it is inside `{}`, which is writable, and without namespaces nothing in there can be \
                 read-only",
                text(&around.at)
            ),
        ));
    }
    let mounts = plan.mounts.iter().zip(&handles.mounts);
    let mounts = mounts.filter_map(|(mount, handle)| Some((&mount.at, handle.as_ref()?)));
    for (at, handle) in mounts.chain([(&plan.scratch.at, &handles.scratch)]) {
        let there = Path::new(OsStr::from_bytes(at)).metadata();
        let real = rustix::fs::fstat(handle).step_on("inspect", at)?;
        if there.map(|there| (there.dev(), there.ino())).ok() != Some((real.st_dev, real.st_ino)) {
            let at = String::from_utf8_lossy(at);
            return Err(ConfineError::new(
                format!("mount another file or directory at `{at}`"),
                "without namespaces a program sees everything at its real path",
            ));
        }
    }
    Ok(())
}

fn become_program(
    plan: &Plan,
    handles: &Handles,
    output: Option<Output>,
    ids: &Ids,
    (reporter, supervisor): (&Reporter, &UnixStream),
) -> ! {
    let privileges = match ids.private {
        true => Privileges::FileAccess {
            user: ids.outside.0,
            group: ids.outside.1,
        },
        false => Privileges::None,
    };
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if let Err(error) = sys::prefer_oom_kill() {
        reporter.report_error(ConfineError::new("raise its OOM score", error.to_string()));
        std::process::exit(1);
    }
    let error = match rules(plan, handles) {
        Ok(rules) => {
            let supervisor = (reporter, supervisor.as_fd());
            lockdown::become_program(plan, handles, output, rules, privileges, supervisor)
        }
        Err(error) => error,
    };
    reporter.report_error(error);
    std::process::exit(1);
}

fn rules(plan: &Plan, handles: &Handles) -> Result<Vec<Rule>, ConfineError> {
    let mut rules = Vec::new();
    let system = SYSTEM.iter().map(|path| path.as_bytes());
    let files = READABLE.iter().map(|path| path.as_bytes());
    let network = ["/etc/resolv.conf"].iter().filter(|_| plan.network);
    let network = network.map(|path| path.as_bytes());
    let devices = DEVICES.iter().map(|path| path.as_bytes());
    let all = system
        .map(|path| (path, Access::Execute))
        .chain(files.chain(network).map(|path| (path, Access::Read)))
        .chain(devices.map(|path| (path, Access::Device)))
        .chain([(&b"/proc"[..], Access::Read)]);
    for (path, access) in all {
        if sys::c_string(path).is_ok_and(|path| sys::exists(&path)) {
            rules.push(Rule::on_path(path, access).step_on("allow", path)?);
        }
    }
    for (mount, handle) in plan.mounts.iter().zip(&handles.mounts) {
        let Some(handle) = handle else { continue };
        let access = match mount.writable {
            true => Access::Change,
            false => Access::Execute,
        };
        let rule = Rule::on_handle(handle.as_fd(), access).step_on("allow", &mount.at)?;
        rules.push(rule);
    }
    let scratch = Rule::on_handle(handles.scratch.as_fd(), Access::Change);
    rules.push(scratch.step_on("allow", &plan.scratch.at)?);
    Ok(rules)
}

/// Kills and reaps everything that the program started. Returns the program's own wait status and the
/// usage of all.
fn kill_all(program: Pid, why: EndReason) -> Result<(i32, Duration, u64), ConfineError> {
    let (mut status, mut cpu, mut peak) = (0, Duration::ZERO, 0);
    let mut reaped = false;
    let mut blind = 0;
    while blind < MAX_BLIND_ROUNDS {
        let seen = Tree::below(rustix::process::getpid().as_raw_pid());
        blind = match seen.processes.as_slice() {
            [] => blind + 1,
            _ => 0,
        };
        let others = seen.ids().filter_map(Pid::from_raw);
        let others = others.filter(|process| reaped || *process != program);
        // If the program has already exited, its status is not collected yet: a kill must not replace
        // it.
        let itself = Some(program).filter(|_| why != EndReason::Ended && !reaped);
        for process in others.chain(itself) {
            let _ = kill_process(process, Signal::KILL);
        }
        loop {
            match sys::wait(-1, Wait::Poll) {
                Ok(Some(ended)) => {
                    cpu += ended.cpu;
                    peak = peak.max(ended.peak);
                    if ended.pid == program.as_raw_pid() {
                        status = ended.status;
                        reaped = true;
                    }
                }
                Ok(None) => break,
                // No child is left.
                Err(_) => return Ok((status, cpu, peak)),
            }
        }
        std::thread::sleep(KILL_INTERVAL);
    }
    Err(ConfineError::new(
        "kill the program's processes",
        "`/proc` does not show them",
    ))
}

/// Gives the files that a private user created in writable mounts to the owner of each mount.
fn give_back(plan: &Plan, handles: &[Option<OwnedFd>], ids: &Ids) {
    if !ids.private {
        return;
    }
    let mounts = plan.mounts.iter().zip(handles);
    for (_, handle) in mounts.filter(|(mount, _)| mount.writable) {
        let Some(handle) = handle else { continue };
        if let Ok(owner) = rustix::fs::fstat(handle) {
            walk::change_owner(handle.as_fd(), ids.outside.0, (owner.st_uid, owner.st_gid));
        }
    }
}
