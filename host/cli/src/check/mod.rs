//! `skillrun check`: whether skills conform to the specification, and what their scripts need.

mod github;
mod sarif;
mod text;

use crate::args::{Check, CheckFormat};
use crate::failure::{Failure, ignore_closed_pipe};
use crate::{output, paths};
use serde_json::{Value, json};
use skillrun::skill::Library;
use skillrun_check::{Level, Preflight, Report};
use skillrun_skill::document_folder;
use std::io::Write as _;
use std::path::PathBuf;

/// A report, and the skill's folder as it was typed.
struct Checked {
    folder: PathBuf,
    report: Report,
}

impl Checked {
    /// The path of a file of the skill, relative to the working directory.
    fn path_of(&self, file: &str) -> PathBuf {
        match self.folder.to_str() {
            Some(".") => PathBuf::from(file),
            _ => self.folder.join(file),
        }
    }
}

pub(crate) fn check(args: &Check) -> Result<u8, Failure> {
    let library = paths::library(&args.skills.folders)?;
    let mut folders = Vec::new();
    for wanted in &args.skill {
        folders.extend(skills_in(library.locate(wanted)?));
    }
    let mut checked = Vec::new();
    for folder in folders {
        let report = skillrun_check::check(&folder)?;
        checked.push(Checked { folder, report });
    }
    let is_json = matches!(args.format(), CheckFormat::Json | CheckFormat::Sarif);
    let mut out = output::json_or_text(is_json);
    ignore_closed_pipe(match args.format() {
        CheckFormat::Text => text::print(&checked, &mut out),
        CheckFormat::Json => writeln!(out, "{}", as_json(&checked)),
        CheckFormat::Sarif => writeln!(out, "{}", sarif::log(&checked)),
        CheckFormat::Github => github::print(&checked, &mut out),
    })?;
    let errors = total(&checked, Level::Error);
    let warnings = total(&checked, Level::Warning);
    Ok(u8::from(errors > 0 || (args.strict && warnings > 0)))
}

/// The skill itself, or the skills in a folder of skills.
fn skills_in(path: PathBuf) -> Vec<PathBuf> {
    let contains = |name: &str| path.join(name).symlink_metadata().is_ok();
    if !path.is_dir() {
        return vec![document_folder(&path)];
    }
    if contains("SKILL.md") || contains("skill.md") {
        return vec![path];
    }
    match Library::new([path.clone()]).paths() {
        inner if inner.is_empty() => vec![path],
        inner => inner,
    }
}

fn total(checked: &[Checked], level: Level) -> usize {
    let count = |checked: &Checked| checked.report.count(level);
    checked.iter().map(count).sum()
}

fn as_json(all: &[Checked]) -> Value {
    let counts = |count: &dyn Fn(Level) -> usize| {
        json!({
            "errors": count(Level::Error),
            "warnings": count(Level::Warning),
            "notes": count(Level::Note),
        })
    };
    let skill = |checked: &Checked| {
        let report = &checked.report;
        let findings: Vec<_> = report
            .findings
            .iter()
            .map(|finding| {
                json!({
                    "rule": finding.rule.id,
                    "level": finding.rule.level.word(),
                    "message": finding.message,
                    "file": finding.file,
                    "line": finding.line,
                })
            })
            .collect();
        json!({
            "name": report.skill,
            "path": report.path,
            "valid": report.is_valid(),
            "counts": counts(&|level| report.count(level)),
            "findings": findings,
            "scripts": report.scripts.iter().map(script).collect::<Vec<_>>(),
        })
    };
    json!({
        "skills": all.iter().map(skill).collect::<Vec<_>>(),
        "counts": counts(&|level| total(all, level)),
    })
}

fn script(script: &Preflight) -> Value {
    let imports: Vec<_> = script
        .imports
        .iter()
        .map(|import| {
            json!({
                "name": import.name,
                "line": import.line,
                "from": import.state.word(),
                "optional": import.optional,
                "why": import.why,
            })
        })
        .collect();
    let wants: Vec<_> = script
        .wants
        .iter()
        .map(|want| {
            json!({
                "grant": want.grant.as_ref().map(ToString::to_string),
                "line": want.line,
                "why": want.why,
            })
        })
        .collect();
    json!({
        "path": script.script,
        "language": script.language.word(),
        "runtime": script.runtime.word(),
        "imports": imports,
        "wants": wants,
    })
}
