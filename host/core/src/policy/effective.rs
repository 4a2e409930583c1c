//! The rules that apply to one skill or command, from a policy and its ceilings.
//!
//! A ceiling is a second policy that the first one cannot widen. Each rule asks both: interpreters and grants are what
//! all of them allow, limits are the lowest, and approval and isolation are the strictest.
//!
//! A policy with `enforce = true` is a maximum as it stands, also with what it does not say: it grants nothing that it
//! does not list. A ceiling without it restricts only what it has a key for. Otherwise a file that sets nothing but a time
//! limit would forbid every grant, and no list of grants can say "anything".

use super::definition::{LimitRules, Rules};
use super::section::{NotCovered, Section};
use super::{ApprovalMode, Limits, NativeMode, Policy, WorkerMode, Written};
use crate::files::show;
use crate::grant::Grant;
use crate::limits::Limit;
use crate::refusal::{Check, Refusal, Remedy};
use crate::skill::Skill;
use crate::tier::Tier;
use std::path::Path;

/// The rules of a policy and its ceilings for one skill, or for commands.
#[derive(Debug, Clone)]
pub struct EffectiveRules<'a> {
    own: PolicyRules<'a>,
    ceilings: Vec<PolicyRules<'a>>,
}

/// The rules of one policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PolicyRules<'a> {
    policy: &'a Policy,
    section: Option<&'a Section>,
    is_ceiling: bool,
}

impl Policy {
    /// The rules for commands, which have no section.
    pub(crate) fn rules_for_commands(&self) -> EffectiveRules<'_> {
        let policy_rules = |policy, is_ceiling| PolicyRules {
            policy,
            section: None,
            is_ceiling,
        };
        let ceilings = self
            .ceilings
            .iter()
            .map(|policy| policy_rules(policy, true));
        EffectiveRules {
            own: policy_rules(self, false),
            ceilings: ceilings.collect(),
        }
    }

    /// The rules for a skill. Its content is not compared here.
    pub(crate) fn rules_for(&self, skill: &Skill) -> Result<EffectiveRules<'_>, NotCovered> {
        let own = PolicyRules {
            policy: self,
            section: self.section_for(skill)?,
            is_ceiling: false,
        };
        let ceilings = self.ceilings.iter().map(|policy| {
            let mut policy_rules = PolicyRules {
                policy,
                section: None,
                is_ceiling: true,
            };
            let section = policy.section_for(skill);
            policy_rules.section = section.map_err(|why| NotCovered {
                message: format!("{}: {}", policy_rules.name(), why.message),
                hint: policy_rules.ask("add a section for this skill"),
            })?;
            Ok(policy_rules)
        });
        let ceilings = ceilings.collect::<Result<_, _>>()?;
        Ok(EffectiveRules { own, ceilings })
    }
}

impl<'a> EffectiveRules<'a> {
    /// When a person is asked before it runs, if an agent requests it.
    pub fn approval(&self) -> ApprovalMode {
        let own = self.own.setting(|rules| rules.approval).unwrap_or_default();
        let ceilings = self.ceilings.iter().map(PolicyRules::least_approval);
        ceilings.fold(own, Ord::max)
    }

    /// The same if a person requests it. Typing a request is an approval, except where an enforcing policy says when a
    /// person is to be asked.
    pub fn approval_of_person(&self) -> ApprovalMode {
        self.approval_demand()
            .map_or(ApprovalMode::Never, |(_, mode)| mode)
    }

    /// The enforcing policy that says most strictly when a person is asked.
    pub(crate) fn approval_demand(&self) -> Option<(PolicyRules<'a>, ApprovalMode)> {
        let enforcing = self.policies().filter(PolicyRules::is_enforced);
        let set = enforcing.filter_map(|policy| Some((policy, policy.setting(|r| r.approval)?)));
        let asking = set.filter(|(_, mode)| *mode != ApprovalMode::Never);
        asking.max_by_key(|(_, mode)| *mode)
    }

    /// What happens if it needs an interpreter of this machine.
    pub fn native(&self) -> NativeMode {
        self.native_demand().1
    }

    /// The policy that demands most of native scripts.
    pub(crate) fn native_demand(&self) -> (PolicyRules<'a>, NativeMode) {
        let mode =
            |policy: PolicyRules<'_>| policy.setting(|rules| rules.native).unwrap_or_default();
        let first = (self.own, mode(self.own));
        let ceilings = self.ceilings.iter().map(|policy| (*policy, mode(*policy)));
        ceilings.fold(first, |strictest, other| {
            match other.1.strictness() > strictest.1.strictness() {
                true => other,
                false => strictest,
            }
        })
    }

    /// Whose runs may use the same process as its own, in the wasm tier.
    pub fn workers(&self) -> WorkerMode {
        self.workers_demand().1
    }

    /// The policy that shares workers least.
    pub(crate) fn workers_demand(&self) -> (PolicyRules<'a>, WorkerMode) {
        let own = self.own.setting(|rules| rules.workers).unwrap_or_default();
        let ceilings = self.ceilings.iter();
        let ceilings = ceilings.map(|policy| (*policy, policy.least_workers()));
        ceilings.fold((self.own, own), |strictest, other| {
            match other.1 > strictest.1 {
                true => other,
                false => strictest,
            }
        })
    }

    /// Where its scripts run if a request does not choose. A ceiling chooses only for a policy that does not: to run
    /// natively is restricted by `native`, not by this.
    pub fn runtime(&self) -> Tier {
        let chosen = self
            .policies()
            .find_map(|policy| policy.section?.rules.runtime);
        chosen.unwrap_or_default()
    }

    /// The grants that apply to it: those of the policy, and those that a person typed, as far as all ceilings cover them.
    pub fn grants(&self) -> Vec<Grant> {
        let own = self.own.grants().chain(self.typed()).cloned().collect();
        self.ceilings
            .iter()
            .fold(own, |grants: Vec<Grant>, policy| {
                let each = grants.iter().flat_map(|grant| policy.narrowed(grant));
                each.collect()
            })
    }

    /// The grants of the policy that a ceiling does not allow as they are, with the name of that ceiling's file.
    pub fn narrowed_grants(&self) -> Vec<(&'a Grant, String)> {
        let each = self.own.grants().filter_map(|grant| {
            let mut ceilings = self.ceilings.iter();
            let policy = ceilings.find(|policy| !policy.allows(grant))?;
            Some((grant, policy.name()))
        });
        each.collect()
    }

    /// The grants that a person typed, unless the policy enforces its own.
    pub(crate) fn typed(&self) -> &'a [Grant] {
        match self.own.policy.enforce {
            true => &[],
            false => &self.own.policy.typed,
        }
    }

    /// The grants that a person typed, whether or not they count.
    pub(crate) fn requested(&self) -> &'a [Grant] {
        &self.own.policy.typed
    }

    /// The policy file and the line that grant exactly this; `None` if a person typed it, or the policy has no file.
    pub(crate) fn origin(&self, grant: &Grant) -> Option<(&'a Path, usize)> {
        if self.typed().contains(grant) {
            return None;
        }
        let PolicyRules {
            policy, section, ..
        } = self.own;
        let own = section.into_iter();
        let own = own.map(|section| (&section.rules.rules, &section.lines));
        let mut all = own.chain([(&policy.rules, &policy.lines)]);
        let line = all.find_map(|(rules, Written(lines))| {
            let mut allowed = rules.allow.iter().flatten();
            let at = allowed.position(|allowed| allowed == grant)?;
            lines.get(at).copied()
        });
        policy.source().zip(line)
    }

    /// Whether the policy and all its ceilings allow `wanted`.
    pub fn allows(&self, wanted: &Grant) -> bool {
        self.forbids(wanted).is_none()
    }

    /// The policy that does not allow `wanted`.
    pub(crate) fn forbids(&self, wanted: &Grant) -> Option<PolicyRules<'a>> {
        let typed = self.typed().iter().any(|grant| grant.covers(wanted));
        match typed || self.own.allows(wanted) {
            false => Some(self.own),
            true => self.ceiling_without(|policy| policy.allows(wanted)),
        }
    }

    /// The policy that does not allow a path after its links were resolved. `wanted` is the grant as it was requested.
    pub(crate) fn forbids_real(&self, wanted: &Grant, real: &Path) -> Option<PolicyRules<'a>> {
        let is_inside = |grant: &Grant| match grant {
            Grant::Read(path) | Grant::Write(path) => real.starts_with(path),
            _ => false,
        };
        let covers = |grant: &Grant| grant.covers(wanted) && is_inside(grant);
        // A grant that a person typed counts as typed, because the walk has checked its links.
        let typed = self.typed().contains(wanted) || self.typed().iter().any(covers);
        match typed || self.own.grants().any(covers) {
            false => Some(self.own),
            true => self.ceiling_without(|policy| {
                !policy.restricts_grants() || policy.grants().any(covers)
            }),
        }
    }

    /// The enforcing policy that does not allow a workspace. A workspace needs no grant otherwise: naming it is one.
    pub(crate) fn forbids_workspace(&self, real: &Path) -> Option<PolicyRules<'a>> {
        let wanted = Grant::Write(real.to_owned());
        let mut enforcing = self.policies().filter(PolicyRules::is_enforced);
        enforcing.find(|policy| !policy.allows(&wanted))
    }

    /// The interpreters that its scripts may use, grants included.
    pub fn interpreters(&self) -> Vec<String> {
        let mut all = self.own.interpreters();
        all.extend(self.typed().iter().filter_map(interpreter));
        all.retain(|name| {
            let mut ceilings = self.ceilings.iter();
            ceilings.all(|policy| policy.allows_interpreter(name))
        });
        all
    }

    /// The policy that does not allow an interpreter.
    pub(crate) fn forbids_interpreter(&self, name: &str) -> Option<PolicyRules<'a>> {
        let wanted = Grant::Interpreter(name.to_owned());
        match self.own.allows_interpreter(name) || self.typed().contains(&wanted) {
            false => Some(self.own),
            true => self.ceiling_without(|policy| policy.allows_interpreter(name)),
        }
    }

    /// The enforcing policy whose `interpreters` do not list the interpreter that a command is. A `run:` grant does not
    /// stand for an entry there: both keys are maximums.
    pub(crate) fn forbids_interpreter_as_command(&self, name: &str) -> Option<PolicyRules<'a>> {
        let mut enforcing = self.policies().filter(PolicyRules::is_enforced);
        enforcing.find(|policy| policy.lists_interpreters() && !policy.allows_interpreter(name))
    }

    /// The maximum that its runs may use, and the default if they request nothing.
    pub fn limits(&self) -> Limits {
        // A ceiling above the default does not raise it.
        let own = self.own.limits().or(&LimitRules::defaults());
        let ceilings = self.ceilings.iter().map(PolicyRules::limits);
        let lowest = ceilings.fold(own, |own, other| own.min(&other));
        lowest.applied_to(Limits::default())
    }

    /// The limits that the policies set.
    pub(super) fn set_limits(&self) -> LimitRules {
        let ceilings = self.ceilings.iter().map(PolicyRules::limits);
        ceilings.fold(self.own.limits(), |own, other| own.min(&other))
    }

    /// The policy that sets the maximum of a limit; `None` if it is the default.
    pub(crate) fn sets_limit(&self, name: &str) -> Option<PolicyRules<'a>> {
        let set = self
            .policies()
            .filter_map(|policy| Some((policy, policy.limits().value(name)?)));
        let lowest = set.min_by_key(|(_, max)| *max);
        lowest.map(|(policy, _)| policy)
    }

    /// The change of a policy that would let a run use more of a limit, if nothing else does: a policy sets the limit, and
    /// `limits` of the run have all of it.
    pub fn limit_hint(&self, limit: Limit, limits: &Limits) -> Option<String> {
        let key = limit.key();
        let name = key.trim_start_matches("limits.");
        let policy = self.sets_limit(name)?;
        let max = policy.limits().value(name)?;
        let has = LimitRules::all_of(limits).value(name);
        has.is_some_and(|has| has >= max)
            .then(|| policy.hint_to_raise(name, key))
    }

    /// The policy itself, without its ceilings.
    pub(crate) fn own(&self) -> PolicyRules<'a> {
        self.own
    }

    /// The policies that demand a certain content of the skill, with their digest in the form of [`Skill::digest`].
    pub(crate) fn digests(&self) -> impl Iterator<Item = (PolicyRules<'a>, &'a str)> {
        self.policies()
            .filter_map(|policy| Some((policy, policy.section?.rules.digest.as_deref()?)))
    }

    /// The content that the policy demands of the skill, in the form of [`Skill::digest`]. The decision compares it.
    pub fn digest(&self) -> Option<&'a str> {
        self.own.section?.rules.digest.as_deref()
    }

    fn policies(&self) -> impl Iterator<Item = PolicyRules<'a>> {
        std::iter::once(self.own).chain(self.ceilings.clone())
    }

    fn ceiling_without(
        &self,
        allows: impl Fn(&PolicyRules<'a>) -> bool,
    ) -> Option<PolicyRules<'a>> {
        self.ceilings.iter().find(|policy| !allows(policy)).copied()
    }
}

impl<'a> PolicyRules<'a> {
    /// Whether neither flags nor other policies can widen it.
    fn is_enforced(&self) -> bool {
        self.is_ceiling || self.policy.enforce
    }

    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        match (self.policy.source(), self.is_ceiling) {
            (Some(path), _) => format!("`{}`", show(&path.display().to_string())),
            (None, true) => "the host's own policy".to_owned(),
            (None, false) => "the policy".to_owned(),
        }
    }

    /// The header of its section, if it has one.
    pub(crate) fn section(&self) -> Option<String> {
        self.section.map(Section::title)
    }

    /// ` by FILE` if flags cannot change that it forbids something.
    pub(crate) fn by(&self) -> String {
        match self.is_enforced() {
            true => format!(" by {}", self.name()),
            false => String::new(),
        }
    }

    /// The change of its file that would allow what it forbids.
    pub(crate) fn hint(&self, change: &str) -> String {
        match (self.is_ceiling, self.policy.enforce) {
            (true, _) => self.ask(change),
            (false, true) => {
                let name = self.name();
                format!("{change} in {name}, which enforces its rules: no flag can allow it")
            }
            (false, false) => format!("{change} in skillrun.toml"),
        }
    }

    /// The change of its file that would raise a limit.
    fn hint_to_raise(&self, name: &str, key: &str) -> String {
        let section = self.section;
        let section = section.filter(|section| section.rules.rules.limits.value(name).is_some());
        let change = match section.map(Section::title) {
            Some(title) => format!("raise {key} of `{title}`"),
            None => format!("raise {key}"),
        };
        match self.is_enforced() {
            true => self.hint(&change),
            // It may be the user's own policy or one that was named.
            false => format!("{change} in {}", self.name()),
        }
    }

    /// The refusal of what it forbids: a change of its file would allow it, or `grant` where a person may grant it.
    pub(crate) fn refusal(
        &self,
        check: Check,
        message: String,
        change: &str,
        grant: Grant,
    ) -> Refusal {
        let refusal = Refusal::new(check, message).hint(self.hint(change));
        match self.is_enforced() {
            true => refusal,
            false => refusal.remedy(Remedy::Grant(grant)),
        }
    }

    fn ask(&self, change: &str) -> String {
        format!("ask whoever maintains {} to {change}", self.name())
    }

    /// A setting of the skill's own section, or else of the rules for every skill.
    fn setting<T>(&self, get: impl Fn(&'a Rules) -> Option<T>) -> Option<T> {
        let own = self.section.and_then(|section| get(&section.rules.rules));
        own.or_else(|| get(&self.policy.rules))
    }

    fn least_approval(&self) -> ApprovalMode {
        let default = match self.policy.enforce {
            true => ApprovalMode::default(),
            false => ApprovalMode::Never,
        };
        self.setting(|rules| rules.approval).unwrap_or(default)
    }

    fn least_workers(&self) -> WorkerMode {
        let default = match self.policy.enforce {
            true => WorkerMode::default(),
            false => WorkerMode::Shared,
        };
        self.setting(|rules| rules.workers).unwrap_or(default)
    }

    /// The grants of its file.
    fn grants(&self) -> impl Iterator<Item = &'a Grant> + use<'a> {
        let own = self.section.map(|section| &section.rules);
        let inherit = own.is_none_or(|rules| rules.inherit);
        let all = self.policy.rules.allow.iter().flatten();
        let all = all.filter(move |_| inherit);
        let own = own.and_then(|rules| rules.rules.allow.as_ref());
        all.chain(own.into_iter().flatten())
    }

    /// Whether only the grants of its file are allowed. A ceiling that has no list restricts none.
    fn restricts_grants(&self) -> bool {
        let inherit = self.section.is_none_or(|section| section.rules.inherit);
        let has_list = self.setting(|rules| rules.allow.as_ref()).is_some() || !inherit;
        !self.is_ceiling || self.policy.enforce || has_list
    }

    fn allows(&self, wanted: &Grant) -> bool {
        match wanted {
            Grant::Interpreter(name) => self.allows_interpreter(name),
            _ => !self.restricts_grants() || self.grants().any(|grant| grant.covers(wanted)),
        }
    }

    /// What a grant still allows under this ceiling: itself, or what the ceiling has of it.
    fn narrowed(&self, grant: &Grant) -> Vec<Grant> {
        if self.allows(grant) {
            return vec![grant.clone()];
        }
        let parts = self.grants().flat_map(|own| {
            // Something that may be written may also be read.
            let read = match own {
                Grant::Write(path) if path.as_os_str() != Grant::SKILL => {
                    Some(Grant::Read(path.clone()))
                }
                _ => None,
            };
            std::iter::once(own.clone()).chain(read)
        });
        parts.filter(|part| grant.covers(part)).collect()
    }

    /// The interpreters that its file lists, or the default ones, and those of its grants.
    fn interpreters(&self) -> Vec<String> {
        let listed = self.setting(|rules| rules.interpreters.clone());
        let mut all = listed.unwrap_or_else(|| Policy::INTERPRETERS.map(str::to_owned).to_vec());
        all.extend(self.grants().filter_map(interpreter));
        all
    }

    fn lists_interpreters(&self) -> bool {
        self.setting(|rules| rules.interpreters.as_ref()).is_some()
    }

    fn allows_interpreter(&self, name: &str) -> bool {
        let restricts = self.lists_interpreters() || self.restricts_grants();
        !restricts || self.interpreters().iter().any(|own| own == name)
    }

    /// Whether its file sets this limit.
    pub(crate) fn has_limit(&self, name: &str) -> bool {
        self.file_limits().value(name).is_some()
    }

    /// The limits of its section and else of the rules for every skill.
    fn file_limits(&self) -> LimitRules {
        let all = &self.policy.rules.limits;
        match self.section {
            Some(section) => section.rules.rules.limits.or(all),
            None => all.clone(),
        }
    }

    /// The same, with the defaults if it is a maximum as it stands.
    fn limits(&self) -> LimitRules {
        let own = self.file_limits();
        match self.policy.enforce {
            true => own.or(&LimitRules::defaults()),
            false => own,
        }
    }
}

fn interpreter(grant: &Grant) -> Option<String> {
    match grant {
        Grant::Interpreter(name) => Some(name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::write::tests::any_definition;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_policy_that_sets_a_limit_is_named_as_what_has_to_be_raised() {
        let parse = |text: &str| Policy::parse(text, Path::new("/base")).unwrap();
        let ceiling = parse("[limits]\nmemory = \"64MiB\"\n");
        let policy = parse("enforce = true\n[limits]\ntime = \"10s\"\n").bounded_by(ceiling);
        let rules = policy.rules_for_commands();
        let limits = rules.limits();
        let hint = |limit| rules.limit_hint(limit, &limits).unwrap();
        assert_eq!(
            hint(Limit::Time),
            "raise limits.time in the policy, which enforces its rules: no flag can allow it"
        );
        assert_eq!(
            hint(Limit::Memory),
            "ask whoever maintains the host's own policy to raise limits.memory"
        );
        assert_eq!(rules.limit_hint(Limit::Fuel, &limits), None);
        // A run that has less than the policy allows can request more.
        let time = std::time::Duration::from_secs(1);
        let less = Limits { time, ..limits };
        assert_eq!(rules.limit_hint(Limit::Time, &less), None);
    }

    #[test]
    fn workers_are_shared_only_if_every_policy_allows_it() {
        use WorkerMode::{PerRun, PerTenant, Shared};
        let parse = |text: &str| Policy::parse(text, Path::new("/base")).unwrap();
        for (own, ceiling, mode) in [
            ("", "", PerTenant),
            ("workers = \"shared\"", "", Shared),
            ("workers = \"shared\"", "enforce = true", PerTenant),
            (
                "workers = \"shared\"",
                "workers = \"per-tenant\"",
                PerTenant,
            ),
            ("workers = \"shared\"", "workers = \"per-run\"", PerRun),
            (
                "workers = \"shared\"",
                "enforce = true\nworkers = \"shared\"",
                Shared,
            ),
            ("", "workers = \"shared\"", PerTenant),
            ("", "workers = \"per-run\"", PerRun),
            ("workers = \"per-run\"", "workers = \"shared\"", PerRun),
        ] {
            let policy = parse(own).bounded_by(parse(ceiling));
            let demanded = policy.rules_for_commands().workers();
            assert_eq!(demanded, mode, "{own:?} below {ceiling:?}");
        }
    }

    proptest! {
        #[test]
        fn no_policy_and_no_flag_exceeds_a_ceiling(
            own in any_definition(),
            above in any_definition(),
            typed in any_definition(),
        ) {
            let base = Path::new("/base");
            let [own, above, typed] = [own, above, typed].map(|definition| Policy::new(definition, base));
            if let (Ok(own), Ok(above), Ok(typed)) = (own, above, typed) {
                let flags: Vec<Grant> = typed.rules.allow.into_iter().flatten().collect();
                let limits = typed.rules.limits.or(&LimitRules::defaults()).applied_to(Limits::default());
                let own = own.and_allow(flags).and_limits(&limits);
                let bounded = own.clone().bounded_by(above.clone());
                let (rules, alone) = (bounded.rules_for_commands(), own.rules_for_commands());
                let ceiling = PolicyRules { policy: &above, section: None, is_ceiling: true };
                for grant in rules.grants() {
                    prop_assert!(ceiling.allows(&grant), "{grant}");
                    prop_assert!(alone.allows(&grant), "{grant}");
                    prop_assert!(rules.allows(&grant), "{grant}");
                }
                for name in rules.interpreters() {
                    prop_assert!(ceiling.allows_interpreter(&name), "{name}");
                    prop_assert!(rules.forbids_interpreter(&name).is_none(), "{name}");
                }
                prop_assert!(rules.approval() >= alone.approval());
                prop_assert!(rules.approval() >= above.rules.approval.unwrap_or(ApprovalMode::Never));
                prop_assert!(rules.approval_of_person() >= alone.approval_of_person());
                let strictness = rules.native().strictness();
                prop_assert!(strictness >= alone.native().strictness());
                prop_assert!(strictness >= above.rules.native.unwrap_or_default().strictness());
                prop_assert!(rules.workers() >= alone.workers());
                prop_assert!(rules.workers() >= ceiling.least_workers());
                for name in ["time", "fuel", "memory", "output", "scratch", "disk", "open_files", "processes"] {
                    let max = rules.set_limits().value(name);
                    for other in [alone.set_limits().value(name), ceiling.limits().value(name)] {
                        prop_assert!(other.is_none_or(|other| max.is_some_and(|max| max <= other)), "{name}");
                    }
                }
                // A ceiling that is the same policy changes nothing that the policy grants.
                let same = own.rules_for_commands().grants();
                let twice = own.clone().bounded_by(own.clone());
                if own.typed.is_empty() {
                    prop_assert_eq!(twice.rules_for_commands().grants(), same);
                }
            }
        }
    }
}
