//! The last steps before a program takes over: its limits, its rights, Landlock, seccomp. Then what it
//! could do is tried, and only if nothing of that is possible does it start.

use crate::handles::{self, Handles, Output};
use crate::pipe::{Teller, Word};
use crate::unable::{Step as _, Unable};
use crate::{script, sys};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Gid, Resource, Rlimit, Signal, Uid, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use skillrun_keeper::{Backend, Plan};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Landlock before this version lets a program empty any file that its user may write.
pub(crate) const TRUNCATE: i32 = 3;
/// Landlock before this version lets a program signal any process of its user.
pub(crate) const SIGNAL_SCOPE: i32 = 6;

/// Signals and timers that may wait at once; the kernel counts those of all processes of the user.
const SIGNALS: u64 = 1024;

/// What a program may do with a file or with everything in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Execute,
    Device,
    Change,
}

/// One thing that Landlock is to allow.
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
        let is_folder = rustix::fs::FileType::from_raw_mode(mode).is_dir();
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
        Ok(match is_folder {
            true => all,
            false => all & AccessFs::from_file(abi),
        })
    }
}

/// The rights that a program has besides those of its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    None,
    /// Those of a private user without a namespace, who is a stranger to every file: what it may
    /// touch is then Landlock's to say alone.
    Files {
        user: u32,
        group: u32,
    },
}

/// Turns this process into the program; returns only if that failed. What the keeper needs to watch it
/// goes through `keeper`, a socket.
pub(crate) fn become_program(
    plan: &Plan,
    handles: &Handles,
    output: Option<Output>,
    rules: Vec<Rule>,
    rights: Rights,
    (teller, keeper): (&Teller, BorrowedFd<'_>),
) -> Unable {
    match restrict(plan, handles, output, rules, rights, keeper) {
        Ok(()) => {}
        Err(unable) => return unable,
    }
    teller.tell(&Word::Starts);
    let [name, arguments @ ..] = plan.arguments.as_slice() else {
        // A trial has nothing to run. It waits to be looked at, and is ended then.
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
    Unable::new(
        format!("execute `{}`", String::from_utf8_lossy(&plan.program)),
        error.to_string(),
    )
}

/// Executes the program through a handle, if its path still leads to the file that was checked.
fn execute_checked(plan: &Plan, checked: &OwnedFd) -> Unable {
    let step = || format!("execute `{}`", String::from_utf8_lossy(&plan.program));
    let execute = || -> io::Result<()> {
        // Opened anew, because the checked handle may be on a mount that the program does not see.
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let program = rustix::fs::open(plan.program.as_slice(), flags, Mode::empty())?;
        let (was, is) = (fstat(checked)?, fstat(&program)?);
        if (was.st_dev, was.st_ino) != (is.st_dev, is.st_ino) {
            return Err(io::Error::other("it was replaced after it was checked"));
        }
        let arguments = plan.arguments.iter().map(|argument| sys::text(argument));
        let arguments = arguments.collect::<io::Result<Vec<_>>>()?;
        let variables = plan.environment.iter();
        let variables =
            variables.map(|(name, value)| sys::text(&[name.as_slice(), b"=", value].concat()));
        let variables = variables.collect::<io::Result<Vec<_>>>()?;
        Err(sys::execute(program.as_fd(), &arguments, &variables))
    };
    let why = execute().err().map(|error| error.to_string());
    Unable::new(step(), why.unwrap_or_default())
}

fn restrict(
    plan: &Plan,
    handles: &Handles,
    output: Option<Output>,
    rules: Vec<Rule>,
    rights: Rights,
    keeper: BorrowedFd<'_>,
) -> Result<(), Unable> {
    rustix::process::setsid().step("start a session")?;
    sys::reset_signals();
    rustix::process::chdir(plan.directory.as_slice()).step_on("enter", &plan.directory)?;
    let missing = || Unable::new("connect input and output", "it was used up");
    let Output { stdout, stderr } = output.ok_or_else(missing)?;
    for (number, handle) in (0..).zip([&handles.stdin, &stdout, &stderr]) {
        sys::put_standard(handle, number).step("connect input and output")?;
    }
    sys::close_handles_on_exec().step("close handles")?;
    limit(plan)?;
    give_up_rights(rights)?;
    // The keeper must be able to see what the program uses, and a change of ids closes a process. Nobody
    // is there yet from whom this copy of the keeper would have to be closed.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).step("be seen")?;
    rustix::thread::set_no_new_privs(true).step("give up new privileges")?;
    landlock(plan, &rules)?;
    drop(rules);
    let parent = rustix::process::getppid();
    hand_over(plan, keeper)?;
    sys::filter_calls(&plan.filter).step("filter calls")?;
    attempt(plan, parent)?;
    script::check(plan, handles.script.as_ref())
}

/// Sends the keeper the calls that it is to answer, and the file systems whose contents are memory.
fn hand_over(plan: &Plan, keeper: BorrowedFd<'_>) -> Result<(), Unable> {
    let mut all = Vec::new();
    if let Some(script) = &plan.script {
        let calls = sys::report_calls(&script.filter);
        all.push(calls.step("report what the program opens")?);
    }
    if plan.backend == Backend::Namespaces {
        for path in [plan.scratch.at.as_slice(), b"/dev/shm"] {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            all.push(rustix::fs::open(path, flags, Mode::empty()).step_on("open", path)?);
        }
    }
    let all: Vec<BorrowedFd<'_>> = all.iter().map(OwnedFd::as_fd).collect();
    match all.as_slice() {
        [] => Ok(()),
        all => handles::send(keeper, all).step("tell the keeper what to watch"),
    }
}

fn limit(plan: &Plan) -> Result<(), Unable> {
    let limits = &plan.limits;
    let cpu = limits.time.as_secs().saturating_add(2);
    // The first process of a namespace counts there, and is none of the program's.
    let first = u64::from(plan.backend == Backend::Namespaces);
    let processes = u64::from(limits.processes) + first;
    let all = [
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        // No turn before those of others.
        (Resource::Rtprio, 0),
        (Resource::Nice, 0),
        (Resource::Sigpending, SIGNALS),
        (Resource::Fsize, limits.file_size),
        (Resource::Nofile, limits.open_files.into()),
        (Resource::Data, limits.memory),
        // The watch is exact; this one ends what it might lose.
        (Resource::Cpu, cpu),
        (Resource::Nproc, processes),
    ];
    for (resource, most) in all {
        // What the host's own limits leave it is all that there is to give.
        let most = getrlimit(resource)
            .maximum
            .map_or(most, |own| own.min(most));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit).step(&format!("limit {resource:?}"))?;
    }
    Ok(())
}

/// Leaves this process with these rights and no way to more.
pub(crate) fn give_up_rights(rights: Rights) -> Result<(), Unable> {
    let kept = match rights {
        Rights::None => CapabilitySet::empty(),
        Rights::Files { .. } => CapabilitySet::DAC_OVERRIDE,
    };
    bound_rights(kept)?;
    if let Rights::Files { user, group } = rights {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        rustix::thread::set_thread_groups(&[]).step("leave all groups")?;
        rustix::thread::set_thread_res_gid(group, group, group).step("take the private group")?;
        rustix::thread::set_keep_capabilities(true).step("keep the right to files")?;
        rustix::thread::set_thread_res_uid(user, user, user).step("take the private user")?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .step("die with the keeper")?;
    }
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: kept,
    };
    rustix::thread::clear_ambient_capability_set().step("give up rights")?;
    rustix::thread::set_capabilities(None, sets).step("give up rights")?;
    if !kept.is_empty() {
        rustix::thread::configure_capability_in_ambient_set(kept, true)
            .step("keep the right to files")?;
    }
    Ok(())
}

/// Takes every other right out of reach for good; who has none has none in reach.
fn bound_rights(kept: CapabilitySet) -> Result<(), Unable> {
    let had = rustix::thread::capabilities(None).step("look at the rights")?;
    if had.effective.is_empty() {
        return Ok(());
    }
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if kept.contains(one) {
            continue;
        }
        match rustix::thread::remove_capability_from_bounding_set(one) {
            // Past the last one that the kernel knows.
            Err(Errno::INVAL) => break,
            removed => removed.step("give up rights")?,
        }
    }
    Ok(())
}

/// Puts Landlock in force with everything that this kernel's version of it can forbid.
fn landlock(plan: &Plan, rules: &[Rule]) -> Result<(), Unable> {
    let step = "put Landlock in force";
    let version = sys::landlock_version();
    if version < 1 {
        return Err(Unable::new(
            step,
            "this kernel has none, or not switched on",
        ));
    }
    let abi = ABI::from(version);
    // Nothing may be dropped silently: what this version has must all be in force.
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .step(step)?;
    if abi >= ABI::V4 && !plan.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi)).step(step)?;
    }
    if version >= SIGNAL_SCOPE {
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
        other => Err(Unable::new(step, format!("{other:?}"))),
    }
}

/// Tries what the program must not be able to do.
fn attempt(plan: &Plan, keeper: Option<rustix::process::Pid>) -> Result<(), Unable> {
    let open = |what: &str| Err(Unable::new("try the confinement", format!("{what} works")));
    let write = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    if rustix::fs::open("/usr/.skillrun-trial", write, Mode::RUSR).is_ok() {
        let _ = rustix::fs::unlink("/usr/.skillrun-trial");
        return open("writing into /usr");
    }
    // Its own id differs where the machine's processes do not show; then the path is not there.
    let other = keeper.map_or(1, rustix::process::Pid::as_raw_pid);
    let read = OFlags::RDONLY | OFlags::CLOEXEC;
    if rustix::fs::open(format!("/proc/{other}/environ"), read, Mode::empty()).is_ok() {
        return open("reading another process's environment");
    }
    // Inside a namespace that process is its first, which no signal reaches.
    if let Some(keeper) = keeper
        && plan.backend == Backend::Landlock
        && rustix::process::test_kill_process(keeper).is_ok()
    {
        return open("signalling another process");
    }
    if !plan.network && sys::can_reach_network() {
        return open("making a network socket");
    }
    if sys::can_make_user_namespace() {
        return open("making a user namespace");
    }
    if rustix::thread::no_new_privs() != Ok(true) {
        return open("gaining privileges");
    }
    if sys::seccomp_mode() != 2 {
        return open("calling the kernel unfiltered");
    }
    Ok(())
}
