//! Finds the files that a skill's documents refer to, and the scripts that nothing refers to.

use super::preflight::Preflight;
use super::resolve::inside;
use cap_std::fs::Dir;
use skillrun_skill::{BASE_DIRECTORIES, SKIPPED_FOLDERS, Script};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Folders of a skill. A path that starts with one of them is meant to be inside the skill.
const FOLDERS: [&str; 3] = ["scripts/", "references/", "assets/"];
/// Different files that are taken from one document.
const MAX_REFERENCES: usize = 2000;
/// Bytes of a path. Longer ones name no file of a skill.
const MAX_PATH: usize = 512;
/// Bytes searched for the end of a link's target. Without a limit the search is quadratic: a line may contain a link at
/// every second byte.
const MAX_TARGET: usize = 2 * MAX_PATH;

/// The paths in the skill that a document refers to, each with its first line.
pub(super) fn of(document: &str, names: &[&str]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut add = |path: Option<String>, line: usize| {
        if let Some(path) = path
            && found.len() < MAX_REFERENCES
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

/// The target of a Markdown link, if it is a file beside the document.
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
    let target = BASE_DIRECTORIES
        .iter()
        .find_map(|base| target.strip_prefix(base))
        .unwrap_or(&target);
    (!scheme && has_extension(target)).then(|| plain(target))?
}

/// The path in the skill that a word of the text names.
fn named(word: &str, names: &[&str]) -> Option<String> {
    let word = word.trim_end_matches(['.', ':', '!', '?', ')']);
    // The path of a URL is not a path in the skill.
    if word.contains("://") || word.contains('%') {
        return None;
    }
    let based = BASE_DIRECTORIES
        .iter()
        .find_map(|base| word.strip_prefix(base));
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

/// A literal path inside the skill; `None` for a pattern.
fn plain(path: &str) -> Option<String> {
    let pattern = path.contains(['*', '{', '}', '$', '…', '<', '>', '\0']) || path.contains("...");
    let name = path.rsplit('/').next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    // `scripts/NAME.py` stands for any script.
    let is_placeholder = stem.len() > 1
        && stem.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        && path.starts_with("scripts/");
    if pattern || is_placeholder || path.len() > MAX_PATH {
        return None;
    }
    inside(Path::new(path))?.to_str().map(str::to_owned)
}

/// Whether a path exists inside the skill, as a file or a directory.
pub(super) fn exists(root: &Dir, path: &str) -> bool {
    root.metadata(path).is_ok()
}

/// The words of several texts.
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

    /// Whether every word of a file's name occurs.
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
    }
    let is_mentioned = |script: &&Script| {
        let name = script.path().rsplit('/').next().unwrap_or_default();
        documents.mention(name)
            || sources.mention(name)
            || imported.contains(script.name())
            // These are found by convention or by a test runner.
            || ["__init__", "__main__", "index", "conftest"].contains(&script.name())
    };
    scripts
        .iter()
        .filter(|script| !is_mentioned(script))
        .collect()
}

/// The Markdown files of the skill, without those of its dependencies.
pub(super) fn documents(path: &Path) -> Vec<PathBuf> {
    const MAX_DEPTH: usize = 5;
    const MAX_ENTRIES: usize = 20_000;
    const MAX_DOCUMENTS: usize = 200;
    let enter = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0
            || !entry.file_type().is_dir()
            || !SKIPPED_FOLDERS.contains(&name.as_ref())
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
    fn files_are_found_in_every_form_that_skills_write() {
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
    fn a_path_below_every_name_of_the_base_directory_is_a_reference() {
        for base in BASE_DIRECTORIES {
            assert_eq!(paths(&format!("Run {base}scripts/a.py")), ["scripts/a.py"]);
            assert_eq!(paths(&format!("[a]({base}a.md)")), ["a.md"]);
        }
    }

    #[test]
    fn patterns_and_paths_outside_the_skill_are_not_references() {
        let text = "https://x.dev/scripts/a.py [b](https://x.dev/b.md) [c](#c) [d](mailto:a@b.c) scripts/*.py scripts/<name>.py scripts/{x}.py scripts/NAME.py other/scripts/e.py scripts/ scripts/build [f](../../etc/passwd.txt) [g](/etc/g.txt) ~/x/h.md";
        assert_eq!(paths(text), Vec::<String>::new());
    }
}
