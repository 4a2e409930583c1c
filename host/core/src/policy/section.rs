//! Which section of a policy applies to which skill.
//!
//! A section selects a skill by the path of its folder, by its content, or by a bare name. A bare name applies only in
//! the skill directories that belong to the policy: a repository can ship a folder of any name, and its skill must not
//! get what was granted to another. Real paths are compared. A skill that a section may be meant for, but does not cover,
//! is refused: the section may be narrower than the rest of the policy, or wider.

use super::definition::SkillRules;
use super::error::PolicyError;
use super::{Policy, Written, shown};
use crate::files::show;
use crate::skill::Skill;
use crate::text::toml_quoted;
use std::path::{Path, PathBuf};

/// The skill directories of a project, below its folder.
pub(super) const PROJECT_SKILL_DIRS: [&str; 4] = [
    ".agents/skills",
    ".claude/skills",
    ".chorus/skills",
    "skills",
];

/// A section for one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// The text after `skill.`: the bare name, or the path as it is written.
    pub(super) key: Written<String>,
    pub(super) selector: Selector,
    pub(super) rules: SkillRules,
    /// The line of each grant in the file.
    pub(super) lines: Written<Vec<usize>>,
}

/// How a section selects its skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Selector {
    /// By the name of its folder.
    Name(String),
    /// By an absolute path.
    Path(PathBuf),
    /// By a path below the home directory.
    BelowHome(PathBuf),
}

impl Selector {
    /// Parses a section's key: with a `/` it is a path, otherwise a name. Relative paths start at `base`.
    pub(super) fn parse(key: &str, base: &Path) -> Result<Self, PolicyError> {
        let invalid = || {
            let why = format!(
                "`{}` is neither the name nor the path of a skill's folder",
                show(key)
            );
            PolicyError::new(why)
        };
        if matches!(key, "" | "." | ".." | "~") || key.contains('\0') {
            return Err(invalid());
        }
        match key.split_once('/') {
            None => Ok(Self::Name(key.to_owned())),
            Some(("~", below)) => Ok(Self::BelowHome(below.trim_start_matches('/').into())),
            Some((user, _)) if user.starts_with('~') => Err(invalid()),
            // Without `.` in it, so that a written policy shows it as a person would write it.
            Some(_) => Ok(Self::Path(base.join(key).components().collect())),
        }
    }
}

/// Why it is unclear which rules of a policy apply to a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotCovered {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Policy {
    /// The section for a skill. Its content is not compared here.
    pub(super) fn section_for(&self, skill: &Skill) -> Result<Option<&Section>, NotCovered> {
        let path = skill.path();
        let section = match self.section_of_path(skill)? {
            Some(section) => Some(section),
            None => self.section_of_name(skill)?,
        };
        // A path or a digest selects exactly this skill, whatever it shadows.
        let exact = section.is_some_and(|own| own.name().is_none() || own.rules.digest.is_some());
        if !exact {
            let hidden = skill.shadowed().iter().find_map(|hidden| {
                let hidden = hidden.canonicalize().ok()?;
                let other = (hidden != path).then(|| self.section_about(&hidden))??;
                Some((hidden, other))
            });
            if let Some((hidden, other)) = hidden {
                let (own, header) = (shown(path), path_title(path));
                return Err(NotCovered {
                    message: format!(
                        "the skill in `{own}` shadows the one in `{}`, which the policy's section `{}` is for",
                        shown(&hidden),
                        other.title()
                    ),
                    hint: format!("name the skill by its path, or add a section `{header}`"),
                });
            }
        }
        Ok(section)
    }

    /// The paths of skills that sections select.
    pub fn skill_paths(&self) -> impl Iterator<Item = PathBuf> {
        let sections = self.sections.iter();
        sections.filter_map(|section| section.path(self.home.as_deref()))
    }

    /// The section that selects a skill by its path.
    fn section_of_path(&self, skill: &Skill) -> Result<Option<&Section>, NotCovered> {
        let home = self.home.as_deref();
        for section in &self.sections {
            let Selector::BelowHome(path) = &section.selector else {
                continue;
            };
            let meant = path.file_name().and_then(|name| name.to_str());
            if home.is_none() && meant.is_some_and(|name| skill.names().any(|own| own == name)) {
                return Err(NotCovered {
                    message: format!(
                        "the policy's section `{}` cannot be compared with the skill in `{}`: the home directory is unknown",
                        section.title(),
                        shown(skill.path())
                    ),
                    hint: "write the full path".into(),
                });
            }
        }
        let mut own = self.sections.iter().filter(|section| {
            let path = section.path(home).and_then(|path| path.canonicalize().ok());
            path.is_some_and(|path| path == skill.path())
        });
        match (own.next(), own.next()) {
            (Some(one), Some(other)) => Err(NotCovered {
                message: format!(
                    "the policy's sections `{}` and `{}` both select the skill in `{}`",
                    one.title(),
                    other.title(),
                    shown(skill.path())
                ),
                hint: "keep one of them".into(),
            }),
            (own, _) => Ok(own),
        }
    }

    /// The section that selects a skill by a bare name. Fails if the skill is not where that name applies.
    fn section_of_name(&self, skill: &Skill) -> Result<Option<&Section>, NotCovered> {
        let mut own = None;
        for name in skill.names() {
            let has_name = |section: &&Section| section.name() == Some(name);
            let Some(section) = self.sections.iter().find(has_name) else {
                continue;
            };
            if section.rules.digest.is_none() && !self.is_in_skill_dirs(name, skill.path()) {
                return Err(match skill.is_in_memory() {
                    true => not_covered_in_memory(section, skill),
                    false => self.not_covered(section, skill.path()),
                });
            }
            own = own.or(Some(section));
        }
        Ok(own)
    }

    /// The section for a skill at this real path, whatever its content.
    fn section_about(&self, path: &Path) -> Option<&Section> {
        let name = path.file_name().and_then(|name| name.to_str());
        let home = self.home.as_deref();
        self.sections.iter().find(|section| {
            let selected = section.path(home).and_then(|path| path.canonicalize().ok());
            match (section.name(), name) {
                (Some(own), Some(name)) => own == name && self.is_in_skill_dirs(name, path),
                _ => selected.is_some_and(|selected| selected == path),
            }
        })
    }

    /// Whether this path is a skill of this name in one of the policy's skill directories.
    fn is_in_skill_dirs(&self, name: &str, path: &Path) -> bool {
        let named = path.file_name().is_some_and(|own| own == name);
        let mut dirs = self.skill_dirs.iter();
        named && dirs.any(|dir| dir.canonicalize().ok().as_deref() == path.parent())
    }

    fn not_covered(&self, section: &Section, path: &Path) -> NotCovered {
        let dirs: Vec<String> = self.skill_dirs.iter().map(|dir| shown(dir)).collect();
        let applies = match dirs.is_empty() {
            true => "nowhere".to_owned(),
            false => format!("only in {}", dirs.join(", ")),
        };
        NotCovered {
            message: format!(
                "the policy's section `{}` does not cover the skill in `{}`",
                section.title(),
                shown(path)
            ),
            hint: format!(
                "if you mean this skill, add a section `{}`; the bare name `{}` applies {applies}",
                path_title(path),
                show(&section.key.0)
            ),
        }
    }
}

/// A skill that was given as bytes is in no directory, and whoever uploads it may choose its name.
fn not_covered_in_memory(section: &Section, skill: &Skill) -> NotCovered {
    let title = section.title();
    let digest = skill.digest().unwrap_or_else(|_| "sha256:…".into());
    NotCovered {
        message: format!(
            "the policy's section `{title}` does not cover the skill in `{}`",
            shown(skill.path())
        ),
        hint: format!(
            "a skill that is given as bytes is selected by its content: if you mean this one, write digest = \"{digest}\" in `{title}`"
        ),
    }
}

impl Section {
    /// Its header in the file.
    pub(super) fn title(&self) -> String {
        header(&self.key.0)
    }

    /// The bare name that it selects by.
    fn name(&self) -> Option<&str> {
        match &self.selector {
            Selector::Name(name) => Some(name),
            Selector::Path(_) | Selector::BelowHome(_) => None,
        }
    }

    /// The path that it selects; `None` for a bare name, and below an unknown home directory.
    fn path(&self, home: Option<&Path>) -> Option<PathBuf> {
        match &self.selector {
            Selector::Name(_) => None,
            Selector::Path(path) => Some(path.clone()),
            Selector::BelowHome(path) => Some(home?.join(path)),
        }
    }
}

/// The header of the section with this key.
pub(super) fn header(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match key.chars().all(plain) {
        true => format!("[skill.{key}]"),
        false => quoted_title(key),
    }
}

fn path_title(path: &Path) -> String {
    quoted_title(&path.display().to_string())
}

/// A header with a quoted key.
fn quoted_title(key: &str) -> String {
    format!("[skill.{}]", show(&toml_quoted(key)))
}
