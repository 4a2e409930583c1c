//! Prints the findings as text.

use super::{Checked, total};
use crate::text::printable;
use skillrun_check::{Level, Preflight, Want};
use std::io::{self, Write};

pub(super) fn print(all: &[Checked], out: &mut impl Write) -> io::Result<()> {
    for checked in all {
        skill(checked, out)?;
    }
    if all.len() > 1 {
        let counts = counts(&|level| total(all, level));
        writeln!(out, "{} skills: {counts}", all.len())?;
    }
    Ok(())
}

fn skill(checked: &Checked, out: &mut impl Write) -> io::Result<()> {
    let report = &checked.report;
    let counts = counts(&|level| report.count(level));
    let folder = checked.folder.display().to_string();
    writeln!(out, "{}: {counts}", printable(&folder))?;
    for level in [Level::Error, Level::Warning, Level::Note] {
        let findings = report.findings.iter();
        // Grants are printed with the script that needs them.
        let shown =
            findings.filter(|found| found.rule.level == level && found.rule.id != "grant-wanted");
        for finding in shown {
            let line = finding.line.map(|line| format!(":{line}"));
            let line = line.unwrap_or_default();
            let (file, message) = (printable(&finding.file), printable(&finding.message));
            let (word, id) = (level.word(), finding.rule.id);
            writeln!(out, "  {word:<7}  {file}{line}: {message} [{id}]")?;
        }
    }
    for script in &report.scripts {
        writeln!(out, "  {}: {}", printable(&script.script), needs(script))?;
    }
    Ok(())
}

/// `wasm, probably needs env:KEY (line 3)`
fn needs(script: &Preflight) -> String {
    let wants: Vec<String> = script.wants.iter().map(want).collect();
    match wants.is_empty() {
        true => script.runtime.word().to_owned(),
        false => format!(
            "{}, probably needs {}",
            script.runtime.word(),
            wants.join(", ")
        ),
    }
}

fn want(want: &Want) -> String {
    let what = match &want.grant {
        Some(grant) => printable(&grant.to_string()),
        None => printable(&want.why),
    };
    format!("{what} (line {})", want.line)
}

/// `1 error, 2 warnings`, or `nothing found`.
fn counts(count: &dyn Fn(Level) -> usize) -> String {
    let some: Vec<String> = [Level::Error, Level::Warning, Level::Note]
        .into_iter()
        .filter_map(|level| match count(level) {
            0 => None,
            1 => Some(format!("1 {level}")),
            n => Some(format!("{n} {level}s")),
        })
        .collect();
    match some.is_empty() {
        true => "nothing found".into(),
        false => some.join(", "),
    }
}
