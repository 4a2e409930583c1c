//! A program in namespaces of its own.
//!
//! Three processes: the keeper outside, which watches; the first process inside, which builds the
//! file tree and then only buries the dead; and the program. The kernel kills everything inside when
//! that first process ends, whatever it forked, detached or ignores.

use crate::cgroup::Cgroup;
use crate::ids::Ids;
use crate::linux::{Handles, Keeper};
use crate::lockdown::{self, Rights};
use crate::pipe::{Listener, Teller, Word, pipe};
use crate::root::{self, Trees};
use crate::seal::{Seals, StandIns};
use crate::sys::{self, Fork, Wait};
use crate::tree;
use crate::unable::{Step as _, Unable};
use crate::watch::{Watch, Why, verdict};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{DumpableBehavior, Pid, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};
use skillrun_keeper::{End, Hold, Holds, Layer, Plan};
use std::fs::File;
use std::io::{PipeReader, Read as _, Seek as _, Write as _};

pub(crate) fn run(keeper: &Keeper, plan: &Plan, mut handles: Handles) -> Result<End, Unable> {
    let ids = Ids::choose()?;
    ids.own(&handles)?;
    let stand_ins = StandIns::make(plan, &mut handles)?;
    let seals = Seals::of(plan, &handles)?;
    let trees = match ids.private {
        // Only root of the machine may change the ids of a mount.
        true => Some(Trees::of_places(plan, &handles, &ids)?),
        false => None,
    };
    let (listener, teller) = pipe().step("make a pipe")?;
    let (wait, mut go) = std::io::pipe().step("make a pipe")?;
    let mut spaces = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    if !plan.network {
        spaces |= libc::CLONE_NEWNET;
    }
    let first = match sys::fork(spaces).step("make namespaces")? {
        Fork::Child => {
            drop((listener, go));
            // They are the keeper's to remove.
            std::mem::forget(stand_ins);
            let first = First {
                plan,
                handles,
                trees,
                ids,
                teller,
                account: None,
            };
            first.live(wait)
        }
        Fork::Parent(first) => first,
    };
    drop((wait, teller, handles, trees));
    let started = ids.map(first);
    let started = started.and_then(|()| go.write_all(&[1]).step("start the first process"));
    if let Err(unable) = started {
        let _ = rustix::process::kill_process(first, Signal::KILL);
        let _ = sys::wait(first.as_raw_pid(), Wait::Block);
        return Err(unable);
    }
    let end = watch_over(keeper, plan, first, listener, &ids, seals);
    drop(stand_ins);
    end
}

fn watch_over(
    keeper: &Keeper,
    plan: &Plan,
    first: Pid,
    listener: Listener,
    ids: &Ids,
    seals: Seals,
) -> Result<End, Unable> {
    let mut watch = Watch::new(keeper, plan, first, listener, seals)?;
    let mut why = watch.until_it_ends();
    // What the kernel ends with the first process is counted nowhere.
    let running = tree::cpu(&tree::descendants(rustix::process::getpid().as_raw_pid()));
    let _ = rustix::process::kill_process(first, Signal::KILL);
    let time = watch.time();
    let ended = sys::wait(first.as_raw_pid(), Wait::Block).step("wait for the first process")?;
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
    })
}

/// The first process inside.
struct First<'a> {
    plan: &'a Plan,
    handles: Handles,
    trees: Option<Trees>,
    ids: Ids,
    teller: Teller,
    /// What this process and those that it buried wrote, where the keeper may not look: opened before
    /// this process closes itself to others.
    account: Option<File>,
}

impl First<'_> {
    fn live(mut self, wait: PipeReader) -> ! {
        if let Err(unable) = self.prepare(wait) {
            self.teller.tell_unable(unable);
            std::process::exit(1);
        }
        let program = match sys::fork(0) {
            Ok(Fork::Child) => self.become_program(),
            Ok(Fork::Parent(program)) => program,
            Err(error) => {
                let unable = Unable::new("start the program", error.to_string());
                self.teller.tell_unable(unable);
                std::process::exit(1);
            }
        };
        let Self {
            teller,
            handles,
            account,
            ..
        } = self;
        drop(handles);
        // Nothing here needs a right any more.
        let _ = lockdown::give_up_rights(Rights::None);
        let mut told = 0;
        while let Ok(Some(ended)) = sys::wait(-1, Wait::Block) {
            if ended.pid == program.as_raw_pid() {
                teller.tell(&Word::Ended(ended.status));
                break;
            }
            let written = account.as_ref().and_then(|mut account| {
                let mut text = String::new();
                account.rewind().ok()?;
                account.read_to_string(&mut text).ok()?;
                tree::written_by(&text)
            });
            if let Some(written) = written.filter(|written| *written > told) {
                teller.tell(&Word::Written(written));
                told = written;
            }
        }
        std::process::exit(0);
    }

    fn prepare(&mut self, mut wait: PipeReader) -> Result<(), Unable> {
        let die_with_keeper = || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .step("die with the keeper")
        };
        die_with_keeper()?;
        wait.read_exact(&mut [0]).step("wait for the keeper")?;
        drop(wait);
        // As long as its own files in /proc are its own.
        sys::yield_memory().step("yield when memory runs out")?;
        self.account = File::open("/proc/self/io").ok();
        if self.ids.private {
            self.take_ids()?;
        }
        // A change of ids undoes it, and the keeper may have died in between.
        die_with_keeper()?;
        let mut gone = [PollFd::new(&self.teller, PollFlags::empty())];
        poll(&mut gone, Some(&rustix::time::Timespec::default())).step("look for the keeper")?;
        if !gone[0].revents().is_empty() {
            std::process::exit(0);
        }
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .step("close the first process to others")?;
        let trees = match self.trees.take() {
            Some(trees) => trees,
            None => Trees::of_places(self.plan, &self.handles, &self.ids)?,
        };
        root::build(self.plan, trees, &self.ids)
    }

    fn take_ids(&self) -> Result<(), Unable> {
        use rustix::process::{Gid, Uid};
        let (user, group) = self.ids.inside;
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        rustix::thread::set_thread_groups(&[]).step("leave all groups")?;
        rustix::thread::set_thread_res_gid(group, group, group).step("take the private group")?;
        rustix::thread::set_keep_capabilities(true).step("keep the rights inside")?;
        rustix::thread::set_thread_res_uid(user, user, user).step("take the private user")?;
        let all = rustix::thread::capabilities(None).step("keep the rights inside")?;
        let again = CapabilitySets {
            effective: all.permitted,
            permitted: all.permitted,
            inheritable: CapabilitySet::empty(),
        };
        rustix::thread::set_capabilities(None, again).step("keep the rights inside")
    }

    fn become_program(self) -> ! {
        let unable = match self.rules() {
            Ok(rules) => lockdown::become_program(
                self.plan,
                &self.handles,
                rules,
                Rights::None,
                &self.teller,
            ),
            Err(unable) => unable,
        };
        self.teller.tell_unable(unable);
        std::process::exit(1);
    }

    fn rules(&self) -> Result<Vec<lockdown::Rule>, Unable> {
        root::rules(self.plan)
    }
}
