//! Checks a definition and makes a policy of it: one from code and one from a file, by the same rules, so that they cannot
//! differ in what they accept.

use super::definition::{Definition, Rules, SkillRules};
use super::error::PolicyError;
use super::section::{Section, Selector, header};
use super::{Policy, Written};
use crate::files::show;
use crate::grant::Grant;
use std::collections::BTreeMap;
use std::path::Path;

/// The lines of the grants in a file.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) rules: Vec<usize>,
    pub(super) skills: BTreeMap<String, Vec<usize>>,
}

impl Policy {
    /// A policy from code. Relative paths in it start at `base`, as in [`Policy::parse`].
    pub fn new(definition: Definition, base: &Path) -> Result<Self, PolicyError> {
        let policy = build(definition, Lines::default(), base)?;
        Ok(policy.with_skill_dirs(Self::project_skill_dirs(base)))
    }
}

/// Checks a definition and makes a policy of it. An error about a section names its header.
pub(super) fn build(
    definition: Definition,
    mut lines: Lines,
    base: &Path,
) -> Result<Policy, PolicyError> {
    let Definition {
        enforce,
        rules,
        skills,
    } = definition;
    if !base.is_absolute() {
        let base = show(&base.display().to_string());
        let why = format!("the directory `{base}` of a policy must be an absolute path");
        return Err(PolicyError::new(why));
    }
    let mut sections: Vec<Section> = Vec::new();
    for (key, rules) in skills {
        let in_section = |error: PolicyError| error.in_section(&header(&key));
        let selector = Selector::parse(&key, base)?;
        let section = Section {
            selector,
            rules: checked_section(rules, base).map_err(in_section)?,
            lines: Written(lines.skills.remove(&key).unwrap_or_default()),
            key: Written(key),
        };
        let same = |other: &&Section| other.selector == section.selector;
        if let Some(other) = sections.iter().find(same) {
            let (one, other) = (other.title(), section.title());
            let why = format!("the sections `{one}` and `{other}` select the same skill");
            return Err(PolicyError::new(why));
        }
        sections.push(section);
    }
    // The same policy has the same order, however its keys are written.
    sections.sort_by(|a, b| a.selector.cmp(&b.selector));
    Ok(Policy {
        enforce,
        rules: checked(rules, base)?,
        lines: Written(lines.rules),
        sections,
        ..Policy::default()
    })
}

fn checked_section(rules: SkillRules, base: &Path) -> Result<SkillRules, PolicyError> {
    if let Some(digest) = &rules.digest {
        check_digest(digest)?;
    }
    Ok(SkillRules {
        rules: checked(rules.rules, base)?,
        ..rules
    })
}

/// Checks rules and resolves their paths.
fn checked(mut rules: Rules, base: &Path) -> Result<Rules, PolicyError> {
    for name in rules.interpreters.iter().flatten() {
        check_interpreter(name)?;
    }
    rules.limits.check()?;
    if let Some(allow) = rules.allow {
        let all = allow.into_iter().map(|grant| checked_grant(grant, base));
        rules.allow = Some(all.collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

/// Checks the name of an interpreter. It may be that of a runtime which the host adds.
fn check_interpreter(name: &str) -> Result<(), PolicyError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => Ok(()),
        false => {
            let why = format!("`{}` is not the name of an interpreter", show(name));
            Err(PolicyError::new(why))
        }
    }
}

/// Checks a grant and resolves its path. The parts of a grant from code can be any text.
fn checked_grant(grant: Grant, base: &Path) -> Result<Grant, PolicyError> {
    let is_valid = match &grant {
        Grant::Read(path) | Grant::Write(path) => !path.as_os_str().is_empty(),
        Grant::Interpreter(name) => check_interpreter(name).is_ok(),
        other => other.to_string().parse().as_ref() == Ok(other),
    };
    match is_valid {
        true => Ok(grant.resolved(base)),
        false => {
            let why = format!("`{}` is not a valid grant", show(&grant.to_string()));
            Err(PolicyError::new(why))
        }
    }
}

pub(super) fn check_digest(text: &str) -> Result<(), PolicyError> {
    let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let hex = text.strip_prefix("sha256:");
    match hex.is_some_and(|hex| hex.len() == 64 && hex.chars().all(is_hex)) {
        true => Ok(()),
        false => Err(PolicyError::new(format!(
            "`{}` is not a digest: expected `sha256:` and 64 lowercase hexadecimal digits, as `skillrun show` prints them",
            show(text)
        ))),
    }
}
