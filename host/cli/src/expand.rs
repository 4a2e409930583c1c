//! `skillrun expand`: what a model writes in, the same text with its markers run out.
//!
//! Text is passed on as it comes. A marker is decided, and a person asked, before any text behind it is shown;
//! markers run one after the other, and only those whose output belongs into the text hold it up.

use crate::args::Expand;
use crate::ask::{self, Asks, tell_refused};
use crate::failure::{Failure, INTERRUPTED, REFUSED, plain, say};
use crate::interrupt::{self, Interrupted};
use crate::own_file::{Access, OwnFile};
use crate::{agent, load, places};
use skillrun::{
    Decision, Expander, Host, LimitError, Limits, Marker, MarkerKind, Outcome, Permit, Piece,
    Policy, Ran, Skill, Status,
};
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use tokio::sync::mpsc as queue;

/// Markers that were permitted and wait for their turn; beyond them the text waits.
const QUEUE: usize = 64;

pub(crate) fn expand(args: &Expand) -> Result<u8, Failure> {
    let mut skills = Vec::new();
    for name in &args.skill {
        skills.push(args.agent.find(name)?);
    }
    let most = skillrun::parse_bytes(&args.max_output);
    let limit = |error: LimitError| Failure::host(error.to_string());
    let most = most.map_err(limit)?;
    let kept = Limits {
        output: most,
        ..Limits::default()
    };
    kept.check().map_err(limit)?;
    let policy = args.agent.policy(&skills)?;
    let (answers, events) = own_files(args, &policy, &skills).map_err(|failure| {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name()).collect();
        agent::recorded(failure, &names.join(" "))
    })?;
    let protected = answers.iter().chain(&events);
    let protected = protected.filter_map(|file| file.path.clone());
    let writable = args.agent.writable_roots(&policy, &skills);
    let (skills_typed, protected) = (&args.agent.skills, protected.collect());
    let host = places::host_protecting(&policy, skills_typed, &writable, protected)?;
    let host: &'static Host = Box::leak(Box::new(host));
    interrupt::remember(host);
    let asks = args.agent.asks(answers)?;
    let events = Events(events.map(|own| Arc::new(Mutex::new(own.file))));
    let runner = Runner::start(host, events.clone(), args.agent.quiet)?;
    let mut filter = Filter {
        args,
        policy,
        host,
        asks,
        most,
        events,
        runner,
        out: Out::new(),
        refused: false,
        failed: None,
    };
    let passed = filter.pass(Expander::new(skills));
    let Filter {
        runner,
        refused,
        failed,
        ..
    } = filter;
    if ask::stopped() {
        // What runs meanwhile ends, too.
        interrupt::stop()?;
    }
    let late = Arc::clone(&runner.refused);
    // What the runner failed at is why the text could not go on.
    runner.finish()?;
    passed?;
    match failed {
        _ if ask::stopped() => Ok(INTERRUPTED),
        Some(failure) => Err(failure),
        None if refused || late.load(Ordering::Relaxed) => Ok(REFUSED),
        None => Ok(0),
    }
}

/// The answers and the events, opened before anything runs.
fn own_files(
    args: &Expand,
    policy: &Policy,
    skills: &[Arc<Skill>],
) -> Result<(Option<OwnFile>, Option<OwnFile>), Failure> {
    let writable = args.agent.writable(policy, skills);
    let open = |path: &PathBuf| OwnFile::open("events", path, Access::Append, &writable);
    let answers = args.agent.answers(&writable)?;
    Ok((answers, args.events.as_ref().map(open).transpose()?))
}

struct Filter<'a> {
    args: &'a Expand,
    policy: Policy,
    host: &'static Host,
    asks: Asks,
    /// Bytes kept of each stream.
    most: u64,
    events: Events,
    runner: Runner,
    out: Out,
    refused: bool,
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
                    Piece::Text(text) => self.out.write(&text)?,
                    Piece::Marker(_) if self.failed.is_some() => {}
                    Piece::Marker(marker) => match self.marker(marker) {
                        Ok(text) => self.out.write(&text)?,
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

    /// Has a marker decided and run; returns what takes its place.
    fn marker(&mut self, marker: Marker) -> Result<String, Failure> {
        // What stands before it is there when a person is asked, or waits for its output.
        self.out.flush()?;
        let mut request = self
            .args
            .agent
            .request(&self.policy, marker.request.clone());
        // If there are no rules for it, deciding says why and records it.
        let rules = request.subject.rules(&self.policy);
        let mut limits = rules.map_or_else(|_| Limits::default(), |rules| rules.limits());
        limits.output = limits.output.min(self.most);
        request.limits = Some(limits);
        let decision = self.host.decide(&self.policy, request)?;
        let decisions = {
            let _turn = turn(&self.runner.voice);
            let decisions = self.asks.settle(self.host, vec![decision])?;
            if !self.args.agent.quiet {
                tell_refused(&decisions);
            }
            decisions
        };
        match decisions.into_iter().next() {
            Some(Decision::Permitted(permit)) => {
                let waits = marker.kind == MarkerKind::Capture && !self.args.hand_back;
                self.runner.run(marker, permit, waits)
            }
            Some(Decision::Refused(refusal)) => {
                self.refused = true;
                self.events.write(&marker, &Ran::Refused(refusal))?;
                Ok(String::new())
            }
            other => Err(Failure::host(format!("unknown decision {other:?}"))),
        }
    }
}

/// Standard output. Where a person is asked at the same terminal, nothing that a model or a script wrote may
/// steer it.
struct Out {
    out: io::StdoutLock<'static>,
    terminal: bool,
}

impl Out {
    fn new() -> Self {
        let out = io::stdout().lock();
        let terminal = out.is_terminal();
        Self { out, terminal }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if !self.terminal {
            return self.out.write_all(text.as_bytes());
        }
        for part in text.split_inclusive(['\n', '\t']) {
            let shown = part.trim_end_matches(['\n', '\t']);
            self.out.write_all(skillrun::show_name(shown).as_bytes())?;
            self.out.write_all(&part.as_bytes()[shown.len()..])?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Where it is told what became of the markers.
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

/// Runs markers one after the other beside the text.
struct Runner {
    tasks: queue::Sender<Task>,
    /// Held by whoever speaks: what is said of a marker does not come into a question.
    voice: Arc<Mutex<()>>,
    /// Whether something was refused when its turn came.
    refused: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<(), Failure>>,
}

struct Task {
    marker: Marker,
    permit: Permit,
    /// Gets what takes the marker's place, if somebody waits for it.
    answer: Option<mpsc::Sender<String>>,
}

impl Runner {
    fn start(host: &'static Host, events: Events, quiet: bool) -> Result<Self, Failure> {
        let (tasks, queue) = queue::channel(QUEUE);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // From the first byte of the text on.
        let interrupted = interrupt::interrupted()?;
        let voice: Arc<Mutex<()>> = Arc::default();
        let own = Arc::clone(&voice);
        let refused: Arc<AtomicBool> = Arc::default();
        let late = Arc::clone(&refused);
        let thread = std::thread::Builder::new().spawn(move || {
            let worked = runtime.block_on(async {
                let tell = |marker: &Marker, ran: &Ran| {
                    let _turn = turn(&own);
                    late.fetch_or(matches!(ran, Ran::Refused(_)), Ordering::Relaxed);
                    if !quiet {
                        tell(marker, ran);
                    }
                };
                work(host, queue, &events, quiet, tell, interrupted).await
            });
            // A call of a script that does not return must not hold the process.
            runtime.shutdown_background();
            worked
        })?;
        Ok(Self {
            tasks,
            voice,
            refused,
            thread,
        })
    }

    /// Has a marker run; returns what takes its place: nothing, unless the text waits for it.
    fn run(&self, marker: Marker, permit: Permit, waits: bool) -> Result<String, Failure> {
        let (sender, answer) = mpsc::channel();
        let task = Task {
            marker,
            permit,
            answer: waits.then_some(sender),
        };
        let gone = || Failure::host("what runs markers has ended");
        self.tasks.blocking_send(task).map_err(|_| gone())?;
        match waits {
            true => answer.recv().map_err(|_| gone()),
            false => Ok(String::new()),
        }
    }

    /// Waits for the last marker.
    fn finish(self) -> Result<(), Failure> {
        drop(self.tasks);
        let gone = || Failure::host("what runs markers has ended");
        self.thread.join().map_err(|_| gone())?
    }
}

async fn work(
    host: &'static Host,
    mut queue: queue::Receiver<Task>,
    events: &Events,
    quiet: bool,
    tell: impl Fn(&Marker, &Ran),
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
        let ran = load::one(host, permit, quiet).await?;
        tell(&marker, &ran);
        events.write(&marker, &ran)?;
        if let Some(answer) = answer {
            // Nobody waits any more only if the text has ended in an error.
            let _ = answer.send(marker.text(&ran).to_owned());
        }
    }
    host.clean_up().await;
    Ok(())
}

/// Ends the process while the text's own thread may have a question open.
fn exit(code: u8) -> ! {
    ask::restore_terminal();
    std::process::exit(code.into())
}

fn turn(voice: &Mutex<()>) -> MutexGuard<'_, ()> {
    voice.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells whoever sees no events what did not go well.
fn tell(marker: &Marker, ran: &Ran) {
    let name = skillrun::show_name(marker.words.first().map_or("", String::as_str));
    let what = format!("marker {} `{name}`", marker.number);
    match ran {
        Ran::Ended(outcome) => {
            if let Some(how) = badly(outcome) {
                say("warning", &format!("{what} {how}"));
            }
            for warning in &outcome.warnings {
                say("warning", warning);
            }
        }
        Ran::Failed(why) => say("error", &format!("{what}: {why}")),
        Ran::Refused(refusal) => say(refusal.word(), &refusal.message),
    }
}

fn badly(outcome: &Outcome) -> Option<String> {
    match outcome.status {
        Status::Exited if outcome.exit_code == 0 => None,
        Status::Exited => Some(format!("ended with exit code {}", outcome.exit_code)),
        // The outcome's own warning says it.
        Status::TimedOut => None,
        status => Some(format!("ended as {}", status.word())),
    }
}
