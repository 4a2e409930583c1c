//! `skillrun expand`: copies a model's text from standard input to standard output and runs the markers in it.
//!
//! Text is passed on as it arrives. Each marker is decided, and a person asked, before any text after it is shown.
//! Markers run one after the other, and the text waits only for those whose output replaces them.

use crate::args::Expand;
use crate::ask::{self, AnswerSource, report_refused};
use crate::denied::Flags;
use crate::failure::{Failure, INTERRUPTED, REFUSED, ignore_closed_pipe, plain, print_message};
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Output};
use crate::own_file::{Access, OwnFile};
use crate::paths::RunIn;
use crate::{agent, denied, load, paths};
use skillrun::expand::{Marker, MarkerKind, Piece};
use skillrun::limits::{Limit, LimitError};
use skillrun::{
    Check, Decision, Expander, Host, Limits, Outcome, Permit, Policy, Ran, Refusal, Skill, Status,
    Target,
};
use skillrun_skill::text::{shell_word, show};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use tokio::sync::mpsc as queue;

/// Permitted markers that may wait to run; when there are more, the text waits.
const QUEUE: usize = 64;

pub(crate) fn expand(args: &Expand) -> Result<u8, Failure> {
    let mut skills = Vec::new();
    for name in &args.skill {
        skills.push(args.agent.find(name)?);
    }
    let max_output = skillrun::limits::parse_bytes(&args.max_output);
    let limit = |error: LimitError| Failure::host(error.to_string());
    let max_output = max_output.map_err(limit)?;
    let kept = Limits {
        output: max_output,
        ..Limits::default()
    };
    kept.check().map_err(limit)?;
    let policy = args.agent.policy(&skills)?;
    let recorded = |failure| {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name()).collect();
        agent::recorded(failure, &names.join(" "))
    };
    let (answers, events) = own_files(args, &policy, &skills).map_err(recorded)?;
    let protected = answers.iter().chain(&events);
    let protected = protected.filter_map(|file| file.path.clone());
    let writable = args.agent.writable_roots(&policy, &skills);
    let (skills_typed, protected) = (&args.agent.skills, protected.collect());
    let run_in = RunIn::Workers(&skills);
    let host = paths::host_protecting(&policy, skills_typed, &writable, protected, run_in);
    let host = host.map_err(recorded)?;
    let host: &'static Host = Box::leak(Box::new(host));
    interrupt::set_host(host);
    let asks = args.agent.answer_source(answers)?;
    let events = Events(events.map(|own| Arc::new(Mutex::new(own.file))));
    let runner = Runner::start(host, events.clone(), args.agent.quiet)?;
    let mut filter = Filter {
        args,
        policy,
        host,
        skills,
        asks,
        max_output,
        events,
        runner,
        out: output::text(),
        refused: false,
        warned: HashSet::new(),
        failed: None,
    };
    let passed = filter.pass(Expander::new(filter.skills.clone()));
    let Filter {
        runner,
        refused,
        failed,
        ..
    } = filter;
    if ask::stopped() {
        // Stop the markers that still run, too.
        interrupt::stop(ask::stopped_by_signal())?;
    }
    let refused_later = Arc::clone(&runner.refused);
    // If the runner failed, that is why the text could not continue.
    runner.finish()?;
    ignore_closed_pipe(passed)?;
    match failed {
        _ if ask::stopped() => Ok(INTERRUPTED),
        Some(failure) => Err(failure),
        None if refused || refused_later.load(Ordering::Relaxed) => Ok(REFUSED),
        None => Ok(0),
    }
}

/// Opens the answers and the events file, before anything runs.
fn own_files(
    args: &Expand,
    policy: &Policy,
    skills: &[Arc<Skill>],
) -> Result<(Option<OwnFile>, Option<OwnFile>), Failure> {
    let writable = args.agent.writable(policy, skills);
    let open = |path: &PathBuf| {
        paths::reject_own_file("events", path, policy)?;
        OwnFile::open("events", path, Access::Append, &writable)
    };
    let answers = args.agent.answers(&writable)?;
    let events = args.events.as_ref().map(open).transpose()?;
    if let (Some(answers), Some(events)) = (&answers, &events)
        && answers.path.is_some()
        && answers.path == events.path
    {
        return Err(Failure::host("--answers and --events name the same file"));
    }
    Ok((answers, events))
}

struct Filter<'a> {
    args: &'a Expand,
    policy: Policy,
    host: &'static Host,
    skills: Vec<Arc<Skill>>,
    asks: AnswerSource,
    /// Bytes kept of each stream.
    max_output: u64,
    events: Events,
    runner: Runner,
    /// Escaped at a terminal, where a person may be asked: no text of a model or a script may control it.
    out: Output<io::StdoutLock<'static>>,
    refused: bool,
    /// Skills whose use by the name in `SKILL.md` has been reported.
    warned: HashSet<PathBuf>,
    /// Why no further marker runs. The text is still passed on.
    failed: Option<Failure>,
}

impl Filter<'_> {
    fn pass(&mut self, mut expander: Expander) -> Result<(), Failure> {
        let mut input = io::stdin().lock();
        let mut bytes = vec![0; 64 * 1024];
        loop {
            let count = match input.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            let pieces = match count {
                0 => expander.finish(),
                count => expander.push(&bytes[..count]),
            };
            for piece in pieces {
                match piece {
                    Piece::Text(text) => self.out.write_all(text.as_bytes())?,
                    Piece::Marker(_) if self.failed.is_some() => {}
                    Piece::Marker(marker) => match self.marker(marker) {
                        Ok(text) => self.out.write_all(text.as_bytes())?,
                        Err(failure) => self.failed = Some(failure),
                    },
                }
                if ask::stopped() {
                    return Ok(());
                }
            }
            self.out.flush()?;
            if count == 0 {
                return Ok(());
            }
        }
    }

    /// Warns as `run` does if a marker names a skill by the name in its `SKILL.md`, once for each skill.
    fn warn_by_front_matter(&mut self, marker: &Marker) {
        let Target::Script { skill, .. } = &marker.request.target else {
            return;
        };
        let args = self.args;
        let is_shown = args.agent.grants_something() || !args.agent.quiet;
        if marker.by_front_matter && self.warned.insert(skill.path().to_owned()) && is_shown {
            let _lock = lock(&self.runner.stderr_lock);
            // Folders on the search path were not considered.
            agent::warn_by_front_matter(skill, "no folder of a skill that `--skill` names is");
        }
    }

    /// The refusal of a command that is not granted. If it has the file name or the stem of a script, the script was probably
    /// meant: a path is missing then, not a grant. A stem may also be a command of this machine.
    fn with_path(&self, marker: &Marker, refusal: Refusal) -> Refusal {
        let (Target::Command(name), Check::Grants) = (&marker.request.target, refusal.check) else {
            return refusal;
        };
        let scripts = || self.skills.iter().flat_map(|skill| skill.scripts());
        let has_name = |path: &str| path.rsplit_once('/').is_some_and(|(_, file)| file == name);
        let by_file = scripts().find(|script| name.contains('.') && has_name(script.path()));
        let by_stem = || scripts().find(|script| script.name() == name);
        let (script, grant) = match by_file {
            Some(script) => (Some(script), None),
            None => (by_stem(), crate::failure::hint(&refusal)),
        };
        let Some(path) = script.and_then(|script| shell_word(script.path())) else {
            return refusal;
        };
        let mut hint = format!("to run the script, write `{path}`");
        if let Some(grant) = grant {
            hint = format!("{hint}; to run a command of this name, {grant}");
        }
        Refusal {
            hint: Some(hint),
            remedy: None,
            ..refusal
        }
    }

    /// Decides and runs a marker; returns the text that replaces it.
    fn marker(&mut self, marker: Marker) -> Result<String, Failure> {
        // The text before it must be visible when a person is asked, or while we wait for its output.
        self.out.flush()?;
        self.warn_by_front_matter(&marker);
        let mut request = self
            .args
            .agent
            .request(&self.policy, marker.request.clone());
        // If there are no rules for it, `decide` refuses it and records why.
        let rules = request.target.rules(&self.policy);
        let mut limits = rules.map_or_else(|_| Limits::default(), |rules| rules.limits());
        limits.output = limits.output.min(self.max_output);
        request.limits = Some(limits);
        // The events contain the whole outcome.
        request.list_artifacts = self.args.events.is_some();
        let decision = match self.host.blocking().decide(&self.policy, request)? {
            Decision::Refused(refusal) => Decision::Refused(self.with_path(&marker, refusal)),
            decision => decision,
        };
        let decided = {
            let _lock = lock(&self.runner.stderr_lock);
            let decided = self.asks.answer_one(self.host, decision)?;
            if decided.is_err() && !self.args.agent.quiet {
                output::finish_line();
                report_refused(std::slice::from_ref(&decided));
            }
            decided
        };
        match decided {
            Ok(permit) => {
                let waits = marker.kind == MarkerKind::Capture && !self.args.hand_back;
                self.runner.run(marker, permit, waits)
            }
            Err(refusal) => {
                self.refused = true;
                self.events.write(&marker, &Ran::Refused(refusal))?;
                Ok(String::new())
            }
        }
    }
}

/// The events file, with one line per marker.
#[derive(Clone)]
struct Events(Option<Arc<Mutex<File>>>);

impl Events {
    fn write(&self, marker: &Marker, ran: &Ran) -> Result<(), Failure> {
        let Some(file) = &self.0 else {
            return Ok(());
        };
        let fail = |error: io::Error| Failure::host(format!("events: {}", plain(&error)));
        let mut line = serde_json::to_vec(&marker.event(ran)).map_err(|e| fail(e.into()))?;
        line.push(b'\n');
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).map_err(fail)
    }
}

/// Runs markers one after the other on a thread of its own.
struct Runner {
    tasks: queue::Sender<Task>,
    /// Held while a thread asks or prints a message, so that no message appears in the middle of a question.
    stderr_lock: Arc<Mutex<()>>,
    /// Whether a permitted marker was refused when it was about to run.
    refused: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<(), Failure>>,
}

struct Task {
    marker: Marker,
    permit: Permit,
    /// Receives the text that replaces the marker, if the text waits for it.
    answer: Option<mpsc::Sender<String>>,
}

impl Runner {
    fn start(host: &'static Host, events: Events, quiet: bool) -> Result<Self, Failure> {
        let (tasks, queue) = queue::channel(QUEUE);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // Ctrl-C is handled from the first byte of the text on.
        let interrupted = interrupt::interrupted()?;
        let stderr_lock: Arc<Mutex<()>> = Arc::default();
        let own = Arc::clone(&stderr_lock);
        let refused: Arc<AtomicBool> = Arc::default();
        let refused_later = Arc::clone(&refused);
        let thread = std::thread::Builder::new().spawn(move || {
            let worked = runtime.block_on(async {
                let report = |marker: &Marker, ran: &Ran| {
                    let _lock = lock(&own);
                    refused_later.fetch_or(matches!(ran, Ran::Refused(_)), Ordering::Relaxed);
                    if !quiet {
                        report(marker, ran);
                    }
                };
                work(host, queue, &events, quiet, report, interrupted).await
            });
            // A host call that does not return must not keep the process from exiting.
            runtime.shutdown_background();
            worked
        })?;
        Ok(Self {
            tasks,
            stderr_lock,
            refused,
            thread,
        })
    }

    /// Queues a marker. If the text waits for it, returns the text that replaces it, otherwise nothing.
    fn run(&self, marker: Marker, permit: Permit, waits: bool) -> Result<String, Failure> {
        let (sender, answer) = mpsc::channel();
        let task = Task {
            marker,
            permit,
            answer: waits.then_some(sender),
        };
        let gone = || Failure::host("the thread that runs markers has ended");
        self.tasks.blocking_send(task).map_err(|_| gone())?;
        match waits {
            true => answer.recv().map_err(|_| gone()),
            false => Ok(String::new()),
        }
    }

    /// Waits for the last marker.
    fn finish(self) -> Result<(), Failure> {
        drop(self.tasks);
        let gone = || Failure::host("the thread that runs markers has ended");
        self.thread.join().map_err(|_| gone())?
    }
}

async fn work(
    host: &'static Host,
    mut queue: queue::Receiver<Task>,
    events: &Events,
    quiet: bool,
    report: impl Fn(&Marker, &Ran),
    mut interrupted: Interrupted,
) -> Result<(), Failure> {
    loop {
        let task = tokio::select! {
            biased;
            () = &mut interrupted => {
                host.clean_up().await;
                exit(INTERRUPTED);
            }
            task = queue.recv() => task,
        };
        let Some(Task {
            marker,
            permit,
            answer,
        }) = task
        else {
            break;
        };
        let ran = load::run_permitted(host, permit, quiet).await?;
        report(&marker, &ran);
        events.write(&marker, &ran)?;
        if let Some(answer) = answer {
            // The receiver is gone only if passing on the text has failed.
            let _ = answer.send(marker.text(&ran).to_owned());
        }
    }
    host.clean_up().await;
    Ok(())
}

/// Exits the process while the main thread may have a question open.
fn exit(code: u8) -> ! {
    ask::restore_terminal();
    std::process::exit(code.into())
}

fn lock(stderr_lock: &Mutex<()>) -> MutexGuard<'_, ()> {
    stderr_lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints what went wrong with a marker, for readers who see no events.
fn report(marker: &Marker, ran: &Ran) {
    let name = show(marker.words.first().map_or("", String::as_str));
    let what = format!("marker {} `{name}`", marker.number);
    let report_line = |label: &str, text: &str| {
        output::finish_line();
        print_message(label, text);
    };
    match ran {
        Ran::Ended(outcome) => {
            if let Some(how) = failure_of(outcome) {
                report_line("warning", &format!("{what} {how}"));
            }
            for warning in &outcome.warnings {
                report_line("warning", warning);
            }
            if outcome.limits_hit.contains(&Limit::Output) {
                let hint = format!("raise {} with --max-output", Limit::Output.key());
                report_line("hint", &hint);
            }
            // Last: a script that catches its errors says nothing about it.
            if !outcome.success
                && let Some(line) = denied::line(outcome, Flags::OfAgent)
            {
                report_line("denied", &format!("{what}: {line}"));
            }
        }
        Ran::Failed(why) => report_line("error", &format!("{what}: {why}")),
        Ran::Refused(refusal) => report_line(refusal.word(), &refusal.message),
    }
}

fn failure_of(outcome: &Outcome) -> Option<String> {
    match outcome.status {
        Status::Exited if outcome.exit_code == 0 => None,
        Status::Exited => Some(format!("ended with exit code {}", outcome.exit_code)),
        // The outcome has a warning about it.
        Status::TimedOut => None,
        status => Some(format!("ended with status `{}`", status.word())),
    }
}
