//! What somebody wants to run.

use crate::grant::Grant;
use crate::limits::Limits;
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
    /// The tenant, for approvals and the audit log.
    pub world: String,
    /// The conversation, for approvals and the audit log.
    pub chat: String,
}

impl Request {
    /// A request to run `script` of `skill`, with nothing else.
    pub fn new(skill: &Arc<Skill>, script: impl Into<String>) -> Self {
        Self {
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
