//! Watches a program: its time limit, and the limits that the kernel does not enforce by itself.

use crate::cgroup::Cgroup;
use crate::connections::{Connections, Counted};
use crate::disk_writes::DiskWrites;
use crate::error::{ConfineError, Step as _};
use crate::file_locks;
use crate::ids::Ids;
use crate::inotify::CreationEvents;
use crate::lockdown;
use crate::pipe::{Listener, Message};
use crate::polled;
use crate::protected::ProtectedPaths;
use crate::scratch_usage::ScratchUsage;
use crate::script::{self, OpenHandler};
use crate::supervisor::Supervisor;
use crate::sys::{self, Wait};
use crate::tree::{self, Channels, Tree};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use skillrun_supervisor::{Backend, GuardedPaths, Plan, Stopped, Usage};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long the setup may take. It takes milliseconds; a machine that hangs must not hang us.
const SETUP_TIMEOUT: Duration = Duration::from_secs(20);
/// How often usage is sampled: often at first, because most runs are short, then less often, because
/// each sample costs time.
const SAMPLE_INTERVAL: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(5)..=Duration::from_millis(40);
/// The interval once a process's counters were lost when it exited, so that little is lost.
const FAST_INTERVAL: Duration = Duration::from_millis(1);

/// The most files that a program may watch by epoll. The kernel counts those of all processes of a user together, and no
/// control group limits their number.
const MAX_EPOLL_WATCHES: u64 = 10_000;

const RECEIVE: &str = "receive the handles to watch the program";
const HIDEPID: &str = "`/proc` does not show its processes (is it mounted with `hidepid`?)";

/// Why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// The program ended.
    Ended,
    /// It hit the time limit.
    Time,
    /// It hit the memory limit.
    Memory,
    /// It hit the limit on bytes written.
    Disk,
    /// It hit the size limit of the scratch directory.
    Scratch,
    /// Another process replaced a protected path, which removes the read-only mount over it.
    ProtectedReplaced,
    /// A protected path appeared that did not exist before.
    ProtectedAppeared,
    /// The host gave up or died.
    HostGone,
    /// The setup did not finish in time.
    SetupTimeout,
    /// The init process died for an unknown reason.
    InitDied,
    /// A probe's process is as visible as every program must be.
    Probed,
    /// It watches too many files by epoll.
    EpollWatches,
    /// One of its processes does not show what it has open.
    HiddenHandles,
    /// `/proc` does not show what has to be sampled.
    NotVisible(&'static str),
}

/// What can wake a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The program, or the init process, exited.
    Process,
    /// The host gave up or died.
    Control,
    /// A child of the supervisor exited.
    ChildExit,
    /// A message from inside arrived.
    Messages,
    /// The program sends the handles that are needed to watch it.
    Program,
    /// The program opens a file.
    Opens,
    /// Every process that could open one has exited.
    NoOpens,
    /// A name was created near a guarded path.
    Creations,
}

/// The watch over one program.
pub(crate) struct Watch<'a> {
    plan: &'a Plan,
    supervisor: &'a Supervisor,
    /// The user of the program.
    ids: Ids,
    process: OwnedFd,
    pid: i32,
    listener: Listener,
    protected: ProtectedPaths,
    guarded: &'a mut GuardedPaths,
    creations: Option<CreationEvents>,
    /// The scratch directory, if it is a directory of the machine.
    pub(crate) scratch: Option<ScratchUsage>,
    /// The socket on which the program sends the handles that are needed to watch it.
    pub(crate) from_program: Option<OwnedFd>,
    /// The checked bytes of the script, until the program's calls can be answered.
    pub(crate) script: Option<OwnedFd>,
    /// Why a handle that the program had to send is missing.
    missing: Option<ConfineError>,
    opens: Option<OpenHandler>,
    /// Internet sockets that were refused to the program, as far as they are reported.
    pub(crate) refused_sockets: u64,
    /// The program's own file systems in memory.
    in_memory: Vec<OwnedFd>,
    child_exits: OwnedFd,
    began: Option<Instant>,
    ended: Option<Instant>,
    status: Option<i32>,
    error: Option<ConfineError>,
    peak: u64,
    /// Bytes that exited orphans wrote, as the init process reports them.
    orphan_bytes: u64,
    disk_writes: DiskWrites,
    connections: Connections,
    /// CPU time and peak memory of exited orphans.
    reaped: (Duration, u64),
}

impl<'a> Watch<'a> {
    /// Watches `process`; all descendants of the supervisor count as its tree.
    pub(crate) fn new(
        supervisor: &'a Supervisor,
        plan: &'a Plan,
        (process, ids): (Pid, Ids),
        listener: Listener,
        protected: ProtectedPaths,
        guarded: &'a mut GuardedPaths,
    ) -> Result<Self, ConfineError> {
        let creations = CreationEvents::of(guarded);
        Ok(Self {
            plan,
            supervisor,
            ids,
            process: pidfd_open(process, PidfdFlags::empty()).step("watch the program")?,
            pid: process.as_raw_pid(),
            listener,
            protected,
            guarded,
            creations,
            scratch: None,
            from_program: None,
            script: None,
            missing: None,
            opens: None,
            refused_sockets: 0,
            in_memory: Vec::new(),
            child_exits: sys::child_exit_events().step("watch the program")?,
            began: None,
            ended: None,
            status: None,
            error: None,
            peak: 0,
            orphan_bytes: 0,
            disk_writes: DiskWrites::default(),
            connections: Connections::default(),
            reaped: (Duration::ZERO, 0),
        })
    }

    /// Waits until the program ends or has to be ended.
    pub(crate) fn wait_for_end(&mut self) -> EndReason {
        let setup_deadline = Instant::now() + SETUP_TIMEOUT;
        let mut interval = *SAMPLE_INTERVAL.start();
        let mut next_sample = Instant::now() + interval;
        loop {
            let deadline = match self.began {
                Some(began) => began + self.plan.limits.time,
                None => setup_deadline,
            };
            let now = Instant::now();
            if now >= deadline {
                return self.end(if self.began.is_some() {
                    EndReason::Time
                } else {
                    EndReason::SetupTimeout
                });
            }
            if now >= next_sample {
                if let Some(why) = self.sample(deadline) {
                    return self.end(why);
                }
                interval = match self.disk_writes.has_lost_counters() {
                    true => FAST_INTERVAL,
                    false => (interval * 2).min(*SAMPLE_INTERVAL.end()),
                };
                // A program that makes samples expensive must not keep the supervisor sampling all
                // the time.
                next_sample = Instant::now() + interval.max(now.elapsed());
            }
            let mut wait = deadline.min(next_sample);
            let creations = self.creations.as_ref();
            let creations = creations.filter(|creations| match creations.paused_until() {
                Some(paused) if paused > now => {
                    wait = wait.min(paused);
                    false
                }
                _ => true,
            });
            let wait = wait.saturating_duration_since(Instant::now());
            let ready = self.wait(wait, creations);
            // The message that the program starts precedes its first call, but may have arrived after its pipe was polled.
            let may_start = ready.contains(&Source::Opens) && self.began.is_none();
            if ready.contains(&Source::Messages) || may_start {
                self.read_messages();
            }
            // The program sends its handles before it starts.
            if ready.contains(&Source::Program) || self.began.is_some() {
                self.receive_handles();
            }
            if self.began.is_some() && self.error.is_none() {
                self.error = self.missing.take();
            }
            if let Some(opens) = &mut self.opens
                && ready.contains(&Source::Opens)
            {
                opens.serve();
                self.refused_sockets = opens.refused_sockets();
            }
            if ready.contains(&Source::NoOpens) {
                // No process is left that could open anything.
                self.opens = None;
            }
            if ready.contains(&Source::ChildExit) {
                self.reap_orphans();
            }
            let ended = ready.contains(&Source::Process);
            if ended || self.status.is_some() || self.error.is_some() {
                return self.end(EndReason::Ended);
            }
            if ready.contains(&Source::Control) {
                return self.end(EndReason::HostGone);
            }
            if ready.contains(&Source::Creations)
                && let Some(creations) = &mut self.creations
                && creations.detect_appearance(self.guarded)
            {
                return self.end(EndReason::ProtectedAppeared);
            }
            if self.plan.is_probe() && self.began.is_some() {
                let why = self.check_visibility();
                return self.end(why);
            }
        }
    }

    /// Waits until one of the sources is ready, for a limited time.
    fn wait(&self, time: Duration, creations: Option<&CreationEvents>) -> Vec<Source> {
        let mut sources = vec![
            (Source::Process, self.process.as_fd()),
            (Source::Control, self.supervisor.control.as_fd()),
            (Source::ChildExit, self.child_exits.as_fd()),
        ];
        // A pipe without writers would be ready all the time.
        if self.listener.is_open() {
            sources.push((Source::Messages, self.listener.as_fd()));
        }
        let program = self
            .from_program
            .iter()
            .map(|socket| (Source::Program, socket.as_fd()));
        let opens = self
            .opens
            .iter()
            .map(|opens| (Source::Opens, opens.as_fd()));
        let names = creations.map(|creations| (Source::Creations, creations.as_fd()));
        sources.extend(program.chain(opens).chain(names));
        let handles = sources.iter().map(|(_, handle)| *handle);
        let events = handles.map(|handle| PollFd::from_borrowed_fd(handle, PollFlags::IN));
        let mut events: Vec<PollFd<'_>> = events.collect();
        let timeout = Timespec::try_from(time).unwrap_or_default();
        // Interrupted or not, the next round handles whatever is pending.
        let _ = poll(&mut events, Some(&timeout));
        let ready = sources.iter().zip(&events);
        let ready = ready.filter(|(_, event)| !event.revents().is_empty());
        let ready = ready.map(|((source, _), event)| match source {
            Source::Opens if !event.revents().contains(PollFlags::IN) => Source::NoOpens,
            source => *source,
        });
        ready.collect()
    }

    /// Receives the handles that the program sends before it starts. If one is missing, the program
    /// must not run: the report about its limits would not be true. A program that exits before it
    /// starts reports the reason itself.
    fn receive_handles(&mut self) {
        let Some(socket) = self.from_program.take() else {
            return;
        };
        match FromProgram::receive(socket.as_fd(), self.plan).and_then(|sent| self.accept(sent)) {
            Ok(()) => {}
            Err(error) => self.missing = Some(error),
        }
    }

    fn accept(&mut self, sent: FromProgram) -> Result<(), ConfineError> {
        self.in_memory = sent.in_memory;
        if let Some(calls) = sent.calls {
            let script = self.script.take();
            let script = script.ok_or_else(|| missing("no script"))?;
            let opens = OpenHandler::new(self.plan, calls, script, sent.cover);
            self.opens = Some(opens.step("pass the script to the program")?);
        }
        Ok(())
    }

    fn end(&mut self, why: EndReason) -> EndReason {
        self.ended = Some(Instant::now());
        why
    }

    fn read_messages(&mut self) {
        while let Some(message) = self.listener.next() {
            match message {
                Message::Starts => {
                    self.began = Some(Instant::now());
                    self.opens.iter_mut().for_each(OpenHandler::begin);
                }
                Message::Ended(status) => self.status = Some(status),
                Message::OrphanWrites(bytes) => self.orphan_bytes = bytes,
                Message::Failed { step, why } => self.error = Some(ConfineError { step, why }),
            }
        }
    }

    /// Reaps exited orphans of the program, whose parent is now the supervisor. Until then they count
    /// as its processes.
    fn reap_orphans(&mut self) {
        let mut drained = [0; 1024];
        while let Ok(1..) = rustix::io::read(&self.child_exits, &mut drained) {}
        let supervisor = rustix::process::getpid().as_raw_pid();
        for child in tree::children(supervisor).unwrap_or_default() {
            // The program itself is watched by its pidfd.
            if child == self.pid {
                continue;
            }
            if let Ok(Some(ended)) = sys::wait(child, Wait::Poll) {
                self.reaped.0 += ended.cpu;
                self.reaped.1 = self.reaped.1.max(ended.peak);
            }
        }
    }

    /// Checks that every value to be sampled can be read for a waiting probe. Otherwise a limit would
    /// be reported as enforced and never be checked.
    fn check_visibility(&self) -> EndReason {
        let tree = Tree::below(rustix::process::getpid().as_raw_pid());
        let is_init = |id: i32| self.plan.backend == Backend::Namespaces && id == self.pid;
        let Some(program) = tree.ids().find(|id| !is_init(*id)) else {
            return EndReason::NotVisible(HIDEPID);
        };
        if !tree.is_complete {
            return EndReason::NotVisible(HIDEPID);
        }
        if self.supervisor.cgroup.is_none() && tree::memory_counters(program).is_none() {
            return EndReason::NotVisible("`/proc` does not show its memory");
        }
        match tree::bytes_written(program, u64::MAX) {
            None | Some(u64::MAX) => EndReason::NotVisible("`/proc` does not show what it writes"),
            Some(_) => EndReason::Probed,
        }
    }

    /// Samples usage and checks protected paths. It stops at the deadline, so that the time limit is
    /// not exceeded for it.
    fn sample(&mut self, deadline: Instant) -> Option<EndReason> {
        if self.protected.were_replaced() {
            return Some(EndReason::ProtectedReplaced);
        }
        if self.guarded.have_appeared() {
            return Some(EndReason::ProtectedAppeared);
        }
        let own = rustix::process::getpid().as_raw_pid();
        let tree = Tree::below(own);
        if !tree.is_complete {
            return Some(EndReason::NotVisible(HIDEPID));
        }
        let limits = &self.plan.limits;
        if file_locks::exceed(&tree, deadline) {
            return Some(EndReason::Memory);
        }
        if !self.plan.has_hard_memory(self.supervisor.cgroup.is_some()) {
            // Under Landlock alone the program has no file system of its own.
            let files = match self.plan.backend {
                Backend::Namespaces => Some(self.in_memory.iter().map(tree::tmpfs_usage).sum()),
                Backend::Landlock => None,
            };
            let memory = tree::memory(&tree, files, limits.memory, deadline);
            self.peak = self.peak.max(memory);
            if memory > limits.memory {
                return Some(EndReason::Memory);
            }
            let own_network = self.plan.backend == Backend::Namespaces && !self.plan.network;
            let hidden = polled::handles(&tree, limits.open_files);
            let channels = Channels::of(&tree);
            let mut buffers = channels.capacity(own_network.then_some(self.pid), hidden);
            let cgroup = self.supervisor.cgroup.as_ref();
            if self.plan.network {
                let counted = Counted {
                    shown: &channels.sockets,
                    user: self.ids.outside.0,
                    is_private: self.ids.private,
                    has_cgroup: cgroup.is_some(),
                };
                buffers += self.connections.bytes(&tree, &counted);
                buffers += cgroup.map_or(0, Cgroup::uncounted_tcp);
            }
            if memory + buffers > limits.memory {
                self.peak = self.peak.max(memory + buffers);
                return Some(EndReason::Memory);
            }
        }
        // Root's programs have a user of their own, and a control group counts what their watches take.
        let is_counted = self.supervisor.cgroup.is_some() && rustix::process::geteuid().is_root();
        if !is_counted && tree::epoll_watches(&tree, MAX_EPOLL_WATCHES) > MAX_EPOLL_WATCHES {
            return Some(EndReason::EpollWatches);
        }
        // Without namespaces the scratch directory is a directory of the machine.
        if let Some(scratch) = &self.scratch {
            let has_cgroup = self.supervisor.cgroup.is_some();
            if scratch.exceeds(&tree, self.plan.scratch.size, has_cgroup, deadline) {
                return Some(EndReason::Scratch);
            }
        }
        let writable = self.plan.mounts.iter().any(|mount| mount.writable)
            || self.plan.backend == Backend::Landlock;
        // Before the program is executed, nothing was written.
        if writable && self.began.is_some() {
            // Orphans are reaped by the init process, whose counters only it can read and which
            // reports them, or by the supervisor.
            let (reaper, reaped_bytes) = match self.plan.backend {
                Backend::Namespaces => (self.pid, self.orphan_bytes),
                Backend::Landlock => (own, tree::bytes_written(own, 0).unwrap_or(0)),
            };
            let processes = tree.processes.iter().filter(|process| process.id != reaper);
            let written =
                self.disk_writes
                    .sample(processes, reaper, reaped_bytes, tree::bytes_written);
            if written > limits.disk {
                return Some(EndReason::Disk);
            }
        }
        // The init process changes its user, and hides from us. Before the program is executed, it is the only one.
        let init = (self.plan.backend == Backend::Namespaces).then_some(self.pid);
        if self.began.is_some() && tree::hides_handles(&tree, init) {
            return Some(EndReason::HiddenHandles);
        }
        None
    }

    /// Ends the watch over a probe; the pipe serves the next plan, too.
    pub(crate) fn into_listener(self) -> Listener {
        self.listener
    }

    /// Reads the last messages: how the program ended, or why it never started.
    pub(crate) fn final_report(&mut self) -> Result<Option<i32>, ConfineError> {
        self.read_messages();
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(self.status),
        }
    }

    /// The time from the program's first instruction to its last.
    pub(crate) fn time(&self) -> Duration {
        let times = self.began.zip(self.ended);
        times.map_or(Duration::ZERO, |(began, ended)| ended - began)
    }

    /// The usage of the run; `peak` is the peak memory of its largest process.
    pub(crate) fn usage(&self, cpu: Duration, peak: u64) -> Usage {
        let of_cgroup = self
            .supervisor
            .cgroup
            .as_ref()
            .and_then(Cgroup::peak_memory);
        let (reaped, largest) = self.reaped;
        Usage {
            cpu: cpu + reaped,
            peak_memory: of_cgroup.unwrap_or(self.peak.max(peak).max(largest)),
        }
    }
}

/// The handles that a program sends before it starts.
struct FromProgram {
    /// The notifications of calls that the supervisor answers, if the plan has a script.
    calls: Option<OwnedFd>,
    /// The copy of the script that covers its file, in namespaces.
    cover: Option<OwnedFd>,
    /// The program's own file systems in memory.
    in_memory: Vec<OwnedFd>,
}

impl FromProgram {
    /// Receives every handle that the plan requires, or fails.
    fn receive(from: BorrowedFd<'_>, plan: &Plan) -> Result<Self, ConfineError> {
        let has_calls = plan.script.is_some();
        let has_cover = script::cover(plan).is_some();
        let in_memory = lockdown::in_memory(plan).len();
        let all = usize::from(has_calls) + usize::from(has_cover) + in_memory;
        if all == 0 {
            // The program sends nothing.
            return Ok(Self {
                calls: None,
                cover: None,
                in_memory: Vec::new(),
            });
        }
        let handles = sys::receive_handles(from, all).step(RECEIVE)?;
        // The kernel drops handles for which the supervisor has no free number.
        if handles.len() != all {
            return Err(missing(&format!("{} of {all} handles", handles.len())));
        }
        let mut handles = handles.into_iter();
        Ok(Self {
            calls: has_calls.then(|| handles.next()).flatten(),
            cover: has_cover.then(|| handles.next()).flatten(),
            in_memory: handles.collect(),
        })
    }
}

fn missing(what: &str) -> ConfineError {
    ConfineError::new(RECEIVE, format!("received {what}"))
}

/// Turns the reason and the program's wait status into the reported result.
pub(crate) fn stopped_by(
    why: EndReason,
    status: i32,
    supervisor: &Supervisor,
) -> Result<Stopped, ConfineError> {
    let lost = |why: &str| Err(ConfineError::new("watch the program", why));
    match why {
        EndReason::Time => Ok(Stopped::Time),
        EndReason::Memory => Ok(Stopped::Memory),
        EndReason::Disk => Ok(Stopped::Disk),
        EndReason::Scratch => Ok(Stopped::Scratch),
        EndReason::ProtectedReplaced => Ok(Stopped::ProtectedReplaced),
        EndReason::ProtectedAppeared => Ok(Stopped::ProtectedAppeared),
        EndReason::HostGone => Ok(Stopped::Signaled(libc::SIGKILL)),
        EndReason::SetupTimeout => lost(&format!(
            "it did not start within {} seconds",
            SETUP_TIMEOUT.as_secs()
        )),
        // The init process is small, but if all processes are, the kernel may pick it when memory
        // runs out.
        EndReason::InitDied if supervisor.cgroup.as_ref().is_some_and(Cgroup::has_oom_kill) => {
            Ok(Stopped::Memory)
        }
        EndReason::InitDied => lost("its init process died"),
        EndReason::Probed => Ok(Stopped::Exited(0)),
        EndReason::EpollWatches => lost(&format!(
            "it watches more than {MAX_EPOLL_WATCHES} files by epoll, which other programs of the user need, too"
        )),
        EndReason::HiddenHandles => lost(
            "one of its processes hides what it has open, as an executable does that nobody may read",
        ),
        EndReason::NotVisible(what) => lost(what),
        EndReason::Ended if !libc::WIFSIGNALED(status) => {
            Ok(Stopped::Exited(libc::WEXITSTATUS(status)))
        }
        EndReason::Ended => {
            let signal = libc::WTERMSIG(status);
            let killed = signal == libc::SIGKILL
                && supervisor.cgroup.as_ref().is_some_and(Cgroup::has_oom_kill);
            Ok(match killed {
                true => Stopped::Memory,
                false => Stopped::Signaled(signal),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::pipe;
    use skillrun_supervisor::{Limits, Scratch, send_handles};
    use std::fs::File;
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};

    fn plan(backend: Backend) -> Plan {
        Plan {
            backend,
            program: b"/bin/cat".to_vec(),
            program_is_checked: false,
            script: None,
            arguments: vec![b"cat".to_vec()],
            environment: Vec::new(),
            directory: b"/".to_vec(),
            mounts: Vec::new(),
            guarded: Vec::new(),
            scratch: Scratch {
                at: b"/tmp".to_vec(),
                size: 1 << 20,
            },
            network: false,
            limits: Limits {
                time: Duration::from_secs(600),
                memory: 1 << 30,
                processes: 8,
                file_size: 1 << 20,
                disk: 1 << 20,
                open_files: 8,
            },
            filter: Vec::new(),
            filter_without_cgroup: Vec::new(),
        }
    }

    /// Watches a waiting program that has sent `handles` handles or closed its socket. Returns the
    /// reason for the end and the final report. If no handle is missing, the host gives up.
    fn watched(
        backend: Backend,
        handles: Option<usize>,
    ) -> (EndReason, Result<Option<i32>, ConfineError>) {
        let plan = plan(backend);
        let (control, host) = UnixStream::pair().unwrap();
        let supervisor = Supervisor {
            control: control.into(),
            cgroup: None,
        };
        let mut program = Command::new("/bin/cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&program);
        let (listener, reporter) = pipe().unwrap();
        let mut guarded = GuardedPaths::default();
        let watch = Watch::new(
            &supervisor,
            &plan,
            (pid, Ids::choose().unwrap()),
            listener,
            ProtectedPaths::default(),
            &mut guarded,
        );
        let mut watch = watch.unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        if let Some(count) = handles {
            let file = File::open("/dev/null").unwrap();
            send_handles(&theirs, &vec![file.as_fd(); count]).unwrap();
        }
        drop(theirs);
        watch.from_program = Some(ours.into());
        reporter.send(&Message::Starts);
        drop(host);
        let why = watch.wait_for_end();
        let last = watch.final_report();
        program.kill().unwrap();
        program.wait().unwrap();
        (why, last)
    }

    #[test]
    fn a_program_whose_handles_do_not_arrive_does_not_run() {
        let error = |why: &str| Err(ConfineError::new(RECEIVE, why));
        let namespaces = |handles| watched(Backend::Namespaces, handles);
        let gone = error("unexpected end of file");
        assert_eq!(namespaces(None), (EndReason::Ended, gone));
        let fewer = error("received 1 of 2 handles");
        assert_eq!(namespaces(Some(1)), (EndReason::Ended, fewer));
        let more = error("invalid data");
        assert_eq!(namespaces(Some(3)), (EndReason::Ended, more));
        // The allowed twins: all handles arrive, or the program sends none.
        assert_eq!(namespaces(Some(2)), (EndReason::HostGone, Ok(None)));
        assert_eq!(
            watched(Backend::Landlock, None),
            (EndReason::HostGone, Ok(None))
        );
    }
}
