//! A program among the processes of the machine, for where namespaces are forbidden.
//!
//! Landlock says what it may open, seccomp what it may call. No kernel mechanism ends its processes
//! together: whatever loses its parent comes to the keeper, which kills until nothing is left.

use crate::cgroup::Cgroup;
use crate::handles::{Handles, Output};
use crate::ids::Ids;
use crate::linux::Keeper;
use crate::lockdown::{self, Access, Rights, Rule, SIGNAL_SCOPE, TRUNCATE};
use crate::pipe::{Teller, pipe};
use crate::seal::Seals;
use crate::sys::{self, Fork, Wait};
use crate::tree::Tree;
use crate::unable::{Step as _, Unable};
use crate::watch::{Watch, Why, verdict};
use crate::{root, tree, walk};
use rustix::process::{Pid, Signal, kill_process};
use skillrun_keeper::{AbsentPaths, End, Hold, Holds, Layer, Plan, SYSTEM};
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// What a program may read besides the system's directories.
const FILES: [&str; 5] = [
    // Who may write it can share memory of it that shows nowhere.
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
/// Between two rounds of killing.
const ROUND: Duration = Duration::from_micros(200);
/// Rounds in a row, a second of them, in which somebody is there and nobody shows.
const BLIND: u32 = 5000;

pub(crate) fn run(
    keeper: &Keeper,
    plan: &Plan,
    handles: Handles,
    output: &mut Option<Output>,
    absent: &mut AbsentPaths,
) -> Result<End, Unable> {
    let ids = Ids::choose()?;
    refuse_what_cannot_be_held(plan, &handles, &ids)?;
    ids.own(&handles, output.as_ref())?;
    let mut plan = plan.clone();
    if keeper.group.is_none() {
        plan.count_all_memory();
    }
    if !ids.private {
        // The kernel counts all processes of the user, wherever they came from.
        let others = tree::count_of(ids.outside.0);
        let most = others.saturating_add(plan.limits.processes.into());
        plan.limits.processes = u32::try_from(most).unwrap_or(u32::MAX);
    }
    let (listener, teller) = pipe().step("make a pipe")?;
    let (own, theirs) = UnixStream::pair().step("make a socket")?;
    let program = match sys::fork(0).step("start a process")? {
        Fork::Child => {
            drop((listener, own));
            become_program(&plan, &handles, output.take(), &ids, (&teller, &theirs))
        }
        Fork::Parent(program) => program,
    };
    let Handles {
        places,
        stdin,
        scratch,
        script,
        plan: _,
        program: _,
    } = handles;
    drop((teller, theirs, stdin));
    if !plan.is_trial() {
        *output = None;
    }
    let watch = ids
        .look()
        .and_then(|()| Watch::new(keeper, &plan, program, listener, Seals::default(), absent));
    let mut watch = match watch {
        Ok(watch) => watch,
        Err(unable) => {
            // What cannot be watched does not run.
            end_all(program, Why::SetUp)?;
            return Err(unable);
        }
    };
    watch.scratch = Some(scratch);
    watch.from_program = Some(own.into());
    watch.script = script;
    let why = watch.until_it_ends();
    let time = watch.time();
    let (status, cpu, peak) = end_all(program, why)?;
    let early = watch.last_words()?;
    debug_assert!(early.is_none(), "only a first process tells how it ended");
    let spent = watch.spent(cpu, peak);
    let stopped = verdict(why, status, keeper)?;
    give_back(&plan, &places, &ids);

    let mut layers = vec![
        Layer::Landlock,
        Layer::Seccomp,
        Layer::Rlimits,
        Layer::NoNewPrivileges,
    ];
    if ids.private {
        layers.push(Layer::PrivateUid);
    }
    layers.extend(keeper.group.iter().flat_map(Cgroup::layers));
    let hold = |hard| if hard { Hold::Hard } else { Hold::Polled };
    let holds = Holds {
        time: Hold::Hard,
        memory: hold(keeper.group.is_some()),
        disk: Hold::Polled,
        processes: hold(ids.private || layers.contains(&Layer::PidsCgroup)),
    };
    Ok(End {
        stopped,
        time,
        spent,
        layers,
        holds,
        appeared: Vec::new(),
    })
}

/// What only a file tree of its own could hold.
fn refuse_what_cannot_be_held(plan: &Plan, handles: &Handles, ids: &Ids) -> Result<(), Unable> {
    let version = sys::landlock_version();
    if version < TRUNCATE {
        return Err(Unable::new(
            "hold files back",
            format!("Landlock {version} cannot, version {TRUNCATE} (Linux 6.2) can"),
        ));
    }
    if version < SIGNAL_SCOPE && !ids.private {
        return Err(Unable::new(
            "hold signals back",
            format!("Landlock {version} cannot, version {SIGNAL_SCOPE} (Linux 6.12) can"),
        ));
    }
    if plan.places.iter().any(|place| place.contents.is_some()) {
        return Err(Unable::new(
            "show a file that exists nowhere",
            "without namespaces everything is seen where it really is",
        ));
    }
    if let Some((sealed, around)) = root::nested(plan).next() {
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        return Err(Unable::new(
            format!("keep `{}` from changes", text(&sealed.at)),
            format!(
                "it lies in `{}`, which may be changed, and without namespaces nothing in there \
                 can be exempt",
                text(&around.at)
            ),
        ));
    }
    let places = plan.places.iter().zip(&handles.places);
    let places = places.filter_map(|(place, handle)| Some((&place.at, handle.as_ref()?)));
    for (at, handle) in places.chain([(&plan.scratch.at, &handles.scratch)]) {
        let there = Path::new(OsStr::from_bytes(at)).metadata();
        let real = rustix::fs::fstat(handle).step_on("look at", at)?;
        if there.map(|there| (there.dev(), there.ino())).ok() != Some((real.st_dev, real.st_ino)) {
            let at = String::from_utf8_lossy(at);
            return Err(Unable::new(
                format!("show something at `{at}`"),
                "without namespaces everything is seen where it really is",
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
    (teller, keeper): (&Teller, &UnixStream),
) -> ! {
    let rights = match ids.private {
        true => Rights::Files {
            user: ids.outside.0,
            group: ids.outside.1,
        },
        false => Rights::None,
    };
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if let Err(error) = sys::yield_memory() {
        teller.tell_unable(Unable::new("yield when memory runs out", error.to_string()));
        std::process::exit(1);
    }
    let unable = match rules(plan, handles) {
        Ok(rules) => {
            let keeper = (teller, keeper.as_fd());
            lockdown::become_program(plan, handles, output, rules, rights, keeper)
        }
        Err(unable) => unable,
    };
    teller.tell_unable(unable);
    std::process::exit(1);
}

fn rules(plan: &Plan, handles: &Handles) -> Result<Vec<Rule>, Unable> {
    let mut rules = Vec::new();
    let system = SYSTEM.iter().map(|path| path.as_bytes());
    let files = FILES.iter().map(|path| path.as_bytes());
    let network = ["/etc/resolv.conf"].iter().filter(|_| plan.network);
    let network = network.map(|path| path.as_bytes());
    let devices = DEVICES.iter().map(|path| path.as_bytes());
    let all = system
        .map(|path| (path, Access::Execute))
        .chain(files.chain(network).map(|path| (path, Access::Read)))
        .chain(devices.map(|path| (path, Access::Device)))
        .chain([(&b"/proc"[..], Access::Read)]);
    for (path, access) in all {
        if sys::text(path).is_ok_and(|path| sys::exists(&path)) {
            rules.push(Rule::on_path(path, access).step_on("allow", path)?);
        }
    }
    for (place, handle) in plan.places.iter().zip(&handles.places) {
        let Some(handle) = handle else { continue };
        let access = match place.writable {
            true => Access::Change,
            false => Access::Execute,
        };
        let rule = Rule::on_handle(handle.as_fd(), access).step_on("allow", &place.at)?;
        rules.push(rule);
    }
    let scratch = Rule::on_handle(handles.scratch.as_fd(), Access::Change);
    rules.push(scratch.step_on("allow", &plan.scratch.at)?);
    Ok(rules)
}

/// Ends everything that the program started, and buries it; tells the program's own status and what
/// all of them used.
fn end_all(program: Pid, why: Why) -> Result<(i32, Duration, u64), Unable> {
    let (mut status, mut cpu, mut peak) = (0, Duration::ZERO, 0);
    let mut buried = false;
    let mut blind = 0;
    while blind < BLIND {
        let seen = Tree::below(rustix::process::getpid().as_raw_pid());
        blind = match seen.processes.as_slice() {
            [] => blind + 1,
            _ => 0,
        };
        let others = seen.ids().filter_map(Pid::from_raw);
        let others = others.filter(|process| buried || *process != program);
        // The program's own end is known before its status is: it must not be replaced by a kill.
        let itself = Some(program).filter(|_| why != Why::Ended && !buried);
        for process in others.chain(itself) {
            let _ = kill_process(process, Signal::KILL);
        }
        loop {
            match sys::wait(-1, Wait::Look) {
                Ok(Some(ended)) => {
                    cpu += ended.cpu;
                    peak = peak.max(ended.peak);
                    if ended.pid == program.as_raw_pid() {
                        status = ended.status;
                        buried = true;
                    }
                }
                Ok(None) => break,
                // Nobody is left.
                Err(_) => return Ok((status, cpu, peak)),
            }
        }
        std::thread::sleep(ROUND);
    }
    Err(Unable::new(
        "end the program's processes",
        "`/proc` does not show them",
    ))
}

/// Gives what a private user made in the places to the owner of each place.
fn give_back(plan: &Plan, handles: &[Option<OwnedFd>], ids: &Ids) {
    if !ids.private {
        return;
    }
    let places = plan.places.iter().zip(handles);
    for (_, handle) in places.filter(|(place, _)| place.writable) {
        let Some(handle) = handle else { continue };
        if let Ok(owner) = rustix::fs::fstat(handle) {
            walk::give(handle.as_fd(), ids.outside.0, (owner.st_uid, owner.st_gid));
        }
    }
}
