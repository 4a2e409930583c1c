//! Checks whether a skill conforms to the specification, and what its scripts need from skillrun,
//! without running anything.
//!
//! It never runs, writes or asks anything. Below it is only the model of skills, `skillrun-skill`: it is a crate of its
//! own so that the compiler refuses a call to anything that runs. As a module of `skillrun` it could reach all of that.
//!
//! The first part agrees with the reference validator on what is valid and which rule is violated; its
//! findings are the only errors. The second part reads sources and says *probably*: a program can compute
//! anything, so a finding from reading a source is never an error.
//!
//! | module | contents |
//! |---|---|
//! | `rules` | everything that is looked for, by name |
//! | `spec` | the front matter compared with the specification |
//! | `references` | the files that a skill's documents refer to |
//! | `python`, `javascript`, `shell` | what a source imports and uses, as `facts` |
//! | `modules`, `resolve` | where an import comes from |
//! | `preflight` | what a script needs from skillrun |

mod facts;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod javascript;
mod modules;
mod preflight;
mod python;
mod references;
mod resolve;
mod rules;
mod shell;
mod spec;

pub use preflight::{Preflight, Runtime, Want};
pub use resolve::{Import, Resolved};
pub use rules::{Level, Rule};

use cap_std::fs::Dir;
use skillrun_skill::files::{self, ReadError};
use skillrun_skill::text::show;
use skillrun_skill::{self as skill, MAX_SKILL_MD, Script, SkillError, strict};
use std::path::{Path, PathBuf};

/// Bytes of one script. A larger one is generated, not written by hand.
const MAX_SOURCE: u64 = 1024 * 1024;
/// Bytes read of one skill in total, so that a checked-in build tree does not take minutes.
const MAX_TOTAL: u64 = 32 * 1024 * 1024;
/// Scripts that are read.
const MAX_SCRIPTS: usize = 1000;

/// The result of checking one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The skill's name, or the name of its folder if it has none.
    pub skill: String,
    /// Its folder.
    pub path: PathBuf,
    /// Errors, warnings and notes.
    pub findings: Vec<Finding>,
    /// What each script needs.
    pub scripts: Vec<Preflight>,
}

impl Report {
    /// The number of findings of a level.
    pub fn count(&self, level: Level) -> usize {
        let of_level = |finding: &&Finding| finding.rule.level == level;
        self.findings.iter().filter(of_level).count()
    }

    /// Whether the skill conforms to the specification.
    pub fn is_valid(&self) -> bool {
        self.count(Level::Error) == 0
    }
}

/// One error, warning or note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The message. Control characters in names are escaped.
    pub message: String,
    /// The file, by its path in the skill.
    pub file: String,
    /// The line, where it is known.
    pub line: Option<usize>,
}

/// Checks the skill in the folder `path`, or the one whose `SKILL.md` it is.
///
/// An invalid skill is a [`Report`] with errors. The call fails only if the folder does not exist or cannot
/// be opened.
///
/// ```no_run
/// let report = skillrun_check::check("skills/word-count")?;
/// for finding in &report.findings {
///     println!("{}: {}: {}", finding.rule.level, finding.rule.id, finding.message);
/// }
/// # Ok::<(), skillrun_skill::SkillError>(())
/// ```
pub fn check(path: impl AsRef<Path>) -> Result<Report, SkillError> {
    let requested = skill::document_folder(path.as_ref());
    let (path, root) = skill::open(&requested)?;
    // The folder's name is the one that was asked for, not the one that a link points to.
    let folder = requested.file_name().or(path.file_name());
    let folder = folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut checker = Checker {
        root,
        path,
        budget: MAX_TOTAL,
        findings: Vec::new(),
    };
    let (file, document) = checker.skill_md();
    let fields = document.as_deref().map(strict::fields);
    let mut name = folder.clone();
    match fields {
        None => {}
        Some(Err(error)) => {
            checker.report(spec::rule_of(error.kind), error.message, file, error.line);
        }
        Some(Ok(fields)) => {
            name = strict::text_of(&fields, "name").map_or(name, str::to_owned);
            for (rule, message, line) in spec::violations(&fields, &folder) {
                checker.report(rule, message, file, line);
            }
        }
    }
    let scripts = checker.scripts(
        file,
        document.as_deref().unwrap_or_default(),
        &[&folder, &name],
    );
    Ok(Report {
        skill: name,
        path: checker.path,
        findings: checker.findings,
        scripts,
    })
}

struct Checker {
    root: Dir,
    path: PathBuf,
    /// Bytes that may still be read.
    budget: u64,
    findings: Vec<Finding>,
}

impl Checker {
    fn report(&mut self, rule: &'static Rule, message: String, file: &str, line: Option<usize>) {
        self.findings.push(Finding {
            rule,
            message,
            file: file.to_owned(),
            line,
        });
    }

    /// The name and the text of SKILL.md, if it can be read.
    fn skill_md(&mut self) -> (&'static str, Option<String>) {
        for name in ["SKILL.md", "skill.md"] {
            let (rule, message) = match files::read(&self.root, Path::new(name), MAX_SKILL_MD) {
                Ok(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => return (name, Some(text)),
                    Err(error) => {
                        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
                        let message = format!("{name} is not UTF-8 text");
                        self.report(&rules::SKILL_MD_NOT_UTF8, message, name, Some(line));
                        return (name, None);
                    }
                },
                Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                    continue;
                }
                Err(error @ ReadError::TooLarge(_)) => (&rules::SKILL_MD_TOO_LARGE, error),
                Err(error) => (&rules::SKILL_MD_UNREADABLE, error),
            };
            self.report(rule, format!("{name} {message}"), name, None);
            return (name, None);
        }
        let message = "the folder has no SKILL.md".to_owned();
        self.report(&rules::SKILL_MD_MISSING, message, "SKILL.md", None);
        ("SKILL.md", None)
    }

    /// Checks the scripts, and which files refer to which.
    fn scripts(&mut self, file: &str, document: &str, names: &[&str]) -> Vec<Preflight> {
        for (path, line) in references::of(document, names) {
            if !references::exists(&self.root, &path) {
                let message = format!("`{}` is not in the skill", show(&path));
                self.report(&rules::REFERENCE_MISSING, message, file, Some(line));
            }
        }
        let scripts = skill::discover(&self.root, &self.path, &[]);
        let mut sources = references::Words::default();
        let mut preflights = Vec::new();
        let mut unread = scripts.len().saturating_sub(MAX_SCRIPTS);
        for script in scripts.iter().take(MAX_SCRIPTS) {
            let path = script.path();
            let source = match self.read(Path::new(path)) {
                Ok(Some(source)) => source,
                Ok(None) => {
                    unread += 1;
                    continue;
                }
                Err(error) => {
                    let message = format!("`{}` {error}", show(path));
                    self.report(&rules::SCRIPT_UNREADABLE, message, path, None);
                    continue;
                }
            };
            let (preflight, mut findings) =
                preflight::preflight(&self.root, &scripts, script, &source);
            findings.sort_by_key(|(rule, _, line)| (rule.level, *line));
            for (rule, message, line) in findings {
                self.report(rule, message, path, Some(line));
            }
            add_mentions(&mut sources, script, &source);
            preflights.push(preflight);
        }
        let mut documents = references::Words::default();
        documents.add(document);
        for path in references::documents(&self.path) {
            if let Ok(Some(text)) = self.read(&path) {
                documents.add(&text);
            }
        }
        for script in references::unmentioned(&scripts, &documents, &sources, &preflights) {
            let message = format!("nothing in the skill mentions `{}`", show(script.path()));
            self.report(&rules::SCRIPT_UNREFERENCED, message, script.path(), None);
        }
        if unread > 0 {
            let message = format!(
                "scripts that were not checked because the skill has too many or too large ones: {unread}"
            );
            self.report(&rules::CHECK_INCOMPLETE, message, file, None);
        }
        preflights
    }

    /// Reads a file of the skill as text. Returns `None` if the budget is used up.
    fn read(&mut self, path: &Path) -> Result<Option<String>, ReadError> {
        if self.budget == 0 {
            return Ok(None);
        }
        let bytes = files::read(&self.root, path, MAX_SOURCE)?;
        self.budget = self.budget.saturating_sub(bytes.len() as u64 + 1);
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Adds the words of a script, without its own name.
fn add_mentions(words: &mut references::Words, script: &Script, source: &str) {
    let own = script.path().rsplit('/').next().unwrap_or_default();
    words.add(&source.replace(own, ""));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_content_of_a_skill_makes_the_readers_panic(
            text in "([a-z]{1,6}|[\\PC\n\t]|import |from |f'\\{|`\\$\\{|\\$\\(|<<EOF\n|process\\.env|case x in |scripts/|\\]\\(|: ){0,60}"
        ) {
            let _ = python::facts(&text);
            let _ = javascript::facts(&text);
            let _ = shell::facts(&text);
            let _ = references::of(&text, &["skill"]);
            let _ = strict::fields(&format!("---\n{text}\n---\n"));
        }
    }

    #[test]
    fn every_rule_has_a_unique_name() {
        let ids: std::collections::BTreeSet<_> = Rule::all().iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), Rule::all().len());
        let kebab = |id: &&str| {
            id.chars()
                .all(|c| c.is_ascii_lowercase() || c == '-' || c == '8')
        };
        assert!(ids.iter().all(kebab));
    }
}
