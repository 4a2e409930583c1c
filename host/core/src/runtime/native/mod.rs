//! Scripts in interpreters of this machine, confined by the kernel.
//!
//! Bash, Ruby and Perl run here, and Python and JavaScript if a script needs packages that only exist
//! for this machine. How well a script can be held depends on the machine, so it is tried before the
//! first one, and every outcome says what held it.

mod command;
mod interpreter;
mod places;
mod pump;

use super::{BoxFuture, Ended, Live, Runtime};
use crate::decision::{Check, Checked, Permit, Refusal, Runs};
use crate::error::Error;
use crate::files::{plain, show};
use crate::grant::Grant;
use crate::limits::{Limits, show_bytes, show_duration};
use crate::outcome::{Enforcement, Hold, Isolation, Status, Usage, signal_name};
use crate::policy::Native as Demand;
use crate::request::Tier;
use crate::runtime::Stream;
use crate::runtime::cache::Cache;
use crate::runtime::environment::{environment, scratch_path};
use crate::runtime::output::{Kept, Output};
use crate::runtime::scratch::{Scratch, Scratches};
use crate::skill::Language;
use places::Places;
use pump::{feed, pump};
use skillrun_confine::{
    Appeared, Backend, Confinement, End, Fate, Job, Place, Script, Stopped, Unable, Unavailable,
};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long output that nobody takes is waited for after the end of a script that was stopped.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Interpreters of this machine.
pub(crate) struct Native {
    sealed: Vec<PathBuf>,
    cache: Cache,
    log: Vec<PathBuf>,
    scratches: Scratches,
    confinement: OnceLock<Result<Confinement, Unavailable>>,
    /// One for each script that may run at once.
    free: Semaphore,
    /// Whether many scripts will run, so that work done ahead pays.
    ahead: bool,
}

/// What a machine offers to native scripts.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct NativeState {
    /// How scripts are held: `namespaces`, `landlock`, or nothing if they cannot be.
    pub backend: Option<&'static str>,
    /// The layers that held a trial, and how firmly.
    pub isolation: Option<Isolation>,
    /// What stronger ways met, or all if none works.
    pub reasons: Vec<String>,
    /// The interpreters that are installed, by name and path.
    pub interpreters: Vec<(&'static str, PathBuf)>,
    /// Those that are not.
    pub missing: Vec<&'static str>,
}

impl Native {
    /// `sealed` are the places that no script may write, `cache` and the files of the audit log among them; `slots`
    /// bounds how many scripts run at once.
    pub(crate) fn new(
        sealed: Vec<PathBuf>,
        cache: Cache,
        log: Vec<PathBuf>,
        slots: Option<u32>,
    ) -> Self {
        let free = slots.map_or(Semaphore::MAX_PERMITS, |slots| slots as usize);
        Self {
            sealed,
            cache,
            log,
            scratches: Scratches::new(),
            confinement: OnceLock::new(),
            free: Semaphore::new(free),
            ahead: slots.is_some(),
        }
    }

    /// The strongest way to hold a script that works here; tried once.
    fn confinement(&self) -> Result<&Confinement, &Unavailable> {
        let found = self.confinement.get_or_init(|| {
            let found = Confinement::find();
            match self.ahead {
                true => found.map(Confinement::ahead),
                false => found,
            }
        });
        found.as_ref()
    }

    pub(crate) fn state(&self) -> NativeState {
        let met = |(backend, unable): &(Backend, Unable)| format!("{}: {unable}", backend.word());
        let (backend, isolation, reasons) = match self.confinement() {
            Ok(found) => (
                Some(found.backend().word()),
                Some(isolation(found.trial())),
                found.passed_over().iter().map(met).collect(),
            ),
            Err(unavailable) => (None, None, unavailable.tried.iter().map(met).collect()),
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

    /// What a script sees. A cache that its workspace would lack is made before: another run may create
    /// it at any time, and would be taken for the script.
    fn places(&self, permit: &Permit, backend: Backend) -> Result<Places, Error> {
        let mut places = Places::new(permit, &self.sealed);
        if backend == Backend::Namespaces && places.lack(self.cache.folder()) {
            let made = self.cache.secure();
            made.map_err(|error| Error::Sandbox(plain(&error)))?;
            places = Places::new(permit, &self.sealed);
        }
        // Something may have been created since it was decided.
        match places.objection(permit, backend, &self.log) {
            Some(why) => Err(Error::Sandbox(why)),
            None => Ok(places),
        }
    }

    async fn execute(&self, permit: &Permit, live: Live) -> Result<Ended, Error> {
        let failed = |why: String| Error::Sandbox(why);
        let confinement = self
            .confinement()
            .map_err(|error| failed(error.to_string()))?;
        let Live {
            stdin,
            output: sink,
            stop,
        } = live;
        let mut stop = stop.unwrap_or_else(|| Box::pin(std::future::pending()));
        let slot = tokio::select! {
            slot = self.free.acquire() => slot.map_err(|error| failed(error.to_string()))?,
            () = &mut stop => return Ok(never_began(confinement)),
        };
        let scratch = self.scratches.make();
        let scratch = scratch.map_err(|error| failed(plain(&error)))?;
        let backend = confinement.backend();
        let places = self.places(permit, backend)?;
        let open = places.open(permit, backend)?;
        let job = job(permit, backend, open, scratch.path())?;
        let stdout = Output::new(Stream::Stdout, permit.limits.output, sink.clone());
        let stderr = Output::new(Stream::Stderr, permit.limits.output, sink);

        let started = confinement.start(job);
        let mut running = started.map_err(|error| failed(error.to_string()))?;
        let input = feed(running.stdin.take(), &permit.input, stdin);
        let (out, err) = (running.stdout.take(), running.stderr.take());
        let output = async { tokio::join!(pump(out, &stdout), pump(err, &stderr)) };
        let (mut input, mut output) = (pin!(input), pin!(output));
        let (mut given, mut taken, mut stopped) = (false, false, false);
        let end = loop {
            tokio::select! {
                end = running.ended() => break end,
                () = &mut stop, if !stopped => {
                    stopped = true;
                    running.stop();
                }
                _ = &mut output, if !taken => taken = true,
                () = &mut input, if !given => given = true,
            }
        };
        // From here on nothing of the script runs.
        drop(running);
        drop(slot);
        let mut warnings = Vec::new();
        if !taken {
            // A script that waits for its reader may do so as long as it may run, and so may its last
            // words. What nobody takes is lost; what was kept is not.
            let by_itself = match &end {
                Ok(end) if !stopped && matches!(end.stopped, Stopped::Exited(_)) => Some(end.time),
                _ => None,
            };
            let rest = by_itself.map(|time| permit.limits.time.saturating_sub(time));
            let patience = rest.unwrap_or_default().max(LAST_WORDS);
            let all = tokio::select! {
                all = tokio::time::timeout(patience, output) => all.is_ok(),
                () = &mut stop, if !stopped => false,
            };
            if !all && by_itself.is_some() {
                warnings.push("the last output was not read".to_owned());
            }
        }
        warnings.extend(take_down(scratch).await);
        let appeared = end.as_ref().map(|end| end.appeared.iter().map(told));
        warnings.extend(appeared.into_iter().flatten());
        let end = end.map_err(|error| failed(error.to_string()))?;
        let (status, exit_code, signal) = match stopped {
            true => (Status::Cancelled, 130, None),
            false => verdict(end.stopped, &permit.limits, &stderr),
        };
        Ok(Ended {
            status,
            exit_code,
            signal,
            stdout: stdout.take(),
            stderr: stderr.take(),
            time: end.time,
            usage: Usage {
                fuel: None,
                peak_memory_bytes: end.spent.peak_memory,
                cpu_time_ms: end.spent.cpu.as_secs_f64() * 1e3,
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

    fn runs(&self, language: Language, tier: Tier) -> Runs {
        let asked = match tier {
            Tier::Auto => !language.has_wasm(),
            Tier::Wasm => false,
            Tier::Native => true,
        };
        if !asked || !interpreter::LANGUAGES.contains(&language) {
            return Runs::Not;
        }
        match interpreter::find(language) {
            Some(_) => Runs::Natively,
            None => Runs::Uninstalled,
        }
    }

    fn holds(&self, permit: &Permit) -> Result<(), Refusal> {
        let name = show(permit.script());
        let refuse = |message: String| Refusal::new(Check::Isolation, message);
        let demand = permit.native;
        if demand == Demand::Refuse {
            let what = match &permit.subject {
                Checked::Script(script) => {
                    format!("needs {} of this machine", script.script.interpreter())
                }
                Checked::Command(_) => "is a command of this machine".to_owned(),
            };
            let message = format!("the policy refuses native scripts, and `{name}` {what}");
            return Err(refuse(message).hint("set native = \"confined\" in skillrun.toml"));
        }
        let confinement = self.confinement().map_err(|unavailable| {
            let message = format!("`{name}` cannot be confined on this machine: {unavailable}");
            refuse(message).hint("`skillrun doctor` shows what this machine offers")
        })?;
        let backend = confinement.backend();
        if demand == Demand::Namespaces && backend != Backend::Namespaces {
            let why: Vec<String> = confinement
                .passed_over()
                .iter()
                .map(|(_, unable)| unable.to_string())
                .collect();
            let message = format!(
                "the policy demands namespaces for `{name}`, and this machine has none to give: {}",
                why.join("; ")
            );
            let hint = "native = \"confined\" in skillrun.toml does with Landlock and seccomp";
            return Err(refuse(message).hint(hint));
        }
        command::check(permit)?;
        let cannot = |why: String| refuse(format!("`{name}` cannot be held here: {why}"));
        let places = Places::new(permit, &self.sealed);
        if let Some(why) = places.objection(permit, backend, &self.log) {
            return Err(cannot(why).hint("give the script a folder of its own as its workspace"));
        }
        for mount in permit.mounts.iter().filter(|mount| mount.writable) {
            let given = mount.dir.try_clone().map_err(|error| plain(&error));
            let given = given.and_then(|folder| {
                let given = confinement.can_give(folder.into_std_file().into(), &mount.host);
                given.map_err(|unable| unable.to_string())
            });
            given.map_err(|why| {
                let why = format!("the layer private_uid needs a file system for it: {why}");
                cannot(why).hint("give the script a workspace on ext4, XFS, Btrfs or in memory")
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

    fn run<'a>(&'a self, permit: &'a Permit, live: Live) -> BoxFuture<'a, Result<Ended, Error>> {
        Box::pin(self.execute(permit, live))
    }

    fn clean_up(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.scratches.clean_up())
    }
}

/// The program that a permit comes to.
fn job(
    permit: &Permit,
    backend: Backend,
    places: Vec<Place>,
    scratch: &Path,
) -> Result<Job, Error> {
    let failed = |why: String| Error::Sandbox(why);
    let mut arguments = Vec::new();
    let (program, checked, script) = match &permit.subject {
        Checked::Script(script) => {
            let base = Path::new(permit.skill_base().unwrap_or_default());
            let path = base.join(script.script.path());
            let language = script.script.language();
            if language == Language::JavaScript {
                // Links that somebody puts into the path after it was checked are not followed.
                arguments.push("--preserve-symlinks-main".into());
            }
            arguments.push(path.clone().into_os_string());
            let program = interpreter::find(language);
            let program =
                program.ok_or_else(|| failed(format!("`{}` is gone", language.interpreter())))?;
            let mut paths = vec![path];
            // Some interpreters resolve links before they open a script.
            paths.extend(Some(base.join(&script.real)).filter(|real| *real != paths[0]));
            let contents = script.source.clone();
            (program, None, Some(Script { paths, contents }))
        }
        Checked::Command(command) => match &command.script {
            // What the kernel makes of such a file, but from the bytes that were hashed.
            Some(script) => {
                arguments.extend(script.argument.clone());
                arguments.push(command.program.clone().into_os_string());
                let paths = vec![command.program.clone()];
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
    arguments.extend(permit.args.iter().map(Into::into));
    let handle = File::open(scratch).map_err(|error| failed(plain(&error)))?;
    let scratch = skillrun_confine::Scratch {
        handle: handle.into(),
        path: scratch.to_owned(),
        at: scratch_path(permit).into(),
        size: permit.limits.scratch,
    };
    let seen = scratch.seen_at(backend).to_string_lossy().into_owned();
    let environment = environment(permit, &seen).into_iter();
    let limits = &permit.limits;
    Ok(Job {
        program,
        checked,
        script,
        arguments,
        environment: environment
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        directory: permit
            .workspace
            .as_deref()
            .or(permit.skill_base())
            .unwrap_or(&seen)
            .into(),
        places,
        scratch,
        network: permit.grants.iter().any(Grant::is_whole_network),
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

/// What the way it ended means; what the script could not say itself is added to its stderr.
fn verdict(stopped: Stopped, limits: &Limits, stderr: &Output) -> (Status, i32, Option<i32>) {
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
            stderr.note(&format!("Timeout: stopped after {limit}"));
            (Status::TimedOut, 124, None)
        }
        Stopped::Memory => {
            let limit = show_bytes(limits.memory);
            stderr.note(&format!("Out of memory: the limit is {limit}"));
            (Status::OutOfMemory, 137, None)
        }
        Stopped::Disk => {
            let limit = show_bytes(limits.disk);
            stderr.note(&format!(
                "Disk limit: stopped after writing more than {limit}"
            ));
            signaled(KILL)
        }
        Stopped::Seal => {
            let text = "Stopped: a file that it must not change was replaced by another program";
            stderr.note(text);
            signaled(KILL)
        }
        Stopped::Protected => {
            stderr.note("Stopped: a protected path appeared during the run");
            signaled(KILL)
        }
        Stopped::Scratch => {
            let limit = show_bytes(limits.scratch);
            stderr.note(&format!(
                "Disk limit: stopped with more than {limit} of scratch"
            ));
            signaled(KILL)
        }
    }
}

/// The warning about a protected path that appeared.
fn told(appeared: &Appeared) -> String {
    let name = |path: &[u8]| show(&String::from_utf8_lossy(path));
    let what = match &appeared.fate {
        Fate::Moved(to) => format!("appeared during the run; moved to `{}`", name(to)),
        Fate::Gone => "appeared during the run, and had vanished again at its end".into(),
        Fate::Stays(why) => {
            format!("appeared during the run, and could not be moved aside: {why}; remove it")
        }
    };
    format!("`{}` is a protected path and {what}", name(&appeared.path))
}

/// What came of a run that was stopped while it waited for a slot.
fn never_began(confinement: &Confinement) -> Ended {
    Ended {
        status: Status::Cancelled,
        exit_code: 130,
        signal: None,
        stdout: Kept::default(),
        stderr: Kept::default(),
        time: Duration::ZERO,
        usage: Usage::default(),
        isolation: isolation(confinement.trial()),
        warnings: Vec::new(),
    }
}

fn isolation(end: &End) -> Isolation {
    let hold = |hold| match hold {
        skillrun_confine::Hold::Hard => Hold::Hard,
        skillrun_confine::Hold::Polled => Hold::Polled,
        skillrun_confine::Hold::Absent => Hold::Absent,
    };
    Isolation {
        tier: "native",
        layers: end.layers.iter().map(|layer| layer.word()).collect(),
        limits: Enforcement {
            time: hold(end.holds.time),
            memory: hold(end.holds.memory),
            disk: hold(end.holds.disk),
            processes: hold(end.holds.processes),
        },
    }
}

/// Removes a run's directory, or has it removed; returns a warning if something stays behind.
async fn take_down(scratch: Scratch) -> Option<String> {
    let removed = match scratch.leave() {
        Ok(Some(rest)) => tokio::task::spawn_blocking(move || rest.finish())
            .await
            .unwrap_or(Ok(())),
        left => left.map(drop),
    };
    let error = removed.err()?;
    Some(format!(
        "the scratch directory was not removed: {}",
        plain(&error)
    ))
}
