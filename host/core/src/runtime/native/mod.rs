//! Runs scripts in interpreters of this machine, confined by the kernel.
//!
//! Bash, Ruby and Perl run here, and Python and JavaScript if a script needs packages that only exist
//! for this machine. How well a script can be confined depends on the machine, so the machine is
//! probed before the first script, and every outcome names the layers.

mod command;
mod interpreter;
mod mounts;
mod pump;

use super::{BoxFuture, Ended, RunContext, Runtime, Teardown};
use crate::decision::Permit;
use crate::error::Error;
use crate::files::{plain, show};
use crate::grant::Grant;
use crate::limits::{Limits, show_bytes, show_duration};
use crate::outcome::{Enforcement, Isolation, LimitEnforcement, Status, Usage, signal_name};
use crate::plan::{Checked, Plan, RunsIn};
use crate::policy::NativeMode;
use crate::refusal::{Check, Refusal};
use crate::request::Tier;
use crate::runtime::cache::Cache;
use crate::runtime::environment::{environment, scratch_path};
use crate::runtime::output::Output;
use crate::runtime::scratch::Scratch;
use crate::skill::Language;
use mounts::MountPlan;
use pump::{feed, pump};
use skillrun_confine::{
    Appeared, Backend, ConfineError, Confinement, End, Fate, Job, NoBackendError, Script, Stopped,
};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long to wait for unread output after a script was stopped.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// Interpreters of this machine.
pub(crate) struct Native {
    protected: Arc<[PathBuf]>,
    cache: Cache,
    log: Vec<PathBuf>,
    confinement: OnceLock<Result<Confinement, NoBackendError>>,
    /// Whether many scripts will run, so that a spare supervisor pays off.
    keeps_spare: bool,
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
    /// `protected` are the protected paths, `cache` and the files of the audit log among them; `slots`
    /// bounds how many scripts run at the same time.
    pub(crate) fn new(
        protected: Arc<[PathBuf]>,
        cache: Cache,
        log: Vec<PathBuf>,
        slots: Option<u32>,
    ) -> Self {
        Self {
            protected,
            cache,
            log,
            confinement: OnceLock::new(),
            keeps_spare: slots.is_some(),
        }
    }

    /// The strongest backend that works here; probed once.
    fn confinement(&self) -> Result<&Confinement, &NoBackendError> {
        let found = self.confinement.get_or_init(|| {
            let found = Confinement::find();
            match self.keeps_spare {
                true => found.map(Confinement::with_spare_supervisor),
                false => found,
            }
        });
        found.as_ref()
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

    /// The mounts of a script. A cache directory that would be missing in its workspace is created
    /// first: another run may create it at any time, and the script would be blamed.
    ///
    /// Without namespaces nothing in a workspace can be read-only, so a run whose workspace contains
    /// the cache is refused. So the cache is not created here: that would make every later run in this
    /// workspace refused. If another run creates it meanwhile, this run ends.
    fn mount_plan(&self, plan: &Plan, backend: Backend) -> Result<MountPlan, Error> {
        let mut mounts = MountPlan::new(plan, &self.protected);
        if backend == Backend::Namespaces && mounts.is_missing(self.cache.folder()) {
            let made = self.cache.create();
            made.map_err(|error| Error::Sandbox(plain(&error)))?;
            mounts = MountPlan::new(plan, &self.protected);
        }
        // A path may have been created since the decision.
        match mounts.unsupported_by(plan, backend, &self.log) {
            Some(why) => Err(Error::Sandbox(why)),
            None => Ok(mounts),
        }
    }

    async fn execute(&self, plan: &Plan, context: RunContext) -> Result<Ended, Error> {
        let failed = |why: String| Error::Sandbox(why);
        let confinement = self
            .confinement()
            .map_err(|error| failed(error.to_string()))?;
        let RunContext {
            stdin,
            stdout,
            stderr,
            stop,
            scratch,
            slot,
        } = context;
        let teardown = Teardown::new(scratch, slot);
        let mut stop = stop.unwrap_or_else(|| Box::pin(std::future::pending()));
        let backend = confinement.backend();
        let mounts = self.mount_plan(plan, backend)?;
        let open = mounts.open(plan, backend)?;
        let scratch = teardown.scratch();
        let scratch = scratch.ok_or_else(|| failed("there is no scratch directory".into()))?;
        let job = job(plan, backend, open, scratch)?;

        let started = confinement.start(job);
        let mut running = started.map_err(|error| failed(error.to_string()))?;
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
        drop(running);
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
        drop(teardown);
        let appeared = end
            .as_ref()
            .map(|end| end.appeared.iter().map(appeared_warning));
        warnings.extend(appeared.into_iter().flatten());
        let end = end.map_err(|error| failed(error.to_string()))?;
        let (status, exit_code, signal) = match stopped {
            true => (Status::Cancelled, 130, None),
            false => status(end.stopped, &plan.limits, &stderr),
        };
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
            isolation: isolation(&end),
            warnings,
        })
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
            let message = format!("the policy refuses native scripts, and `{name}` {what}");
            return Err(refuse(message).hint("set native = \"confined\" in skillrun.toml"));
        }
        let confinement = self.confinement().map_err(|no_backend| {
            let message = format!("`{name}` cannot be confined on this machine: {no_backend}");
            refuse(message).hint("`skillrun doctor` shows what this machine offers")
        })?;
        let backend = confinement.backend();
        if demand == NativeMode::Namespaces && backend != Backend::Namespaces {
            let why: Vec<String> = confinement
                .rejected()
                .iter()
                .map(|(_, error)| error.to_string())
                .collect();
            let message = format!(
                "the policy demands namespaces for `{name}`, and they do not work on this machine: \
                 {}",
                why.join("; ")
            );
            let hint = "set native = \"confined\" in skillrun.toml to accept Landlock and seccomp";
            return Err(refuse(message).hint(hint));
        }
        command::check(plan)?;
        let cannot = |why: String| refuse(format!("`{name}` cannot be confined here: {why}"));
        let mounts = MountPlan::new(plan, &self.protected);
        if let Some(why) = mounts.unsupported_by(plan, backend, &self.log) {
            return Err(cannot(why).hint("use a separate directory as the workspace"));
        }
        for mount in plan.mounts().filter(|mount| mount.writable) {
            let given = mount.dir.try_clone().map_err(|error| plain(&error));
            let given = given.and_then(|folder| {
                let given = confinement.can_mount(folder.into_std_file().into(), &mount.host);
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

    fn is_prepared(&self) -> Result<bool, Error> {
        Ok(true)
    }

    fn prepare(&self) -> BoxFuture<'_, Result<Option<String>, Error>> {
        Box::pin(async { Ok(None) })
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
        Box::pin(async move { self.execute(permit.plan(), context).await })
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
    let handle = scratch.open().map_err(|error| failed(plain(&error)))?;
    let scratch = skillrun_confine::Scratch {
        handle,
        path: scratch.path().map_err(|error| failed(plain(&error)))?,
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
                "Out of memory: the limit is {limit} (raise it with --memory)"
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
    let what = match &appeared.fate {
        Fate::Moved(to) => format!("appeared during the run; moved to `{}`", name(to)),
        Fate::Gone => "appeared during the run and was gone at its end".into(),
        Fate::Stays(why) => {
            format!("appeared during the run and could not be moved aside: {why}; remove it")
        }
    };
    format!("`{}` is a protected path and {what}", name(&appeared.path))
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
