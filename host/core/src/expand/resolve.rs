//! What the words of a marker mean: a script of a loaded skill, or a command.
//!
//! A word with a `/` names a script, as instructions write it (`scripts/x.py`, `skills/<name>/scripts/x.py`,
//! `{baseDir}/scripts/x.py`, …), with its interpreter before it or not; any other word names a command. So no
//! folder of a skill can take the place of a command, and no path leads to a program.

use super::scan::Closed;
use crate::decision::{Check, Refusal};
use crate::files::show;
use crate::request::Subject;
use crate::skill::{Language, Skill};
use std::sync::Arc;

/// What is to run, and its arguments.
pub(super) fn subject(skills: &[Arc<Skill>], closed: &Closed) -> (Subject, Vec<String>) {
    if let Some(operator) = &closed.operator {
        let message = format!("there is no shell that would understand `{operator}`");
        let refusal = Refusal::new(Check::Request, message)
            .hint("a marker runs one command; in quotes it is an argument");
        return unclear(closed, refusal);
    }
    let Some((first, rest)) = closed.words.split_first() else {
        let refusal = Refusal::new(Check::Request, "there is nothing to run");
        return unclear(closed, refusal);
    };
    if first.contains('/') {
        let subject = script(skills, first);
        return match subject {
            Ok(subject) => (subject, rest.to_vec()),
            Err(refusal) => unclear(closed, refusal),
        };
    }
    // `python3 scripts/x.py`, as most instructions write it; with anything else it is a command.
    if let Some((second, rest)) = rest.split_first()
        && second.contains('/')
        && let Ok(Subject::Script { skill, script }) = script(skills, second)
        && skill
            .script(&script)
            .is_some_and(|script| runs(first, script.language()))
    {
        return (Subject::Script { skill, script }, rest.to_vec());
    }
    (Subject::Command(first.clone()), rest.to_vec())
}

/// What comes of a marker beyond those that are looked at.
pub(super) fn too_many(closed: &Closed, most: u64) -> (Subject, Vec<String>) {
    let message = format!("the text holds more than {most} markers");
    unclear(closed, Refusal::new(Check::Limits, message))
}

fn unclear(closed: &Closed, refusal: Refusal) -> (Subject, Vec<String>) {
    let mut words = closed.words.iter().cloned();
    let name = words.next().unwrap_or_default();
    (Subject::Unclear { name, refusal }, words.collect())
}

fn runs(word: &str, language: Language) -> bool {
    word == language.interpreter() || language.other_names().contains(&word)
}

/// The script that a path means.
///
/// A folder's name is the operator's word, the name in `SKILL.md` the skill's own: that one means a skill only where no
/// loaded skill's folder has it.
fn script(skills: &[Arc<Skill>], written: &str) -> Result<Subject, Refusal> {
    let below = |prefixes: Vec<String>| {
        let rest = |prefix: &String| written.strip_prefix(prefix.as_str()).map(str::to_owned);
        prefixes.iter().find_map(rest)
    };
    let by_folder = |skill: &Arc<Skill>| below(skill.folder_prefixes());
    let by_name = |skill: &Arc<Skill>| below(skill.name_prefixes());
    let any_folder = skills.iter().any(|skill| by_folder(skill).is_some());
    let mut found: Vec<(&Arc<Skill>, String)> = Vec::new();
    let mut meant = None;
    for skill in skills {
        let named = match any_folder {
            true => by_folder(skill),
            false => by_name(skill),
        };
        let base = below(Skill::base_prefixes().collect());
        let inside = base.into_iter().chain([written.to_owned()]);
        let mut paths: Vec<String> = named.iter().cloned().chain(inside).collect();
        paths.dedup();
        meant = meant.or_else(|| paths.first().cloned());
        let there = |path: &String| skill.scripts().iter().any(|script| script.path() == path);
        paths.retain(there);
        // A skill that is named is meant, whether it has the script or not.
        if let (Some(named), true) = (named, paths.is_empty()) {
            paths.push(named);
        }
        found.extend(paths.into_iter().map(|path| (skill, path)));
    }
    let subject = |skill: &Arc<Skill>, script: &str| Subject::Script {
        skill: Arc::clone(skill),
        script: script.to_owned(),
    };
    match (found.as_slice(), skills, meant) {
        ([(skill, path)], _, _) => Ok(subject(skill, path)),
        // Deciding says what is wrong with it, and what there is.
        ([], [only], Some(path)) => Ok(subject(only, &path)),
        ([], [], _) => Err(Refusal::new(
            Check::Script,
            format!("there is no script `{}`: no skill is loaded", show(written)),
        )
        .hint("name the skill with --skill")),
        ([], _, _) => Err(Refusal::new(
            Check::Script,
            format!("no loaded skill has a script `{}`", show(written)),
        )),
        (several, _, _) => {
            let same = |skill: &Arc<Skill>| {
                let mut all = several.iter().map(|(other, _)| other);
                all.any(|other| other.folder() == skill.folder() && other.path() != skill.path())
            };
            let all = several.iter().map(|(skill, path)| match same(skill) {
                false => format!("`{}/{}`", show(skill.folder()), show(path)),
                true => format!("`{}`", show(&skill.path().join(path).display().to_string())),
            });
            let all: Vec<String> = all.collect();
            let message = format!("`{}` is ambiguous: {}", show(written), all.join(", "));
            Err(Refusal::new(Check::Script, message).hint("name it with its skill"))
        }
    }
}
