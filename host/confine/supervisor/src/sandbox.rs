//! The sandbox of a program: namespaces, a file tree with what every program sees, and an init
//! process that waits for a plan.
//!
//! The kernel takes longer to create namespaces and mounts than to start a program, and nearly all of
//! them are the same for every plan. So a sandbox is created before there is a plan, and whatever the
//! plan adds is mounted then. A probe without mounts adds nothing and executes nothing, so the sandbox that
//! was probed is the one that a program gets. Rejected: one sandbox for several programs in sequence, because the
//! next program would see what the last one left.

use crate::error::{ConfineError, Step as _};
use crate::handles::{Handles, Output};
use crate::ids::Ids;
use crate::lockdown::{self, Privileges};
use crate::pipe::{Listener, Message, Reporter, pipe};
use crate::root::{self, Root};
use crate::sys::{self, Fork, Wait, Waited};
use crate::tree;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{DumpableBehavior, Pid, Signal};
use skillrun_supervisor::{Mount, Plan, SYSTEM};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The part of a plan that must be known to create a sandbox for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SandboxConfig {
    network: bool,
    /// The directories and files of the machine that are mounted.
    system: Vec<&'static str>,
}

impl SandboxConfig {
    /// The configuration of most plans.
    pub(crate) fn common() -> Self {
        Self {
            network: false,
            system: SYSTEM.to_vec(),
        }
    }

    pub(crate) fn of(plan: &Plan) -> Self {
        // A mount that contains a system directory already shows it, and nothing is created in there.
        let granted = |path: &&str| {
            let contains =
                |mount: &Mount| Path::new(path).starts_with(OsStr::from_bytes(&mount.at));
            plan.mounts.iter().any(contains)
        };
        let shown = SYSTEM.into_iter().filter(|path| !granted(path));
        Self {
            network: plan.network,
            system: shown.collect(),
        }
    }
}

/// The supervisor's side of a sandbox. Dropping it ends everything inside.
pub(crate) struct Sandbox {
    config: SandboxConfig,
    ids: Ids,
    init: Pid,
    socket: UnixStream,
    /// Receives messages from the init process and the program.
    pub(crate) listener: Option<Listener>,
    /// Becomes ready when the machine's mounts have changed.
    mounts: File,
    ended: bool,
}

impl Sandbox {
    /// Creates a sandbox. `output` is the output of its program; `has_cgroup` says whether a control
    /// group counts its memory. If the init process fails, the error is reported to the plan that
    /// uses the sandbox.
    pub(crate) fn create(
        config: SandboxConfig,
        output: &mut Option<Output>,
        has_cgroup: bool,
    ) -> Result<Self, ConfineError> {
        let ids = Ids::choose()?;
        let mounts = File::open("/proc/self/mountinfo").step("watch the machine's mounts")?;
        let (listener, reporter) = pipe().step("create a pipe")?;
        let (socket, theirs) = UnixStream::pair().step("create a socket")?;
        let mut flags = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP;
        if !config.network {
            flags |= libc::CLONE_NEWNET;
        }
        let init = match sys::fork(flags).step("create namespaces")? {
            Fork::Child => {
                drop((listener, socket, mounts));
                let init = Init {
                    ids,
                    has_cgroup,
                    reporter,
                    output: output.take(),
                    io_counters: None,
                };
                init.run(&config, theirs)
            }
            Fork::Parent(init) => init,
        };
        drop((theirs, reporter));
        let mut sandbox = Self {
            config,
            ids,
            init,
            socket,
            listener: Some(listener),
            mounts,
            ended: false,
        };
        sandbox.ids.map(init)?;
        sandbox
            .socket
            .write_all(&[0])
            .step("start the init process")?;
        Ok(sandbox)
    }

    /// Whether it is as good as a new one. A sandbox may be hours old: it lacks what was mounted
    /// since, and its init process is the first that the kernel kills when the machine runs out of
    /// memory.
    pub(crate) fn is_usable_for(&mut self, config: &SandboxConfig) -> bool {
        let mut mounts = [PollFd::new(&self.mounts, PollFlags::PRI)];
        let same = poll(&mut mounts, Some(&rustix::time::Timespec::default())) == Ok(0);
        self.ended = !matches!(sys::wait(self.init.as_raw_pid(), Wait::Poll), Ok(None));
        self.config == *config && same && !self.ended
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.ids
    }

    pub(crate) fn init(&self) -> Pid {
        self.init
    }

    /// The socket on which the program sends the handles that are needed to watch it.
    pub(crate) fn handle_socket(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    /// Sends the plan to the init process, which starts the program.
    pub(crate) fn start_program(&self, handles: &Handles) -> io::Result<()> {
        handles.send(&self.socket)
    }

    /// Lets the process of a probe exit. The sandbox can then be used again.
    pub(crate) fn end_probe(&mut self) -> io::Result<()> {
        self.socket.write_all(&[0])
    }

    /// Whether it has not been ended.
    pub(crate) fn is_running(&self) -> bool {
        !self.ended
    }

    /// Ends everything in it.
    pub(crate) fn end(&mut self) -> io::Result<Option<Waited>> {
        self.ended = true;
        let _ = rustix::process::kill_process(self.init, Signal::KILL);
        sys::wait(self.init.as_raw_pid(), Wait::Block)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.end();
        }
    }
}

/// The init process inside.
struct Init {
    ids: Ids,
    has_cgroup: bool,
    reporter: Reporter,
    output: Option<Output>,
    /// The I/O counters of this process and those that it reaped. The supervisor may not read them;
    /// they are opened before this process hides itself.
    io_counters: Option<File>,
}

impl Init {
    fn run(mut self, config: &SandboxConfig, socket: UnixStream) -> ! {
        match self.receive_program(config, &socket) {
            Ok(Some((plan, handles))) => self.start_and_reap(&plan, handles, socket),
            // The supervisor dropped this sandbox.
            Ok(None) => {}
            Err(error) => self.reporter.report_error(error),
        }
        std::process::exit(0);
    }

    /// Builds the file tree, serves probes, and waits for the plan of a program. `None` if there is nothing more to do.
    fn receive_program(
        &mut self,
        config: &SandboxConfig,
        socket: &UnixStream,
    ) -> Result<Option<(Plan, Handles)>, ConfineError> {
        let Some(root) = self.prepare(config, socket)? else {
            return Ok(None);
        };
        loop {
            let has_handle = |mount: &Mount| mount.contents.is_none();
            let (mut plan, mut handles) = match Handles::receive(socket.as_fd(), has_handle) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(ConfineError::new("receive the plan", error.to_string())),
            };
            if !self.has_cgroup {
                plan.use_filter_without_cgroup();
            }
            if plan.is_bare_probe() {
                if !self.probe(&plan, &handles, socket)? {
                    return Ok(None);
                }
                continue;
            }
            let mounts = std::mem::take(&mut handles.mounts);
            let copies = match self.ids.private {
                true => mounts,
                false => root::mount_copies(&plan, &mounts, &self.ids, root.machine())?,
            };
            handles.cover = root.add_plan(&plan, copies, &self.ids)?;
            return Ok(Some((plan, handles)));
        }
    }

    /// Confines a process that executes nothing, and waits for its end. Returns whether it ended as it should; if not, this
    /// process ends too, so that no program uses a sandbox in which something is wrong.
    fn probe(
        &mut self,
        plan: &Plan,
        handles: &Handles,
        socket: &UnixStream,
    ) -> Result<bool, ConfineError> {
        let process = match sys::fork(0).step("start the probe")? {
            Fork::Child => self.become_program(plan, handles, socket),
            Fork::Parent(process) => process,
        };
        let ended = sys::wait(process.as_raw_pid(), Wait::Block).step("wait for the probe")?;
        Ok(ended.is_some_and(|ended| ended.status == 0))
    }

    /// Builds the file tree. `None` if the supervisor is gone.
    fn prepare(
        &mut self,
        config: &SandboxConfig,
        mut socket: &UnixStream,
    ) -> Result<Option<Root>, ConfineError> {
        let die_with_supervisor = || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .step("set the parent-death signal")
        };
        die_with_supervisor()?;
        if socket.read_exact(&mut [0]).is_err() {
            return Ok(None);
        }
        // While this process still owns its files in /proc.
        sys::prefer_oom_kill().step("raise its OOM score")?;
        self.io_counters = File::open("/proc/self/io").ok();
        if self.ids.private {
            self.ids.take().step("take the private user")?;
        }
        // A change of ids clears the death signal, and the supervisor may have died in between.
        die_with_supervisor()?;
        let mut gone = [PollFd::new(&self.reporter, PollFlags::empty())];
        poll(&mut gone, Some(&rustix::time::Timespec::default()))
            .step("check for the supervisor")?;
        if !gone[0].revents().is_empty() {
            return Ok(None);
        }
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .step("hide the init process")?;
        Root::create(&config.system, config.network, &self.ids).map(Some)
    }

    /// Starts the program, and reaps orphans until it has ended.
    fn start_and_reap(mut self, plan: &Plan, handles: Handles, socket: UnixStream) {
        let program = match sys::fork(0) {
            Ok(Fork::Child) => self.become_program(plan, &handles, &socket),
            Ok(Fork::Parent(program)) => program,
            Err(error) => {
                let error = ConfineError::new("start the program", error.to_string());
                return self.reporter.report_error(error);
            }
        };
        drop((handles, socket));
        self.output = None;
        // Nothing here needs privileges any more.
        let _ = lockdown::drop_privileges(Privileges::None);
        let mut reported = 0;
        while let Ok(Some(ended)) = sys::wait(-1, Wait::Block) {
            if ended.pid == program.as_raw_pid() {
                return self.reporter.send(&Message::Ended(ended.status));
            }
            let written = self.io_counters.as_ref().and_then(|mut counters| {
                let mut text = String::new();
                counters.rewind().ok()?;
                counters.read_to_string(&mut text).ok()?;
                tree::parse_write_bytes(&text)
            });
            if let Some(written) = written.filter(|written| *written > reported) {
                self.reporter.send(&Message::OrphanWrites(written));
                reported = written;
            }
        }
    }

    fn become_program(&mut self, plan: &Plan, handles: &Handles, socket: &UnixStream) -> ! {
        let error = match root::rules(plan) {
            Ok(rules) => {
                let output = self.output.take();
                let supervisor = (&self.reporter, socket.as_fd());
                lockdown::become_program(plan, handles, output, rules, Privileges::None, supervisor)
            }
            Err(error) => error,
        };
        self.reporter.report_error(error);
        std::process::exit(1);
    }
}
