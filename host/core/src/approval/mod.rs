//! A person's approval: questions and answers as values.
//!
//! A decision that needs a person is a [`Question`]. A front end shows it and returns an [`Answer`] with the
//! question's id and the [`Approver`]. Nothing here calls a front end or waits for a person. A question that is not
//! answered in time counts as answered with no.
//!
//! | mode | `yes_once` is remembered for | `yes_in_session` also covers |
//! |---|---|---|
//! | `first-run` | this content of the skill, these grants, this workspace | every script of the skill in this session, until the skill changes or requests more |
//! | `always` | nothing | the same |
//!
//! For a command of this machine, `yes_once` covers one command line and `yes_in_session` all command lines.
//!
//! Approvals, sessions and questions are in stores ([`ApprovalStore`], [`QuestionStore`]) that several processes may share:
//! an SQLite file, memory, or those of an embedding program. What a yes releases stays in the process that asked: open
//! directories, and the bytes that were checked. So an answer from another process is only stored; the process that
//! asked takes it, compares the skill, records the approval, and only then has a permit.
//!
//! A session without a name is that of one process, and its approvals are never stored.

mod access;
mod answer;
mod events;
mod group;
mod key;
mod memory;
mod pending;
mod question;
mod scope;
mod sqlite;
mod store;
#[cfg(test)]
mod store_tests;
mod waiting;

pub use crate::approver::Approver;
pub use crate::clock::{Clock, ManualClock};
pub use answer::{Answer, AnswerError};
pub use events::{QuestionEvent, QuestionEvents};
pub use question::{AskedScript, Change, ChangedFile, Question};
pub use scope::Scope;
pub use store::{
    AnswerState, ApprovalKey, ApprovalStore, GivenAnswer, LastApproval, NewApproval, OpenQuestion,
    QuestionStore, SessionApproval, StoredApproval,
};

use crate::clock::{self, SystemClock};
use crate::content::Content;
use crate::contents::Contents;
use crate::descriptors;
use crate::error::Error;
use crate::files::show;
use crate::plan::{Checked, Plan};
use crate::policy::ApprovalMode;
use crate::refusal::of_tenant;
use access::{Covered, access, access_of, skill_path};
use events::Events;
pub(crate) use group::Group;
use key::{content_of, key, script_key};
use memory::MemoryStore;
pub(crate) use pending::PendingQuestion;
use pending::{Closed, State};
use sqlite::SqliteStore;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time to find the window, read and think.
const TIMEOUT: Duration = Duration::from_secs(300);
/// A conversation that is taken up the next day is a new one.
const SESSION_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// A session in use is extended at most this many times per lifetime, because each extension writes to the store.
const EXTENSIONS: u32 = 24;
/// The longest of these times, so that none overflows. Nobody answers after a year.
const MAX_DURATION: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// Pending questions. Each keeps the directories of its run open.
const MAX_PENDING: usize = 1024;
/// Pending questions of one tenant, so that no tenant keeps others from asking.
const MAX_PENDING_OF_TENANT: usize = 256;
/// The source of a script is stored to show what changed; a longer one is compared only by its hash.
const MAX_SOURCE: usize = 1024 * 1024;

/// What people have approved, and the questions that wait for an answer.
#[derive(Debug)]
pub struct Approvals {
    approvals: Arc<dyn ApprovalStore>,
    questions: Arc<dyn QuestionStore>,
    /// The approvals for sessions without a name.
    unnamed: MemoryStore,
    timeout: Duration,
    session_lifetime: Duration,
    max_pending: usize,
    max_pending_of_tenant: usize,
    clock: Arc<dyn Clock>,
    events: Arc<Events>,
    state: Mutex<State>,
}

impl Clone for Approvals {
    /// The same stores, without the questions that this value asked and without approvals for sessions without a name.
    fn clone(&self) -> Self {
        Self {
            approvals: Arc::clone(&self.approvals),
            questions: Arc::clone(&self.questions),
            unnamed: MemoryStore::default(),
            timeout: self.timeout,
            session_lifetime: self.session_lifetime,
            max_pending: self.max_pending,
            max_pending_of_tenant: self.max_pending_of_tenant,
            clock: Arc::clone(&self.clock),
            events: Events::new(),
            state: Mutex::default(),
        }
    }
}

/// Whether a group of plans is approved.
pub(crate) enum AskResult {
    /// It was approved before.
    Approved(Group),
    /// A person must answer this question.
    Pending(Box<Question>),
    /// No question can be asked.
    Refused {
        group: Group,
        why: String,
        hint: &'static str,
    },
}

impl Approvals {
    /// Approvals and questions in an SQLite file, which any number of processes may share. It is created with the first
    /// question, accessible to its owner only.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let store = Arc::new(SqliteStore::new(path.into()));
        Self::stores(Arc::clone(&store) as _, store)
    }

    /// Approvals and questions in memory, which end with the host and its clones.
    pub fn memory() -> Self {
        let store = Arc::new(MemoryStore::default());
        Self::stores(Arc::clone(&store) as _, store)
    }

    /// Approvals and questions in stores of your own.
    pub fn stores(approvals: Arc<dyn ApprovalStore>, questions: Arc<dyn QuestionStore>) -> Self {
        Self {
            approvals,
            questions,
            unnamed: MemoryStore::default(),
            timeout: TIMEOUT,
            session_lifetime: SESSION_LIFETIME,
            max_pending: MAX_PENDING,
            max_pending_of_tenant: MAX_PENDING_OF_TENANT,
            clock: Arc::new(SystemClock::new()),
            events: Events::new(),
            state: Mutex::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_questions(self, questions: Arc<dyn QuestionStore>) -> Self {
        Self { questions, ..self }
    }

    #[cfg(test)]
    pub(crate) fn with_max_pending(self, max_pending: usize, max_pending_of_tenant: usize) -> Self {
        Self {
            max_pending,
            max_pending_of_tenant,
            ..self
        }
    }

    /// The same with another time to answer than five minutes.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        let timeout = timeout.min(MAX_DURATION);
        Self { timeout, ..self }
    }

    /// The same with another time after which an unused session expires than 24 hours.
    #[must_use]
    pub fn session_lifetime(self, session_lifetime: Duration) -> Self {
        Self {
            session_lifetime: session_lifetime.min(MAX_DURATION),
            ..self
        }
    }

    /// The same with another clock than that of this machine.
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// The path of the file, if the approvals are in one.
    pub fn path(&self) -> Option<&Path> {
        self.approvals.path()
    }

    /// The files of both stores that no script may write, whether or not they exist. SQLite reads the side files of a
    /// database whenever it opens it: whoever creates one chooses what the database contains.
    pub(crate) fn protected_paths(&self) -> Vec<PathBuf> {
        let with_side_files =
            |path: &Path| ["", "-journal", "-wal", "-shm"].map(|suffix| appended(path, suffix));
        self.files().flat_map(with_side_files).collect()
    }

    /// The files of both stores.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let files = [self.approvals.path(), self.questions.path()];
        files.into_iter().flatten()
    }

    /// Creates the file that approvals are kept in, as the first approval would.
    pub(crate) fn create(&self) -> Result<(), Error> {
        self.approvals.add(&[], None)
    }

    /// The stored approvals, the oldest first. May block: async code calls [`Host::approvals`](crate::Host::approvals).
    pub fn list(&self, scope: Scope<'_>) -> Result<Vec<StoredApproval>, Error> {
        self.approvals.list(scope)
    }

    /// Revokes approvals by their numbers. Returns how many existed. May block: async code calls
    /// [`Host::revoke`](crate::Host::revoke).
    pub fn revoke(&self, scope: Scope<'_>, ids: &[i64]) -> Result<usize, Error> {
        self.approvals.revoke(scope, ids)
    }

    /// The approvals for sessions that are still valid, the oldest first. May block.
    pub fn sessions(&self, scope: Scope<'_>) -> Result<Vec<SessionApproval>, Error> {
        let now = self.clock.now();
        let mut all = self.unnamed.sessions(scope)?;
        all.extend(self.approvals.sessions(scope)?);
        all.retain(|one| one.expires > now);
        Ok(all)
    }

    /// Forgets what was approved for a session, or for one skill in it, by its path. Returns how many approvals there were.
    /// May block: async code calls [`Host::end_session`](crate::Host::end_session).
    pub fn end_session(
        &self,
        tenant: &str,
        session: &str,
        skill: Option<&str>,
    ) -> Result<usize, Error> {
        self.of_session(session).end_session(tenant, session, skill)
    }

    /// The events of the questions that are asked from now on.
    pub(crate) fn events(&self, scope: Scope<'_>) -> QuestionEvents {
        self.events.subscribe(scope)
    }

    /// Whether these plans are approved.
    pub(crate) fn ask(
        &self,
        mut group: Group,
        contents: &mut Contents,
    ) -> Result<AskResult, Error> {
        let mode = group.first.approval;
        // A skill that cannot be hashed as a whole could change while the question is pending. The changed skill would
        // then run with an approval for something else.
        let content = match content_of(&group.first, contents) {
            Ok(content) => content,
            Err(why) => {
                let why =
                    format!("the skill cannot be hashed, so a change would go unnoticed: {why}");
                let hint = match group.first.approval_by {
                    Some(_) => "make the skill smaller",
                    None => {
                        "make the skill smaller, or type `skillrun run`, or set approval = \"never\" for it in \
                         skillrun.toml"
                    }
                };
                return Ok(AskResult::Refused { group, why, hint });
            }
        };
        // The bytes that were read to run and those hashed here must be the same: the files may change in between.
        let matches = |plan: &Plan| match &plan.target {
            Checked::Script(script) => content.contains_file(&script.real, &plan.hash),
            Checked::Command(_) => plan.hash == group.first.hash,
        };
        if !group.iter().all(matches) {
            let why = "the skill changed while it was read".to_owned();
            let hint = "ask again";
            return Ok(AskResult::Refused { group, why, hint });
        }
        for plan in std::iter::once(&mut group.first).chain(&mut group.rest) {
            plan.content = Some(Arc::clone(&content));
        }
        if self.is_approved_in_session(&group, &content)? {
            return Ok(AskResult::Approved(group));
        }
        let mut change = None;
        let mut all = true;
        for plan in group.iter() {
            let (script, grants) = (script_key(plan), access(plan));
            let key = key(plan, &script, content.hash(), &grants);
            if mode == ApprovalMode::FirstRun && self.approvals.contains(&key)? {
                continue;
            }
            all = false;
            if change.is_none() {
                let last = self.approvals.last(key.tenant, key.skill, key.script)?;
                change = last.map(|last| Change::since(last, &content, plan));
            }
        }
        if all {
            return Ok(AskResult::Approved(group));
        }
        let tenant = &group.first.tenant;
        let room = self.check_room(tenant).and_then(|()| {
            let count = group.iter().map(Plan::descriptors).sum();
            descriptors::QUESTIONS.reserve(tenant, count)
        });
        let descriptors = match room {
            Ok(descriptors) => descriptors,
            Err(why) => {
                let hint = "answer its open questions first";
                return Ok(AskResult::Refused { group, why, hint });
            }
        };
        let remembered = mode == ApprovalMode::FirstRun;
        let question = Question::about(&group, content.hash(), change, remembered, self.timeout);
        let asked = self.clock.now();
        self.questions.open(&OpenQuestion {
            id: question.id.clone(),
            tenant: question.tenant.clone(),
            text: question.to_text(),
            asked,
            expires: asked + self.timeout,
        })?;
        let pending = PendingQuestion {
            question: Arc::new(question.clone()),
            group,
            content,
            _descriptors: descriptors,
            asked_at: self.clock.monotonic(),
            waiting: Arc::default(),
            changed: Arc::default(),
        };
        let asked = QuestionEvent::Asked(Arc::clone(&pending.question));
        self.state().pending.insert(question.id.clone(), pending);
        self.events.emit(asked);
        Ok(AskResult::Pending(Box::new(question)))
    }

    /// Fails if a tenant has as many open questions as it may. It may have no more than are left for the other tenants,
    /// so that some are always left for one that has none.
    fn check_room(&self, tenant: &str) -> Result<(), String> {
        let state = self.state();
        let open = state.pending.len();
        let own = state.pending.values();
        let own = own.filter(|one| one.group().first.tenant == tenant).count();
        let (of_tenant, max) = (of_tenant(tenant), self.max_pending);
        if own >= self.max_pending_of_tenant {
            Err(format!("{own} questions{of_tenant} are open, the maximum"))
        } else if own >= max.saturating_sub(open) {
            // How many the other tenants have is not for this one to know.
            Err(match own {
                0 => "no further question can be open now".to_owned(),
                1 => format!("1 question{of_tenant} is open, a full share"),
                _ => format!("{own} questions{of_tenant} are open, a full share"),
            })
        } else {
            Ok(())
        }
    }

    /// Whether the approvals for the session cover all plans of a group. If so, extends them.
    fn is_approved_in_session(&self, group: &Group, content: &Content) -> Result<bool, Error> {
        let Plan {
            tenant, session, ..
        } = &group.first;
        let (store, skill) = (self.of_session(session), skill_path(&group.first));
        let now = self.clock.now();
        let mut valid = store.session(tenant, session, &skill)?;
        valid.retain(|one| one.expires > now && one.content == content.hash());
        let covered: Vec<Covered> = valid.iter().map(Covered::by).collect();
        let mut plans = group.iter();
        let is_approved = plans.all(|plan| covered.iter().any(|covered| covered.covers(plan)));
        let expires = now + self.session_lifetime;
        let is_old =
            |one: &SessionApproval| one.expires + self.session_lifetime / EXTENSIONS <= expires;
        if is_approved && valid.iter().any(is_old) {
            store.extend_session(tenant, session, &skill, now, expires)?;
        }
        Ok(is_approved)
    }

    /// The store of a session's approvals.
    fn of_session(&self, session: &str) -> &dyn ApprovalStore {
        match session {
            "" => &self.unnamed,
            _ => &*self.approvals,
        }
    }

    /// Stores the answer to a question of this process or of another, and wakes the callers that wait for it.
    pub(crate) fn record_answer(
        &self,
        scope: Scope<'_>,
        id: &str,
        given: &GivenAnswer,
    ) -> Result<(), AnswerError> {
        match self.check_pending(scope, id) {
            Ok(()) | Err(AnswerError::Unknown { .. }) => {}
            Err(error) => return Err(error),
        }
        let now = self.clock.now();
        let shown = || show(id);
        match self.questions.answer(scope, id, given, now)? {
            AnswerState::Recorded => {}
            AnswerState::Unknown => return Err(AnswerError::Unknown { id: shown() }),
            AnswerState::Expired => return Err(AnswerError::Expired { id: shown() }),
            AnswerState::Answered => return Err(AnswerError::Answered { id: shown() }),
        }
        let state = self.state();
        let pending = state.pending.get(id).into_iter();
        pending.for_each(PendingQuestion::wake);
        Ok(())
    }

    /// Like [`Approvals::record_answer`]. Returns the question if this process asked it and nobody waits for its answer. If
    /// the answer has no effect, [`Approvals::restore`] makes the question pending again.
    pub(crate) fn answer(
        &self,
        scope: Scope<'_>,
        id: &str,
        given: &GivenAnswer,
    ) -> Result<Option<PendingQuestion>, AnswerError> {
        self.record_answer(scope, id, given)?;
        let mut state = self.state();
        let pending = state.pending.get(id);
        Ok(match pending.is_some_and(PendingQuestion::is_awaited) {
            true => None,
            // Whoever took it in the meantime has the answer.
            false => state.take(id),
        })
    }

    /// Takes a question of this process together with its answer; `None` if it has none yet.
    pub(crate) fn take_answered(
        &self,
        scope: Scope<'_>,
        id: &str,
    ) -> Result<Option<(PendingQuestion, GivenAnswer)>, AnswerError> {
        match self.check_pending(scope, id) {
            // An answer that was in time counts, even if it is found later.
            Ok(()) | Err(AnswerError::Expired { .. }) => {}
            Err(error) => return Err(error),
        }
        let given = self.questions.answer_to(id)?;
        let taken = given.and_then(|given| Some((self.state().take(id)?, given)));
        match taken {
            Some(taken) => Ok(Some(taken)),
            None => self.check_pending(scope, id).map(|()| None),
        }
    }

    /// Takes a question of this process, expired or not.
    pub(crate) fn take(&self, scope: Scope<'_>, id: &str) -> Result<PendingQuestion, AnswerError> {
        match self.check_pending(scope, id) {
            Ok(()) | Err(AnswerError::Expired { .. }) => {}
            Err(error) => return Err(error),
        }
        let taken = self.state().take(id);
        taken.ok_or_else(|| AnswerError::Answered { id: show(id) })
    }

    /// Takes a question of this process to close it with no. If there is an answer in the store, that one counts, and it
    /// is returned too. From here on, no other process can answer it.
    pub(crate) fn take_to_decline(
        &self,
        scope: Scope<'_>,
        id: &str,
    ) -> Result<(PendingQuestion, Option<GivenAnswer>), AnswerError> {
        match self.check_pending(scope, id) {
            Ok(()) | Err(AnswerError::Expired { .. }) => {}
            Err(error) => return Err(error),
        }
        let no = GivenAnswer {
            answer: Answer::No,
            approver: Approver::new("host", "decline"),
        };
        // If the store fails, no answer is known, and nothing runs: the safe side.
        let answered = match self.questions.answer(Scope::All, id, &no, self.clock.now()) {
            Ok(AnswerState::Answered) => self.questions.answer_to(id).ok().flatten(),
            _ => None,
        };
        let taken = self.state().take(id);
        let taken = taken.ok_or_else(|| AnswerError::Answered { id: show(id) })?;
        Ok((taken, answered))
    }

    /// Fails unless this process asked the question and it can still be answered.
    fn check_pending(&self, scope: Scope<'_>, id: &str) -> Result<(), AnswerError> {
        let state = self.state();
        if let Some(pending) = state.pending.get(id)
            && scope.includes(&pending.question.tenant)
        {
            return match self.is_expired(pending) {
                false => Ok(()),
                true => Err(AnswerError::Expired { id: show(id) }),
            };
        }
        let mut closed = state.closed.iter();
        let closed = closed.find(|closed| closed.id == id && scope.includes(&closed.tenant));
        let (how, id) = (closed.map(|closed| closed.how), show(id));
        Err(match how {
            Some(Closed::Answered) => AnswerError::Answered { id },
            Some(Closed::Expired) => AnswerError::Expired { id },
            None => AnswerError::Unknown { id },
        })
    }

    /// Makes a question pending again, as it was.
    pub(crate) fn restore(&self, pending: PendingQuestion) {
        let id = pending.question.id.clone();
        let mut state = self.state();
        state.closed.retain(|closed| closed.id != id);
        state.pending.insert(id, pending);
    }

    /// Removes the answer to a question that is pending again.
    pub(crate) fn reopen(&self, id: &str) {
        // If the store fails, the answer stays and the question expires: the safe side.
        let _ = self.questions.reopen(id);
    }

    /// Removes a question that was taken from the store, wakes whoever waits for it, and sends the event.
    pub(crate) fn close(&self, pending: &PendingQuestion, event: QuestionEvent) {
        // If the store fails, the question stays there until it expires, and its answer releases nothing.
        let _ = self.questions.close(&pending.question.id);
        pending.wake();
        self.events.emit(event);
    }

    /// Stores a yes.
    pub(crate) fn remember(
        &self,
        pending: &PendingQuestion,
        given: &GivenAnswer,
    ) -> Result<(), Error> {
        let PendingQuestion { group, content, .. } = pending;
        let GivenAnswer { answer, approver } = given;
        let now = self.clock.now();
        let files = serde_json::to_string(content.files()).unwrap_or_default();
        let time = clock::text(now);
        let remembered = group.iter().filter(|_| pending.question.remembered);
        let keys: Vec<_> = remembered
            .map(|plan| (plan, script_key(plan), access(plan)))
            .collect();
        let approvals = keys.iter().map(|(plan, script, grants)| NewApproval {
            key: key(plan, script, content.hash(), grants),
            files: &files,
            source: plan.source().filter(|source| source.len() <= MAX_SOURCE),
            answer: *answer,
            approver,
            time: &time,
        });
        let approvals: Vec<_> = approvals.collect();
        let Plan {
            tenant, session, ..
        } = &group.first;
        let for_session = (*answer == Answer::YesInSession).then(|| SessionApproval {
            tenant: tenant.clone(),
            session: session.clone(),
            skill: skill_path(&group.first),
            content: content.hash().to_owned(),
            grants: access_of(group.iter()),
            time: time.clone(),
            expires: now + self.session_lifetime,
            approver: approver.clone(),
        });
        if for_session.is_some() {
            self.of_session(session).remove_expired_sessions(now)?;
        }
        if session.is_empty() {
            // The second store is in memory, and does not fail.
            if !approvals.is_empty() {
                self.approvals.add(&approvals, None)?;
            }
            self.unnamed.add(&[], for_session.as_ref())?;
        } else if !approvals.is_empty() || for_session.is_some() {
            self.approvals.add(&approvals, for_session.as_ref())?;
        }
        Ok(())
    }

    /// The questions that can be answered, of this process and of those that share the store, the oldest first.
    pub(crate) fn open_questions(&self, scope: Scope<'_>) -> Result<Vec<Question>, Error> {
        let mut open = self.questions.questions(scope, self.clock.now())?;
        open.sort_by_key(|one| one.asked);
        let state = self.state();
        let question = |one: OpenQuestion| match state.pending.get(&one.id) {
            Some(pending) => Some(Question::clone(&pending.question)),
            // A text that another version wrote and that cannot be read is not shown, so nobody says yes to it.
            None => Question::from_text(&one.text)
                .filter(|question| (&question.id, &question.tenant) == (&one.id, &one.tenant)),
        };
        Ok(open.into_iter().filter_map(question).collect())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn appended(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
