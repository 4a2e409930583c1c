//! `skillrun list`: the skills that can be found.

use crate::args::List;
use crate::failure::{Failure, say};
use crate::{output, places};
use serde_json::json;
use std::io::Write as _;

pub(crate) fn list(args: &List) -> Result<u8, Failure> {
    let library = places::library(&args.skills.folders);
    let (skills, skipped) = library.list();
    let mut out = output::json_or_text(args.json);
    if args.json {
        let skills: Vec<_> = skills
            .iter()
            .map(|skill| {
                json!({
                    "name": skill.name(),
                    "description": skill.description(),
                    "version": skill.version(),
                    "path": skill.path(),
                    "scripts": skill.scripts().iter().map(|script| script.path()).collect::<Vec<_>>(),
                    "warnings": skill.warnings(),
                })
            })
            .collect();
        let skipped: Vec<_> = skipped
            .iter()
            .map(|skip| json!({"path": skip.path, "why": skip.why.to_string()}))
            .collect();
        writeln!(out, "{}", json!({"skills": skills, "skipped": skipped}))?;
        return Ok(0);
    }
    let width = skills
        .iter()
        .map(|skill| skill.name().chars().count())
        .max()
        .unwrap_or(0)
        .min(32);
    for skill in &skills {
        let scripts = match skill.scripts().len() {
            1 => "1 script".to_owned(),
            n => format!("{n} scripts"),
        };
        writeln!(
            out,
            "{:<width$}  {scripts:<10}  {}",
            printable(skill.name()),
            one_line(skill.description(), 80)
        )?;
    }
    for skip in skipped {
        say("warning", &format!("skipped: {}", skip.why));
    }
    if skills.is_empty() {
        let folders: Vec<_> = library
            .folders()
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        say("warning", &format!("no skills in {}", folders.join(", ")));
    }
    Ok(0)
}

/// A text on one line, cut at `most` characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let line = printable(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    match line.char_indices().nth(most) {
        None => line,
        Some(_) => line.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// A text from a skill without the characters that would steer a terminal.
pub(crate) fn printable(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|c| {
            if steers(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}
