//! Approvals and questions in memory, which end with the process.

use super::Scope;
use super::store::{
    AnswerState, ApprovalKey, ApprovalStore, GivenAnswer, LastApproval, NewApproval, OpenQuestion,
    QuestionStore, SessionApproval, StoredApproval,
};
use crate::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

#[derive(Debug, Default)]
pub(super) struct MemoryStore(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last_id: i64,
    approvals: Vec<Approval>,
    sessions: Vec<SessionApproval>,
    questions: Vec<(OpenQuestion, Option<GivenAnswer>)>,
}

#[derive(Debug)]
struct Approval {
    stored: StoredApproval,
    /// What a later version is compared with, of the newest approval of a script only: an agent that changes its scripts
    /// all the time must not fill the memory.
    compared: Option<Compared>,
}

#[derive(Debug)]
struct Compared {
    files: String,
    source: Option<Vec<u8>>,
}

impl StoredApproval {
    fn is(&self, key: &ApprovalKey<'_>) -> bool {
        self.tenant == key.tenant
            && self.skill == key.skill
            && self.script == key.script
            && self.content == key.content
            && self.grants == key.grants
    }
}

impl Approval {
    fn is_of_script(&self, tenant: &str, skill: &str, script: &str) -> bool {
        let own = &self.stored;
        own.tenant == tenant && own.skill == skill && own.script == script
    }
}

impl SessionApproval {
    fn is(&self, tenant: &str, session: &str, skill: &str) -> bool {
        self.tenant == tenant && self.session == session && self.skill == skill
    }
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, approval: &NewApproval<'_>) {
        let key = &approval.key;
        self.approvals.retain(|one| !one.stored.is(key));
        for earlier in &mut self.approvals {
            if earlier.is_of_script(key.tenant, key.skill, key.script) {
                earlier.compared = None;
            }
        }
        self.last_id += 1;
        let stored = StoredApproval {
            id: self.last_id,
            tenant: key.tenant.to_owned(),
            skill: key.skill.to_owned(),
            script: key.script.to_owned(),
            content: key.content.to_owned(),
            grants: key.grants.to_vec(),
            time: approval.time.to_owned(),
            approver: Some(approval.approver.clone()),
        };
        self.approvals.push(Approval {
            stored,
            compared: Some(Compared {
                files: approval.files.to_owned(),
                source: approval.source.map(ToOwned::to_owned),
            }),
        });
    }

    fn add_session(&mut self, approval: &SessionApproval) {
        let SessionApproval {
            tenant,
            session,
            skill,
            content,
            grants,
            ..
        } = approval;
        self.sessions.retain(|one| {
            !one.is(tenant, session, skill) || (one.content == *content && one.grants != *grants)
        });
        self.sessions.push(approval.clone());
    }
}

impl ApprovalStore for MemoryStore {
    fn contains(&self, key: &ApprovalKey<'_>) -> Result<bool, Error> {
        let state = self.state();
        Ok(state.approvals.iter().any(|one| one.stored.is(key)))
    }

    fn last(&self, tenant: &str, skill: &str, script: &str) -> Result<Option<LastApproval>, Error> {
        let state = self.state();
        let mut newest_first = state.approvals.iter().rev();
        let last = newest_first.find(|one| one.is_of_script(tenant, skill, script));
        // None if the newest was revoked.
        Ok(last.and_then(|last| {
            let compared = last.compared.as_ref()?;
            Some(LastApproval {
                time: last.stored.time.clone(),
                files: compared.files.clone(),
                source: compared.source.clone(),
                grants: last.stored.grants.clone(),
            })
        }))
    }

    fn add(
        &self,
        approvals: &[NewApproval<'_>],
        session: Option<&SessionApproval>,
    ) -> Result<(), Error> {
        let mut state = self.state();
        for approval in approvals {
            state.add(approval);
        }
        if let Some(session) = session {
            state.add_session(session);
        }
        Ok(())
    }

    fn list(&self, scope: Scope<'_>) -> Result<Vec<StoredApproval>, Error> {
        let state = self.state();
        let all = state.approvals.iter().map(|one| &one.stored);
        let all = all.filter(|one| scope.includes(&one.tenant));
        Ok(all.cloned().collect())
    }

    fn revoke(&self, scope: Scope<'_>, ids: &[i64]) -> Result<usize, Error> {
        let mut state = self.state();
        let before = state.approvals.len();
        let is_meant = |one: &StoredApproval| scope.includes(&one.tenant) && ids.contains(&one.id);
        state.approvals.retain(|one| !is_meant(&one.stored));
        Ok(before - state.approvals.len())
    }

    fn session(
        &self,
        tenant: &str,
        session: &str,
        skill: &str,
    ) -> Result<Vec<SessionApproval>, Error> {
        let state = self.state();
        let all = state.sessions.iter();
        let all = all.filter(|one| one.is(tenant, session, skill));
        Ok(all.cloned().collect())
    }

    fn sessions(&self, scope: Scope<'_>) -> Result<Vec<SessionApproval>, Error> {
        let state = self.state();
        let all = state.sessions.iter();
        let all = all.filter(|one| scope.includes(&one.tenant));
        Ok(all.cloned().collect())
    }

    fn extend_session(
        &self,
        tenant: &str,
        session: &str,
        skill: &str,
        now: SystemTime,
        expires: SystemTime,
    ) -> Result<(), Error> {
        let mut state = self.state();
        let all = state.sessions.iter_mut();
        for approval in all.filter(|one| one.is(tenant, session, skill) && one.expires > now) {
            approval.expires = expires;
        }
        Ok(())
    }

    fn end_session(
        &self,
        tenant: &str,
        session: &str,
        skill: Option<&str>,
    ) -> Result<usize, Error> {
        let mut state = self.state();
        let before = state.sessions.len();
        state
            .sessions
            .retain(|one| !one.is(tenant, session, skill.unwrap_or(&one.skill)));
        Ok(before - state.sessions.len())
    }

    fn remove_expired_sessions(&self, now: SystemTime) -> Result<(), Error> {
        self.state().sessions.retain(|one| one.expires > now);
        Ok(())
    }
}

impl QuestionStore for MemoryStore {
    fn open(&self, question: &OpenQuestion) -> Result<(), Error> {
        // Only the processes that share a file can leave questions behind.
        self.state().questions.push((question.clone(), None));
        Ok(())
    }

    fn questions(&self, scope: Scope<'_>, now: SystemTime) -> Result<Vec<OpenQuestion>, Error> {
        let state = self.state();
        let open = state.questions.iter().filter(|(question, given)| {
            scope.includes(&question.tenant) && given.is_none() && question.expires > now
        });
        Ok(open.map(|(question, _)| question.clone()).collect())
    }

    fn answer(
        &self,
        scope: Scope<'_>,
        id: &str,
        given: &GivenAnswer,
        now: SystemTime,
    ) -> Result<AnswerState, Error> {
        let mut state = self.state();
        let mut all = state.questions.iter_mut();
        let found = all.find(|(one, _)| one.id == id && scope.includes(&one.tenant));
        Ok(match found {
            None => AnswerState::Unknown,
            Some((_, Some(_))) => AnswerState::Answered,
            Some((question, None)) if question.expires <= now => AnswerState::Expired,
            Some((_, answer)) => {
                *answer = Some(given.clone());
                AnswerState::Recorded
            }
        })
    }

    fn answer_to(&self, id: &str) -> Result<Option<GivenAnswer>, Error> {
        let state = self.state();
        let found = state.questions.iter().find(|(one, _)| one.id == id);
        Ok(found.and_then(|(_, given)| given.clone()))
    }

    fn reopen(&self, id: &str) -> Result<(), Error> {
        let mut state = self.state();
        let mut all = state.questions.iter_mut();
        if let Some((_, given)) = all.find(|(one, _)| one.id == id) {
            *given = None;
        }
        Ok(())
    }

    fn close(&self, id: &str) -> Result<(), Error> {
        self.state().questions.retain(|(one, _)| one.id != id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::{Answer, Approver};

    #[test]
    fn only_the_newest_approval_of_a_script_keeps_what_later_versions_are_compared_with() {
        let store = MemoryStore::default();
        let approver = Approver::new("alice", "test");
        let add = |script, content| {
            let key = ApprovalKey {
                tenant: "t",
                skill: "s",
                script,
                content,
                grants: &[],
            };
            let approval = NewApproval {
                key,
                files: "{}",
                source: Some(content.as_bytes()),
                answer: Answer::YesOnce,
                approver: &approver,
                time: "now",
            };
            ApprovalStore::add(&store, &[approval], None).unwrap();
        };
        for (script, content) in [("x", "1"), ("y", "1"), ("x", "2"), ("x", "3")] {
            add(script, content);
        }
        let kept = || -> Vec<bool> {
            let state = store.state();
            let approvals = state.approvals.iter();
            approvals.map(|one| one.compared.is_some()).collect()
        };
        assert_eq!(kept(), [false, true, false, true]);
        let last = |script| store.last("t", "s", script).unwrap();
        assert_eq!(last("x").unwrap().source.as_deref(), Some(&b"3"[..]));
        assert_eq!(last("y").unwrap().source.as_deref(), Some(&b"1"[..]));
        // Without the newest one, there is nothing to compare with. The others stay valid.
        store.revoke(Scope::All, &[4]).unwrap();
        assert!(last("x").is_none());
        assert_eq!(kept(), [false, true, false]);
    }
}
