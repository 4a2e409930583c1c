//! The audit log: how long a caller waits for its line, alone and next to many others.
//!
//! A run waits for two lines, `started` and `finished`. Tasks of an async runtime leave the writing to the thread of the
//! log; threads that guests run on write themselves if nobody else does at that moment. Each load has a control without
//! any file: a sink that does nothing, and callers that are answered by another thread without any log. What they wait for
//! is the wait for a core, and for the caller's turn among the others.

mod measure;

use measure::{Result, Samples, Table, begin, in_turn, rounds, times};
use skillrun::AuditLog;
use skillrun::measure::{write_line, write_line_now};
use std::sync::{Barrier, mpsc};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Callers at the same time, as in a server with 200 runs.
const CALLERS: usize = 200;
/// Lines that each caller writes one after the other in a burst.
const LINES: usize = 10;
/// Bursts of a line each in a round, so that a round of each load has as many lines.
const BURSTS: usize = 10;
const ROUNDS: usize = 50;
/// Long enough for every thread to fall asleep.
const PAUSE: Duration = Duration::from_millis(2);

const SKILL: &str = "word-count";
const REASON: &str = "`native` is not granted to skill `word-count`";

/// Who answers the callers.
#[derive(Clone)]
enum Answers {
    Log(AuditLog),
    /// A thread that only answers.
    Thread(mpsc::Sender<oneshot::Sender<()>>),
}

/// How often, and by whom, lines are written.
#[derive(Clone, Copy)]
enum Load {
    One,
    /// Tasks on one thread, so that they do not compete with the writer on a machine with two cores.
    Tasks {
        lines: usize,
        bursts: usize,
    },
    /// A thread for each caller.
    Threads,
}

fn main() -> Result<()> {
    if !begin("audit", "how long a caller waits for its line") {
        return Ok(());
    }
    let folder = tempfile::Builder::new()
        .prefix("skillrun-bench-")
        .tempdir()?;
    let file = Answers::Log(AuditLog::file(folder.path().join("audit.jsonl")));
    let sink = Answers::Log(AuditLog::sink(|_| Ok(())));
    let thread = Answers::Thread(answering_thread());
    let runtime = Builder::new_current_thread().build()?;
    let each = Load::Tasks {
        lines: 1,
        bursts: BURSTS,
    };
    let more = Load::Tasks {
        lines: LINES,
        bursts: 1,
    };
    let sides = [
        ("one caller", &file, Load::One),
        ("200 tasks, a line each after a pause", &file, each),
        ("  to a sink", &sink, each),
        ("  no log", &thread, each),
        ("200 tasks, 10 lines each", &file, more),
        ("  to a sink", &sink, more),
        ("  no log", &thread, more),
        (
            "200 threads, a line each after a pause",
            &file,
            Load::Threads,
        ),
        ("  no log", &thread, Load::Threads),
    ];
    let rounds = in_turn(sides.len(), rounds(ROUNDS), |side| {
        let (_, answers, load) = &sides[side];
        round(&runtime, answers, *load)
    })?;
    let mut table = Table::new(["", "p50", "p99", "longest", "lines/s", "p99 ÷ one caller"]);
    let mut alone = None;
    for ((name, ..), rounds) in sides.iter().zip(rounds) {
        let rates = rounds
            .iter()
            .map(|round| round.waits.len() as f64 / round.seconds);
        let rate = Samples::new(rates.collect()).p50();
        let waits = rounds.into_iter().flat_map(|round| round.waits).collect();
        let waits = Samples::new(waits);
        let alone = *alone.get_or_insert(waits.p99());
        table.row([
            (*name).to_owned(),
            micros(waits.p50()),
            micros(waits.p99()),
            micros(waits.max()),
            format!("{rate:.0}"),
            times(waits.p99() / alone),
        ]);
    }
    table.print();
    Ok(())
}

/// One round: how long each caller waited for each line, in seconds, and how long all of it took without the pauses.
#[derive(Default)]
struct Round {
    waits: Vec<f64>,
    seconds: f64,
}

fn round(runtime: &Runtime, answers: &Answers, load: Load) -> Result<Round> {
    let mut round = Round::default();
    let (bursts, callers, lines) = match load {
        Load::One => (1, 1, CALLERS * LINES),
        Load::Tasks { lines, bursts } => (bursts, CALLERS, lines),
        Load::Threads => (BURSTS, CALLERS, 1),
    };
    for _ in 0..bursts {
        std::thread::sleep(PAUSE);
        let burst = match load {
            Load::Threads => by_threads(answers)?,
            _ => by_tasks(runtime, answers, callers, lines)?,
        };
        round.waits.extend(burst.waits);
        round.seconds += burst.seconds;
    }
    Ok(round)
}

fn by_tasks(runtime: &Runtime, answers: &Answers, callers: usize, lines: usize) -> Result<Round> {
    let mut tasks = JoinSet::new();
    for _ in 0..callers {
        let answers = answers.clone();
        let caller = async move {
            let mut waits = Vec::with_capacity(lines);
            for _ in 0..lines {
                let began = Instant::now();
                answers.wait(false).await?;
                waits.push(began.elapsed().as_secs_f64());
            }
            Result::Ok(waits)
        };
        // Nothing runs before all of them are there.
        tasks.spawn_on(caller, runtime.handle());
    }
    let began = Instant::now();
    let results = runtime.block_on(tasks.join_all());
    let seconds = began.elapsed().as_secs_f64();
    let waits: Result<Vec<Vec<f64>>> = results.into_iter().collect();
    let waits = waits?.concat();
    Ok(Round { waits, seconds })
}

/// A line by each of many threads, which wait as those of guests do.
fn by_threads(answers: &Answers) -> Result<Round> {
    let begin = Barrier::new(CALLERS + 1);
    std::thread::scope(|scope| {
        let caller = || {
            let answers = answers.clone();
            let runtime = Builder::new_current_thread().build()?;
            begin.wait();
            let began = Instant::now();
            runtime.block_on(answers.wait(true))?;
            Result::Ok(began.elapsed().as_secs_f64())
        };
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(caller)).collect();
        begin.wait();
        let began = Instant::now();
        let waits = callers.into_iter().map(|caller| {
            let panicked = |_| Err("a caller panicked".into());
            caller.join().unwrap_or_else(panicked)
        });
        let waits = waits.collect::<Result<Vec<f64>>>()?;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Round { waits, seconds })
    })
}

impl Answers {
    /// Waits for a line to be written, or for an answer. `may_block` says that this thread may write itself.
    async fn wait(&self, may_block: bool) -> Result<()> {
        match self {
            Self::Log(log) if may_block => write_line_now(log, SKILL, REASON).await?,
            Self::Log(log) => write_line(log, SKILL, REASON).await?,
            Self::Thread(thread) => {
                let (reply, answer) = oneshot::channel();
                thread.send(reply)?;
                answer.await?;
            }
        }
        Ok(())
    }
}

/// A thread that answers whoever asks, until nobody can ask any more.
fn answering_thread() -> mpsc::Sender<oneshot::Sender<()>> {
    let (ask, asked) = mpsc::channel::<oneshot::Sender<()>>();
    std::thread::spawn(move || {
        for reply in asked {
            // The caller may be gone.
            let _ = reply.send(());
        }
    });
    ask
}

fn micros(seconds: f64) -> String {
    format!("{:.0} µs", seconds * 1e6)
}
