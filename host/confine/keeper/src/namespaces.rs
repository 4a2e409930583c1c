//! A program in namespaces of its own.
//!
//! Three processes: the keeper outside, which watches; the first process inside, which builds the
//! file tree and then only buries the dead; and the program. The kernel kills everything inside when
//! that first process ends, whatever it forked, detached or ignores.

use crate::cgroup::Cgroup;
use crate::handles::{Handles, Output};
use crate::linux::Keeper;
use crate::room::{Room, Shape};
use crate::root;
use crate::seal::Seals;
use crate::tree::{self, Tree};
use crate::unable::{Step as _, Unable};
use crate::watch::{Watch, Why, verdict};
use skillrun_keeper::{AbsentPaths, End, Hold, Holds, Layer, Plan};
use std::os::fd::OwnedFd;

pub(crate) fn run(
    keeper: &Keeper,
    plan: &Plan,
    mut handles: Handles,
    output: &mut Option<Output>,
    room: Option<Room>,
    absent: &mut AbsentPaths,
) -> Result<End, Unable> {
    let shape = Shape::of(plan);
    let good = room.and_then(|mut room| room.is_good_for(&shape).then_some(room));
    let mut room = match good {
        Some(room) => room,
        None => Room::make(shape, output, keeper.group.is_some())?,
    };
    let ids = *room.ids();
    ids.own(&handles, output.as_ref())?;
    if !plan.is_trial() {
        *output = None;
    }
    let seals = Seals::of(plan, &handles)?;
    if ids.private {
        // Only root of the machine may change the ids of a mount.
        handles.places = root::trees(plan, &handles.places, &ids, None)?;
    }
    // If it is not there to take them, it has told why.
    let _ = room.enter(&handles);
    let script = handles.script.take();
    drop(handles);
    watch_over(keeper, plan, &mut room, seals, absent, script)
}

fn watch_over(
    keeper: &Keeper,
    plan: &Plan,
    room: &mut Room,
    seals: Seals,
    absent: &mut AbsentPaths,
    script: Option<OwnedFd>,
) -> Result<End, Unable> {
    let ids = *room.ids();
    let listener = room.listener.take();
    let listener = listener.ok_or_else(|| Unable::new("enter a room", "it was entered before"))?;
    let mut watch = Watch::new(keeper, plan, room.first(), listener, seals, absent)?;
    watch.from_program = Some(room.socket().step("watch the program")?);
    watch.script = script;
    let mut why = watch.until_it_ends();
    // What the kernel ends with the first process is counted nowhere.
    let running = tree::cpu(&Tree::below(rustix::process::getpid().as_raw_pid()));
    let time = watch.time();
    let ended = room.end().step("wait for the first process")?;
    let (cpu, peak) = ended.map_or_else(Default::default, |ended| (ended.cpu, ended.peak));
    // Its last words may have come with its end.
    let status = match watch.last_words()? {
        Some(status) => status,
        None if why == Why::Ended => {
            why = Why::Lost;
            0
        }
        None => 0,
    };
    let spent = watch.spent(cpu.max(running), peak);
    let stopped = verdict(why, status, keeper)?;
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
    layers.extend(keeper.group.iter().flat_map(Cgroup::layers));
    let holds = Holds {
        time: Hold::Hard,
        memory: match keeper.group.is_some() {
            true => Hold::Hard,
            false => Hold::Polled,
        },
        // A file system of its own cannot be overfilled; what is granted can.
        disk: match plan.places.iter().any(|place| place.writable) {
            true => Hold::Polled,
            false => Hold::Hard,
        },
        // Its user namespace counts its processes alone.
        processes: Hold::Hard,
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
