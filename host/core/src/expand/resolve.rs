//! Resolves the command of a marker: a script of a loaded skill, or a command of this machine.
//!
//! A word with a `/` names a script, as instructions write it (`scripts/x.py`, `skills/<name>/scripts/x.py`,
//! `{baseDir}/scripts/x.py`, …), with or without its interpreter in front. Any other word names a command. So no folder
//! of a skill can replace a command, and no path leads to a program.

use super::scan::ParsedMarker;
use crate::files::show;
use crate::refusal::{Check, Refusal, Remedy};
use crate::request::Target;
use crate::skill::{Language, Skill};
use std::sync::Arc;

/// What a marker runs.
pub(super) struct Resolved {
    pub(super) target: Target,
    pub(super) args: Vec<String>,
    /// Whether the skill was found by the `name` in its `SKILL.md`.
    pub(super) by_front_matter: bool,
}

/// Finds what a marker runs.
pub(super) fn resolve(skills: &[Arc<Skill>], closed: &ParsedMarker) -> Resolved {
    if let Some(operator) = &closed.operator {
        let message = format!("there is no shell to interpret `{operator}`");
        let refusal = Refusal::new(Check::Request, message)
            .hint("a marker runs one command; quote the operator to pass it as an argument");
        return unresolved(closed, refusal);
    }
    let Some((first, rest)) = closed.words.split_first() else {
        // The scanner returns a marker without words as text.
        let refusal = Refusal::new(Check::Request, "there is nothing to run");
        return unresolved(closed, refusal);
    };
    if first.contains('/') {
        return match script(skills, first) {
            Ok(found) => found.resolved(rest),
            Err(refusal) => unresolved(closed, refusal),
        };
    }
    // `python3 scripts/x.py`, as most instructions write it. Anything else is a command.
    if let Some((second, rest)) = rest.split_first()
        && second.contains('/')
        && let Ok(found) = script(skills, second)
        && found
            .skill
            .script(&found.path)
            .is_some_and(|script| runs(first, script.language()))
    {
        return found.resolved(rest);
    }
    Resolved {
        target: Target::Command(first.clone()),
        args: rest.to_vec(),
        by_front_matter: false,
    }
}

/// Refuses a marker beyond the limit.
pub(super) fn too_many(closed: &ParsedMarker, max: u64) -> Resolved {
    let message = format!("the text contains more than {max} markers");
    unresolved(closed, Refusal::new(Check::Limits, message))
}

fn unresolved(closed: &ParsedMarker, refusal: Refusal) -> Resolved {
    let mut words = closed.words.iter().cloned();
    let name = words.next().unwrap_or_default();
    Resolved {
        target: Target::Unresolved { name, refusal },
        args: words.collect(),
        by_front_matter: false,
    }
}

fn runs(word: &str, language: Language) -> bool {
    word == language.interpreter() || language.other_names().contains(&word)
}

/// A script that a path may mean.
struct Candidate<'a> {
    skill: &'a Arc<Skill>,
    path: String,
    /// Whether the path names the skill as only its `SKILL.md` does.
    by_front_matter: bool,
}

impl Candidate<'_> {
    fn resolved(self, args: &[String]) -> Resolved {
        Resolved {
            target: Target::Script {
                skill: Arc::clone(self.skill),
                script: self.path,
            },
            args: args.to_vec(),
            by_front_matter: self.by_front_matter,
        }
    }
}

/// The script that a path means.
///
/// A folder's name comes from the operator, the name in `SKILL.md` from the skill. The latter means a skill only if no
/// loaded skill's folder has that name.
fn script<'a>(skills: &'a [Arc<Skill>], written: &str) -> Result<Candidate<'a>, Refusal> {
    let below = |prefixes: Vec<String>| {
        let rest = |prefix: &String| written.strip_prefix(prefix.as_str()).map(str::to_owned);
        prefixes.iter().find_map(rest)
    };
    let by_folder = |skill: &Arc<Skill>| below(skill.folder_prefixes());
    let by_name = |skill: &Arc<Skill>| below(skill.name_prefixes());
    let any_folder = skills.iter().any(|skill| by_folder(skill).is_some());
    let mut found: Vec<Candidate<'a>> = Vec::new();
    let mut first_path = None;
    for skill in skills {
        let named = match any_folder {
            true => by_folder(skill),
            false => by_name(skill),
        };
        let base = below(Skill::base_prefixes().collect());
        let inside = base.into_iter().chain([written.to_owned()]);
        let mut paths: Vec<String> = named.iter().cloned().chain(inside).collect();
        paths.dedup();
        first_path = first_path.or_else(|| paths.first().cloned());
        let exists = |path: &String| skill.scripts().iter().any(|script| script.path() == path);
        paths.retain(exists);
        // If the path names a skill, it means that skill, whether the script exists or not.
        if let (Some(named), true) = (&named, paths.is_empty()) {
            paths.push(named.clone());
        }
        // A skill that the caller found by this name, through a link or by its `SKILL.md`, needs no second warning.
        let is_known = skill.names().any(|name| name == skill.name());
        found.extend(paths.into_iter().map(|path| Candidate {
            skill,
            by_front_matter: !any_folder && !is_known && named.as_ref() == Some(&path),
            path,
        }));
    }
    if found.len() == 1
        && let Some(only) = found.pop()
    {
        return Ok(only);
    }
    match (found.as_slice(), skills, first_path) {
        // The decision reports that there is no such script, and which ones there are.
        ([], [skill], Some(path)) => Ok(Candidate {
            skill,
            path,
            by_front_matter: false,
        }),
        ([], [], _) => Err(Refusal::new(
            Check::Script,
            format!("there is no script `{}`: no skill is loaded", show(written)),
        )
        .remedy(Remedy::AddSkill)),
        ([], _, _) => Err(Refusal::new(
            Check::Script,
            format!("no loaded skill has a script `{}`", show(written)),
        )),
        (several, _, _) => {
            let shares_folder_name = |skill: &Arc<Skill>| {
                let mut others = several.iter().map(|candidate| candidate.skill);
                others.any(|other| other.folder() == skill.folder() && other.path() != skill.path())
            };
            let names =
                several.iter().map(|Candidate { skill, path, .. }| {
                    match shares_folder_name(skill) {
                        false => format!("`{}/{}`", show(skill.folder()), show(path)),
                        true => {
                            format!("`{}`", show(&skill.path().join(path).display().to_string()))
                        }
                    }
                });
            let names: Vec<String> = names.collect();
            let message = format!("`{}` is ambiguous: {}", show(written), names.join(", "));
            Err(Refusal::new(Check::Script, message).hint("name it with its skill"))
        }
    }
}
