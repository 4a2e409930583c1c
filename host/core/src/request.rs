//! A request: what a caller wants to run.

use crate::approver::Approver;
use crate::grant::Grant;
use crate::limits::Limits;
use crate::policy::{EffectiveRules, Policy};
use crate::refusal::{Check, Refusal};
use crate::skill::Skill;
use crate::tier::Tier;
use crate::workspace::Workspace;
use std::sync::Arc;

/// What a caller wants to run. Nothing in it is checked yet.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is to run.
    pub target: Target,
    /// Its arguments. They never pass through a shell.
    pub args: Vec<String>,
    /// A JSON value sent on standard input.
    pub input: Option<serde_json::Value>,
    /// How much it may use; at most what the policy allows.
    pub limits: Option<Limits>,
    /// The directory in which the script starts, readable and writable.
    pub workspace: Option<Workspace>,
    /// Whether to follow all symbolic links in the workspace's path and in the paths of grants that a person typed.
    /// Otherwise a link that a script could have created is refused.
    pub follow: bool,
    /// What else it may touch; each grant must be in the policy.
    pub grants: Vec<Grant>,
    /// Variables with their values; each needs `env:NAME` in the policy.
    pub env: Vec<(String, String)>,
    /// The paths that the script sees.
    pub paths: Paths,
    /// Where it should run. With [`Tier::Auto`], the policy's section for the skill may choose.
    pub tier: Tier,
    /// Whether the outcome lists the files that it created, changed or removed in writable directories. In the native
    /// tier this takes a look at every file there, before and after the run.
    pub list_artifacts: bool,
    /// Who requests it.
    pub requested_by: RequestedBy,
    /// Who typed it, for the audit log; only with [`RequestedBy::Person`].
    pub approver: Option<Approver>,
    /// The tenant, for approvals and the audit log.
    pub tenant: String,
    /// The session, for approvals and the audit log.
    pub session: String,
}

impl Request {
    /// A request by an agent to run `script` of `skill`, without arguments or grants.
    pub fn new(skill: &Arc<Skill>, script: impl Into<String>) -> Self {
        Self::of(Target::Script {
            skill: Arc::clone(skill),
            script: script.into(),
        })
    }

    /// The same by a person. Typing it counts as the person's approval.
    pub fn typed(skill: &Arc<Skill>, script: impl Into<String>) -> Self {
        Self {
            requested_by: RequestedBy::Person,
            ..Self::new(skill, script)
        }
    }

    /// A request by an agent to run a command of this machine, without arguments or grants.
    pub fn command(name: impl Into<String>) -> Self {
        Self::of(Target::Command(name.into()))
    }

    pub(crate) fn of(target: Target) -> Self {
        Self {
            requested_by: RequestedBy::Agent,
            approver: None,
            target,
            args: Vec::new(),
            input: None,
            limits: None,
            workspace: None,
            follow: false,
            grants: Vec::new(),
            env: Vec::new(),
            paths: Paths::Real,
            tier: Tier::Auto,
            list_artifacts: true,
            tenant: String::new(),
            session: String::new(),
        }
    }

    /// The same with everything that a policy grants to its target and that can apply to this run, and in the tier that
    /// the policy chooses if the request chooses none. `variable` returns the values of granted variables. Blocks: call it
    /// from a blocking thread.
    #[must_use]
    pub fn with_all_grants(
        mut self,
        policy: &Policy,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        // If there are no rules, the decision reports and records why.
        let Ok(rules) = self.target.rules(policy) else {
            return self;
        };
        if let (Target::Script { .. }, Tier::Auto) = (&self.target, self.tier) {
            self.tier = rules.runtime();
        }
        let native = self.is_native();
        let mut grants = rules.grants();
        // A typed grant that does not count is requested too, so that the decision refuses it.
        for typed in rules.requested() {
            if !grants.contains(typed) {
                grants.push(typed.clone());
            }
        }
        for grant in &grants {
            let of_skill = matches!(self.target, Target::Script { .. });
            let applies = match grant {
                Grant::Write(path) if path.as_os_str() == Grant::SKILL => of_skill,
                Grant::Read(_) | Grant::Write(_) => true,
                Grant::Interpreter(_) => of_skill,
                // For native scripts, the network cannot be restricted to single hosts.
                Grant::Net(..) => native && grant.is_whole_network(),
                Grant::Native => of_skill && native,
                Grant::Env(_) | Grant::Run(_) => false,
            };
            if applies {
                self.grants.push(grant.clone());
            }
            if let Grant::Env(name) = grant
                && !self.env.iter().any(|(known, _)| known == name)
                && let Some(value) = variable(name)
            {
                self.env.push((name.clone(), value));
            }
        }
        self
    }

    /// Whether it will run in an interpreter of this machine, unless a policy chooses another tier.
    pub fn is_native(&self) -> bool {
        let Target::Script { skill, script } = &self.target else {
            return true;
        };
        let script = skill.script(script);
        match self.tier {
            Tier::Native => true,
            Tier::Wasm => false,
            Tier::Auto => script.is_some_and(|script| !script.language().has_wasm()),
        }
    }
}

/// What is to run.
#[derive(Debug, Clone)]
pub enum Target {
    /// A script of a skill.
    Script {
        /// The skill.
        skill: Arc<Skill>,
        /// The script: a relative path, a file name or a stem.
        script: String,
    },
    /// A command of this machine, by its name alone; it needs `run:NAME`.
    Command(String),
    /// Nothing that can run: the requested name, and why it is refused. The decision records it.
    Unresolved {
        /// The requested name.
        name: String,
        /// Why it cannot run.
        refusal: Refusal,
    },
}

impl Target {
    /// The rules of a policy for it. Refused if a section may be meant for this skill but does not cover it. Resolves
    /// the paths of sections, so it blocks: call it from a blocking thread.
    pub fn rules<'p>(&self, policy: &'p Policy) -> Result<EffectiveRules<'p>, Refusal> {
        match self {
            Self::Script { skill, .. } => policy
                .rules_for(skill)
                .map_err(|why| Refusal::new(Check::Policy, why.message).hint(why.hint)),
            // The rules for every skill also apply to commands.
            Self::Command(_) | Self::Unresolved { .. } => Ok(policy.rules_for_commands()),
        }
    }

    /// The skill's name; empty if there is no skill.
    pub(crate) fn skill_name(&self) -> &str {
        match self {
            Self::Script { skill, .. } => skill.name(),
            Self::Command(_) | Self::Unresolved { .. } => COMMANDS,
        }
    }

    /// The name as it was requested.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Script { script, .. } => script,
            Self::Command(name) | Self::Unresolved { name, .. } => name,
        }
    }
}

/// Replaces the name of a skill for commands: no folder has this name.
pub(crate) const COMMANDS: &str = "";

/// Who requests a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestedBy {
    /// A program or a model: the policy decides when a person is asked.
    #[default]
    Agent,
    /// A person who typed it, or who was asked elsewhere.
    Person,
}

/// The paths that a script sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Paths {
    /// Those of this machine: the caller can open the paths that a script prints. What was given as bytes has no such
    /// path; it is at `/skill` and `/workspace`, or at a private path where native scripts are confined without
    /// namespaces.
    #[default]
    Real,
    /// `/skill` and `/workspace`: paths of this machine are hidden.
    Virtual,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grants_of_a_policy_apply_in_the_tier_that_it_chooses() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("skill/scripts")).unwrap();
        std::fs::write(
            folder.path().join("skill/SKILL.md"),
            "---\ndescription: d\n---\n",
        )
        .unwrap();
        std::fs::write(folder.path().join("skill/scripts/a.py"), "").unwrap();
        let skill = Arc::new(Skill::load(folder.path().join("skill")).unwrap());
        for (runtime, granted) in [("native", vec!["native", "net:*"]), ("wasm", vec![])] {
            let policy = format!(
                "[skill.\"./skill\"]\nruntime = \"{runtime}\"\nallow = [\"native\", \"net:*\"]\n"
            );
            let policy = Policy::parse(&policy, folder.path()).unwrap();
            let request = Request::new(&skill, "a.py").with_all_grants(&policy, |_| None);
            let mut grants: Vec<String> = request.grants.iter().map(Grant::to_string).collect();
            grants.sort();
            assert_eq!(grants, granted, "{runtime}");
        }
    }
}
