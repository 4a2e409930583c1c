//! Runs scripts in interpreters of this machine, confined by the kernel.
//!
//! Bash, Ruby and Perl run here, and Python and JavaScript if a script needs packages that only exist
//! for this machine. How well a script can be confined depends on the machine, so the machine is
//! probed before the first script, and every outcome names the layers.

mod command;
mod interpreter;
mod mounts;

use super::{BoxFuture, Ended, RunContext, Runtime};
use crate::approval::Approvals;
use crate::decision::Permit;
use crate::error::Error;
use crate::files::{plain, show};
use crate::grant::Grant;
use crate::limits::{Limit, Limits, show_bytes, show_duration};
use crate::outcome::{Enforcement, Isolation, LimitEnforcement, Status, Usage, signal_name};
use crate::plan::{Checked, Plan, RunsIn};
use crate::policy::NativeMode;
use crate::refusal::{Check, Refusal};
use crate::runtime::artifacts::{Artifacts, Directories, Snapshot, in_time};
use crate::runtime::blocking::{Caller, Work};
use crate::runtime::denials::Denials;
use crate::runtime::environment::{environment, scratch_path};
use crate::runtime::output::Output;
use crate::runtime::pump::{feed, pump};
use crate::runtime::scratch::Scratch;
use crate::runtime::teardown::Teardown;
use crate::skill::Language;
use crate::tier::Tier;
use mounts::MountPlan;
use rustix::fs::{Mode, OFlags};
use skillrun_confine::{
    Appeared, Backend, ConfineError, Confinement, End, Fate, Job, NoBackendError, Running, Script,
    Stopped,
};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long a run that is stopped waits until its script has started, to stop it.
const GRACE: Duration = Duration::from_secs(1);
/// How long a script may take to start, if its time limit is shorter: a busy machine must not be mistaken for a file system
/// that hangs.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait for the list of artefacts, which ends sooner by itself unless a file system hangs.
const COMPARE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for unread output after a script was stopped.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// Interpreters of this machine. Clones share what is known about it.
#[derive(Clone)]
pub(crate) struct Native {
    protected: Arc<[PathBuf]>,
    log: Arc<[PathBuf]>,
    approvals: Arc<Approvals>,
    confinement: Arc<Probed>,
    /// Whether many scripts will run, so that a spare supervisor pays off.
    keeps_spare: bool,
    /// How many threads do not return from a file system.
    stuck: Arc<watch::Sender<usize>>,
}

/// The result of probing the machine. A failure that may pass is not kept.
#[derive(Debug, Default)]
struct Probed {
    found: OnceLock<Result<Confinement, NoBackendError>>,
    /// Held while the machine is probed, so that many scripts at the same time wait for one probe.
    probing: Mutex<()>,
}

impl Probed {
    fn get(
        &self,
        find: impl FnOnce() -> Result<Confinement, NoBackendError>,
    ) -> Result<&Confinement, NoBackendError> {
        let kept = || {
            self.found
                .get()
                .map(|found| found.as_ref().map_err(Clone::clone))
        };
        if let Some(found) = kept() {
            return found;
        }
        let _probing = self.probing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept() {
            return found;
        }
        match find() {
            Err(error) if error.is_transient => Err(error),
            found => self
                .found
                .get_or_init(|| found)
                .as_ref()
                .map_err(Clone::clone),
        }
    }
}

/// Begins to probe how this machine can confine native scripts, without waiting for the result. For a process that will
/// probably run one and has other things to do first; nothing is decided by this.
pub fn expect_native_script() {
    Confinement::expect();
}

/// What this machine offers to native scripts.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct NativeState {
    /// How scripts are confined: `namespaces`, `landlock`, or nothing if they cannot be.
    pub backend: Option<&'static str>,
    /// The layers and the enforcement of a probe.
    pub isolation: Option<Isolation>,
    /// Why stronger backends do not work, or all of them if none works.
    pub reasons: Vec<String>,
    /// The interpreters that are installed, by name and path.
    pub interpreters: Vec<(&'static str, PathBuf)>,
    /// Those that are not.
    pub missing: Vec<&'static str>,
}

impl Native {
    /// `protected` are the protected paths, the files of the audit log and of the approvals among them; `slots` bounds how
    /// many scripts run at the same time; `stuck` counts runs whose host call does not return.
    pub(crate) fn new(
        protected: Arc<[PathBuf]>,
        log: Vec<PathBuf>,
        approvals: Arc<Approvals>,
        slots: Option<u32>,
        stuck: Arc<watch::Sender<usize>>,
    ) -> Self {
        Self {
            protected,
            log: log.into(),
            approvals,
            confinement: Arc::default(),
            keeps_spare: slots.is_some(),
            stuck,
        }
    }

    /// The strongest backend that works here; probed once, unless the probe failed for a reason that may pass.
    fn confinement(&self) -> Result<&Confinement, NoBackendError> {
        self.confinement.get(|| {
            let found = Confinement::find();
            match self.keeps_spare {
                true => found.map(Confinement::with_spare_supervisor),
                false => found,
            }
        })
    }

    /// Whether scripts can see a directory at another path than its own. Without any backend, the decision refuses them.
    pub(crate) fn shows_anywhere(&self) -> bool {
        let backend = self.confinement().map(Confinement::backend);
        backend.is_ok_and(|backend| backend == Backend::Namespaces)
    }

    pub(crate) fn state(&self) -> NativeState {
        let line =
            |(backend, error): &(Backend, ConfineError)| format!("{}: {error}", backend.word());
        let (backend, isolation, reasons) = match self.confinement() {
            Ok(found) => (
                Some(found.backend().word()),
                Some(isolation(found.probe())),
                found.rejected().iter().map(line).collect(),
            ),
            Err(no_backend) => (None, None, no_backend.rejected.iter().map(line).collect()),
        };
        let (found, missing): (Vec<_>, Vec<_>) = interpreter::LANGUAGES
            .into_iter()
            .map(|language| (language.interpreter(), interpreter::find(language)))
            .partition(|(_, path)| path.is_some());
        NativeState {
            backend,
            isolation,
            reasons,
            interpreters: found
                .into_iter()
                .filter_map(|(name, path)| Some((name, path?)))
                .collect(),
            missing: missing.into_iter().map(|(name, _)| name).collect(),
        }
    }

    fn find_mounts<'a>(&self, plan: &'a Plan) -> MountPlan<'a> {
        MountPlan::new(plan, &self.protected, self.approvals.files())
    }

    /// The mounts of a script. If its workspace is to contain the directory of the approvals database, the database is
    /// opened first: the first question would create that directory at any time, and the script would be blamed.
    ///
    /// Nothing is created for a cache that is missing in a workspace. If another run creates it meanwhile, this run ends.
    fn mount_plan<'a>(&self, plan: &'a Plan, backend: Backend) -> Result<MountPlan<'a>, Error> {
        let mut mounts = self.find_mounts(plan);
        if backend == Backend::Namespaces && mounts.lacks_approvals() {
            self.approvals.create()?;
            mounts = self.find_mounts(plan);
            if mounts.lacks_approvals() {
                let why = "the directory of the approvals database is inside the workspace and does not exist";
                return Err(Error::Sandbox(why.into()));
            }
        }
        // A path may have been created since the decision.
        match mounts.unsupported_by(plan, backend, &self.log) {
            Some(why) => Err(Error::Sandbox(why)),
            None => Ok(mounts),
        }
    }

    /// Opens the mounts and starts the program, if the caller still waits by then. May block.
    fn start(&self, plan: &Plan, scratch: &Scratch, caller: &Caller) -> Result<Running, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Sandbox(error.to_string());
        let confinement = self.confinement().map_err(|error| failed(&error))?;
        let backend = confinement.backend();
        let mounts = self.mount_plan(plan, backend)?;
        let mounts = mounts.open(plan, backend, &self.log)?;
        let job = job(plan, backend, mounts, scratch)?;
        // All of the above may have blocked on a file system for longer than the caller waited. A program that starts after
        // its outcome was returned would run without anybody knowing.
        if caller.is_gone() {
            return Err(failed(&"nobody waits for it"));
        }
        confinement.start(job).map_err(|error| failed(&error))
    }

    async fn execute(&self, permit: Arc<Permit>, context: RunContext) -> Result<Ended, Error> {
        let failed = |why: String| Error::Sandbox(why);
        let RunContext {
            stdin,
            stdout,
            stderr,
            stop,
            denied,
            teardown,
            record: _,
        } = context;
        let mut stop = stop.unwrap_or_else(|| Box::pin(std::future::pending()));
        let (native, own) = (self.clone(), Arc::clone(&permit));
        let start = move |caller: &Caller| {
            let before = snapshot(own.plan(), caller);
            let scratch = teardown.scratch().map(Arc::clone);
            let scratch = scratch.ok_or_else(|| failed("there is no scratch directory".into()))?;
            let program = Program {
                running: Some(native.start(own.plan(), &scratch, caller)?),
                kept: Some((teardown, own)),
            };
            Ok((program, before))
        };
        let plan = permit.plan();
        let start_timeout = plan.limits.time.max(START_TIMEOUT);
        let starting = Work::<Result<_, Error>>::start(&self.stuck, GRACE, start);
        let mut starting = starting.map_err(|error| failed(plain(&error)))?;
        let started = tokio::select! {
            started = starting.result() => Ok(started.map_err(|error| failed(plain(&error)))??),
            () = &mut stop => Err(Ended::cancelled_before_start(self.isolation())),
            () = tokio::time::sleep(start_timeout) => {
                Err(hung_before_start(start_timeout, &stderr, self.isolation()))
            }
        };
        let (mut program, before) = match started {
            Ok(started) => started,
            Err(ended) => {
                if let Some(Ok((mut program, _))) = starting.give_up().await {
                    program.stop().await;
                }
                return Ok(ended);
            }
        };
        let Some(running) = &mut program.running else {
            return Err(failed("there is no program".into()));
        };
        let input = feed(running.stdin.take(), &plan.input, stdin);
        let (out, err) = (running.stdout.take(), running.stderr.take());
        let output = async { tokio::join!(pump(out, &stdout), pump(err, &stderr)) };
        let (mut input, mut output) = (pin!(input), pin!(output));
        let (mut input_done, mut output_done, mut stopped) = (false, false, false);
        let end = loop {
            tokio::select! {
                end = running.ended() => break end,
                () = &mut stop, if !stopped => {
                    stopped = true;
                    running.stop();
                }
                _ = &mut output, if !output_done => output_done = true,
                () = &mut input, if !input_done => input_done = true,
            }
        };
        // From here on none of the script's processes is left.
        let kept = program.into_kept();
        let mut warnings = Vec::new();
        if !output_done {
            // The reader gets what is left of the time limit to take the last output, and at least a
            // second. Output that is not read is lost; what was captured is not.
            let by_itself = match &end {
                Ok(end) if !stopped && matches!(end.stopped, Stopped::Exited(_)) => Some(end.time),
                _ => None,
            };
            let rest = by_itself.map(|time| plan.limits.time.saturating_sub(time));
            let timeout = rest.unwrap_or_default().max(LAST_OUTPUT_TIMEOUT);
            let all = tokio::select! {
                all = tokio::time::timeout(timeout, output) => all.is_ok(),
                () = &mut stop, if !stopped => false,
            };
            if !all && by_itself.is_some() {
                let lost = "the last output was lost, because it was not read in time";
                warnings.push(lost.to_owned());
            }
        }
        drop(kept);
        let appeared = end
            .as_ref()
            .map(|end| end.appeared.iter().map(appeared_warning));
        warnings.extend(appeared.into_iter().flatten());
        let end = end.map_err(|error| failed(error.to_string()))?;
        let limits_hit = match end.stopped {
            Stopped::Disk => vec![Limit::Disk],
            Stopped::Scratch => vec![Limit::Scratch],
            _ => Vec::new(),
        };
        let (status, exit_code, signal) = match stopped {
            true => (Status::Cancelled, 130, None),
            false => status(end.stopped, &plan.limits, &stderr),
        };
        let artifacts = self.compare(&permit, before).await;
        let denials = Denials::new(denied);
        denials.count_times("net:*", end.refused_sockets);
        Ok(Ended {
            status,
            exit_code,
            signal,
            time: end.time,
            usage: Usage {
                fuel: None,
                peak_memory_bytes: end.usage.peak_memory,
                cpu_time_ms: end.usage.cpu.as_secs_f64() * 1e3,
            },
            denied: denials.take().0,
            denied_truncated: false,
            artifacts: artifacts.listed,
            artifacts_truncated: artifacts.truncated,
            isolation: isolation(&end),
            warnings,
            limits_hit,
        })
    }

    /// What a run changed in its writable directories.
    async fn compare(&self, permit: &Arc<Permit>, before: Option<Snapshot>) -> Artifacts {
        let truncated = Artifacts {
            truncated: lists_artifacts(permit.plan()),
            ..Artifacts::default()
        };
        let Some(before) = before else {
            return truncated;
        };
        let permit = Arc::clone(permit);
        // It leaves nothing behind, so it may be abandoned at once.
        let compare = Work::start(&self.stuck, Duration::ZERO, move |caller| {
            let in_time = in_time();
            before.compare(&Directories::of(permit.plan()), &|| {
                in_time() && !caller.is_gone()
            })
        });
        let Ok(mut compare) = compare else {
            return truncated;
        };
        match tokio::time::timeout(COMPARE_TIMEOUT, compare.result()).await {
            Ok(Ok(artifacts)) => artifacts,
            _ => truncated,
        }
    }
}

/// A program that was started, and what is kept until it has ended: its scratch directory, its slot, and files that were given
/// as bytes for it. Dropping it stops the program without waiting; another thread waits and then drops what is kept.
struct Program {
    running: Option<Running>,
    kept: Option<(Teardown, Arc<Permit>)>,
}

impl Program {
    /// Stops the program and waits for its end.
    async fn stop(&mut self) {
        if let Some(running) = &mut self.running {
            running.stop();
            // Nobody wants to know how it ended.
            let _ = running.ended().await;
        }
    }

    /// What is kept for a program that has ended.
    fn into_kept(mut self) -> Option<(Teardown, Arc<Permit>)> {
        self.running = None;
        self.kept.take()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abandon(self.kept.take());
        }
    }
}

impl Runtime for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn runs(&self, language: Language, tier: Tier) -> RunsIn {
        let asked = match tier {
            Tier::Auto => !language.has_wasm(),
            Tier::Wasm => false,
            Tier::Native => true,
        };
        if !asked || !interpreter::LANGUAGES.contains(&language) {
            return RunsIn::Nowhere;
        }
        match interpreter::find(language) {
            Some(_) => RunsIn::Native,
            None => RunsIn::NotInstalled,
        }
    }

    fn can_enforce(&self, plan: &Plan) -> Result<(), Refusal> {
        let name = show(plan.script());
        let refuse = |message: String| Refusal::new(Check::Isolation, message);
        let demand = plan.native;
        if demand == NativeMode::Refuse {
            let what = match &plan.target {
                Checked::Script(script) => {
                    format!("needs this machine's {}", script.script.interpreter())
                }
                Checked::Command(_) => "is a command of this machine".to_owned(),
            };
            let (by, hint) = &plan.native_by;
            let refuses = match by.as_str() {
                "" => "the policy refuses native scripts".to_owned(),
                by => format!("native scripts are refused{by}"),
            };
            return Err(refuse(format!("{refuses}, and `{name}` {what}")).hint(hint));
        }
        let confinement = self.confinement().map_err(|no_backend| {
            let (state, hint) = match no_backend.is_transient {
                true => (
                    "now",
                    "try again; another program of this user may use up what is missing",
                ),
                false => (
                    "on this machine",
                    "`skillrun doctor` shows what this machine offers",
                ),
            };
            refuse(format!("`{name}` cannot be confined {state}: {no_backend}")).hint(hint)
        })?;
        let backend = confinement.backend();
        if demand == NativeMode::Namespaces && backend != Backend::Namespaces {
            let why: Vec<String> = confinement
                .rejected()
                .iter()
                .map(|(_, error)| error.to_string())
                .collect();
            let (by, hint) = &plan.native_by;
            let (demands, hint) = match by.as_str() {
                "" => (
                    format!("the policy demands namespaces for `{name}`"),
                    format!("{hint} to accept Landlock and seccomp"),
                ),
                by => (
                    format!("namespaces for `{name}` are demanded{by}"),
                    hint.clone(),
                ),
            };
            let why = why.join("; ");
            let message = format!("{demands}, and they do not work on this machine: {why}");
            return Err(refuse(message).hint(hint));
        }
        command::check(plan)?;
        let cannot = |why: String| refuse(format!("`{name}` cannot be confined here: {why}"));
        let mounts = self.find_mounts(plan);
        if let Some(why) = mounts.unsupported_by(plan, backend, &self.log) {
            return Err(cannot(why).hint("use a separate directory as the workspace"));
        }
        for mount in plan.mounts().filter(|mount| mount.writable) {
            let given = mount.dir.try_clone().map_err(|error| plain(&error));
            let given = given.and_then(|folder| {
                let given = confinement.can_mount(folder.into(), &mount.host);
                given.map_err(|error| error.to_string())
            });
            given.map_err(|why| {
                let why = format!(
                    "scripts started by root need id-mapped mounts, which this file system does not \
                     support: {why}"
                );
                cannot(why).hint("use a directory on ext4, XFS, Btrfs or tmpfs")
            })?;
        }
        Ok(())
    }

    fn isolation(&self) -> Isolation {
        match self.confinement() {
            Ok(confinement) => isolation(confinement.probe()),
            Err(_) => Isolation {
                tier: "native",
                layers: Vec::new(),
                limits: LimitEnforcement {
                    time: Enforcement::Absent,
                    memory: Enforcement::Absent,
                    disk: Enforcement::Absent,
                    processes: Enforcement::Absent,
                },
            },
        }
    }

    fn run<'a>(
        &'a self,
        permit: Arc<Permit>,
        context: RunContext,
    ) -> BoxFuture<'a, Result<Ended, Error>> {
        Box::pin(self.execute(permit, context))
    }
}

/// Looks at the files in the writable directories, if the outcome lists artefacts. May block.
fn snapshot(plan: &Plan, caller: &Caller) -> Option<Snapshot> {
    let in_time = in_time();
    lists_artifacts(plan)
        .then(|| Snapshot::take(&Directories::of(plan), &|| in_time() && !caller.is_gone()))
        .flatten()
}

/// Whether there can be artefacts that the caller wants to know.
fn lists_artifacts(plan: &Plan) -> bool {
    plan.list_artifacts && plan.mounts().any(|mount| mount.writable)
}

/// The end of a run whose thread was abandoned before the script started.
fn hung_before_start(timeout: Duration, stderr: &Output, isolation: Isolation) -> Ended {
    let limit = show_duration(timeout);
    stderr.record(&format!("Timeout: not started within {limit}"));
    let why = "a host call did not return before the script started, so it will not start";
    Ended {
        warnings: vec![why.to_owned()],
        // Nobody looked.
        artifacts_truncated: true,
        ..Ended::before_start(Status::TimedOut, 124, isolation)
    }
}

/// Turns a permit into the job for its program.
fn job(
    plan: &Plan,
    backend: Backend,
    mounts: Vec<skillrun_confine::Mount>,
    scratch: &Scratch,
) -> Result<Job, Error> {
    let failed = |why: String| Error::Sandbox(why);
    let mut arguments = Vec::new();
    let (program, checked, script) = match &plan.target {
        Checked::Script(script) => {
            let base = Path::new(plan.skill_base().unwrap_or_default());
            let path = base.join(script.script.path());
            let language = script.script.language();
            if language == Language::JavaScript {
                // Links that another process puts into the path after the check are not followed.
                arguments.push("--preserve-symlinks-main".into());
            }
            arguments.push(path.clone().into_os_string());
            let program = interpreter::find(language);
            let program = program.ok_or_else(|| {
                failed(format!(
                    "`{}` is no longer installed",
                    language.interpreter()
                ))
            })?;
            let mut paths = vec![path];
            // Some interpreters resolve links before they open a script.
            paths.extend(Some(base.join(&script.real)).filter(|real| *real != paths[0]));
            let contents = script.source.clone();
            (program, None, Some(Script { paths, contents }))
        }
        Checked::Command(command) => match &command.script {
            // What the kernel does with such a file, but with the bytes that were hashed.
            Some(script) => {
                arguments.extend(script.argument.clone());
                // Node resolves links in the path before it opens the file, and finds modules beside the real one. It
                // gets the real path, and follows no link that another process puts into it.
                let is_node = script.is_for("node") || script.is_for("nodejs");
                if is_node {
                    arguments.push("--preserve-symlinks-main".into());
                }
                let path = if is_node {
                    &command.real
                } else {
                    &command.program
                };
                arguments.push(path.clone().into_os_string());
                let mut paths = vec![command.program.clone()];
                paths.extend(
                    Some(&command.real)
                        .filter(|real| **real != paths[0])
                        .cloned(),
                );
                let contents = script.source.clone();
                (
                    script.interpreter.clone(),
                    None,
                    Some(Script { paths, contents }),
                )
            }
            None => {
                let file = command
                    .file
                    .try_clone()
                    .map_err(|error| failed(plain(&error)))?;
                (command.program.clone(), Some(file.into()), None)
            }
        },
    };
    arguments.extend(plan.args.iter().map(Into::into));
    let (handle, path) = match backend {
        // The program has a file system of its own. A directory would be made on a disk, which takes as long as bash does.
        Backend::Namespaces => (unused_handle(), Ok(PathBuf::new())),
        Backend::Landlock => (scratch.open(), scratch.path()),
    };
    let scratch = skillrun_confine::Scratch {
        handle: handle.map_err(|error| failed(plain(&error)))?,
        path: path.map_err(|error| failed(plain(&error)))?,
        at: scratch_path(plan).into(),
        size: plan.limits.scratch,
    };
    let seen = scratch.seen_at(backend).to_string_lossy().into_owned();
    let environment = environment(plan, &seen).into_iter();
    let limits = &plan.limits;
    Ok(Job {
        program,
        checked,
        script,
        arguments,
        environment: environment
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        directory: plan.directory().unwrap_or(&seen).into(),
        mounts,
        scratch,
        network: plan.grants.iter().any(Grant::is_whole_network),
        limits: skillrun_confine::Limits {
            time: limits.time,
            memory: limits.memory,
            processes: limits.processes,
            file_size: limits.disk.max(limits.scratch),
            disk: limits.disk,
            open_files: limits.open_files,
        },
    })
}

/// A handle in place of a scratch directory that nothing uses.
fn unused_handle() -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/dev/null", flags, Mode::empty())?)
}

/// Turns the end into a status and exit code. What the script could not report itself is added to its
/// stderr.
fn status(stopped: Stopped, limits: &Limits, stderr: &Output) -> (Status, i32, Option<i32>) {
    const KILL: i32 = 9;
    let signaled = |signal: i32| {
        stderr.note(&format!("Signal: {}", signal_name(signal)));
        (Status::Signaled, -signal, Some(signal))
    };
    match stopped {
        Stopped::Exited(code) => (Status::Exited, code, None),
        Stopped::Signaled(signal) => signaled(signal),
        Stopped::Time => {
            let limit = show_duration(limits.time);
            // The outcome's warning says the same to a reader of the streams.
            stderr.record(&format!("Timeout: stopped after {limit}"));
            (Status::TimedOut, 124, None)
        }
        Stopped::Memory => {
            let limit = show_bytes(limits.memory);
            stderr.note(&format!(
                "Out of memory: the limit is {limit} ({})",
                Limit::Memory.key()
            ));
            (Status::OutOfMemory, 137, None)
        }
        Stopped::Disk => {
            let limit = show_bytes(limits.disk);
            stderr.note(&format!(
                "Disk limit: stopped after writing more than {limit}"
            ));
            signaled(KILL)
        }
        Stopped::ProtectedReplaced => {
            let text = "Stopped: another process replaced a protected path";
            stderr.note(text);
            signaled(KILL)
        }
        Stopped::ProtectedAppeared => {
            stderr.note("Stopped: a protected path appeared during the run");
            signaled(KILL)
        }
        Stopped::Scratch => {
            let limit = show_bytes(limits.scratch);
            stderr.note(&format!(
                "Scratch limit: stopped with more than {limit} in the scratch directory"
            ));
            signaled(KILL)
        }
    }
}

/// The warning about a protected path that appeared.
fn appeared_warning(appeared: &Appeared) -> String {
    let name = |path: &[u8]| show(&String::from_utf8_lossy(path));
    let change = match appeared.replaced {
        true => "was replaced",
        false => "appeared",
    };
    let fate = match &appeared.fate {
        Fate::Moved(to) => format!("; moved to `{}`", name(to)),
        Fate::Gone => " and was gone at its end".into(),
        Fate::Stays(why) => format!(" and could not be moved aside: {why}; remove it"),
    };
    let path = name(&appeared.path);
    format!("`{path}` is a protected path and {change} during the run{fate}")
}

fn isolation(end: &End) -> Isolation {
    let convert = |enforcement| match enforcement {
        skillrun_confine::Enforcement::Hard => Enforcement::Hard,
        skillrun_confine::Enforcement::Polled => Enforcement::Polled,
        skillrun_confine::Enforcement::Absent => Enforcement::Absent,
    };
    Isolation {
        tier: "native",
        layers: end.layers.iter().map(|layer| layer.word()).collect(),
        limits: LimitEnforcement {
            time: convert(end.enforcement.time),
            memory: convert(end.enforcement.memory),
            disk: convert(end.enforcement.disk),
            processes: convert(end.enforcement.processes),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn error(is_transient: bool) -> NoBackendError {
        NoBackendError {
            rejected: Vec::new(),
            is_transient,
        }
    }

    #[test]
    fn a_probe_that_failed_for_a_reason_that_may_pass_is_repeated() {
        let (probed, probes) = (Probed::default(), Cell::new(0));
        let probe = |is_transient| {
            let found = probed.get(|| {
                probes.set(probes.get() + 1);
                Err(error(is_transient))
            });
            found.map(|_| ()).map_err(|error| error.is_transient)
        };
        assert_eq!((probe(true), probe(true)), (Err(true), Err(true)));
        assert_eq!(probes.get(), 2);
        // What the machine does not offer is asked for once.
        assert_eq!((probe(false), probe(true)), (Err(false), Err(false)));
        assert_eq!(probes.get(), 3);
    }
}
