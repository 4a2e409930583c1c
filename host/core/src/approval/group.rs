//! Plans that share one question.

use super::access::skill_path;
use crate::plan::Plan;

/// Plans that share one question. All are of one skill, tenant, session and workspace.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) first: Plan,
    pub(crate) rest: Vec<Plan>,
}

impl Group {
    pub(crate) fn of(plan: Plan) -> Self {
        Self {
            first: plan,
            rest: Vec::new(),
        }
    }

    /// Whether a plan can share the question.
    pub(crate) fn belongs_with(&self, plan: &Plan) -> bool {
        let workspace = |plan: &Plan| plan.workspace.as_ref().map(|mount| mount.host.clone());
        // Two skills that were given as bytes may have the same name.
        let mount = |plan: &Plan| plan.skill_mount.as_ref().map(|mount| mount.host.clone());
        let first = &self.first;
        (&first.tenant, &first.session) == (&plan.tenant, &plan.session)
            && skill_path(first) == skill_path(plan)
            && workspace(first) == workspace(plan)
            && mount(first) == mount(plan)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Plan> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = Plan> {
        std::iter::once(self.first).chain(self.rest)
    }
}
