//! `skillrun show`: a skill and its scripts.

use crate::args::Show;
use crate::failure::{Failure, print_message};
use crate::text::{budget, columns, one_line, printable, wrapped};
use crate::{agent, find, output};
use serde_json::json;
use skillrun::Skill;
use std::io::Write as _;

pub(crate) fn show(args: &Show) -> Result<u8, Failure> {
    let (found, is_folder) = find::find_or_folder(&args.skills.folders, &args.skill)?;
    agent::warn_about_choice(&found, false, false);
    if is_folder {
        find::note_folder(&args.skill);
    }
    let skill = &found.skill;
    if args.json {
        writeln!(output::json(), "{}", as_json(skill))?;
        return Ok(0);
    }
    let mut out = output::text();
    let version = if skill.version().is_empty() {
        String::new()
    } else {
        format!(" {}", printable(skill.version()))
    };
    writeln!(out, "{}{version}", printable(skill.name()))?;
    let width = columns().unwrap_or(usize::MAX);
    writeln!(out, "{}", wrapped(skill.description(), width))?;
    writeln!(
        out,
        "\npath           {}",
        printable(&skill.path().display().to_string())
    )?;
    match skill.digest() {
        Ok(digest) => writeln!(out, "digest         {digest}")?,
        Err(why) => print_message("warning", &format!("no digest: {why}")),
    }
    if let Some(tools) = skill.allowed_tools() {
        writeln!(out, "allowed-tools  {}", printable(&tools.to_string()))?;
    }
    if skill.scripts().is_empty() {
        writeln!(out, "\nno scripts")?;
    } else {
        writeln!(out, "\nscripts")?;
    }
    let width = skill
        .scripts()
        .iter()
        .map(|script| script.path().chars().count())
        .max()
        .unwrap_or(0)
        .min(48);
    let budget = budget(2 + width + 2 + 10 + 2);
    for script in skill.scripts() {
        let text = skill.describe(script);
        let first = text.lines().next().unwrap_or_default();
        let line = format!(
            "  {:<width$}  {:<10}  {}",
            printable(script.path()),
            script.language().word(),
            one_line(first, budget)
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    for warning in skill.warnings() {
        print_message("warning", warning);
    }
    Ok(0)
}

fn as_json(skill: &Skill) -> serde_json::Value {
    let scripts: Vec<_> = skill
        .scripts()
        .iter()
        .zip(skill.tool_names())
        .map(|(script, tool)| {
            json!({
                "name": script.name(),
                "path": script.path(),
                "language": script.language().word(),
                "interpreter": script.interpreter(),
                "description": skill.describe(script),
                "tool": tool,
            })
        })
        .collect();
    json!({
        "name": skill.name(),
        "description": skill.description(),
        "version": skill.version(),
        "path": skill.path(),
        "digest": skill.digest().ok(),
        "allowed_tools": skill.allowed_tools().map(|tools| tools.entries().collect::<Vec<_>>()),
        "scripts": scripts,
        "warnings": skill.warnings(),
    })
}
