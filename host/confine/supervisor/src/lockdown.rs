//! The last steps before the program is executed: resource limits, capabilities, Landlock, seccomp.
//! Then the confinement is tested by attempting what must not be possible; the program starts only if
//! all of it fails.

use crate::error::{ConfineError, Step as _};
use crate::handles::{Handles, Output};
use crate::pipe::{Message, Reporter};
use crate::{script, sys};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags, fstat};
use rustix::process::{DumpableBehavior, Gid, Resource, Rlimit, Signal, Uid, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use skillrun_supervisor::{Backend, Plan};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Before this version of Landlock a program can truncate any file that its user may write.
pub(crate) const TRUNCATE_ABI: i32 = 3;
/// Before this version of Landlock a program can signal any process of its user.
pub(crate) const SIGNAL_SCOPE_ABI: i32 = 6;

/// The file systems in memory of a program: in namespaces `/dev/shm` and, if there is one, its scratch directory.
pub(crate) fn in_memory(plan: &Plan) -> Vec<&[u8]> {
    match plan.backend {
        Backend::Namespaces if plan.is_bare_probe() => vec![b"/dev/shm"],
        Backend::Namespaces => vec![&plan.scratch.at, b"/dev/shm"],
        Backend::Landlock => Vec::new(),
    }
}

/// Pending signals and timers; the kernel counts those of all processes of the user.
const MAX_PENDING_SIGNALS: u64 = 1024;

/// What a program may do with a file, or with everything in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Execute,
    Device,
    Change,
}

/// One Landlock rule.
pub(crate) struct Rule {
    what: OwnedFd,
    access: Access,
}

impl Rule {
    pub(crate) fn on_path(path: &[u8], access: Access) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let what = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { what, access })
    }

    pub(crate) fn on_handle(handle: BorrowedFd<'_>, access: Access) -> io::Result<Self> {
        let what = handle.try_clone_to_owned()?;
        Ok(Self { what, access })
    }

    fn flags(&self, abi: ABI) -> io::Result<BitFlags<AccessFs>> {
        let mode = rustix::fs::fstat(&self.what)?.st_mode;
        let is_directory = rustix::fs::FileType::from_raw_mode(mode).is_dir();
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let all = match self.access {
            Access::Read => read,
            Access::Execute => read | AccessFs::Execute,
            Access::Device => AccessFs::ReadFile | AccessFs::WriteFile,
            Access::Change => {
                let never = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
                AccessFs::from_all(abi) & !never
            }
        };
        Ok(match is_directory {
            true => all,
            false => all & AccessFs::from_file(abi),
        })
    }
}

/// The capabilities that a program keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privileges {
    None,
    /// Access to files regardless of their owner, for a private user without a namespace, who owns no
    /// file: Landlock alone then decides what it may access.
    FileAccess {
        user: u32,
        group: u32,
    },
}

/// Turns this process into the program; returns only if that failed. The handles that are needed to
/// watch it are sent over `supervisor`, a socket.
pub(crate) fn become_program(
    plan: &Plan,
    handles: &Handles,
    output: Option<Output>,
    rules: Vec<Rule>,
    privileges: Privileges,
    (reporter, supervisor): (&Reporter, BorrowedFd<'_>),
) -> ConfineError {
    match restrict(plan, handles, output, rules, privileges, supervisor) {
        Ok(()) => {}
        Err(error) => return error,
    }
    reporter.send(&Message::Starts);
    let [name, arguments @ ..] = plan.arguments.as_slice() else {
        // A probe has nothing to run. It waits until the supervisor has inspected it.
        if plan.backend == Backend::Namespaces {
            let released = rustix::io::read(supervisor, &mut [0]) == Ok(1);
            std::process::exit(i32::from(!released));
        }
        // The supervisor kills it.
        std::thread::sleep(plan.limits.time);
        std::process::exit(0);
    };
    if let Some(checked) = &handles.program {
        return execute_checked(plan, checked);
    }
    let os = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    let error = Command::new(os(&plan.program))
        .arg0(os(name))
        .args(arguments.iter().map(|argument| os(argument)))
        .env_clear()
        .envs(
            plan.environment
                .iter()
                .map(|(name, value)| (os(name), os(value))),
        )
        .exec();
    ConfineError::new(
        format!("execute `{}`", String::from_utf8_lossy(&plan.program)),
        error.to_string(),
    )
}

/// Executes the program through a handle, if its path still leads to the file that was checked.
fn execute_checked(plan: &Plan, checked: &OwnedFd) -> ConfineError {
    let step = || format!("execute `{}`", String::from_utf8_lossy(&plan.program));
    let execute = || -> io::Result<()> {
        // Opened again, because the checked handle may be on a mount that the program does not see.
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let program = rustix::fs::open(plan.program.as_slice(), flags, Mode::empty())?;
        let (was, is) = (fstat(checked)?, fstat(&program)?);
        if (was.st_dev, was.st_ino) != (is.st_dev, is.st_ino) {
            return Err(io::Error::other("it was replaced after it was checked"));
        }
        let arguments = plan
            .arguments
            .iter()
            .map(|argument| sys::c_string(argument));
        let arguments = arguments.collect::<io::Result<Vec<_>>>()?;
        let variables = plan.environment.iter();
        let variables =
            variables.map(|(name, value)| sys::c_string(&[name.as_slice(), b"=", value].concat()));
        let variables = variables.collect::<io::Result<Vec<_>>>()?;
        Err(sys::execute(program.as_fd(), &arguments, &variables))
    };
    let why = execute().err().map(|error| error.to_string());
    ConfineError::new(step(), why.unwrap_or_default())
}

fn restrict(
    plan: &Plan,
    handles: &Handles,
    output: Option<Output>,
    rules: Vec<Rule>,
    privileges: Privileges,
    supervisor: BorrowedFd<'_>,
) -> Result<(), ConfineError> {
    rustix::process::setsid().step("start a session")?;
    sys::reset_signals();
    rustix::process::chdir(plan.directory.as_slice()).step_on("enter", &plan.directory)?;
    let missing = || ConfineError::new("connect input and output", "an earlier program used it");
    let Output { stdout, stderr } = output.ok_or_else(missing)?;
    for (number, handle) in (0..).zip([&handles.stdin, &stdout, &stderr]) {
        sys::put_standard(handle, number).step("connect input and output")?;
    }
    sys::close_handles_on_exec().step("close handles")?;
    limit_resources(plan)?;
    drop_privileges(privileges)?;
    // The supervisor must be able to read the program's usage, and a change of ids makes a process
    // undumpable. No other process exists yet from which this copy of the supervisor would have to be
    // hidden.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)
        .step("let the supervisor read its usage")?;
    rustix::thread::set_no_new_privs(true).step("forbid new privileges")?;
    landlock(plan, &rules)?;
    drop(rules);
    let parent = rustix::process::getppid();
    send_handles(plan, handles.cover.as_ref(), supervisor)?;
    // This also limits the handles that the user may have in transit, in all processes together. If it applied before, a
    // program that has sent that many to itself would keep others of the same user from starting.
    limit(Resource::Nofile, plan.limits.open_files.into())?;
    sys::filter_calls(&plan.filter).step("filter system calls")?;
    verify(plan, parent)?;
    script::check(plan, handles.cover.as_ref().or(handles.script.as_ref()))
}

/// Sends the supervisor the notification handle for calls that it answers, the copy that covers the
/// script, and the file systems in memory.
fn send_handles(
    plan: &Plan,
    cover: Option<&OwnedFd>,
    supervisor: BorrowedFd<'_>,
) -> Result<(), ConfineError> {
    let open = |path: &[u8]| {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).step_on("open", path)
    };
    let in_memory = in_memory(plan).into_iter().map(open);
    let in_memory = in_memory.collect::<Result<Vec<_>, _>>()?;
    let calls = plan.script.as_ref().map(|script| {
        let calls = sys::report_calls(&script.filter);
        calls.step("report the files that the program opens")
    });
    let calls = calls.transpose()?;
    let all = calls.iter().chain(cover).chain(&in_memory);
    let all: Vec<BorrowedFd<'_>> = all.map(OwnedFd::as_fd).collect();
    match all.as_slice() {
        [] => Ok(()),
        all => skillrun_supervisor::send_handles(supervisor, all)
            .step("send handles to the supervisor"),
    }
}

/// Sets every limit but the one on open files.
fn limit_resources(plan: &Plan) -> Result<(), ConfineError> {
    let limits = &plan.limits;
    let cpu = limits.time.as_secs().saturating_add(2);
    // The init process counts in its namespace, and is not the program's.
    let init = u64::from(plan.backend == Backend::Namespaces);
    let processes = u64::from(limits.processes) + init;
    let all = [
        // With a limit of 0 the kernel would still start the program that the machine has for core dumps (`core_pattern`), as
        // root and outside, and pass it the memory of each process that crashes.
        (Resource::Core, 1),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        // No priority over other processes.
        (Resource::Rtprio, 0),
        (Resource::Nice, 0),
        (Resource::Sigpending, MAX_PENDING_SIGNALS),
        (Resource::Fsize, limits.file_size),
        (Resource::Data, limits.memory),
        // The supervisor enforces the exact limit; this one catches processes that it might miss.
        (Resource::Cpu, cpu),
        (Resource::Nproc, processes),
    ];
    all.into_iter()
        .try_for_each(|(resource, most)| limit(resource, most))
}

fn limit(resource: Resource, most: u64) -> Result<(), ConfineError> {
    // The host's own hard limits cannot be exceeded.
    let most = getrlimit(resource)
        .maximum
        .map_or(most, |own| own.min(most));
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(resource, limit).step(&format!("limit {resource:?}"))
}

/// Reduces this process to these capabilities, with no way to gain more.
pub(crate) fn drop_privileges(privileges: Privileges) -> Result<(), ConfineError> {
    let kept = match privileges {
        Privileges::None => CapabilitySet::empty(),
        Privileges::FileAccess { .. } => CapabilitySet::DAC_OVERRIDE,
    };
    skillrun_supervisor::keep_in_bounding_set(kept)?;
    if let Privileges::FileAccess { user, group } = privileges {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        rustix::thread::set_thread_groups(&[]).step("leave all groups")?;
        rustix::thread::set_thread_res_gid(group, group, group).step("take the private group")?;
        rustix::thread::set_keep_capabilities(true).step("keep the file access capability")?;
        rustix::thread::set_thread_res_uid(user, user, user).step("take the private user")?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .step("set the parent-death signal")?;
    }
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: kept,
    };
    rustix::thread::clear_ambient_capability_set().step("drop capabilities")?;
    rustix::thread::set_capabilities(None, sets).step("drop capabilities")?;
    if !kept.is_empty() {
        rustix::thread::configure_capability_in_ambient_set(kept, true)
            .step("keep the file access capability")?;
    }
    Ok(())
}

/// Enforces Landlock with everything that this kernel's version can restrict.
fn landlock(plan: &Plan, rules: &[Rule]) -> Result<(), ConfineError> {
    let step = "enforce Landlock";
    let version = sys::landlock_version();
    if version < 1 {
        return Err(ConfineError::new(
            step,
            "this kernel does not have it, or it is switched off",
        ));
    }
    let abi = ABI::from(version);
    // Nothing may be dropped silently: everything that this version supports must be enforced.
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .step(step)?;
    if abi >= ABI::V4 && !plan.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi)).step(step)?;
    }
    if version >= SIGNAL_SCOPE_ABI {
        ruleset = ruleset.scope(Scope::from_all(abi)).step(step)?;
    }
    let mut created = ruleset.create().step(step)?;
    for rule in rules {
        let access = rule.flags(abi).step(step)?;
        let rule = PathBeneath::new(rule.what.as_fd(), access);
        created = created.add_rule(rule).step(step)?;
    }
    let status = created.restrict_self().step(step)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        other => Err(ConfineError::new(step, format!("{other:?}"))),
    }
}

/// Attempts what the program must not be able to do.
fn verify(plan: &Plan, supervisor: Option<rustix::process::Pid>) -> Result<(), ConfineError> {
    let possible = |what: &str| {
        Err(ConfineError::new(
            "confirm the confinement",
            format!("{what} is possible"),
        ))
    };
    let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    if rustix::fs::open("/usr/.skillrun-probe", write, Mode::RUSR).is_ok() {
        let _ = rustix::fs::unlink("/usr/.skillrun-probe");
        return possible("writing into /usr");
    }
    // In namespaces this id is not the machine's, and the path does not exist.
    let other = supervisor.map_or(1, rustix::process::Pid::as_raw_pid);
    let read = OFlags::RDONLY | OFlags::CLOEXEC;
    if rustix::fs::open(format!("/proc/{other}/environ"), read, Mode::empty()).is_ok() {
        return possible("reading another process's environment");
    }
    // Inside a namespace that process is the init process, which no signal reaches.
    if let Some(supervisor) = supervisor
        && plan.backend == Backend::Landlock
        && rustix::process::test_kill_process(supervisor).is_ok()
    {
        return possible("signalling another process");
    }
    if !plan.network && sys::can_create_socket() {
        return possible("making a network socket");
    }
    if sys::can_make_user_namespace() {
        return possible("making a user namespace");
    }
    if rustix::thread::no_new_privs() != Ok(true) {
        return possible("gaining privileges");
    }
    if sys::seccomp_mode() != 2 {
        return possible("calling the kernel unfiltered");
    }
    Ok(())
}
