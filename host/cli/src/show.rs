//! `skillrun show`: a skill and its scripts.

use crate::args::Show;
use crate::failure::{Failure, print_message};
use crate::text::{Table, broken, columns, labelled, printable, wrapped};
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
    let (columns, title) = (columns(), printable(skill.name()) + &version);
    let width = columns.unwrap_or(usize::MAX);
    writeln!(out, "{}", broken(&title, width, 0))?;
    writeln!(out, "{}", wrapped(skill.description(), width))?;
    let path = skill.path().display().to_string();
    writeln!(out, "\n{}", labelled("path", &path, columns))?;
    match skill.digest() {
        Ok(digest) => writeln!(out, "{}", labelled("digest", &digest, columns))?,
        Err(why) => print_message("warning", &format!("no digest: {why}")),
    }
    if let Some(tools) = skill.allowed_tools() {
        let tools = tools.to_string();
        writeln!(out, "{}", labelled("allowed-tools", &tools, columns))?;
    }
    if skill.scripts().is_empty() {
        writeln!(out, "\nno scripts")?;
    } else {
        writeln!(out, "\nscripts")?;
    }
    let names = skill.scripts().iter().map(|script| script.path());
    let table = Table::new(2, names, 48, columns);
    for script in skill.scripts() {
        let text = skill.describe(script);
        let first = text.lines().next().unwrap_or_default();
        let row = table.row(script.path(), script.language().word(), first);
        writeln!(out, "{row}")?;
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
