//! Which section of a policy applies to which skill, and the rules that result.
//!
//! A section selects a skill by the path of its folder, by its content, or by a bare name. A bare name applies only in
//! the skill directories that belong to the policy: a repository can ship a folder of any name, and its skill must not
//! get what was granted to another. Real paths are compared. A skill that a section may be meant for, but does not cover,
//! is refused: the section may be narrower than the rest of the policy, or wider.

use super::{ApprovalMode, Limits, NativeMode, Policy, Rules};
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
    /// The text after `skill.`: the bare name, or the path as it is written.
    pub(super) key: String,
    pub(super) selector: Selector,
    /// The content that the skill must have, as `sha256:` and hexadecimal digits.
    pub(super) digest: Option<String>,
    pub(super) rules: Rules,
}

/// How a section selects its skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selector {
    /// By the name of its folder, which is the key.
    Name,
    /// By an absolute path.
    Path(PathBuf),
    /// By a path below the home directory.
    BelowHome(PathBuf),
}

/// Why it is unclear which rules of a policy apply to a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotCovered {
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// The rules of a policy for one skill, or for commands.
#[derive(Debug, Clone, Copy)]
pub struct EffectiveRules<'a> {
    policy: &'a Policy,
    section: Option<&'a Section>,
}

impl<'a> EffectiveRules<'a> {
    /// When a person is asked before it runs.
    pub fn approval(&self) -> ApprovalMode {
        self.setting(|rules| rules.approval).unwrap_or_default()
    }

    /// What happens if it needs an interpreter of this machine.
    pub fn native(&self) -> NativeMode {
        self.setting(|rules| rules.native).unwrap_or_default()
    }

    /// The grants that apply to it.
    pub fn grants(&self) -> impl Iterator<Item = &'a Grant> + use<'a> {
        let own = self.section.map(|section| &section.rules);
        let no_inherit = own.is_some_and(|rules| rules.no_inherit);
        let all = self.policy.rules.allow.iter().filter(move |_| !no_inherit);
        let own = own.map(|rules| rules.allow.as_slice());
        all.chain(own.unwrap_or_default()).chain(&self.policy.typed)
    }

    /// The grants that a person typed.
    pub(crate) fn typed(&self) -> &'a [Grant] {
        &self.policy.typed
    }

    /// The policy file and the line that grant exactly this; `None` if a person typed it, or the policy has no file.
    pub(crate) fn origin(&self, grant: &Grant) -> Option<(&'a Path, usize)> {
        if self.policy.typed.contains(grant) {
            return None;
        }
        let own = self.section.map(|section| &section.rules);
        let mut all = own.into_iter().chain([&self.policy.rules]);
        let line = all.find_map(|rules| {
            let at = rules.allow.iter().position(|allowed| allowed == grant)?;
            rules.allow_lines.get(at).copied()
        });
        self.policy.source().zip(line)
    }

    /// Whether a grant that applies to it covers `wanted`.
    pub fn allows(&self, wanted: &Grant) -> bool {
        self.grants().any(|grant| grant.covers(wanted))
    }

    /// The interpreters that its scripts may use, grants included.
    pub fn interpreters(&self) -> Vec<String> {
        let listed = self.setting(|rules| rules.interpreters.clone());
        let mut all = listed.unwrap_or_else(|| Policy::INTERPRETERS.map(str::to_owned).to_vec());
        all.extend(self.grants().filter_map(|grant| match grant {
            Grant::Interpreter(name) => Some(name.clone()),
            _ => None,
        }));
        all
    }

    /// The maximum that its runs may use, and the default if they request nothing.
    pub fn limits(&self) -> Limits {
        let limits = self.policy.rules.limits.applied_to(Limits::default());
        match self.section {
            Some(section) => section.rules.limits.applied_to(limits),
            None => limits,
        }
    }

    /// The content that the policy demands of the skill, in the form of [`Skill::digest`]. The decision compares it.
    pub fn digest(&self) -> Option<&'a str> {
        self.section?.digest.as_deref()
    }

    /// The header of its section, if it has one.
    pub(crate) fn section(&self) -> Option<String> {
        self.section.map(Section::title)
    }

    /// A setting of the skill's own section, or else of the rules for every skill.
    fn setting<T>(&self, get: impl Fn(&Rules) -> Option<T>) -> Option<T> {
        let own = self.section.and_then(|section| get(&section.rules));
        own.or_else(|| get(&self.policy.rules))
    }
}

impl Policy {
    /// The rules for commands, which have no section.
    pub(crate) fn rules_for_commands(&self) -> EffectiveRules<'_> {
        EffectiveRules {
            policy: self,
            section: None,
        }
    }

    /// The rules for a skill. Its content is not compared here.
    pub(crate) fn rules_for(&self, skill: &Skill) -> Result<EffectiveRules<'_>, NotCovered> {
        let path = skill.path();
        let section = match self.section_of_path(skill)? {
            Some(section) => Some(section),
            None => self.section_of_name(skill)?,
        };
        // A path or a digest selects exactly this skill, whatever it shadows.
        let exact =
            section.is_some_and(|own| own.selector != Selector::Name || own.digest.is_some());
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
        Ok(EffectiveRules {
            policy: self,
            section,
        })
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
            let has_name =
                |section: &&Section| section.selector == Selector::Name && section.key == name;
            let Some(section) = self.sections.iter().find(has_name) else {
                continue;
            };
            if section.digest.is_none() && !self.is_in_skill_dirs(name, skill.path()) {
                return Err(self.not_covered(section, skill.path()));
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
            match (&section.selector, name) {
                (Selector::Name, Some(name)) => {
                    section.key == name && self.is_in_skill_dirs(name, path)
                }
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
                show(&section.key)
            ),
        }
    }
}

impl Section {
    /// Its header in the file.
    pub(super) fn title(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        match self.key.chars().all(plain) {
            true => format!("[skill.{}]", self.key),
            false => quoted_title(&self.key),
        }
    }

    /// The path that it selects; `None` for a bare name, and below an unknown home directory.
    fn path(&self, home: Option<&Path>) -> Option<PathBuf> {
        match &self.selector {
            Selector::Name => None,
            Selector::Path(path) => Some(path.clone()),
            Selector::BelowHome(path) => Some(home?.join(path)),
        }
    }
}

fn path_title(path: &Path) -> String {
    quoted_title(&path.display().to_string())
}

/// A header with a quoted key. TOML escapes like JSON.
fn quoted_title(key: &str) -> String {
    let quoted = serde_json::Value::from(key).to_string();
    format!("[skill.{}]", show(&quoted))
}

fn shown(path: &Path) -> String {
    show(&path.display().to_string())
}
