//! A summary of a policy, for a person who reads it before trusting it.

use super::section::{Section, Selector};
use super::{ApprovalMode, LimitOverrides, NativeMode, Policy, Rules};
use crate::grant::Grant;
use crate::limits::{show_bytes, show_duration};
use serde::Serialize;
use std::path::PathBuf;

/// One part of a policy: the rules for every skill, or one section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyPart {
    /// The header of the section; `None` for the rules for every skill.
    pub section: Option<String>,
    /// The folders of the skills that it applies to.
    pub skills: Vec<PathBuf>,
    /// The content that the skill must have.
    pub digest: Option<String>,
    /// Whether the grants for every skill apply too.
    pub inherit: bool,
    /// The grants.
    pub grants: Vec<String>,
    /// When a person is asked.
    pub approval: Option<&'static str>,
    /// What happens to native scripts.
    pub native: Option<&'static str>,
    /// The interpreters that scripts may use.
    pub interpreters: Option<Vec<String>>,
    /// The limits, each as `name value`.
    pub limits: Vec<String>,
}

impl Policy {
    /// The rules for every skill, with the defaults filled in, and then each section.
    pub fn parts(&self) -> Vec<PolicyPart> {
        let mut all = part(&self.rules);
        all.approval = Some(self.rules.approval.unwrap_or_default().word());
        all.native = Some(self.rules.native.unwrap_or_default().word());
        let defaults = || Self::INTERPRETERS.map(str::to_owned).to_vec();
        all.interpreters = Some(all.interpreters.unwrap_or_else(defaults));
        let sections = self.sections.iter().map(|section| PolicyPart {
            section: Some(section.title()),
            skills: self.folders(section),
            digest: section.digest.clone(),
            ..part(&section.rules)
        });
        std::iter::once(all).chain(sections).collect()
    }

    /// The folders that a section applies to; none if only the content decides.
    fn folders(&self, section: &Section) -> Vec<PathBuf> {
        match (&section.selector, &section.digest) {
            (Selector::Name, None) => {
                let dirs = self.skill_dirs.iter();
                dirs.map(|dir| dir.join(&section.key)).collect()
            }
            (Selector::Name, Some(_)) => Vec::new(),
            (Selector::Path(path), _) => vec![path.clone()],
            (Selector::BelowHome(path), _) => match &self.home {
                Some(home) => vec![home.join(path)],
                None => vec![PathBuf::from("~").join(path)],
            },
        }
    }
}

fn part(rules: &Rules) -> PolicyPart {
    PolicyPart {
        section: None,
        skills: Vec::new(),
        digest: None,
        inherit: !rules.no_inherit,
        grants: rules.allow.iter().map(Grant::to_string).collect(),
        approval: rules.approval.map(ApprovalMode::word),
        native: rules.native.map(NativeMode::word),
        interpreters: rules.interpreters.clone(),
        limits: limits(&rules.limits),
    }
}

fn limits(overrides: &LimitOverrides) -> Vec<String> {
    let LimitOverrides {
        time,
        fuel,
        memory,
        output,
        scratch,
        disk,
        open_files,
        processes,
    } = overrides;
    let bytes =
        |name: &str, max: &Option<u64>| max.map(|max| format!("{name} {}", show_bytes(max)));
    let all = [
        time.map(|max| format!("time {}", show_duration(max))),
        fuel.map(|max| format!("fuel {max}")),
        bytes("memory", memory),
        bytes("output", output),
        bytes("scratch", scratch),
        bytes("disk", disk),
        open_files.map(|max| format!("open_files {max}")),
        processes.map(|max| format!("processes {max}")),
    ];
    all.into_iter().flatten().collect()
}
