//! `skillrun prompt`: the description of skills and their scripts for a model.

use crate::args::{Prompt, PromptFormat};
use crate::failure::{Failure, print_message};
use crate::text::printable;
use crate::{agent, find, output, paths};
use serde_json::json;
use skillrun::Skill;
use skillrun_skill::document_folder;
use skillrun_skill::prompt::{available_scripts, available_skills};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn prompt(args: &Prompt) -> Result<u8, Failure> {
    let library = paths::library(&args.skills.folders)?;
    let mut skills: Vec<Arc<Skill>> = Vec::new();
    for wanted in &args.skill {
        let path = document_folder(Path::new(wanted));
        let wanted = path.to_str().unwrap_or(wanted);
        let found = find::find(&args.skills.folders, wanted)?;
        agent::warn_about_choice(&found, false, false);
        skills.push(found.skill);
    }
    if args.skill.is_empty() {
        let (found, skipped) = library.list();
        for skip in skipped {
            print_message("warning", &format!("skipped: {}", skip.why));
        }
        skills = unhidden(found);
    }
    let all = || skills.iter().map(AsRef::as_ref);
    let blocks: Vec<String> = all().filter_map(available_scripts).collect();
    let mut out = output::json_or_text(args.json);
    if args.json {
        let skills: Vec<_> = all().map(as_json).collect();
        let (markdown, xml) = (blocks.join("\n"), available_skills(all()));
        let object = json!({"skills": skills, "markdown": markdown, "xml": xml});
        writeln!(out, "{object}")?;
        return Ok(0);
    }
    if let Some(why) = why_empty(&skills, args.format) {
        print_message("note", why);
    }
    match args.format {
        PromptFormat::Markdown => write!(out, "{}", blocks.join("\n"))?,
        PromptFormat::Xml => write!(out, "{}", available_skills(all()))?,
    }
    Ok(0)
}

/// Why there is nothing to print. `None` if there is something.
fn why_empty(skills: &[Arc<Skill>], format: PromptFormat) -> Option<&'static str> {
    let has_scripts = |skill: &Arc<Skill>| !skill.scripts().is_empty();
    match format {
        _ if skills.is_empty() => Some("no skills were found"),
        PromptFormat::Markdown if !skills.iter().any(has_scripts) => {
            Some("no skill has scripts; --format xml lists the skills")
        }
        PromptFormat::Markdown | PromptFormat::Xml => None,
    }
}

/// The skills ordered by name, without those that another skill of the same name shadows.
fn unhidden(found: Vec<Arc<Skill>>) -> Vec<Arc<Skill>> {
    let mut skills: Vec<Arc<Skill>> = Vec::new();
    let mut names: HashMap<String, usize> = HashMap::new();
    for skill in found {
        match names.entry(skill.name().to_owned()) {
            Entry::Vacant(free) => {
                free.insert(skills.len());
                skills.push(skill);
            }
            Entry::Occupied(taken) => print_message(
                "warning",
                &format!(
                    "skill `{}` shadows `{}`",
                    printable(&skills[*taken.get()].path().display().to_string()),
                    printable(&skill.path().display().to_string())
                ),
            ),
        }
    }
    skills.sort_by(|a, b| (a.name(), a.path()).cmp(&(b.name(), b.path())));
    skills
}

fn as_json(skill: &Skill) -> serde_json::Value {
    let scripts: Vec<_> = skill
        .scripts()
        .iter()
        .map(|script| json!({"path": script.path(), "description": skill.describe(script)}))
        .collect();
    json!({
        "name": skill.name(),
        "description": skill.description(),
        "path": skill.path(),
        "scripts": scripts,
    })
}
