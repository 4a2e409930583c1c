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
        let odd = Names::new(all.filter(|path| !path.chars().all(is_path)));
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
            if let Some(path) = odd.longest_before(rest) {
                paths.insert(path.to_owned());
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

/// Names in their order, so that a text is compared with a few of them and not with all: instructions may hold
/// hundreds of thousands of words, and a skill tens of thousands of names.
struct Names<'a> {
    sorted: Vec<&'a str>,
    /// For each name, where the longest other one stands that it begins with.
    shorter: Vec<Option<usize>>,
}

impl<'a> Names<'a> {
    fn new(names: impl Iterator<Item = &'a str>) -> Self {
        let mut sorted: Vec<&str> = names.collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut shorter: Vec<Option<usize>> = Vec::with_capacity(sorted.len());
        for (at, name) in sorted.iter().enumerate() {
            let mut before = at.checked_sub(1);
            while let Some(place) = before.filter(|place| !name.starts_with(sorted[*place])) {
                before = shorter[place];
            }
            shorter.push(before);
        }
        Self { sorted, shorter }
    }

    /// The longest name that a text begins with and that ends there: `scripts/a b.py` is not `scripts/a b`.
    fn longest_before(&self, text: &str) -> Option<&'a str> {
        // Whatever the text begins with is this name, or one that this name begins with.
        let after = self.sorted.partition_point(|name| *name <= text);
        let mut at = after.checked_sub(1);
        let name = at.map_or("", |at| self.sorted[at]);
        let same = name.bytes().zip(text.bytes());
        let same = same.take_while(|(a, b)| a == b).count();
        while let Some(place) = at {
            let name = self.sorted[place];
            if name.len() <= same && ends(text, name.len()) {
                return Some(name);
            }
            at = self.shorter[place];
        }
        None
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_are_found_as_if_each_were_compared(
            names in prop::collection::vec("[ab ]{1,4}", 0..12),
            text in "[ab .é]{0,8}",
        ) {
            let there = |name: &&String| text.starts_with(*name) && ends(&text, name.len());
            let longest = names.iter().filter(there).max_by_key(|name| name.len());
            let found = Names::new(names.iter().map(String::as_str)).longest_before(&text);
            prop_assert_eq!(found, longest.map(String::as_str));
        }
    }
}
