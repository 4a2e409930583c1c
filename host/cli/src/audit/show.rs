//! `skillrun audit show`: what was run and what was refused.

use super::args::Show;
use crate::failure::{Failure, say};
use crate::list::{one_line, printable};
use crate::{output, places};
use skillrun::{AuditFiles, AuditFilter, AuditLine};
use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

/// Characters of what a line tells at its end.
const DETAIL: usize = 160;

pub(crate) fn show(args: Show) -> Result<u8, Failure> {
    let filter = AuditFilter {
        skill: args.skill,
        script: args.script,
        status: args.status,
        event: args.event,
        run: args.run,
        world: args.world,
        chat: args.chat,
        since: args.since,
        until: args.until,
    };
    let mut out = BufWriter::new(output::json_or_text(args.json));
    let mut last = VecDeque::new();
    let mut written = Ok(());
    let files = AuditFiles::of(places::audit()?);
    let unreadable = files.read(&filter, |line| {
        let text = if args.json {
            line.json().to_owned()
        } else {
            row(line)
        };
        match args.number {
            Some(number) => {
                last.push_back(text);
                if last.len() > number {
                    last.pop_front();
                }
            }
            None => written = writeln!(out, "{text}"),
        }
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    let shown = written
        .and_then(|()| last.iter().try_for_each(|text| writeln!(out, "{text}")))
        .and_then(|()| out.flush());
    match shown {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        shown => shown?,
    }
    if unreadable > 0 {
        let lines = match unreadable {
            1 => "1 line".to_owned(),
            n => format!("{n} lines"),
        };
        say("warning", &format!("{lines} cannot be read"));
        say("hint", "`skillrun audit verify` names them");
    }
    Ok(0)
}

/// A line for people: when, what, which script, what came of it, the run.
fn row(line: &AuditLine<'_>) -> String {
    let text = |name| line.field(name).as_str().unwrap_or_default();
    // To the second; the log has more.
    let time = match text("time").split_once('.') {
        Some((second, rest)) if rest.ends_with('Z') => format!("{second}Z"),
        _ => text("time").to_owned(),
    };
    let row = format!(
        "{:<20}  {:<8}  {:<16}  {:<20}  {}  {}",
        printable(&time),
        printable(text("event")),
        one_line(text("skill"), 64),
        one_line(text("script"), 64),
        printable(text("run_id")),
        one_line(&detail(line), DETAIL),
    );
    row.trim_end().to_owned()
}

fn detail(line: &AuditLine<'_>) -> String {
    let text = |name| line.field(name).as_str().unwrap_or_default();
    match text("event") {
        "finished" => {
            let duration = line.field("duration_ms").as_f64().unwrap_or_default();
            let end = match (text("status"), text("signal")) {
                ("exited", _) => format!("exited {}", line.field("exit_code")),
                (status, "") => status.to_owned(),
                (status, signal) => format!("{status} {signal}"),
            };
            format!("{end} in {duration:.1}ms")
        }
        "refused" => text("reason").to_owned(),
        "approved" => text("answer").to_owned(),
        "started" => text("arguments").to_owned(),
        _ => String::new(),
    }
}
