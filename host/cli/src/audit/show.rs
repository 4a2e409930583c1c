//! `skillrun audit show`: shows what ran and what was refused.

use super::args::Show;
use crate::failure::{Failure, print_message};
use crate::text::{one_line, printable};
use crate::{output, paths};
use skillrun::approval::Approver;
use skillrun::audit::{AuditFiles, AuditFilter, AuditLine};
use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

/// Characters of the detail at the end of a row.
const MAX_DETAIL: usize = 160;

pub(crate) fn show(args: Show) -> Result<u8, Failure> {
    let filter = AuditFilter {
        skill: args.skill,
        script: args.script,
        status: args.status,
        event: args.event,
        run: args.run,
        tenant: args.tenant,
        session: args.session,
        since: args.since,
        until: args.until,
    };
    let mut out = BufWriter::new(output::json_or_text(args.json));
    let mut last = VecDeque::new();
    let mut written = Ok(());
    let mut is_empty = true;
    let files = AuditFiles::of(paths::audit_log()?);
    let unreadable = files.read(&filter, |line| {
        is_empty = false;
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
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        shown => shown?,
    }
    if is_empty {
        print_message("note", "no lines of the audit log match");
    }
    if unreadable > 0 {
        let lines = match unreadable {
            1 => "1 line".to_owned(),
            n => format!("{n} lines"),
        };
        print_message("warning", &format!("{lines} cannot be read"));
        print_message("hint", "`skillrun audit verify` names them");
    }
    Ok(0)
}

/// A line for people: time, event, script, run and detail.
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
        one_line(&format!("{}{}", detail(line), fields(line)), MAX_DETAIL),
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
        "refused" => by_approver(text("reason"), line),
        "new_head" => text("reason").to_owned(),
        "approved" => by_approver(text("answer"), line),
        "started" => text("arguments").to_owned(),
        _ => String::new(),
    }
}

/// What the operator says about the tenant, as `[key=value, …]`.
fn fields(line: &AuditLine<'_>) -> String {
    let fields = line.field("fields").as_object().into_iter().flatten();
    let fields = fields.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let fields: Vec<String> = fields.collect();
    match fields.is_empty() {
        true => String::new(),
        false => format!("  [{}]", fields.join(", ")),
    }
}

/// A text with who gave the answer, if the line says so.
fn by_approver(text: &str, line: &AuditLine<'_>) -> String {
    let approver = line.field("approver");
    match (approver["id"].as_str(), approver["channel"].as_str()) {
        (Some(id), Some(channel)) => format!("{text} by {}", Approver::new(id, channel)),
        _ => text.to_owned(),
    }
}
