//! The files that a skill's documents refer to, and the scripts that nothing refers to.

use super::preflight::Preflight;
use super::resolve::inside;
use crate::skill::Script;
use cap_std::fs::Dir;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Folders of a skill; a path that starts with one is meant to be in it.
const FOLDERS: [&str; 3] = ["scripts/", "references/", "assets/"];
/// What stands for the skill's folder in the wild.
const BASES: [&str; 9] = [
    "{baseDir}/",
    "${CLAUDE_SKILL_DIR}/",
    "$CLAUDE_SKILL_DIR/",
    "${SKILL_BASE_DIR}/",
    "$SKILL_BASE_DIR/",
    "${SKILL_DIR}/",
    "$SKILL_DIR/",
    "{skill_dir}/",
    "{SKILL_DIR}/",
];
/// A document names this many different files, and no more are looked at.
const MOST: usize = 2000;
/// Bytes of a path; longer ones name nothing that a skill holds.
const MAX_PATH: usize = 512;
/// Bytes looked at for the end of a link's target: a line may hold a link at every second byte.
const MAX_TARGET: usize = 2 * MAX_PATH;

/// The paths in the skill that a document refers to, each with the line where it stands first.
pub(super) fn of(document: &str, names: &[&str]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut add = |path: Option<String>, line: usize| {
        if let Some(path) = path
            && found.len() < MOST
        {
            found.entry(path).or_insert(line);
        }
    };
    for (index, line) in document.lines().enumerate() {
        for (at, _) in line.match_indices("](") {
            add(linked(&line[at + 2..]), index + 1);
        }
        let ends = |c: char| c.is_whitespace() || "\"'`()[]<>|,;=*".contains(c);
        for word in line.split(ends) {
            add(named(word, names), index + 1);
        }
    }
    found
}

/// The target of a markdown link, if it is a file beside the document.
fn linked(rest: &str) -> Option<String> {
    let (rest, ends) = match rest.strip_prefix('<') {
        Some(rest) => (rest, ['>', '>', '#', '?']),
        None => (rest, [')', ' ', '#', '?']),
    };
    let most = rest.floor_char_boundary(MAX_TARGET);
    let end = match rest[..most].find(ends) {
        Some(end) => end,
        None if most < rest.len() => return None,
        None => most,
    };
    let target = rest[..end].replace("%20", " ");
    let scheme = target.contains(':') || target.starts_with(['/', '~', '\\']);
    let target = BASES
        .iter()
        .find_map(|base| target.strip_prefix(base))
        .unwrap_or(&target);
    (!scheme && has_extension(target)).then(|| plain(target))?
}

/// The path in the skill that a word of the text names.
fn named(word: &str, names: &[&str]) -> Option<String> {
    let word = word.trim_end_matches(['.', ':', '!', '?', ')']);
    // An address holds paths, too.
    if word.contains("://") || word.contains('%') {
        return None;
    }
    let based = BASES.iter().find_map(|base| word.strip_prefix(base));
    let below = |name: &&str| {
        let skills = format!("skills/{name}/");
        let at = word.find(&skills).map(|at| &word[at + skills.len()..]);
        at.or_else(|| word.strip_prefix(*name)?.strip_prefix('/'))
    };
    let named = names.iter().filter(|name| !name.is_empty()).find_map(below);
    let path = based.or(named).unwrap_or(word);
    let path = path.strip_prefix("./").unwrap_or(path);
    let path = path.split('#').next()?;
    let ours = FOLDERS.iter().any(|folder| path.starts_with(folder));
    (ours && has_extension(path)).then(|| plain(path))?
}

fn has_extension(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && !extension.is_empty() && extension.chars().all(char::is_alphanumeric)
    })
}

/// A path that is meant as it stands, and no pattern.
fn plain(path: &str) -> Option<String> {
    let pattern = path.contains(['*', '{', '}', '$', '…', '<', '>', '\0']) || path.contains("...");
    let name = path.rsplit('/').next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    // `scripts/NAME.py` stands for any.
    let stands_for = stem.len() > 1
        && stem.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        && path.starts_with("scripts/");
    if pattern || stands_for || path.len() > MAX_PATH {
        return None;
    }
    inside(Path::new(path))?.to_str().map(str::to_owned)
}

/// Whether a path is there, as a file or a folder inside the skill.
pub(super) fn is_there(root: &Dir, path: &str) -> bool {
    root.metadata(path).is_ok()
}

/// What texts mention, word by word.
#[derive(Default)]
pub(super) struct Words(HashSet<String>);

impl Words {
    pub(super) fn add(&mut self, text: &str) {
        let inner = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let words = text.split(|c| !inner(c)).map(|word| word.trim_matches('.'));
        for word in words.filter(|word| !word.is_empty() && word.len() <= 128) {
            if !self.0.contains(word) {
                self.0.insert(word.to_owned());
            }
        }
    }

    /// Whether a file's name was mentioned, each of its words.
    fn mention(&self, name: &str) -> bool {
        let inner = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        let mut words = name.split(|c| !inner(c)).map(|word| word.trim_matches('.'));
        words.all(|word| word.is_empty() || self.0.contains(word))
    }
}

/// The scripts that no document mentions and no other script imports or names.
pub(super) fn unmentioned<'a>(
    scripts: &'a [Script],
    documents: &Words,
    sources: &Words,
    preflights: &[Preflight],
) -> Vec<&'a Script> {
    let mut imported: HashSet<&str> = HashSet::new();
    for import in preflights.iter().flat_map(|preflight| &preflight.imports) {
        let name = import.name.rsplit('/').next().unwrap_or_default();
        imported.extend(name.split('.'));
        imported.insert(name.split('.').next().unwrap_or_default());
    }
    let is_mentioned = |script: &&Script| {
        let name = script.path().rsplit('/').next().unwrap_or_default();
        documents.mention(name)
            || sources.mention(name)
            || imported.contains(script.name())
            // These are found by their place or by a test runner.
            || ["__init__", "__main__", "index", "conftest"].contains(&script.name())
    };
    scripts
        .iter()
        .filter(|script| !is_mentioned(script))
        .collect()
}

/// The markdown files below the skill, without those of others.
pub(super) fn documents(path: &Path) -> Vec<PathBuf> {
    const MAX_DEPTH: usize = 5;
    const MAX_ENTRIES: usize = 20_000;
    const MAX_DOCUMENTS: usize = 200;
    let skipped = ["node_modules", ".git", "__pycache__", ".venv"];
    let enter = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !entry.file_type().is_dir() || !skipped.contains(&name.as_ref())
    };
    let mut found: Vec<PathBuf> = walkdir::WalkDir::new(path)
        .max_depth(MAX_DEPTH)
        .into_iter()
        .filter_entry(enter)
        .take(MAX_ENTRIES)
        .filter_map(Result::ok)
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "md")
        })
        .filter_map(|entry| Some(entry.path().strip_prefix(path).ok()?.to_owned()))
        .take(MAX_DOCUMENTS)
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        of(text, &["pdf", "PDF tools"]).into_keys().collect()
    }

    #[test]
    fn files_are_found_in_every_way_that_skills_name_them() {
        let text = "Run `python3 scripts/a.py --x=1` or ./scripts/b.sh.\nSee [the guide](references/c.md#part) and [d](<docs/d e.md> \"title\").\n`{baseDir}/scripts/f.py` `${CLAUDE_SKILL_DIR}/scripts/g.py` ~/.claude/skills/pdf/scripts/h.py skills/pdf/scripts/i.py pdf/scripts/j.py\n(assets/k.png), \"references/l.txt\"\n";
        assert_eq!(
            paths(text),
            [
                "assets/k.png",
                "docs/d e.md",
                "references/c.md",
                "references/l.txt",
                "scripts/a.py",
                "scripts/b.sh",
                "scripts/f.py",
                "scripts/g.py",
                "scripts/h.py",
                "scripts/i.py",
                "scripts/j.py"
            ]
        );
    }

    #[test]
    fn what_is_elsewhere_or_a_pattern_is_no_reference() {
        let text = "https://x.dev/scripts/a.py [b](https://x.dev/b.md) [c](#c) [d](mailto:a@b.c) scripts/*.py scripts/<name>.py scripts/{x}.py scripts/NAME.py other/scripts/e.py scripts/ scripts/build [f](../../etc/passwd.txt) [g](/etc/g.txt) ~/x/h.md";
        assert_eq!(paths(text), Vec::<String>::new());
    }
}
