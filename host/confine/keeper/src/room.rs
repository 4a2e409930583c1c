//! The room of a program: namespaces and a file tree with what every program sees, and a first process
//! in it that waits for a plan.
//!
//! The kernel takes longer to make namespaces and mounts than to start a program, and nearly all of them
//! are the same for every plan. So a room is made before there is one; whatever a plan adds is put into
//! it then. Rejected: a room for several programs one after the other, since what one leaves is then
//! the next one's.

use crate::handles::{Handles, Output};
use crate::ids::Ids;
use crate::lockdown::{self, Rights};
use crate::pipe::{Listener, Teller, Word, pipe};
use crate::root::{self, Root};
use crate::sys::{self, Fork, Wait, Waited};
use crate::tree;
use crate::unable::{Step as _, Unable};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{DumpableBehavior, Pid, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};
use skillrun_keeper::{Place, Plan, SYSTEM};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// What of a plan must be known to make a room for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    network: bool,
    /// The directories and files of the machine that are shown.
    system: Vec<&'static str>,
}

impl Shape {
    /// That of most plans.
    pub(crate) fn usual() -> Self {
        Self {
            network: false,
            system: SYSTEM.to_vec(),
        }
    }

    pub(crate) fn of(plan: &Plan) -> Self {
        // A place that holds a directory of the machine shows it, and nothing is made in there.
        let granted = |path: &&str| {
            let holds = |place: &Place| Path::new(path).starts_with(OsStr::from_bytes(&place.at));
            plan.places.iter().any(holds)
        };
        let shown = SYSTEM.into_iter().filter(|path| !granted(path));
        Self {
            network: plan.network,
            system: shown.collect(),
        }
    }
}

/// A room as the keeper has it. Dropped, it ends with everything in it.
pub(crate) struct Room {
    shape: Shape,
    ids: Ids,
    first: Pid,
    door: UnixStream,
    /// Where the first process and the program tell how they fare.
    pub(crate) listener: Option<Listener>,
    /// Tells when the machine's mounts have changed since.
    mounts: File,
    ended: bool,
}

impl Room {
    /// Makes a room for programs whose output is `output`, and whose memory a control group counts or not.
    /// What its first process fails at is told to whoever enters it.
    pub(crate) fn make(
        shape: Shape,
        output: &mut Option<Output>,
        has_group: bool,
    ) -> Result<Self, Unable> {
        let ids = Ids::choose()?;
        let mounts = File::open("/proc/self/mountinfo").step("watch the machine's mounts")?;
        let (listener, teller) = pipe().step("make a pipe")?;
        let (door, inner) = UnixStream::pair().step("make a socket")?;
        let mut spaces = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP;
        if !shape.network {
            spaces |= libc::CLONE_NEWNET;
        }
        let first = match sys::fork(spaces).step("make namespaces")? {
            Fork::Child => {
                drop((listener, door, mounts));
                let first = First {
                    ids,
                    has_group,
                    teller,
                    output: output.take(),
                    account: None,
                };
                first.live(&shape, inner)
            }
            Fork::Parent(first) => first,
        };
        drop((inner, teller));
        let mut room = Self {
            shape,
            ids,
            first,
            door,
            listener: Some(listener),
            mounts,
            ended: false,
        };
        room.ids.map(first)?;
        room.door.write_all(&[0]).step("start the first process")?;
        Ok(room)
    }

    /// Whether it is as if it were made now. A room may be hours old: what was mounted since is not in
    /// it, and its first process is the first that a machine without memory ends.
    pub(crate) fn is_good_for(&mut self, shape: &Shape) -> bool {
        let mut mounts = [PollFd::new(&self.mounts, PollFlags::PRI)];
        let same = poll(&mut mounts, Some(&rustix::time::Timespec::default())) == Ok(0);
        self.ended = !matches!(sys::wait(self.first.as_raw_pid(), Wait::Look), Ok(None));
        self.shape == *shape && same && !self.ended
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.ids
    }

    pub(crate) fn first(&self) -> Pid {
        self.first
    }

    /// Where the program sends what the keeper needs to watch it.
    pub(crate) fn socket(&self) -> io::Result<OwnedFd> {
        Ok(self.door.try_clone()?.into())
    }

    /// Has the first process start the program.
    pub(crate) fn enter(&self, handles: &Handles) -> io::Result<()> {
        handles.send(&self.door)
    }

    /// Ends everything in it.
    pub(crate) fn end(&mut self) -> io::Result<Option<Waited>> {
        self.ended = true;
        let _ = rustix::process::kill_process(self.first, Signal::KILL);
        sys::wait(self.first.as_raw_pid(), Wait::Block)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.end();
        }
    }
}

/// The first process inside.
struct First {
    ids: Ids,
    has_group: bool,
    teller: Teller,
    output: Option<Output>,
    /// What this process and those that it buried wrote, where the keeper may not look: opened before
    /// this process closes itself to others.
    account: Option<File>,
}

impl First {
    fn live(mut self, shape: &Shape, door: UnixStream) -> ! {
        match self.prepare(shape, &door) {
            Ok(Some((plan, handles))) => self.see_through(&plan, handles, door),
            // The keeper has no use for this room.
            Ok(None) => {}
            Err(unable) => self.teller.tell_unable(unable),
        }
        std::process::exit(0);
    }

    fn prepare(
        &mut self,
        shape: &Shape,
        mut door: &UnixStream,
    ) -> Result<Option<(Plan, Handles)>, Unable> {
        let die_with_keeper = || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .step("die with the keeper")
        };
        die_with_keeper()?;
        if door.read_exact(&mut [0]).is_err() {
            return Ok(None);
        }
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
            return Ok(None);
        }
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .step("close the first process to others")?;
        let root = Root::make(&shape.system, shape.network, &self.ids)?;
        let comes = |place: &Place| place.contents.is_none();
        let (mut plan, mut handles) = match Handles::receive(door.as_fd(), comes) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(Unable::new("receive the plan", error.to_string())),
        };
        if !self.has_group {
            plan.count_all_memory();
        }
        let trees = std::mem::take(&mut handles.places);
        let trees = match self.ids.private {
            true => trees,
            false => root::trees(&plan, &trees, &self.ids, root.machine())?,
        };
        root.furnish(&plan, trees, &self.ids)?;
        Ok(Some((plan, handles)))
    }

    /// Starts the program, and buries the dead until it has ended.
    fn see_through(mut self, plan: &Plan, handles: Handles, door: UnixStream) {
        let program = match sys::fork(0) {
            Ok(Fork::Child) => self.become_program(plan, &handles, &door),
            Ok(Fork::Parent(program)) => program,
            Err(error) => {
                let unable = Unable::new("start the program", error.to_string());
                return self.teller.tell_unable(unable);
            }
        };
        drop((handles, door));
        self.output = None;
        // Nothing here needs a right any more.
        let _ = lockdown::give_up_rights(Rights::None);
        let mut told = 0;
        while let Ok(Some(ended)) = sys::wait(-1, Wait::Block) {
            if ended.pid == program.as_raw_pid() {
                return self.teller.tell(&Word::Ended(ended.status));
            }
            let written = self.account.as_ref().and_then(|mut account| {
                let mut text = String::new();
                account.rewind().ok()?;
                account.read_to_string(&mut text).ok()?;
                tree::written_by(&text)
            });
            if let Some(written) = written.filter(|written| *written > told) {
                self.teller.tell(&Word::Written(written));
                told = written;
            }
        }
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

    fn become_program(self, plan: &Plan, handles: &Handles, door: &UnixStream) -> ! {
        let unable = match root::rules(plan) {
            Ok(rules) => {
                let (output, keeper) = (self.output, (&self.teller, door.as_fd()));
                lockdown::become_program(plan, handles, output, rules, Rights::None, keeper)
            }
            Err(unable) => unable,
        };
        self.teller.tell_unable(unable);
        std::process::exit(1);
    }
}
