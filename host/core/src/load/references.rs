//! Finds the paths that instructions refer to: `scripts/x`, `./scripts/x`, `skills/<name>/scripts/x`,
//! `<name>/scripts/x`, `{baseDir}/…`, `${CLAUDE_SKILL_DIR}/…`.
//!
//! A mention is a whole path: `other/scripts/x.py`, `../scripts/x.py` and `scripts/x.py.bak` do not mention
//! `scripts/x.py`.

use crate::skill::{Language, Script, Skill};
use std::collections::BTreeSet;
use std::path::Path;

/// Paths that are collected. Instructions are for a model to read; real ones mention far fewer.
const MAX_MENTIONS: usize = 10_000;

/// The files of a skill that its instructions mention.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    /// Paths, whether the files exist or not.
    paths: BTreeSet<String>,
}

impl Mentions {
    pub(super) fn of(skill: &Skill) -> Self {
        let text = skill.instructions();
        let prefixes = skill.prefixes();
        // A name with spaces or other unusual characters is recognised only if the file exists.
        let all = skill.scripts().iter().map(Script::path);
        let unusual = Names::new(all.filter(|path| !path.chars().all(is_path)));
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
            if let Some(path) = unusual.longest_prefix(rest) {
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

    pub(super) fn contains(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Paths in `scripts/` that look like a script, whether they exist or not.
    pub(super) fn scripts(&self) -> impl Iterator<Item = &str> {
        let scripts = self.paths.iter().map(String::as_str);
        scripts.filter(|path| {
            path.starts_with("scripts/") && Language::of_extension(Path::new(path)).is_some()
        })
    }

    /// Paths in `references/`, whether they exist or not.
    pub(super) fn references(&self) -> impl Iterator<Item = &str> {
        let all = self.paths.iter().map(String::as_str);
        all.filter(|path| path.starts_with("references/"))
    }
}

/// Sorted names, so that a text is compared with a few of them and not with all: instructions may contain hundreds of
/// thousands of words, and a skill tens of thousands of names.
struct Names<'a> {
    sorted: Vec<&'a str>,
    /// For each name, the index of the longest other name that is a prefix of it.
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
            while let Some(index) = before.filter(|index| !name.starts_with(sorted[*index])) {
                before = shorter[index];
            }
            shorter.push(before);
        }
        Self { sorted, shorter }
    }

    /// The longest name at the start of a text that ends there: `scripts/a b.py` is not `scripts/a b`.
    fn longest_prefix(&self, text: &str) -> Option<&'a str> {
        // Any name at the start of the text is this name or a prefix of it.
        let after = self.sorted.partition_point(|name| *name <= text);
        let mut at = after.checked_sub(1);
        let name = at.map_or("", |at| self.sorted[at]);
        let same = name.bytes().zip(text.bytes());
        let same = same.take_while(|(a, b)| a == b).count();
        while let Some(index) = at {
            let name = self.sorted[index];
            if name.len() <= same && ends(text, name.len()) {
                return Some(name);
            }
            at = self.shorter[index];
        }
        None
    }
}

/// Whether a path may begin here: the character before is not part of one.
fn begins(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let joins = |c: char| is_path(c) || matches!(c, '$' | '{' | '}' | '~' | '\\' | '@');
    let here = text[at..].chars().next();
    here.is_some_and(|c| is_path(c) || matches!(c, '$' | '{')) && !before.is_some_and(joins)
}

/// Whether a name that extends to `at` ends there.
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
        fn the_longest_name_is_found_as_by_comparing_each(
            names in prop::collection::vec("[ab ]{1,4}", 0..12),
            text in "[ab .é]{0,8}",
        ) {
            let matches = |name: &&String| text.starts_with(*name) && ends(&text, name.len());
            let longest = names.iter().filter(matches).max_by_key(|name| name.len());
            let found = Names::new(names.iter().map(String::as_str)).longest_prefix(&text);
            prop_assert_eq!(found, longest.map(String::as_str));
        }
    }
}
