//! What somebody wants to run.

use crate::grant::Grant;
use crate::limits::Limits;
use crate::policy::Policy;
use crate::skill::Skill;
use std::path::PathBuf;
use std::sync::Arc;

/// What somebody wants to run. Nothing in it is checked yet.
#[derive(Debug, Clone)]
pub struct Request {
    /// The skill.
    pub skill: Arc<Skill>,
    /// The script: a relative path, a file name or a stem.
    pub script: String,
    /// The script's arguments, never through a shell.
    pub args: Vec<String>,
    /// A JSON value sent on standard input.
    pub input: Option<serde_json::Value>,
    /// How much it may use; at most what the policy allows.
    pub limits: Option<Limits>,
    /// A directory the script works in, readable and writable.
    pub workspace: Option<PathBuf>,
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
        Self {
            asked_by: AskedBy::Agent,
            skill: Arc::clone(skill),
            script: script.into(),
            args: Vec::new(),
            input: None,
            limits: None,
            workspace: None,
            grants: Vec::new(),
            env: Vec::new(),
            paths: Paths::Real,
            tier: Tier::Auto,
            world: String::new(),
            chat: String::new(),
        }
    }

    /// The same of a person, whose own yes it is.
    pub fn typed(skill: &Arc<Skill>, script: impl Into<String>) -> Self {
        Self {
            asked_by: AskedBy::Person,
            ..Self::new(skill, script)
        }
    }
}

impl Request {
    /// The same with all that a policy grants its skill and that this run can hold. `variable` tells the
    /// values of granted variables.
    #[must_use]
    pub fn with_all_grants(
        mut self,
        policy: &Policy,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let native = self.is_native();
        for grant in policy.grants(self.skill.folder()) {
            let holds = match grant {
                Grant::Read(_) | Grant::Write(_) | Grant::Interpreter(_) => true,
                // Nothing on this machine tells hosts apart for native scripts.
                Grant::Net(..) => native && grant.is_whole_network(),
                Grant::Native => native,
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
        let script = self.skill.script(&self.script);
        match self.tier {
            Tier::Native => true,
            Tier::Wasm => false,
            Tier::Auto => script.is_some_and(|script| !script.language().has_wasm()),
        }
    }
}

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
