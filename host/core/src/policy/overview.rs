//! A summary of a policy, for a person who reads it before trusting it.

use super::section::{Section, Selector};
use super::{ApprovalMode, LimitRules, NativeMode, Policy, Rules, WorkerMode};
use crate::grant::Grant;
use crate::limits::{show_bytes, show_duration};
use crate::tier::Tier;
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
    /// Where scripts run if a request does not choose.
    pub runtime: Option<&'static str>,
    /// Whether flags and other policies can only narrow the policy.
    pub enforce: bool,
    /// Whether it does not restrict grants: only a ceiling without `allow`.
    pub any_grant: bool,
    /// The grants.
    pub grants: Vec<String>,
    /// When a person is asked.
    pub approval: Option<&'static str>,
    /// What happens to native scripts.
    pub native: Option<&'static str>,
    /// Whose runs may use the same process; `None` if the default is in force.
    pub workers: Option<&'static str>,
    /// The interpreters that scripts may use.
    pub interpreters: Option<Vec<String>>,
    /// The limits, each as `name value`.
    pub limits: Vec<String>,
}

impl Policy {
    /// The rules for every skill, with the defaults filled in, and then each section.
    pub fn parts(&self) -> Vec<PolicyPart> {
        let mut all = part(&self.rules);
        all.enforce = self.enforce;
        all.approval = Some(self.rules.approval.unwrap_or_default().word());
        all.native = Some(self.rules.native.unwrap_or_default().word());
        all.workers = unusual(self.rules.workers.unwrap_or_default());
        let defaults = || Self::INTERPRETERS.map(str::to_owned).to_vec();
        all.interpreters = Some(all.interpreters.unwrap_or_else(defaults));
        std::iter::once(all).chain(self.section_parts()).collect()
    }

    /// The same for a policy that is a ceiling: only what restricts other policies.
    pub fn ceiling_parts(&self) -> Vec<PolicyPart> {
        if self.enforce {
            return self.parts();
        }
        let unrestricted = self.rules.allow.is_none();
        let all = PolicyPart {
            any_grant: unrestricted,
            ..part(&self.rules)
        };
        let sections = self.section_parts().zip(&self.sections);
        let sections = sections.map(|(part, section)| PolicyPart {
            any_grant: unrestricted && part.inherit && section.rules.rules.allow.is_none(),
            ..part
        });
        std::iter::once(all).chain(sections).collect()
    }

    /// What the policy and its ceilings together mean for a skill for which none of them has a section.
    pub fn effective_part(&self) -> PolicyPart {
        let rules = self.rules_for_commands();
        PolicyPart {
            grants: rules.grants().iter().map(Grant::to_string).collect(),
            approval: Some(rules.approval().word()),
            native: Some(rules.native().word()),
            workers: unusual(rules.workers()),
            interpreters: Some(rules.interpreters()),
            limits: limits(&rules.set_limits()),
            ..part(&Rules::default())
        }
    }

    fn section_parts(&self) -> impl Iterator<Item = PolicyPart> {
        self.sections.iter().map(|section| PolicyPart {
            section: Some(section.title()),
            skills: self.folders(section),
            digest: section.rules.digest.clone(),
            inherit: section.rules.inherit,
            runtime: section.rules.runtime.map(Tier::word),
            ..part(&section.rules.rules)
        })
    }

    /// The folders that a section applies to; none if only the content decides.
    fn folders(&self, section: &Section) -> Vec<PathBuf> {
        match (&section.selector, &section.rules.digest) {
            (Selector::Name(name), None) => {
                let dirs = self.skill_dirs.iter();
                dirs.map(|dir| dir.join(name)).collect()
            }
            (Selector::Name(_), Some(_)) => Vec::new(),
            (Selector::Path(path), _) => vec![path.clone()],
            (Selector::BelowHome(path), _) => match &self.home {
                Some(home) => vec![home.join(path)],
                None => vec![PathBuf::from("~").join(path)],
            },
        }
    }
}

/// The word for a mode other than the default, which would be one more line in every question about a policy.
fn unusual(workers: WorkerMode) -> Option<&'static str> {
    (workers != WorkerMode::default()).then(|| workers.word())
}

fn part(rules: &Rules) -> PolicyPart {
    PolicyPart {
        section: None,
        skills: Vec::new(),
        digest: None,
        inherit: true,
        runtime: None,
        enforce: false,
        any_grant: false,
        grants: rules.allow.iter().flatten().map(Grant::to_string).collect(),
        approval: rules.approval.map(ApprovalMode::word),
        native: rules.native.map(NativeMode::word),
        workers: rules.workers.map(WorkerMode::word),
        interpreters: rules.interpreters.clone(),
        limits: limits(&rules.limits),
    }
}

fn limits(overrides: &LimitRules) -> Vec<String> {
    let LimitRules {
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
