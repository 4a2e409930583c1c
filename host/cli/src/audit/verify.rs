//! `skillrun audit verify`: verifies that the log was not changed.

use super::args::Verify;
use crate::failure::{Failure, ignore_closed_pipe, print_message};
use crate::text::printable;
use crate::{output, paths};
use serde_json::json;
use skillrun::audit::{AuditFiles, AuditFinding, AuditFindingKind, Verification};
use std::io::Write as _;

/// The exit code for a log that was changed.
const BROKEN: u8 = 1;

pub(crate) fn verify(args: Verify) -> Result<u8, Failure> {
    let files = if args.files.is_empty() {
        AuditFiles::of(paths::audit_log()?)
    } else {
        AuditFiles::named(args.files)
    };
    let done = files.verify(args.after)?;
    if args.json {
        let mut object = json!(done);
        object["holds"] = json!(done.is_valid());
        ignore_closed_pipe(writeln!(output::json(), "{object}"))?;
    } else {
        ignore_closed_pipe(print(&done))?;
    }
    Ok(if done.is_valid() { 0 } else { BROKEN })
}

fn print(done: &Verification) -> Result<(), Failure> {
    for note in &done.notes {
        print_message("note", &text(note));
    }
    let mut out = output::text();
    for finding in &done.findings {
        writeln!(out, "{}", text(finding))?;
    }
    if done.more_findings > 0 {
        writeln!(out, "… and {} more", done.more_findings)?;
    }
    let files = match done.files.len() {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    let lines = match done.lines {
        1 => "1 line".to_owned(),
        n => format!("{n} lines"),
    };
    let result = match done.findings.len() as u64 + done.more_findings {
        0 => "intact",
        _ => "broken",
    };
    writeln!(out, "{result}: {lines} in {files}")?;
    if let (Some(newest), Some(hash)) = (done.newest, done.newest_hash) {
        writeln!(out, "newest: number {newest}, {hash}")?;
    }
    let gone = |finding: &AuditFinding| {
        finding.kind == AuditFindingKind::Missing && finding.line == Some(1)
    };
    if done.findings.first().is_some_and(gone) {
        print_message(
            "hint",
            "if the missing lines are in other files, name those files, or pass --after with the hash you noted then",
        );
    }
    let lost =
        |finding: &AuditFinding| finding.kind == AuditFindingKind::Head && finding.line.is_some();
    if done.findings.iter().any(lost) {
        let hint = "compare the log with your copies, note the newest hash, and pass it with --after from then on";
        print_message("hint", hint);
    }
    Ok(())
}

fn text(finding: &AuditFinding) -> String {
    let file = printable(&finding.file.display().to_string());
    match finding.line {
        Some(line) => format!("{file}:{line}: {}", finding.message),
        None => format!("{file}: {}", finding.message),
    }
}
