//! The watch over a program: its time, and what the kernel does not limit by itself.

use crate::cgroup::Cgroup;
use crate::linux::Keeper;
use crate::notices::Notices;
use crate::pipe::{Listener, Word};
use crate::script::Opens;
use crate::seal::Seals;
use crate::sys::{self, Wait};
use crate::tree::{self, BYTES_PER_FILE, Tree};
use crate::unable::{Step as _, Unable};
use crate::walk;
use crate::written::Written;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use skillrun_keeper::{AbsentPaths, Backend, Plan, Spent, Stopped};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

/// How long the set-up may take. It takes milliseconds; a machine that hangs must not hang us.
const SET_UP: Duration = Duration::from_secs(20);
/// How often what is only polled is looked at: soon at first, since most runs are short, then less
/// often, since each look costs.
const LOOKS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(5)..=Duration::from_millis(40);
/// The same once what a process wrote is lost with it, so that little is.
const QUICK: Duration = Duration::from_millis(1);

const HIDDEN: &str = "`/proc` does not show its processes, as where it is mounted with `hidepid`";

/// Why a watch came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The program is done.
    Ended,
    /// The limit on time is met.
    Time,
    /// The limit on memory is met.
    Memory,
    /// The limit on what is written is met.
    Disk,
    /// The limit on the scratch directory is met.
    Scratch,
    /// Somebody replaced what the program must not change, which takes its seal off.
    Seal,
    /// A protected path appeared that did not exist before.
    Protected,
    /// The host gave up or died.
    HostGone,
    /// The set-up did not come to its end.
    SetUp,
    /// The first process died, and nobody knows of what.
    Lost,
    /// A trial was seen as every program must be.
    Seen,
    /// What is only polled does not show.
    Unseen(&'static str),
}

/// What wakes a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The program, or the first process, has ended.
    Process,
    /// The host gave up or died.
    Control,
    /// A child of the keeper has ended.
    Ends,
    /// Somebody inside tells something.
    Words,
    /// The program sends what is needed to watch it.
    Program,
    /// The program opens a file.
    Opens,
    /// Every process that could open one has ended.
    NoOpens,
    /// A name was created near a path that must stay absent.
    Names,
}

/// One program, watched.
pub(crate) struct Watch<'a> {
    plan: &'a Plan,
    keeper: &'a Keeper,
    process: OwnedFd,
    pid: i32,
    listener: Listener,
    seals: Seals,
    absent: &'a mut AbsentPaths,
    notices: Option<Notices>,
    /// The scratch directory, where it is one of the machine's.
    pub(crate) scratch: Option<OwnedFd>,
    /// Where the program sends what is needed to watch it.
    pub(crate) from_program: Option<OwnedFd>,
    /// The checked bytes of the script, until the program can be given them.
    pub(crate) script: Option<OwnedFd>,
    opens: Option<Opens>,
    /// File systems of the program's own whose contents are memory.
    in_memory: Vec<OwnedFd>,
    ends: OwnedFd,
    began: Option<Instant>,
    ended: Option<Instant>,
    status: Option<i32>,
    unable: Option<Unable>,
    peak: u64,
    /// What orphans that have ended wrote, where it shows nowhere else.
    told: u64,
    written: Written,
    /// What orphans that have ended used.
    buried: (Duration, u64),
}

impl<'a> Watch<'a> {
    /// Watches `process`; all descendants of the keeper count as its tree.
    pub(crate) fn new(
        keeper: &'a Keeper,
        plan: &'a Plan,
        process: Pid,
        listener: Listener,
        seals: Seals,
        absent: &'a mut AbsentPaths,
    ) -> Result<Self, Unable> {
        let notices = Notices::of(absent);
        Ok(Self {
            plan,
            keeper,
            process: pidfd_open(process, PidfdFlags::empty()).step("watch the program")?,
            pid: process.as_raw_pid(),
            listener,
            seals,
            absent,
            notices,
            scratch: None,
            from_program: None,
            script: None,
            opens: None,
            in_memory: Vec::new(),
            ends: sys::ends_of_children().step("watch the program")?,
            began: None,
            ended: None,
            status: None,
            unable: None,
            peak: 0,
            told: 0,
            written: Written::default(),
            buried: (Duration::ZERO, 0),
        })
    }

    /// Waits until the program is done or has to be.
    pub(crate) fn until_it_ends(&mut self) -> Why {
        let set_up_until = Instant::now() + SET_UP;
        let mut pause = *LOOKS.start();
        let mut next_look = Instant::now() + pause;
        loop {
            let deadline = match self.began {
                Some(began) => began + self.plan.limits.time,
                None => set_up_until,
            };
            let now = Instant::now();
            if now >= deadline {
                return self.end(if self.began.is_some() {
                    Why::Time
                } else {
                    Why::SetUp
                });
            }
            if now >= next_look {
                if let Some(why) = self.look(deadline) {
                    return self.end(why);
                }
                pause = match self.written.loses() {
                    true => QUICK,
                    false => (pause * 2).min(*LOOKS.end()),
                };
                // A program that makes looks expensive does not have the keeper look all the time.
                next_look = Instant::now() + pause.max(now.elapsed());
            }
            let mut wait = deadline.min(next_look);
            let notices = self.notices.as_ref();
            let notices = notices.filter(|notices| match notices.rest_until() {
                Some(rested) if rested > now => {
                    wait = wait.min(rested);
                    false
                }
                _ => true,
            });
            let wait = wait.saturating_duration_since(Instant::now());
            let happened = self.wait(wait, notices);
            if happened.contains(&Source::Words) {
                self.listen();
            }
            if happened.contains(&Source::Program) {
                self.receive();
            }
            if let Some(opens) = &mut self.opens
                && happened.contains(&Source::Opens)
            {
                opens.serve();
            }
            if happened.contains(&Source::NoOpens) {
                // Nobody is left to open anything.
                self.opens = None;
            }
            if happened.contains(&Source::Ends) {
                self.bury();
            }
            let ended = happened.contains(&Source::Process);
            if ended || self.status.is_some() || self.unable.is_some() {
                return self.end(Why::Ended);
            }
            if happened.contains(&Source::Control) {
                return self.end(Why::HostGone);
            }
            if happened.contains(&Source::Names)
                && let Some(notices) = &mut self.notices
                && notices.tell_of(self.absent)
            {
                return self.end(Why::Protected);
            }
            if self.plan.is_trial() && self.began.is_some() {
                let why = self.see();
                return self.end(why);
            }
        }
    }

    /// Waits until something happens, for a limited time.
    fn wait(&self, time: Duration, notices: Option<&Notices>) -> Vec<Source> {
        let mut sources = vec![
            (Source::Process, self.process.as_fd()),
            (Source::Control, self.keeper.control.as_fd()),
            (Source::Ends, self.ends.as_fd()),
        ];
        // A pipe that nobody writes any more would wake it for ever.
        if self.listener.is_open() {
            sources.push((Source::Words, self.listener.as_fd()));
        }
        let program = self
            .from_program
            .iter()
            .map(|socket| (Source::Program, socket.as_fd()));
        let opens = self
            .opens
            .iter()
            .map(|opens| (Source::Opens, opens.as_fd()));
        let names = notices.map(|notices| (Source::Names, notices.as_fd()));
        sources.extend(program.chain(opens).chain(names));
        let handles = sources.iter().map(|(_, handle)| *handle);
        let events = handles.map(|handle| PollFd::from_borrowed_fd(handle, PollFlags::IN));
        let mut events: Vec<PollFd<'_>> = events.collect();
        let timeout = Timespec::try_from(time).unwrap_or_default();
        // Interrupted or not, what there is to see is seen in the next round.
        let _ = poll(&mut events, Some(&timeout));
        let happened = sources.iter().zip(&events);
        let happened = happened.filter(|(_, event)| !event.revents().is_empty());
        let happened = happened.map(|((source, _), event)| match source {
            Source::Opens if !event.revents().contains(PollFlags::IN) => Source::NoOpens,
            source => *source,
        });
        happened.collect()
    }

    /// Receives what the program sends before it starts.
    fn receive(&mut self) {
        let Some(socket) = self.from_program.take() else {
            return;
        };
        let Ok(handles) = sys::receive_handles(socket.as_fd(), 3) else {
            return;
        };
        let mut handles = handles.into_iter();
        if let Some(script) = self.script.take()
            && let Some(calls) = handles.next()
        {
            self.opens = Some(Opens::new(self.plan, calls, script));
        }
        self.in_memory = handles.collect();
    }

    fn end(&mut self, why: Why) -> Why {
        self.ended = Some(Instant::now());
        why
    }

    fn listen(&mut self) {
        while let Some(word) = self.listener.next() {
            match word {
                Word::Starts => self.began = Some(Instant::now()),
                Word::Ended(status) => self.status = Some(status),
                Word::Written(bytes) => self.told = bytes,
                Word::Unable { step, why } => self.unable = Some(Unable { step, why }),
            }
        }
    }

    /// Buries orphans of the program that came to the keeper and have ended: as long as they are not,
    /// they count as its processes.
    fn bury(&mut self) {
        let mut news = [0; 1024];
        while let Ok(1..) = rustix::io::read(&self.ends, &mut news) {}
        let own = rustix::process::getpid().as_raw_pid();
        for child in tree::children(own).unwrap_or_default() {
            // The program's own end is told by its handle.
            if child == self.pid {
                continue;
            }
            if let Ok(Some(ended)) = sys::wait(child, Wait::Look) {
                self.buried.0 += ended.cpu;
                self.buried.1 = self.buried.1.max(ended.peak);
            }
        }
    }

    /// Looks for what every look needs at a program that waits for that. What does not show would be no
    /// limit at all, and say that it is one.
    fn see(&self) -> Why {
        let tree = Tree::below(rustix::process::getpid().as_raw_pid());
        let is_first = |id: i32| self.plan.backend == Backend::Namespaces && id == self.pid;
        let Some(program) = tree.ids().find(|id| !is_first(*id)) else {
            return Why::Unseen(HIDDEN);
        };
        if !tree.is_whole {
            return Why::Unseen(HIDDEN);
        }
        if self.keeper.group.is_none() && tree::account(program).is_none() {
            return Why::Unseen("`/proc` does not tell what memory it has");
        }
        match tree::written(program, u64::MAX) {
            None | Some(u64::MAX) => Why::Unseen("`/proc` does not tell what it writes"),
            Some(_) => Why::Seen,
        }
    }

    /// Looks at what is only polled; the limit on time is not passed for that.
    fn look(&mut self, until: Instant) -> Option<Why> {
        if self.seals.are_broken() {
            return Some(Why::Seal);
        }
        if self.absent.have_appeared() {
            return Some(Why::Protected);
        }
        let own = rustix::process::getpid().as_raw_pid();
        let tree = Tree::below(own);
        if !tree.is_whole {
            return Some(Why::Unseen(HIDDEN));
        }
        let limits = &self.plan.limits;
        if self.keeper.group.is_none() {
            // Under Landlock alone the program has no file system of its own.
            let files = match self.plan.backend {
                Backend::Namespaces => Some(self.in_memory.iter().map(tree::held).sum()),
                Backend::Landlock => None,
            };
            let memory = tree::memory(&tree, files, limits.memory, until);
            self.peak = self.peak.max(memory);
            if memory > limits.memory {
                return Some(Why::Memory);
            }
            let own_network = self.plan.backend == Backend::Namespaces && !self.plan.network;
            let buffers = tree::buffers(&tree, own_network.then_some(self.pid));
            if memory + buffers > limits.memory {
                self.peak = self.peak.max(memory + buffers);
                return Some(Why::Memory);
            }
        }
        // Without namespaces the scratch directory is one of the machine's.
        if let Some(scratch) = &self.scratch
            && walk::is_larger(
                scratch.as_fd(),
                self.plan.scratch.size,
                BYTES_PER_FILE,
                until,
            )
        {
            return Some(Why::Scratch);
        }
        let writable = self.plan.places.iter().any(|place| place.writable)
            || self.plan.backend == Backend::Landlock;
        // What has not yet become the program has written nothing.
        if writable && self.began.is_some() {
            // Orphans are buried by a first process, which is closed and tells its count, or by the keeper.
            let (grave, buried) = match self.plan.backend {
                Backend::Namespaces => (self.pid, self.told),
                Backend::Landlock => (own, tree::written(own, 0).unwrap_or(0)),
            };
            let processes = tree.processes.iter().filter(|process| process.id != grave);
            let written = self.written.look(processes, grave, buried, tree::written);
            if written > limits.disk {
                return Some(Why::Disk);
            }
        }
        None
    }

    /// What came through the pipe last: how the program ended, or why it never began.
    pub(crate) fn last_words(&mut self) -> Result<Option<i32>, Unable> {
        self.listen();
        match self.unable.take() {
            Some(unable) => Err(unable),
            None => Ok(self.status),
        }
    }

    /// The time from the program's first instruction to its last.
    pub(crate) fn time(&self) -> Duration {
        let times = self.began.zip(self.ended);
        times.map_or(Duration::ZERO, |(began, ended)| ended - began)
    }

    /// What it used; `peak` is what its largest process had.
    pub(crate) fn spent(&self, cpu: Duration, peak: u64) -> Spent {
        let of_group = self.keeper.group.as_ref().and_then(Cgroup::peak_memory);
        let (buried, largest) = self.buried;
        Spent {
            cpu: cpu + buried,
            peak_memory: of_group.unwrap_or(self.peak.max(peak).max(largest)),
        }
    }
}

/// What an end means, given the status that the kernel has for the program.
pub(crate) fn verdict(why: Why, status: i32, keeper: &Keeper) -> Result<Stopped, Unable> {
    let lost = |why: &str| Err(Unable::new("watch the program", why));
    match why {
        Why::Time => Ok(Stopped::Time),
        Why::Memory => Ok(Stopped::Memory),
        Why::Disk => Ok(Stopped::Disk),
        Why::Scratch => Ok(Stopped::Scratch),
        Why::Seal => Ok(Stopped::Seal),
        Why::Protected => Ok(Stopped::Protected),
        Why::HostGone => Ok(Stopped::Signaled(libc::SIGKILL)),
        Why::SetUp => lost("it did not start"),
        // The first process is small, but where all are, memory may run out at it.
        Why::Lost if keeper.group.as_ref().is_some_and(Cgroup::killed_some) => Ok(Stopped::Memory),
        Why::Lost => lost("its first process died"),
        Why::Seen => Ok(Stopped::Exited(0)),
        Why::Unseen(what) => lost(what),
        Why::Ended if !libc::WIFSIGNALED(status) => Ok(Stopped::Exited(libc::WEXITSTATUS(status))),
        Why::Ended => {
            let signal = libc::WTERMSIG(status);
            let killed =
                signal == libc::SIGKILL && keeper.group.as_ref().is_some_and(Cgroup::killed_some);
            Ok(match killed {
                true => Stopped::Memory,
                false => Stopped::Signaled(signal),
            })
        }
    }
}
