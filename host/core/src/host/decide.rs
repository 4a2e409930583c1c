//! From a request to a decision, and from an answer to permits. All of it may block.

use super::{Batch, BatchQuestion, Inner, run_info};
use crate::approval::{Answer, AnswerError, AskResult, Group, PendingQuestion, Question};
use crate::audit::{Answered, Event, RunInfo};
use crate::content::Content;
use crate::contents::Contents;
use crate::decision::{Decision, Permit};
use crate::error::Error;
use crate::plan::{self, Plan};
use crate::policy::Policy;
use crate::refusal::{Check, Refusal};
use crate::request::Request;

/// What to do about a missing approval.
const APPROVAL_HINT: &str =
    "ask again and approve it; a policy with approval = \"never\" for this skill asks nobody";

impl Inner {
    pub(super) fn decide(&self, policy: &Policy, request: Request) -> Result<Decision, Error> {
        self.expire()?;
        let mut contents = Contents::default();
        let plan = match self.plan(policy, request, &mut contents)? {
            Ok(plan) if plan.needs_approval() => plan,
            Ok(plan) => return Ok(Decision::Permitted(Permit::new(plan))),
            Err(refusal) => return Ok(Decision::Refused(refusal)),
        };
        Ok(match self.approvals.ask(Group::of(plan), &mut contents)? {
            AskResult::Approved(group) => Decision::Permitted(Permit::new(group.first)),
            AskResult::Pending(question) => Decision::Pending(question),
            AskResult::Refused { group, why, hint } => {
                Decision::Refused(self.refuse(&group.first, &why, hint)?)
            }
        })
    }

    pub(super) fn decide_all(
        &self,
        policy: &Policy,
        requests: Vec<Request>,
    ) -> Result<Batch, Error> {
        self.expire()?;
        let mut contents = Contents::default();
        let mut batch = Batch::default();
        let mut open: Vec<(Group, Vec<usize>)> = Vec::new();
        for (index, request) in requests.into_iter().enumerate() {
            let plan = match self.plan(policy, request, &mut contents)? {
                Ok(plan) if plan.needs_approval() => plan,
                Ok(plan) => {
                    let permit = Permit::new(plan);
                    batch.decided.push((index, Decision::Permitted(permit)));
                    continue;
                }
                Err(refusal) => {
                    batch.decided.push((index, Decision::Refused(refusal)));
                    continue;
                }
            };
            match open.iter_mut().find(|(group, _)| group.belongs_with(&plan)) {
                Some((group, indices)) => {
                    group.rest.push(plan);
                    indices.push(index);
                }
                None => open.push((Group::of(plan), vec![index])),
            }
        }
        for (group, requests) in open {
            let decisions = match self.approvals.ask(group, &mut contents)? {
                AskResult::Pending(question) => {
                    batch.questions.push(BatchQuestion { question, requests });
                    continue;
                }
                AskResult::Approved(group) => permitted(group),
                AskResult::Refused { group, why, hint } => self.refuse_all(&group, &why, hint)?,
            };
            batch.decided.extend(requests.into_iter().zip(decisions));
        }
        Ok(batch)
    }

    /// Checks a request; a refusal is recorded.
    fn plan(
        &self,
        policy: &Policy,
        request: Request,
        contents: &mut Contents,
    ) -> Result<Result<Plan, Refusal>, Error> {
        let run_id = uuid::Uuid::now_v7().to_string();
        let asked = request.clone();
        let mut planned = plan::plan(policy, request, run_id.clone(), self, contents);
        if let Ok(plan) = &planned
            && let Err(refusal) = self.registered(plan)?.runtime.can_enforce(plan)
        {
            planned = Err(refusal);
        }
        match &planned {
            Ok(_) => self.audit.check_writable()?,
            Err(refusal) => {
                let run = RunInfo {
                    run_id: &run_id,
                    tenant: &asked.tenant,
                    session: &asked.session,
                    skill: asked.target.skill_name(),
                    script: asked.target.name(),
                    args: &asked.args,
                    grants: &asked.grants,
                    ..RunInfo::default()
                };
                self.audit
                    .write_blocking(Event::refused(run, &refusal.message))?;
            }
        }
        Ok(planned)
    }

    pub(super) fn answer(
        &self,
        question: &str,
        answer: Answer,
    ) -> Result<Vec<Decision>, AnswerError> {
        self.expire()?;
        let pending = self.approvals.take(question)?;
        match self.record_answer(&pending, answer) {
            Ok(None) => Ok(permitted(pending.into_group())),
            Ok(Some(refused)) => Ok(refused),
            Err(error) => {
                self.approvals.restore(pending);
                Err(error.into())
            }
        }
    }

    /// Records an answer before it takes effect. Returns the refusals if it is not a yes, or comes too late.
    fn record_answer(
        &self,
        pending: &PendingQuestion,
        answer: Answer,
    ) -> Result<Option<Vec<Decision>>, Error> {
        let group = pending.group();
        if answer == Answer::No {
            let why = format!("a person answered `{answer}`");
            return self.refuse_all(group, &why, APPROVAL_HINT).map(Some);
        }
        let changed = match pending.is_current() {
            Ok(true) => None,
            Ok(false) => Some("the skill changed while the question was open".to_owned()),
            Err(why) => Some(format!("the skill can no longer be read: {why}")),
        };
        if let Some(why) = changed {
            return self.refuse_all(group, &why, "ask again").map(Some);
        }
        for (recorded, plan) in group.iter().enumerate() {
            let answered = Answered {
                question: &pending.question().id,
                answer: answer.word(),
                content_hash: plan.content.as_deref().map(Content::hash),
                workspace: plan.workspace_path(),
            };
            let event = Event::approved(run_info(plan), answered);
            if let Err(error) = self.audit.write_blocking(event) {
                self.take_back(group.iter().take(recorded), &error);
                return Err(error);
            }
        }
        if let Err(error) = self.approvals.remember(pending, answer) {
            self.take_back(group.iter(), &error);
            return Err(error);
        }
        Ok(None)
    }

    /// Records that approvals which are already in the log did not take effect.
    fn take_back<'a>(&self, plans: impl Iterator<Item = &'a Plan>, error: &Error) {
        for plan in plans {
            // If the log cannot be written either, the caller still gets the first error.
            let _ = self.refuse(plan, &error.to_string(), APPROVAL_HINT);
        }
    }

    pub(super) fn decline(&self, question: &str, why: &str) -> Result<Vec<Decision>, AnswerError> {
        let pending = self.approvals.take_any(question)?;
        match self.refuse_all(pending.group(), why, APPROVAL_HINT) {
            Ok(refused) => Ok(refused),
            Err(error) => {
                self.approvals.restore(pending);
                Err(error.into())
            }
        }
    }

    pub(super) fn record_refusal(&self, name: &str, refusal: &Refusal) -> Result<(), Error> {
        let run_id = uuid::Uuid::now_v7().to_string();
        let run = RunInfo {
            run_id: &run_id,
            script: name,
            ..RunInfo::default()
        };
        self.audit
            .write_blocking(Event::refused(run, &refusal.message))
    }

    pub(super) fn questions(&self) -> Result<Vec<Question>, Error> {
        self.expire()?;
        Ok(self.approvals.pending())
    }

    /// Closes expired questions and records their refusals.
    fn expire(&self) -> Result<(), Error> {
        let mut expired = self.approvals.take_expired().into_iter();
        while let Some(pending) = expired.next() {
            let why = "nobody answered in time";
            if let Err(error) = self.refuse_all(pending.group(), why, APPROVAL_HINT) {
                for pending in std::iter::once(pending).chain(expired) {
                    self.approvals.restore(pending);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn refuse_all(&self, group: &Group, why: &str, hint: &str) -> Result<Vec<Decision>, Error> {
        let refused = group.iter().map(|plan| self.refuse(plan, why, hint));
        refused
            .map(|refusal| refusal.map(Decision::Refused))
            .collect()
    }

    /// Records that a plan was not approved.
    fn refuse(&self, plan: &Plan, why: &str, hint: &str) -> Result<Refusal, Error> {
        let message = format!("{} was not approved: {why}", plan.title());
        self.audit
            .write_blocking(Event::refused(run_info(plan), &message))?;
        Ok(Refusal::new(Check::Approval, message).hint(hint))
    }
}

fn permitted(group: Group) -> Vec<Decision> {
    let permits = group.into_iter().map(Permit::new);
    permits.map(Decision::Permitted).collect()
}
