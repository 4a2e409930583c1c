//! From a request to a decision, and from an answer to permits. All of it may block.

use super::{Batch, BatchQuestion, Inner, run_info};
use crate::approval::{
    Answer, AnswerError, Approver, AskResult, GivenAnswer, Group, PendingQuestion, Question,
    QuestionEvent, Scope, SessionApproval, StoredApproval,
};
use crate::audit::{Answered, Event, RunInfo};
use crate::content::Content;
use crate::contents::Contents;
use crate::decision::{Decision, Permit};
use crate::error::Error;
use crate::plan::{self, Plan};
use crate::policy::{Policy, machine};
use crate::refusal::{Check, Refusal};
use crate::request::Request;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use uuid::{Builder, NoContext, Timestamp, Uuid};

/// What to do about a missing approval.
const APPROVAL_HINT: &str =
    "ask again and approve it; a policy with approval = \"never\" for this skill asks nobody";

/// A new id. Ids of one millisecond are in no order: a counter for that would need more random bytes.
fn new_run_id() -> String {
    let (seconds, nanos) = Timestamp::now(NoContext).to_unix();
    let millis = seconds * 1000 + u64::from(nanos / 1_000_000);
    match random_bytes() {
        Ok(random) => Builder::from_unix_timestamp_millis(millis, &random).into_uuid(),
        // It panics if the kernel has none.
        Err(_) => Uuid::new_v7(Timestamp::now(NoContext)),
    }
    .to_string()
}

/// The random bytes of one id, from the kernel. They are taken for many ids at once, because a system call for each would
/// be one of 25 that a run makes.
fn random_bytes() -> Result<[u8; 10], getrandom::Error> {
    /// Those that no id has yet.
    static KEPT: Mutex<Vec<[u8; 10]>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = kept.pop() {
        return Ok(bytes);
    }
    let mut bytes = [[0; 10]; 32];
    getrandom::fill(bytes.as_flattened_mut())?;
    let [first, rest @ ..] = bytes;
    kept.extend(rest);
    Ok(first)
}

impl Inner {
    pub(super) fn decide(&self, policy: &Policy, request: &Request) -> Result<Decision, Error> {
        self.expire()?;
        let mut contents = Contents::default();
        let plan = match self.plan(policy, request, &mut contents)? {
            Ok(plan) if plan.needs_approval() => plan,
            Ok(plan) => return Ok(Decision::Permitted(Permit::new(plan))),
            Err(refusal) => return Ok(Decision::Refused(refusal)),
        };
        Ok(match self.approvals.ask(Group::of(plan), &mut contents)? {
            AskResult::Approved(group) => Decision::Permitted(Permit::new(group.first)),
            AskResult::Pending(question) => {
                self.watch_questions();
                Decision::Pending(question)
            }
            AskResult::Refused { group, why, hint } => {
                Decision::Refused(self.refuse(&group.first, &why, hint)?)
            }
        })
    }

    pub(super) fn decide_all(&self, policy: &Policy, requests: &[Request]) -> Result<Batch, Error> {
        self.expire()?;
        let mut contents = Contents::default();
        let mut batch = Batch::default();
        let mut open: Vec<(Group, Vec<usize>)> = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let plan = match self.plan(policy, request, &mut contents)? {
                Ok(plan) if plan.needs_approval() => plan,
                decided => {
                    batch.decided.push((index, decided.map(Permit::new)));
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
            if let Err(error) = self.ask(group, requests, &mut contents, &mut batch) {
                // Nobody learns of the questions that were asked before, so nobody could answer them.
                for asked in &batch.questions {
                    if let Ok(pending) = self.approvals.take(Scope::All, &asked.question.id) {
                        let why = format!("the decision failed: {error}");
                        // If the log cannot be written, the caller still gets the first error.
                        let _ = self.refuse_all(pending.group(), &why, APPROVAL_HINT);
                        self.decline_taken(&pending);
                    }
                }
                return Err(error);
            }
        }
        Ok(batch)
    }

    /// Asks for the approval of a group; `requests` are the indices of its requests in the batch.
    fn ask(
        &self,
        group: Group,
        requests: Vec<usize>,
        contents: &mut Contents,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let decisions = match self.approvals.ask(group, contents)? {
            AskResult::Pending(question) => {
                self.watch_questions();
                batch.questions.push(BatchQuestion { question, requests });
                return Ok(());
            }
            AskResult::Approved(group) => permitted(group),
            AskResult::Refused { group, why, hint } => self.refuse_all(&group, &why, hint)?,
        };
        batch.decided.extend(requests.into_iter().zip(decisions));
        Ok(())
    }

    /// Checks a request; a refusal is recorded.
    fn plan(
        &self,
        policy: &Policy,
        request: &Request,
        contents: &mut Contents,
    ) -> Result<Result<Plan, Refusal>, Error> {
        let run_id = new_run_id();
        let settings = self.settings_of(&request.tenant);
        let planned = below_machine(policy)
            .and_then(|policy| plan::plan(&policy, request, run_id.clone(), self, contents));
        let planned = match planned {
            Ok(mut plan) => {
                plan.protected = self.skill_paths(&plan);
                plan.audit_fields.clone_from(&settings.audit_fields);
                let enforced = self.registered(&plan)?.runtime.can_enforce(&plan);
                enforced.map(|()| plan)
            }
            refused => refused,
        };
        match &planned {
            Ok(_) => self.audit.check_writable()?,
            Err(refusal) => {
                let run = RunInfo {
                    run_id: &run_id,
                    tenant: &request.tenant,
                    session: &request.session,
                    skill: request.target.skill_name(),
                    script: request.target.name(),
                    args: &request.args,
                    grants: &request.grants,
                    fields: Some(&settings.audit_fields),
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
        scope: Scope<'_>,
        question: &str,
        answer: Answer,
        approver: &Approver,
    ) -> Result<Option<Vec<Result<Permit, Refusal>>>, AnswerError> {
        self.expire()?;
        let approver = approver.clone();
        let given = GivenAnswer { answer, approver };
        let Some(pending) = self.approvals.answer(scope, question, &given)? else {
            return Ok(None);
        };
        let settled = self.settle(pending, given);
        if settled.is_err() {
            self.approvals.reopen(question);
        }
        settled.map(Some)
    }

    pub(super) fn record_answer(
        &self,
        scope: Scope<'_>,
        question: &str,
        given: &GivenAnswer,
    ) -> Result<(), AnswerError> {
        self.expire()?;
        self.approvals.record_answer(scope, question, given)
    }

    /// The decisions on a question of this host, if it is answered by now.
    pub(super) fn take_answered(
        &self,
        scope: Scope<'_>,
        question: &str,
    ) -> Result<Option<Vec<Result<Permit, Refusal>>>, AnswerError> {
        match self.approvals.take_answered(scope, question) {
            Ok(Some((pending, given))) => self.settle(pending, given).map(Some),
            Ok(None) => Ok(None),
            Err(error @ AnswerError::Expired { .. }) => {
                self.expire()?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Turns a question and its answer into decisions. If the answer cannot be recorded, the question is pending again.
    fn settle(
        &self,
        pending: PendingQuestion,
        given: GivenAnswer,
    ) -> Result<Vec<Result<Permit, Refusal>>, AnswerError> {
        match self.record(&pending, &given) {
            Ok(refused) => {
                let GivenAnswer { answer, approver } = given;
                let question = Arc::clone(pending.question());
                let event = QuestionEvent::Answered {
                    question,
                    answer,
                    approver,
                };
                self.approvals.close(&pending, event);
                Ok(refused.unwrap_or_else(|| permitted(pending.into_group())))
            }
            Err(error) => {
                self.approvals.restore(pending);
                Err(error.into())
            }
        }
    }

    /// Records an answer before it takes effect. Returns the refusals if it is not a yes, or if the skill changed.
    fn record(
        &self,
        pending: &PendingQuestion,
        given: &GivenAnswer,
    ) -> Result<Option<Vec<Result<Permit, Refusal>>>, Error> {
        let GivenAnswer { answer, approver } = given;
        let group = pending.group();
        let answered = |plan| answered(pending, plan, *answer);
        let refused = match *answer {
            Answer::No => Some((format!("a person answered `{answer}`"), APPROVAL_HINT)),
            _ => match pending.is_unchanged() {
                Ok(true) => None,
                Ok(false) => Some((
                    "the skill changed while the question was open".to_owned(),
                    "ask again",
                )),
                Err(why) => Some((
                    format!("the skill can no longer be read: {why}"),
                    "ask again",
                )),
            },
        };
        if let Some((why, hint)) = refused {
            let refused = group.iter().map(|plan| {
                let message = not_approved(plan, &why);
                let event =
                    Event::refused_answer(run_info(plan), &message, answered(plan), approver);
                self.audit.write_blocking(event)?;
                Ok(Err(approval_refusal(plan, message, hint)))
            });
            return refused.collect::<Result<_, Error>>().map(Some);
        }
        for (recorded, plan) in group.iter().enumerate() {
            let event = Event::approved(run_info(plan), answered(plan), approver);
            if let Err(error) = self.audit.write_blocking(event) {
                self.take_back(group.iter().take(recorded), &error);
                return Err(error);
            }
        }
        if let Err(error) = self.approvals.remember(pending, given) {
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

    pub(super) fn decline(
        &self,
        scope: Scope<'_>,
        question: &str,
        why: &str,
    ) -> Result<Vec<Result<Permit, Refusal>>, AnswerError> {
        let (pending, answered) = self.approvals.take_to_decline(scope, question)?;
        if let Some(given) = answered {
            return self.settle(pending, given);
        }
        match self.refuse_all(pending.group(), why, APPROVAL_HINT) {
            Ok(refused) => {
                self.decline_taken(&pending);
                Ok(refused)
            }
            Err(error) => {
                self.approvals.restore(pending);
                self.approvals.reopen(question);
                Err(error.into())
            }
        }
    }

    fn decline_taken(&self, pending: &PendingQuestion) {
        let event = QuestionEvent::Declined(Arc::clone(pending.question()));
        self.approvals.close(pending, event);
    }

    pub(super) fn record_refusal(&self, name: &str, refusal: &Refusal) -> Result<(), Error> {
        self.record_refusal_of("", name, refusal)
    }

    /// Records the refusal of something that a tenant asked for and that never became a request.
    pub(super) fn record_refusal_of(
        &self,
        tenant: &str,
        name: &str,
        refusal: &Refusal,
    ) -> Result<(), Error> {
        let run_id = new_run_id();
        let settings = self.settings_of(tenant);
        let run = RunInfo {
            run_id: &run_id,
            tenant,
            script: name,
            fields: Some(&settings.audit_fields),
            ..RunInfo::default()
        };
        self.audit
            .write_blocking(Event::refused(run, &refusal.message))
    }

    pub(super) fn questions(&self, scope: Scope<'_>) -> Result<Vec<Question>, Error> {
        self.expire()?;
        self.approvals.open_questions(scope)
    }

    pub(super) fn approvals(&self, scope: Scope<'_>) -> Result<Vec<StoredApproval>, Error> {
        self.approvals.list(scope)
    }

    pub(super) fn sessions(&self, scope: Scope<'_>) -> Result<Vec<SessionApproval>, Error> {
        self.approvals.sessions(scope)
    }

    pub(super) fn revoke(&self, scope: Scope<'_>, ids: &[i64]) -> Result<usize, Error> {
        self.approvals.revoke(scope, ids)
    }

    pub(super) fn end_session(&self, tenant: &str, session: &str) -> Result<(), Error> {
        self.approvals.end_session(tenant, session, None).map(drop)
    }

    /// Closes expired questions and records their refusals.
    pub(super) fn expire(&self) -> Result<(), Error> {
        let mut expired = self.approvals.take_expired().into_iter();
        while let Some(pending) = expired.next() {
            let why = match self.approvals.is_answered(&pending) {
                false => "nobody answered in time",
                true => "its answer was not used in time",
            };
            if let Err(error) = self.refuse_all(pending.group(), why, APPROVAL_HINT) {
                for pending in std::iter::once(pending).chain(expired) {
                    self.approvals.restore(pending);
                }
                return Err(error);
            }
            let event = QuestionEvent::Expired(Arc::clone(pending.question()));
            self.approvals.close(&pending, event);
        }
        Ok(())
    }

    fn refuse_all(
        &self,
        group: &Group,
        why: &str,
        hint: &str,
    ) -> Result<Vec<Result<Permit, Refusal>>, Error> {
        let refused = group.iter().map(|plan| self.refuse(plan, why, hint));
        refused.map(|refusal| refusal.map(Err)).collect()
    }

    /// Records that a plan was not approved.
    fn refuse(&self, plan: &Plan, why: &str, hint: &str) -> Result<Refusal, Error> {
        let message = not_approved(plan, why);
        self.audit
            .write_blocking(Event::refused(run_info(plan), &message))?;
        Ok(approval_refusal(plan, message, hint))
    }
}

/// The policy below that of root. If that one cannot be relied on, nothing runs.
fn below_machine(policy: &Policy) -> Result<Cow<'_, Policy>, Refusal> {
    machine::bounded(policy).map_err(|error| {
        let refusal = Refusal::new(Check::Policy, error.to_string());
        match error.hint() {
            Some(hint) => refusal.hint(hint),
            None => refusal,
        }
    })
}

/// What an audit line says about the answer to a question.
fn answered<'a>(pending: &'a PendingQuestion, plan: &'a Plan, answer: Answer) -> Answered<'a> {
    Answered {
        question: &pending.question().id,
        answer: answer.word(),
        content_hash: plan.content.as_deref().map(Content::hash),
        workspace: plan.workspace_text(),
    }
}

fn not_approved(plan: &Plan, why: &str) -> String {
    format!("{} was not approved: {why}", plan.title())
}

fn approval_refusal(plan: &Plan, message: String, hint: &str) -> Refusal {
    let refusal = Refusal::new(Check::Approval, message);
    match &plan.approval_by {
        Some(file) if hint == APPROVAL_HINT => refusal.hint(format!(
            "ask again and approve it: {file} demands a person's answer, and no flag replaces it"
        )),
        _ => refusal.hint(hint),
    }
}

fn permitted(group: Group) -> Vec<Result<Permit, Refusal>> {
    let permits = group.into_iter().map(Permit::new);
    permits.map(Ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::{AnswerState, Approvals, OpenQuestion, QuestionStore};
    use crate::audit::AuditLog;
    use crate::host::{Host, Settings};
    use crate::skill::Skill;
    use std::time::SystemTime;

    /// A host with its state in `folder`, and a skill with one script.
    fn host_and_skill(folder: &std::path::Path) -> (Host, Arc<Skill>) {
        host_with(folder, Approvals::file(folder.join("approvals.db")))
    }

    fn host_with(folder: &std::path::Path, approvals: Approvals) -> (Host, Arc<Skill>) {
        host_recording(folder, approvals, AuditLog::sink(|_| Ok(())))
    }

    fn host_recording(
        folder: &std::path::Path,
        approvals: Approvals,
        audit: AuditLog,
    ) -> (Host, Arc<Skill>) {
        std::fs::create_dir_all(folder.join("skill/scripts")).unwrap();
        std::fs::write(folder.join("skill/SKILL.md"), "---\ndescription: d\n---\n").unwrap();
        std::fs::write(folder.join("skill/scripts/a.py"), "").unwrap();
        let host = Host::new(Settings {
            cache: folder.join("cache"),
            audit,
            approvals,
            protected: vec![],
            slots: None,
            workers: Default::default(),
        });
        (host, Arc::new(Skill::load(folder.join("skill")).unwrap()))
    }

    fn decide(host: &Host, skill: &Arc<Skill>, tenant: &str, policy: &str) -> Decision {
        let policy = Policy::parse(policy, "/".as_ref()).unwrap();
        let request = Request {
            tenant: tenant.into(),
            session: "s".into(),
            ..Request::new(skill, "a.py")
        };
        host.inner.decide(&policy, &request).unwrap()
    }

    fn ask(host: &Host, skill: &Arc<Skill>, tenant: &str, policy: &str) -> Box<Question> {
        match decide(host, skill, tenant, policy) {
            Decision::Pending(question) => question,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_caller_that_left_while_a_question_was_taken_no_longer_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let (host, skill) = host_and_skill(folder.path());
        let inner = &host.inner;
        let question = ask(&host, &skill, "a", "");
        let waiting = inner.approvals.wait(Scope::All, &question.id).unwrap();
        let taken = inner.approvals.take(Scope::All, &question.id).unwrap();
        drop(waiting);
        inner.approvals.restore(taken);
        let approver = Approver::new("alice", "test");
        let answered = inner.answer(Scope::All, &question.id, Answer::YesOnce, &approver);
        // Whoever answers gets the decisions, since nobody waits for them.
        assert!(answered.unwrap().is_some());
    }

    /// Opens one question.
    #[derive(Debug, Default)]
    struct OneQuestion(std::sync::atomic::AtomicBool);

    impl QuestionStore for OneQuestion {
        fn open(&self, _: &OpenQuestion) -> Result<(), Error> {
            match self.0.swap(true, std::sync::atomic::Ordering::SeqCst) {
                false => Ok(()),
                true => Err(Error::Sandbox("the store is full".into())),
            }
        }

        fn questions(&self, _: Scope<'_>, _: SystemTime) -> Result<Vec<OpenQuestion>, Error> {
            Ok(Vec::new())
        }

        fn answer(
            &self,
            _: Scope<'_>,
            _: &str,
            _: &GivenAnswer,
            _: SystemTime,
        ) -> Result<AnswerState, Error> {
            Ok(AnswerState::Unknown)
        }

        fn answer_to(&self, _: &str) -> Result<Option<GivenAnswer>, Error> {
            Ok(None)
        }

        fn reopen(&self, _: &str) -> Result<(), Error> {
            Ok(())
        }

        fn close(&self, _: &str) -> Result<(), Error> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_question_that_closes_because_another_could_not_be_asked_is_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::memory().with_questions(Arc::new(OneQuestion::default()));
        let lines = Arc::new(std::sync::Mutex::new(Vec::new()));
        let log = Arc::clone(&lines);
        let audit = AuditLog::sink(move |line| {
            log.lock().unwrap().extend_from_slice(line);
            Ok(())
        });
        let (host, skill) = host_recording(folder.path(), approvals, audit);
        let request = |session: &str| Request {
            session: session.into(),
            ..Request::new(&skill, "a.py")
        };
        let requests = [request("first"), request("second")];
        let policy = Policy::default();
        assert!(host.inner.decide_all(&policy, &requests).is_err());
        let lines = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        for part in ["\"refused\"", "\"first\"", "the store is full"] {
            assert!(lines[0].contains(part), "{lines:?}");
        }
    }

    #[tokio::test]
    async fn the_source_of_a_long_script_is_not_kept() {
        for (bytes, is_kept) in [(1 << 20, true), ((1 << 20) + 1, false)] {
            let folder = tempfile::tempdir().unwrap();
            let (host, skill) = host_with(folder.path(), Approvals::memory());
            let script = folder.path().join("skill/scripts/a.py");
            std::fs::write(&script, "#".repeat(bytes)).unwrap();
            let question = ask(&host, &skill, "a", "");
            let approver = Approver::new("alice", "test");
            let inner = &host.inner;
            inner
                .answer(Scope::All, &question.id, Answer::YesOnce, &approver)
                .unwrap();
            std::fs::write(&script, "").unwrap();
            let change = ask(&host, &skill, "a", "").change.unwrap();
            assert_eq!(change.sources.is_some(), is_kept, "{bytes}");
            assert_eq!(change.files.len(), 1);
        }
    }

    #[tokio::test]
    async fn tenants_with_many_questions_leave_room_for_those_of_others() {
        let folder = tempfile::tempdir().unwrap();
        // So few that their descriptors do not matter on any machine.
        let approvals = Approvals::memory().with_max_pending(16, 4);
        let (host, skill) = host_with(folder.path(), approvals);
        let mut refusals = Vec::new();
        for tenant in ["a", "b", "c", "d", "e"] {
            let refusal = loop {
                if let Decision::Refused(refusal) = decide(&host, &skill, tenant, "") {
                    break refusal;
                }
            };
            let own = host.inner.questions(Scope::Tenant(tenant)).unwrap().len();
            refusals.push((own, refusal.message));
        }
        let title = "`scripts/a.py` of skill `skill` was not approved:";
        let full =
            |tenant| format!("{title} 4 questions of tenant `{tenant}` are open, the maximum");
        // None says how many questions the other tenants have.
        let d = "2 questions of tenant `d` are open, a full share";
        let e = "1 question of tenant `e` is open, a full share";
        let expected = [
            (4, full("a")),
            (4, full("b")),
            (4, full("c")),
            (2, format!("{title} {d}")),
            (1, format!("{title} {e}")),
        ];
        assert_eq!(refusals, expected);
        ask(&host, &skill, "f", "");
        let Decision::Refused(refusal) = decide(&host, &skill, "g", "") else {
            panic!("there is no room");
        };
        let none = format!("{title} no further question can be open now");
        assert_eq!(refusal.message, none);
    }

    #[tokio::test]
    async fn a_question_that_another_process_answered_cannot_be_declined() {
        let folder = tempfile::tempdir().unwrap();
        let (host, skill) = host_and_skill(folder.path());
        let (other, _) = host_and_skill(folder.path());
        for (answer, is_permitted) in [(Answer::YesOnce, true), (Answer::No, false)] {
            let question = ask(&host, &skill, "a", "approval = \"always\"");
            let approver = Approver::new("alice", "test");
            let given = GivenAnswer { answer, approver };
            let recorded = other.inner.record_answer(Scope::All, &question.id, &given);
            recorded.unwrap();
            let decided = host.inner.decline(Scope::All, &question.id, "no terminal");
            let decided = decided.unwrap();
            assert_eq!(matches!(decided[..], [Ok(_)]), is_permitted);
        }
        // The twin: once it is declined, nobody else answers it.
        let question = ask(&host, &skill, "a", "approval = \"always\"");
        let declined = host.inner.decline(Scope::All, &question.id, "no terminal");
        assert!(matches!(declined.unwrap()[..], [Err(_)]));
        let approver = Approver::new("alice", "test");
        let late = other
            .inner
            .answer(Scope::All, &question.id, Answer::YesOnce, &approver);
        assert!(matches!(late, Err(AnswerError::Unknown { .. })));
    }

    #[tokio::test]
    async fn a_tenant_cannot_see_answer_decline_or_revoke_what_belongs_to_another() {
        const YES: Answer = Answer::YesInSession;
        let folder = tempfile::tempdir().unwrap();
        let (host, skill) = host_and_skill(folder.path());
        let inner = &host.inner;
        let (a, b) = (Scope::Tenant("a"), Scope::Tenant("b"));
        let approver = Approver::new("mallory", "test");
        let mut events = inner.approvals.events(b);
        let question = ask(&host, &skill, "a", "");

        // Open questions. The empty name is a tenant like any other.
        for other in [b, Scope::Tenant("")] {
            assert_eq!(inner.questions(other).unwrap(), []);
            for answer in Answer::ALL {
                let answered = inner.answer(other, &question.id, answer, &approver);
                assert!(matches!(answered, Err(AnswerError::Unknown { .. })));
            }
            let declined = inner.decline(other, &question.id, "no");
            assert!(matches!(declined, Err(AnswerError::Unknown { .. })));
            let waited = host.answered_in(other, &question.id).await;
            assert!(matches!(waited, Err(AnswerError::Unknown { .. })));
            let taken = inner.take_answered(other, &question.id);
            assert!(matches!(taken, Err(AnswerError::Unknown { .. })));
        }
        assert_eq!(inner.questions(a).unwrap(), [*question.clone()]);
        inner.answer(a, &question.id, YES, &approver).unwrap();

        // Closed questions: nobody else learns that they ever existed.
        let again = |scope| inner.answer(scope, &question.id, YES, &approver);
        assert!(matches!(again(a), Err(AnswerError::Answered { .. })));
        assert!(matches!(again(b), Err(AnswerError::Unknown { .. })));

        // Stored approvals.
        let [stored] = &inner.approvals(a).unwrap()[..] else {
            panic!()
        };
        assert_eq!(inner.approvals(b).unwrap(), []);
        let all = inner.approvals(Scope::All).unwrap();
        assert_eq!(all, std::slice::from_ref(stored));
        assert_eq!(inner.revoke(b, &[stored.id]).unwrap(), 0);
        let is_permitted = |policy| {
            let decided = decide(&host, &skill, "a", policy);
            matches!(decided, Decision::Permitted(_))
        };
        assert!(is_permitted(""));
        assert_eq!(inner.revoke(a, &[stored.id]).unwrap(), 1);
        assert_eq!(inner.approvals(Scope::All).unwrap(), []);

        // Sessions, also those of the same name.
        let always = "approval = \"always\"";
        inner.end_session("b", "s").unwrap();
        assert!(is_permitted(always));
        let own = Arc::new(*ask(&host, &skill, "b", always));
        // It is the first that this tenant hears of.
        assert_eq!(events.next().await, Some(QuestionEvent::Asked(own)));
        inner.end_session("a", "s").unwrap();
        assert!(!is_permitted(always));
    }
}
