//! Runs a program in its own namespaces.
//!
//! There are three processes: the supervisor outside, which watches; the init process inside, which
//! builds the file tree and then only reaps; and the program. When the init process ends, the kernel
//! kills everything inside, whatever was forked, detached or ignores signals.

use crate::cgroup::Cgroup;
use crate::error::{ConfineError, Step as _};
use crate::handles::{Handles, Output};
use crate::protected::ProtectedPaths;
use crate::root;
use crate::sandbox::{Sandbox, SandboxConfig};
use crate::supervisor::Supervisor;
use crate::tree::{self, Tree};
use crate::watch::{EndReason, Watch, stopped_by};
use skillrun_supervisor::ids::Ids;
use skillrun_supervisor::{
    End, Enforcement, GuardedPaths, Layer, LimitEnforcement, Plan, Stopped, Usage,
};
use std::os::fd::OwnedFd;
use std::time::Duration;

pub(crate) fn run(
    supervisor: &Supervisor,
    plan: &Plan,
    mut handles: Handles,
    output: &mut Option<Output>,
    ready: &mut Option<Sandbox>,
    guarded: &mut GuardedPaths,
) -> Result<End, ConfineError> {
    let config = SandboxConfig::of(plan);
    let usable = ready.take();
    let usable = usable.and_then(|mut sandbox| sandbox.is_usable_for(&config).then_some(sandbox));
    let mut sandbox = match usable {
        Some(sandbox) => sandbox,
        None => Sandbox::create(config, output, supervisor.cgroup.is_some())?,
    };
    let ids = *sandbox.ids();
    handles.chown_pipes(&ids, output.as_ref())?;
    if !plan.is_probe() {
        *output = None;
    }
    let protected = ProtectedPaths::of(plan, &handles)?;
    if ids.private {
        // Only the machine's root may change the ids of a mount.
        handles.mounts = root::mount_copies(plan, &handles.mounts, &ids, None)?;
    }
    // If the init process is gone, it has already reported why.
    let _ = sandbox.start_program(&handles);
    let script = handles.script.take();
    drop(handles);
    let end = watch(supervisor, plan, &mut sandbox, protected, guarded, script)?;
    // A probe leaves nothing behind.
    *ready = Some(sandbox).filter(Sandbox::is_running);
    Ok(end)
}

fn watch(
    supervisor: &Supervisor,
    plan: &Plan,
    sandbox: &mut Sandbox,
    protected: ProtectedPaths,
    guarded: &mut GuardedPaths,
    script: Option<OwnedFd>,
) -> Result<End, ConfineError> {
    let ids = *sandbox.ids();
    let listener = sandbox.listener.take();
    let listener =
        listener.ok_or_else(|| ConfineError::new("use a sandbox", "it was used before"))?;
    let mut watch = Watch::new(
        supervisor,
        plan,
        (sandbox.init(), *sandbox.ids()),
        listener,
        protected,
        guarded,
    )?;
    watch.from_program = Some(sandbox.handle_socket().step("watch the program")?);
    watch.script = script;
    let mut why = watch.wait_for_end();
    if plan.is_bare_probe() && why == EndReason::Probed {
        let (time, usage) = (watch.time(), watch.usage(Duration::ZERO, 0));
        sandbox.listener = Some(watch.into_listener());
        sandbox.end_probe().step("end the probe")?;
        let stopped = stopped_by(why, 0, supervisor)?;
        return Ok(end(supervisor, plan, &ids, (stopped, time, usage, 0)));
    }
    // The CPU time of processes that the kernel kills with the init process is added to no counter.
    let running = tree::cpu_time(&Tree::below(rustix::process::getpid().as_raw_pid()));
    let time = watch.time();
    let ended = sandbox.end().step("wait for the init process")?;
    let (cpu, peak) = ended.map_or_else(Default::default, |ended| (ended.cpu, ended.peak));
    // The final message may have arrived together with the exit.
    let status = match watch.final_report()? {
        Some(status) => status,
        None if why == EndReason::Ended => {
            why = EndReason::InitDied;
            0
        }
        None => 0,
    };
    let usage = watch.usage(cpu.max(running), peak);
    let stopped = stopped_by(why, status, supervisor)?;
    let refused_sockets = watch.refused_sockets;
    Ok(end(
        supervisor,
        plan,
        &ids,
        (stopped, time, usage, refused_sockets),
    ))
}

/// The result, with what confined the program and how each limit was enforced.
fn end(
    supervisor: &Supervisor,
    plan: &Plan,
    ids: &Ids,
    (stopped, time, usage, refused_sockets): (Stopped, Duration, Usage, u64),
) -> End {
    let mut layers = vec![
        Layer::UserNamespace,
        Layer::MountNamespace,
        Layer::PidNamespace,
        Layer::IpcNamespace,
        Layer::UtsNamespace,
        Layer::Landlock,
        Layer::Seccomp,
        Layer::Rlimits,
        Layer::NoNewPrivileges,
    ];
    if !plan.network {
        layers.push(Layer::NetNamespace);
    }
    if ids.private {
        layers.push(Layer::PrivateUid);
    }
    layers.extend(supervisor.cgroup.iter().flat_map(Cgroup::layers));
    let enforcement = LimitEnforcement {
        time: Enforcement::Hard,
        memory: match plan.has_hard_memory(supervisor.cgroup.is_some()) {
            true => Enforcement::Hard,
            false => Enforcement::Polled,
        },
        // Its own file system has a hard size limit; granted mounts have none.
        disk: match plan.mounts.iter().any(|mount| mount.writable) {
            true => Enforcement::Polled,
            false => Enforcement::Hard,
        },
        // Its user namespace counts only its own processes.
        processes: Enforcement::Hard,
    };
    End {
        stopped,
        time,
        usage,
        layers,
        enforcement,
        appeared: Vec::new(),
        refused_sockets,
    }
}
