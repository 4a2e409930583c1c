//! The audit log: how long a caller waits for its line, alone and next to many others.
//!
//! A run waits for two lines, `started` and `finished`. A sink that does nothing shows what handing a line over to
//! another thread costs, without any file.

mod measure;

use measure::{Result, Samples, Table, begin, in_turn, rounds, times};
use skillrun::AuditLog;
use skillrun::measure::write_line;
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// Callers at the same time, as in a server with 200 runs.
const CALLERS: usize = 200;
/// Lines that each caller writes one after the other in a round.
const LINES: usize = 10;
const ROUNDS: usize = 50;

fn main() -> Result<()> {
    if !begin("audit", "how long a caller waits for its line") {
        return Ok(());
    }
    let folder = tempfile::Builder::new()
        .prefix("skillrun-bench-")
        .tempdir()?;
    let file = AuditLog::file(folder.path().join("audit.jsonl"));
    let sink = AuditLog::sink(|_| Ok(()));
    // One thread for the callers, so that they do not compete with the writer on a machine with two cores.
    let runtime = Builder::new_current_thread().build()?;
    let sides = [
        ("one caller", &file, 1, CALLERS * LINES),
        ("200 callers, a line each", &file, CALLERS, 1),
        ("200 callers, 10 lines each", &file, CALLERS, LINES),
        (
            "200 callers, 10 lines each, to a sink",
            &sink,
            CALLERS,
            LINES,
        ),
    ];
    let rounds = in_turn(sides.len(), rounds(ROUNDS), |side| {
        let (_, log, callers, lines) = sides[side];
        waits(&runtime, log, callers, lines)
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

/// One round: how long each caller waited for each line, in seconds, and how long all of it took.
struct Round {
    waits: Vec<f64>,
    seconds: f64,
}

fn waits(runtime: &Runtime, log: &AuditLog, callers: usize, lines: usize) -> Result<Round> {
    let mut tasks = JoinSet::new();
    for _ in 0..callers {
        let log = log.clone();
        // Nothing runs before all of them are there.
        tasks.spawn_on(caller(log, lines), runtime.handle());
    }
    let began = Instant::now();
    let results = runtime.block_on(tasks.join_all());
    let seconds = began.elapsed().as_secs_f64();
    let waits: Result<Vec<Vec<f64>>> = results.into_iter().collect();
    let waits = waits?.concat();
    Ok(Round { waits, seconds })
}

async fn caller(log: AuditLog, lines: usize) -> Result<Vec<f64>> {
    let mut waits = Vec::with_capacity(lines);
    for _ in 0..lines {
        let began = Instant::now();
        write_line(
            &log,
            "word-count",
            "`native` is not granted to skill `word-count`",
        )
        .await?;
        waits.push(began.elapsed().as_secs_f64());
    }
    Ok(waits)
}

fn micros(seconds: f64) -> String {
    format!("{:.0} µs", seconds * 1e6)
}
