//! What somebody wants to run.

use crate::decision::{Check, Refusal};
use crate::grant::Grant;
use crate::limits::Limits;
use crate::policy::{EffectiveRules, Policy};
use crate::skill::Skill;
use std::path::PathBuf;
use std::sync::Arc;

/// What somebody wants to run. Nothing in it is checked yet.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is to run.
    pub subject: Subject,
    /// Its arguments, never through a shell.
    pub args: Vec<String>,
    /// A JSON value sent on standard input.
    pub input: Option<serde_json::Value>,
    /// How much it may use; at most what the policy allows.
    pub limits: Option<Limits>,
    /// A directory the script works in, readable and writable.
    pub workspace: Option<PathBuf>,
    /// Whether symbolic links in the workspace's path, and in the paths of grants that a person typed, are followed
    /// wherever they lie. Otherwise one that a script could have made is refused.
    pub follow: bool,
    /// What it may touch besides; each must be in the policy.
    pub grants: Vec<Grant>,
    /// Variables with their values; each needs `env:NAME` in the policy.
    pub env: Vec<(String, String)>,
    /// The paths that the script sees.
    pub paths: Paths,
    /// Where it should run.
    pub tier: Tier,
    /// Who asks for it.
    pub asked_by: AskedBy,
    /// The tenant, for approvals and the audit log.
    pub world: String,
    /// The conversation, for approvals and the audit log.
    pub chat: String,
}

impl Request {
    /// A request of an agent to run `script` of `skill`, with nothing else.
    pub fn new(skill: &Arc<Skill>, script: impl Into<String>) -> Self {
        Self::of(Subject::Script {
            skill: Arc::clone(skill),
            script: script.into(),
        })
    }

    /// The same of a person, whose own yes it is.
    pub fn typed(skill: &Arc<Skill>, script: impl Into<String>) -> Self {
        Self {
            asked_by: AskedBy::Person,
            ..Self::new(skill, script)
        }
    }

    /// A request of an agent to run a command of this machine, with nothing else.
    pub fn command(name: impl Into<String>) -> Self {
        Self::of(Subject::Command(name.into()))
    }

    pub(crate) fn of(subject: Subject) -> Self {
        Self {
            asked_by: AskedBy::Agent,
            subject,
            args: Vec::new(),
            input: None,
            limits: None,
            workspace: None,
            follow: false,
            grants: Vec::new(),
            env: Vec::new(),
            paths: Paths::Real,
            tier: Tier::Auto,
            world: String::new(),
            chat: String::new(),
        }
    }

    /// The same with all that a policy grants its subject and that this run can hold. `variable` tells the
    /// values of granted variables.
    #[must_use]
    pub fn with_all_grants(
        mut self,
        policy: &Policy,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        // Deciding says why there are no rules, and records it.
        let Ok(rules) = self.subject.rules(policy) else {
            return self;
        };
        let native = self.is_native();
        for grant in rules.grants() {
            let of_skill = matches!(self.subject, Subject::Script { .. });
            let holds = match grant {
                Grant::Write(path) if path.as_os_str() == Grant::SKILL => of_skill,
                Grant::Read(_) | Grant::Write(_) => true,
                Grant::Interpreter(_) => of_skill,
                // Nothing on this machine tells hosts apart for native scripts.
                Grant::Net(..) => native && grant.is_whole_network(),
                Grant::Native => of_skill && native,
                Grant::Env(_) | Grant::Run(_) => false,
            };
            if holds {
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

    /// Whether it will run in an interpreter of this machine.
    pub fn is_native(&self) -> bool {
        let Subject::Script { skill, script } = &self.subject else {
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
pub enum Subject {
    /// A script of a skill.
    Script {
        /// The skill.
        skill: Arc<Skill>,
        /// The script: a relative path, a file name or a stem.
        script: String,
    },
    /// A command of this machine, by its name alone; it needs `run:NAME`.
    Command(String),
    /// Nothing that could run: what was asked for, and why it is refused. Deciding records it.
    Unclear {
        /// What was asked for.
        name: String,
        /// Why it cannot run.
        refusal: Refusal,
    },
}

impl Subject {
    /// What a policy says of it. A skill that one of its sections may be meant for, but does not cover, is refused.
    pub fn rules<'p>(&self, policy: &'p Policy) -> Result<EffectiveRules<'p>, Refusal> {
        match self {
            Self::Script { skill, .. } => policy
                .rules_for(skill)
                .map_err(|why| Refusal::new(Check::Policy, why.message).hint(why.hint)),
            // What holds for every skill holds for commands.
            Self::Command(_) | Self::Unclear { .. } => Ok(policy.rules_for_commands()),
        }
    }

    /// The skill's name, if it is of one.
    pub(crate) fn skill_name(&self) -> &str {
        match self {
            Self::Script { skill, .. } => skill.name(),
            Self::Command(_) | Self::Unclear { .. } => COMMANDS,
        }
    }

    /// What was asked for, as it was.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Script { script, .. } => script,
            Self::Command(name) | Self::Unclear { name, .. } => name,
        }
    }
}

/// Stands where the name of a skill would be: no folder has this name.
pub(crate) const COMMANDS: &str = "";

/// Who asks for a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AskedBy {
    /// A program, or a model: the policy says when a person is asked.
    #[default]
    Agent,
    /// A person, who typed it or has been asked elsewhere.
    Person,
}

/// The paths that a script sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Paths {
    /// Those of this machine: what a script prints is a path the caller can open.
    #[default]
    Real,
    /// `/skill` and `/workspace`: nothing of this machine shows.
    Virtual,
}

/// Where a script should run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tier {
    /// Where its language runs by default.
    #[default]
    Auto,
    /// In a WASI interpreter.
    Wasm,
    /// In an interpreter of this machine, confined.
    Native,
}
