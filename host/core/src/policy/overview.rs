//! What a policy says, in short: for whoever reads it before trusting it.

use super::section::{Section, Target};
use super::{Approval, Limited, Native, Policy, Rules};
use crate::grant::Grant;
use crate::limits::{show_bytes, show_duration};
use serde::Serialize;
use std::path::PathBuf;

/// One part of a policy: what holds for every skill, or one section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyPart {
    /// The head line of the section; `None` for what holds for every skill.
    pub section: Option<String>,
    /// The folders of the skills that it is for.
    pub skills: Vec<PathBuf>,
    /// The content that the skill must have.
    pub digest: Option<String>,
    /// Whether the grants for every skill hold, too.
    pub inherit: bool,
    /// What may be touched.
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
    /// What it says: for every skill first, with the defaults filled in, and then each section.
    pub fn parts(&self) -> Vec<PolicyPart> {
        let mut all = part(&self.rules);
        all.approval = Some(self.rules.approval.unwrap_or_default().word());
        all.native = Some(self.rules.native.unwrap_or_default().word());
        let usual = || Self::INTERPRETERS.map(str::to_owned).to_vec();
        all.interpreters = Some(all.interpreters.unwrap_or_else(usual));
        let sections = self.sections.iter().map(|section| PolicyPart {
            section: Some(section.title()),
            skills: self.folders(section),
            digest: section.digest.clone(),
            ..part(&section.rules)
        });
        std::iter::once(all).chain(sections).collect()
    }

    /// The folders that a section is for; none where only the content counts.
    fn folders(&self, section: &Section) -> Vec<PathBuf> {
        match (&section.target, &section.digest) {
            (Target::Name, None) => {
                let dirs = self.skill_dirs.iter();
                dirs.map(|dir| dir.join(&section.key)).collect()
            }
            (Target::Name, Some(_)) => Vec::new(),
            (Target::Path(path), _) => vec![path.clone()],
            (Target::BelowHome(path), _) => match &self.home {
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
        inherit: !rules.alone,
        grants: rules.allow.iter().map(Grant::to_string).collect(),
        approval: rules.approval.map(Approval::word),
        native: rules.native.map(Native::word),
        interpreters: rules.interpreters.clone(),
        limits: limits(&rules.limits),
    }
}

fn limits(limited: &Limited) -> Vec<String> {
    let Limited {
        time,
        fuel,
        memory,
        output,
        scratch,
        disk,
        open_files,
        processes,
    } = limited;
    let bytes =
        |name: &str, most: &Option<u64>| most.map(|most| format!("{name} {}", show_bytes(most)));
    let all = [
        time.map(|most| format!("time {}", show_duration(most))),
        fuel.map(|most| format!("fuel {most}")),
        bytes("memory", memory),
        bytes("output", output),
        bytes("scratch", scratch),
        bytes("disk", disk),
        open_files.map(|most| format!("open_files {most}")),
        processes.map(|most| format!("processes {most}")),
    ];
    all.into_iter().flatten().collect()
}

impl Approval {
    fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::FirstRun => "first-run",
            Self::Always => "always",
        }
    }
}

impl Native {
    fn word(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Confined => "confined",
            Self::Namespaces => "namespaces",
        }
    }
}
