//! Which section of a policy is for which skill, and what holds for it.
//!
//! A section names a skill by the path of its folder, by its content, or by a bare name. A bare name counts only in the
//! skill directories that the policy belongs to: a repository can ship a folder of any name, and its skill must not get
//! what was granted to another. Paths are compared by where they really lead. A skill that a section may have been
//! meant for, but that it does not cover, is refused: the section may be narrower than the rest of the policy, or wider.

use super::{Approval, Limits, Native, Policy, Rules};
use crate::files::show;
use crate::grant::Grant;
use crate::skill::Skill;
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
    /// What stands behind `skill.`: the bare name, or the path as it is written.
    pub(super) key: String,
    pub(super) target: Target,
    /// The content that the skill must have, as `sha256:` and hexadecimal digits.
    pub(super) digest: Option<String>,
    pub(super) rules: Rules,
}

/// How a section names its skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// By the name of its folder, which is the key.
    Name,
    /// By an absolute path.
    Path(PathBuf),
    /// By a path below the home directory.
    BelowHome(PathBuf),
}

/// Why a policy does not say what holds for a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotCovered {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// What a policy says of one skill, or of commands.
#[derive(Debug, Clone, Copy)]
pub struct EffectiveRules<'a> {
    policy: &'a Policy,
    section: Option<&'a Section>,
}

impl<'a> EffectiveRules<'a> {
    /// When a person is asked before it runs.
    pub fn approval(&self) -> Approval {
        self.said(|rules| rules.approval).unwrap_or_default()
    }

    /// What happens if it needs an interpreter of this machine.
    pub fn native(&self) -> Native {
        self.said(|rules| rules.native).unwrap_or_default()
    }

    /// The grants that it holds.
    pub fn grants(&self) -> impl Iterator<Item = &'a Grant> + use<'a> {
        let own = self.section.map(|section| &section.rules);
        let alone = own.is_some_and(|rules| rules.alone);
        let all = self.policy.rules.allow.iter().filter(move |_| !alone);
        let own = own.map(|rules| rules.allow.as_slice());
        all.chain(own.unwrap_or_default()).chain(&self.policy.typed)
    }

    /// The grants that a person typed.
    pub(crate) fn typed(&self) -> &'a [Grant] {
        &self.policy.typed
    }

    /// Whether it holds a grant that covers `wanted`.
    pub fn allows(&self, wanted: &Grant) -> bool {
        self.grants().any(|grant| grant.covers(wanted))
    }

    /// The interpreters that its scripts may use, grants included.
    pub fn interpreters(&self) -> Vec<String> {
        let listed = self.said(|rules| rules.interpreters.clone());
        let mut all = listed.unwrap_or_else(|| Policy::INTERPRETERS.map(str::to_owned).to_vec());
        all.extend(self.grants().filter_map(|grant| match grant {
            Grant::Interpreter(name) => Some(name.clone()),
            _ => None,
        }));
        all
    }

    /// The most that its runs may use, and what they get if they do not ask.
    pub fn limits(&self) -> Limits {
        let limits = self.policy.rules.limits.applied_to(Limits::default());
        match self.section {
            Some(section) => section.rules.limits.applied_to(limits),
            None => limits,
        }
    }

    /// The content that the policy demands of the skill, as [`Skill::digest`] says it. Deciding compares it.
    pub fn digest(&self) -> Option<&'a str> {
        self.section?.digest.as_deref()
    }

    /// The section as it stands in the file, if there is one for it.
    pub(crate) fn section(&self) -> Option<String> {
        self.section.map(Section::title)
    }

    /// What the skill's own section says, or else what holds for all.
    fn said<T>(&self, says: impl Fn(&Rules) -> Option<T>) -> Option<T> {
        let own = self.section.and_then(|section| says(&section.rules));
        own.or_else(|| says(&self.policy.rules))
    }
}

impl Policy {
    /// What holds for commands: they have no section.
    pub(crate) fn rules_for_commands(&self) -> EffectiveRules<'_> {
        EffectiveRules {
            policy: self,
            section: None,
        }
    }

    /// What holds for a skill. Its content is not looked at here.
    pub(crate) fn rules_for(&self, skill: &Skill) -> Result<EffectiveRules<'_>, NotCovered> {
        let place = skill.path();
        let section = match self.section_of_path(skill)? {
            Some(section) => Some(section),
            None => self.section_of_name(skill)?,
        };
        // A path or a digest is a person's word for this very skill, whatever it hides.
        let exact = section.is_some_and(|own| own.target != Target::Name || own.digest.is_some());
        if !exact {
            let hidden = skill.shadowed().iter().find_map(|hidden| {
                let hidden = hidden.canonicalize().ok()?;
                let other = (hidden != place).then(|| self.section_about(&hidden))??;
                Some((hidden, other))
            });
            if let Some((hidden, other)) = hidden {
                let (own, header) = (shown(place), path_title(place));
                return Err(NotCovered {
                    message: format!(
                        "the skill in `{own}` hides the one in `{}`, which the policy's section `{}` is for",
                        shown(&hidden),
                        other.title()
                    ),
                    hint: format!("name the skill by its path, or add a section `{header}`"),
                });
            }
        }
        Ok(EffectiveRules {
            policy: self,
            section,
        })
    }

    /// The paths of skills that the sections name.
    pub fn skill_paths(&self) -> impl Iterator<Item = PathBuf> {
        let sections = self.sections.iter();
        sections.filter_map(|section| section.path(self.home.as_deref()))
    }

    /// The section that names a skill by its path.
    fn section_of_path(&self, skill: &Skill) -> Result<Option<&Section>, NotCovered> {
        let home = self.home.as_deref();
        for section in &self.sections {
            let Target::BelowHome(path) = &section.target else {
                continue;
            };
            let meant = path.file_name().and_then(|name| name.to_str());
            if home.is_none() && meant.is_some_and(|name| skill.names().any(|own| own == name)) {
                return Err(NotCovered {
                    message: format!(
                        "the policy's section `{}` cannot be compared with the skill in `{}`: no home directory is known",
                        section.title(),
                        shown(skill.path())
                    ),
                    hint: "write the whole path".into(),
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
                    "the policy's sections `{}` and `{}` both name the skill in `{}`",
                    one.title(),
                    other.title(),
                    shown(skill.path())
                ),
                hint: "keep one of them".into(),
            }),
            (own, _) => Ok(own),
        }
    }

    /// The section that names a skill by a bare name, or that seems to.
    fn section_of_name(&self, skill: &Skill) -> Result<Option<&Section>, NotCovered> {
        let mut own = None;
        for name in skill.names() {
            let called = |section: &&Section| section.target == Target::Name && section.key == name;
            let Some(section) = self.sections.iter().find(called) else {
                continue;
            };
            if section.digest.is_none() && !self.is_at_home(name, skill.path()) {
                return Err(self.elsewhere(section, skill.path()));
            }
            own = own.or(Some(section));
        }
        Ok(own)
    }

    /// The section that is for a skill at this real path, whatever the skill holds.
    fn section_about(&self, place: &Path) -> Option<&Section> {
        let name = place.file_name().and_then(|name| name.to_str());
        let home = self.home.as_deref();
        self.sections.iter().find(|section| {
            let path = section.path(home).and_then(|path| path.canonicalize().ok());
            match (&section.target, name) {
                (Target::Name, Some(name)) => section.key == name && self.is_at_home(name, place),
                _ => path.is_some_and(|path| path == place),
            }
        })
    }

    /// Whether a skill of this name lies in one of the policy's skill directories.
    fn is_at_home(&self, name: &str, place: &Path) -> bool {
        let named = place.file_name().is_some_and(|own| own == name);
        let mut dirs = self.skill_dirs.iter();
        named && dirs.any(|dir| dir.canonicalize().ok().as_deref() == place.parent())
    }

    fn elsewhere(&self, section: &Section, place: &Path) -> NotCovered {
        let dirs: Vec<String> = self.skill_dirs.iter().map(|dir| shown(dir)).collect();
        let counts = match dirs.is_empty() {
            true => "nowhere".to_owned(),
            false => format!("only in {}", dirs.join(", ")),
        };
        NotCovered {
            message: format!(
                "the policy's section `{}` does not cover the skill in `{}`",
                section.title(),
                shown(place)
            ),
            hint: format!(
                "if this skill is meant, add a section `{}`; the bare name `{}` counts {counts}",
                path_title(place),
                show(&section.key)
            ),
        }
    }
}

impl Section {
    /// Its head line in the file.
    pub(super) fn title(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        match self.key.chars().all(plain) {
            true => format!("[skill.{}]", self.key),
            false => quoted_title(&self.key),
        }
    }

    /// The path that it names; `None` for a bare name, and below a home that nobody knows.
    fn path(&self, home: Option<&Path>) -> Option<PathBuf> {
        match &self.target {
            Target::Name => None,
            Target::Path(path) => Some(path.clone()),
            Target::BelowHome(path) => Some(home?.join(path)),
        }
    }
}

fn path_title(path: &Path) -> String {
    quoted_title(&path.display().to_string())
}

/// A head line with a quoted key; what JSON escapes, TOML escapes in the same way.
fn quoted_title(key: &str) -> String {
    let quoted = serde_json::Value::from(key).to_string();
    format!("[skill.{}]", show(&quoted))
}

fn shown(path: &Path) -> String {
    show(&path.display().to_string())
}
