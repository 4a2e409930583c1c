//! `skillrun audit verify`: whether the record is as it was written.

use super::args::Verify;
use crate::failure::{Failure, say};
use crate::list::printable;
use crate::{output, places};
use serde_json::json;
use skillrun::{AuditFiles, AuditFinding, AuditWrong, Verification};
use std::io::Write as _;

/// The log is not as it was written.
const BROKEN: u8 = 1;

pub(crate) fn verify(args: Verify) -> Result<u8, Failure> {
    let files = if args.files.is_empty() {
        AuditFiles::of(places::audit()?)
    } else {
        AuditFiles::named(args.files)
    };
    let done = files.verify(args.after)?;
    if args.json {
        let mut object = json!(done);
        object["holds"] = json!(done.holds());
        writeln!(output::json(), "{object}")?;
    } else {
        print(&done)?;
    }
    Ok(if done.holds() { 0 } else { BROKEN })
}

fn print(done: &Verification) -> Result<(), Failure> {
    for note in &done.notes {
        say("note", &text(note));
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
        0 => "as written",
        _ => "broken",
    };
    writeln!(out, "{result}: {lines} in {files}")?;
    if let (Some(newest), Some(hash)) = (done.newest, done.newest_hash) {
        writeln!(out, "newest: number {newest}, {hash}")?;
    }
    let gone =
        |finding: &AuditFinding| finding.kind == AuditWrong::Missing && finding.line == Some(1);
    if done.findings.first().is_some_and(gone) {
        say(
            "hint",
            "if they were moved away, name the files that hold them, or pass --after with the hash noted then",
        );
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
