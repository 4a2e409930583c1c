//! What instructions refer to, as they write it: `scripts/x`, `./scripts/x`, `skills/<name>/scripts/x`,
//! `<name>/scripts/x`, `{baseDir}/…`, `${CLAUDE_SKILL_DIR}/…`.
//!
//! A mention is a path that stands by itself: `other/scripts/x.py`, `../scripts/x.py` and `scripts/x.py.bak`
//! are not `scripts/x.py`.

use crate::skill::{Language, Script, Skill};
use std::collections::BTreeSet;
use std::path::Path;

/// Instructions are written for a model to read; nobody mentions more.
const MAX_MENTIONS: usize = 10_000;

/// The files of a skill that its instructions mention.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    /// By path; whether they are there is not known.
    paths: BTreeSet<String>,
}

impl Mentions {
    pub(super) fn of(skill: &Skill) -> Self {
        let text = skill.instructions();
        let prefixes = skill.prefixes();
        // A name with spaces or other odd characters is known only by being there.
        let all = skill.scripts().iter().map(Script::path);
        let mut odd: Vec<&str> = all.filter(|path| !path.chars().all(is_path)).collect();
        // Longer ones first: `scripts/a b.py` is not `scripts/a b`.
        odd.sort_by_key(|path| std::cmp::Reverse(path.len()));
        let mut paths = BTreeSet::new();
        for (start, _) in text.char_indices() {
            if paths.len() >= MAX_MENTIONS {
                break;
            }
            if !begins(text, start) {
                continue;
            }
            let rest = &text[start..];
            let prefix = prefixes
                .iter()
                .find(|prefix| rest.starts_with(prefix.as_str()));
            let rest = &rest[prefix.map_or(0, String::len)..];
            let there = |path: &&&str| rest.starts_with(**path) && ends(rest, path.len());
            if let Some(path) = odd.iter().find(there) {
                paths.insert((*path).to_owned());
                continue;
            }
            let length = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
            let path = rest[..length].trim_end_matches(['.', '/']);
            if !path.is_empty() && !path.split('/').any(|part| matches!(part, "" | "." | "..")) {
                paths.insert(path.to_owned());
            }
        }
        Self { paths }
    }

    pub(super) fn holds(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Paths in `scripts/` that look like a script, there or not.
    pub(super) fn scripts(&self) -> impl Iterator<Item = &str> {
        let scripts = self.paths.iter().map(String::as_str);
        scripts.filter(|path| {
            path.starts_with("scripts/") && Language::of_extension(Path::new(path)).is_some()
        })
    }

    /// Paths in `references/`, there or not.
    pub(super) fn references(&self) -> impl Iterator<Item = &str> {
        let all = self.paths.iter().map(String::as_str);
        all.filter(|path| path.starts_with("references/"))
    }
}

/// Whether a path may begin here: what stands before is not part of one.
fn begins(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let joins = |c: char| is_path(c) || matches!(c, '$' | '{' | '}' | '~' | '\\' | '@');
    let here = text[at..].chars().next();
    here.is_some_and(|c| is_path(c) || matches!(c, '$' | '{')) && !before.is_some_and(joins)
}

/// Whether a name that reaches to `at` ends there.
fn ends(text: &str, at: usize) -> bool {
    let mut rest = text[at..].chars();
    match rest.next() {
        Some('.') => !rest.next().is_some_and(is_path),
        Some(next) => !is_path(next),
        None => true,
    }
}

fn is_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+')
}
