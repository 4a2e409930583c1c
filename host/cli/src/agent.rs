//! What runs because an agent wants it: under whose policy, with what, and asked for how.

use crate::args::Agent;
use crate::failure::Failure;
use crate::places;
use skillrun::{AskedBy, Grant, Policy, Request, Skill};
use std::path::Path;
use std::sync::Arc;

impl Agent {
    /// The policy with what was typed. Nothing that lies in one of the skills or in the workspace is read as one.
    pub(crate) fn policy(&self, skills: &[Arc<Skill>]) -> Result<Policy, Failure> {
        let skills: Vec<&Path> = skills.iter().map(|skill| skill.path()).collect();
        let untrusted = places::Untrusted {
            skills: &skills,
            workspace: self.workspace.as_deref(),
        };
        let policy = places::policy(self.policy.as_deref(), untrusted)?;
        Ok(policy.and_allow(typed(&self.allow)?))
    }

    /// A request as it is asked for here.
    pub(crate) fn request(&self, policy: &Policy, request: Request) -> Request {
        let request = Request {
            workspace: self.workspace.clone(),
            asked_by: match self.yes {
                true => AskedBy::Person,
                false => AskedBy::Agent,
            },
            world: self.world.clone(),
            chat: self.chat.clone(),
            ..request
        };
        request.with_all_grants(policy, |name| std::env::var(name).ok())
    }
}

/// Grants that were typed; their paths are below the current directory.
pub(crate) fn typed(texts: &[String]) -> Result<Vec<Grant>, Failure> {
    let here = std::env::current_dir()?;
    let each = texts.iter().map(|text| {
        let grant = text.parse::<Grant>();
        let grant = grant.map_err(|error| Failure::host(error.to_string()))?;
        Ok(grant.resolved(&here))
    });
    each.collect()
}
