//! A person's approval: questions and answers as values.
//!
//! A decision that needs a person is a [`Question`]. A front end shows it and returns an [`Answer`] with the
//! question's id. Nothing here calls a front end or waits for a person; questions expire by a monotonic clock. A question
//! that is not answered in time counts as answered with no.
//!
//! | mode | `yes_once` is remembered for | `yes_in_session` also covers | stored in |
//! |---|---|---|---|
//! | `first-run` | this content of the skill, these grants, this workspace | every script of the skill in this session, until the skill changes or requests more | the approvals file; `yes_in_session` also in memory |
//! | `always` | nothing | the same | memory |
//!
//! For a command of this machine, `yes_once` covers one command line and `yes_in_session` all command lines.

mod question;
mod store;

pub use question::{Answer, AnswerError, AskedScript, Change, ChangedFile, Question};
pub use store::StoredApproval;

use crate::content::Content;
use crate::contents::Contents;
use crate::error::Error;
use crate::files::show;
use crate::grant::Grant;
use crate::plan::{Checked, Plan};
use crate::policy::ApprovalMode;
use crate::text::hex;
use std::collections::{HashMap, VecDeque};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Key, Store};

/// Time to find the window, read and think.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Each pending question keeps the directories of its run open.
const MAX_PENDING: usize = 256;
/// Closed question ids that we remember, to report "already answered" instead of "unknown".
const MAX_CLOSED: usize = 4096;

/// The store of approvals, and the pending questions.
#[derive(Debug)]
pub struct Approvals {
    store: Option<Store>,
    timeout: Duration,
    state: Mutex<State>,
}

impl Clone for Approvals {
    /// The same store, without the pending questions and without what was approved for sessions.
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            timeout: self.timeout,
            state: Mutex::default(),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    pending: HashMap<String, PendingQuestion>,
    closed: VecDeque<(String, Closed)>,
    sessions: HashMap<SessionKey, SessionApproval>,
}

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
        session_key(&self.first) == session_key(plan) && workspace(&self.first) == workspace(plan)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Plan> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = Plan> {
        std::iter::once(self.first).chain(self.rest)
    }
}

/// A question that is not answered yet.
#[derive(Debug)]
pub(crate) struct PendingQuestion {
    question: Question,
    group: Group,
    content: Arc<Content>,
    asked_at: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Closed {
    Answered,
    Expired,
}

/// A tenant, a session, and the path of a skill or a command.
type SessionKey = (String, String, PathBuf);

/// What a `yes_in_session` covers.
#[derive(Debug)]
struct SessionApproval {
    content: String,
    grants: Vec<Grant>,
    /// Grants to write, kept apart from the others: a script starts in its workspace, and its arguments may tell it
    /// what to do there.
    workspaces: Vec<Grant>,
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
    /// Approvals in a file. It is created on the first yes, accessible to its owner only.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            store: Some(Store(path.into())),
            ..Self::memory()
        }
    }

    /// Approvals in memory, which end with the host.
    pub fn memory() -> Self {
        Self {
            store: None,
            timeout: TIMEOUT,
            state: Mutex::default(),
        }
    }

    /// The same with another time to answer than five minutes.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The path of the file, if the approvals are in one.
    pub fn path(&self) -> Option<&Path> {
        self.store.as_ref().map(Store::path)
    }

    /// All stored approvals, the oldest first.
    pub fn list(&self) -> Result<Vec<StoredApproval>, Error> {
        self.store
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), Store::list)
    }

    /// Revokes approvals by their numbers. Returns how many existed.
    pub fn revoke(&self, ids: &[i64]) -> Result<usize, Error> {
        self.store
            .as_ref()
            .map_or_else(|| Ok(0), |store| store.revoke(ids))
    }

    /// Whether these plans are approved.
    pub(crate) fn ask(
        &self,
        mut group: Group,
        contents: &mut Contents,
    ) -> Result<AskResult, Error> {
        let (session, mode) = (session_key(&group.first), group.first.approval);
        // A skill that cannot be hashed as a whole could change while the question is pending. The changed skill would
        // then run with an approval for something else.
        let content = match content_of(&group.first, contents) {
            Ok(content) => content,
            Err(why) => {
                let why =
                    format!("the skill cannot be hashed, so a change would go unnoticed: {why}");
                let hint = "make the skill smaller, or type `skillrun run`, or set approval = \"never\" for it in \
                            skillrun.toml";
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
        {
            let state = self.state();
            let approval = state.sessions.get(&session);
            let covers = |approval: &SessionApproval| {
                let mut plans = group.iter();
                plans.all(|plan| approval.covers(content.hash(), plan))
            };
            if approval.is_some_and(covers) {
                return Ok(AskResult::Approved(group));
            }
        }
        let mut change = None;
        if let Some(store) = &self.store {
            let mut all = true;
            for plan in group.iter() {
                let grants = encoded_access(plan);
                let key = key(plan, content.hash(), &grants);
                if mode == ApprovalMode::FirstRun && store.contains(&key)? {
                    continue;
                }
                all = false;
                if change.is_none() {
                    let last = store.last(&key)?;
                    change = last.map(|last| Change::since(last, &content, plan));
                }
            }
            if all {
                return Ok(AskResult::Approved(group));
            }
        }
        let remembered = mode == ApprovalMode::FirstRun && self.store.is_some();
        let question = Question::about(&group, content.hash(), change, remembered, self.timeout);
        let mut state = self.state();
        if state.pending.len() >= MAX_PENDING {
            return Ok(AskResult::Refused {
                group,
                why: "too many questions are open".to_owned(),
                hint: "answer them first",
            });
        }
        let pending = PendingQuestion {
            question: question.clone(),
            group,
            content,
            asked_at: Instant::now(),
        };
        state.pending.insert(question.id.clone(), pending);
        Ok(AskResult::Pending(Box::new(question)))
    }

    /// Takes a pending question to answer it. Fails if it is not pending or has expired. If the answer cannot be
    /// recorded, [`Approvals::restore`] makes the question pending again.
    pub(crate) fn take(&self, id: &str) -> Result<PendingQuestion, AnswerError> {
        let is_expired = |pending: &PendingQuestion| pending.asked_at.elapsed() >= self.timeout;
        if self.state().pending.get(id).is_some_and(is_expired) {
            return Err(AnswerError::Expired { id: show(id) });
        }
        self.take_any(id)
    }

    /// Takes a pending question, expired or not.
    pub(crate) fn take_any(&self, id: &str) -> Result<PendingQuestion, AnswerError> {
        let mut state = self.state();
        if let Some(pending) = state.pending.remove(id) {
            state.close(id, Closed::Answered);
            return Ok(pending);
        }
        let id = show(id);
        let closed = state.closed.iter().find(|(known, _)| *known == id);
        Err(match closed.map(|(_, how)| how) {
            Some(Closed::Answered) => AnswerError::Answered { id },
            Some(Closed::Expired) => AnswerError::Expired { id },
            None => AnswerError::Unknown { id },
        })
    }

    /// Makes a question pending again, as it was.
    pub(crate) fn restore(&self, pending: PendingQuestion) {
        let id = pending.question.id.clone();
        let mut state = self.state();
        state.closed.retain(|(closed, _)| *closed != id);
        state.pending.insert(id, pending);
    }

    /// Takes the expired questions.
    pub(crate) fn take_expired(&self) -> Vec<PendingQuestion> {
        let mut state = self.state();
        let is_expired = |pending: &PendingQuestion| pending.asked_at.elapsed() >= self.timeout;
        let pending = state.pending.iter();
        let ids: Vec<String> = pending
            .filter(|(_, pending)| is_expired(pending))
            .map(|(id, _)| id.clone())
            .collect();
        let mut expired = Vec::new();
        for id in ids {
            expired.extend(state.pending.remove(&id));
            state.close(&id, Closed::Expired);
        }
        expired
    }

    /// Stores a yes.
    pub(crate) fn remember(&self, pending: &PendingQuestion, answer: Answer) -> Result<(), Error> {
        let content = &pending.content;
        if let Some(store) = self.store.as_ref().filter(|_| pending.question.remembered) {
            for plan in pending.group.iter() {
                let grants = encoded_access(plan);
                let key = key(plan, content.hash(), &grants);
                store.add(&key, content.files(), plan.source(), answer.word())?;
            }
        }
        if answer == Answer::YesInSession {
            let mut state = self.state();
            let approval = state.sessions.entry(session_key(&pending.group.first));
            let approval = approval.or_insert_with(|| SessionApproval {
                content: String::new(),
                grants: Vec::new(),
                workspaces: Vec::new(),
            });
            // An earlier yes in this session stays valid if it was for the same content.
            if approval.content != content.hash() {
                content.hash().clone_into(&mut approval.content);
                approval.grants.clear();
                approval.workspaces.clear();
            }
            for plan in pending.group.iter() {
                approval.grants.extend(plan.grants.iter().cloned());
                approval.workspaces.extend(workspace_of(plan));
            }
        }
        Ok(())
    }

    /// The pending questions, the oldest first.
    pub(crate) fn pending(&self) -> Vec<Question> {
        let state = self.state();
        let mut pending: Vec<&PendingQuestion> = state.pending.values().collect();
        pending.sort_by_key(|one| one.asked_at);
        pending
            .into_iter()
            .map(|one| one.question.clone())
            .collect()
    }

    /// Forgets what was approved for a session.
    pub(crate) fn end_session(&self, tenant: &str, session: &str) {
        let mut state = self.state();
        state
            .sessions
            .retain(|(of_tenant, of_session, _), _| of_tenant != tenant || of_session != session);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn close(&mut self, id: &str, how: Closed) {
        if self.closed.len() >= MAX_CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back((id.to_owned(), how));
    }
}

impl PendingQuestion {
    /// The question.
    pub(crate) fn question(&self) -> &Question {
        &self.question
    }

    /// What a yes releases.
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    pub(crate) fn into_group(self) -> Group {
        self.group
    }

    /// Whether the skill is still what the question is about.
    pub(crate) fn is_current(&self) -> Result<bool, String> {
        self.group.first.is_current()
    }
}

impl SessionApproval {
    fn covers(&self, content: &str, plan: &Plan) -> bool {
        let covered =
            |grants: &[Grant], wanted: &Grant| grants.iter().any(|grant| grant.covers(wanted));
        let mut grants = plan.grants.iter();
        let workspace = workspace_of(plan);
        self.content == content
            && grants.all(|wanted| covered(&self.grants, wanted))
            && workspace.is_none_or(|wanted| covered(&self.workspaces, &wanted))
    }
}

/// The key of a `yes_in_session`.
fn session_key(plan: &Plan) -> SessionKey {
    let path = match &plan.target {
        Checked::Script(script) => script.skill.path(),
        Checked::Command(command) => &command.program,
    };
    (plan.tenant.clone(), plan.session.clone(), path.to_owned())
}

fn workspace_of(plan: &Plan) -> Option<Grant> {
    let workspace = plan.workspace.as_ref()?;
    Some(Grant::Write(workspace.host.clone()))
}

/// What a run may touch, as texts: the grants and the workspace. The same directory counts differently as a workspace
/// and as a grant, because the script starts in its workspace. No grant begins with `workspace:`.
fn access(plan: &Plan) -> Vec<String> {
    let workspace = workspace_of(plan).map(|grant| {
        let text = grant_text(&grant);
        format!("workspace:{}", text.strip_prefix("write:").unwrap_or(&text))
    });
    let mut all: Vec<String> = plan.grants.iter().map(grant_text).collect();
    all.extend(workspace);
    all.sort();
    all.dedup();
    all
}

/// What a run may touch, in an unambiguous encoding: a name may contain anything, even a newline.
fn encoded_access(plan: &Plan) -> String {
    store::encoded(&access(plan))
}

/// A grant as text. If a path is not UTF-8, its bytes are appended, so that no two grants have the same text.
fn grant_text(grant: &Grant) -> String {
    let (Grant::Read(path) | Grant::Write(path)) = grant else {
        return grant.to_string();
    };
    match path.to_str() {
        Some(_) => grant.to_string(),
        None => format!("{grant}\0{}", hex(path.as_os_str().as_bytes())),
    }
}

/// Everything in the skill, or only the command.
fn content_of(plan: &Plan, contents: &mut Contents) -> Result<Arc<Content>, String> {
    match &plan.target {
        Checked::Script(script) => contents.of(&script.skill),
        Checked::Command(command) => {
            Ok(Arc::new(Content::of_command(&command.program, &plan.hash)))
        }
    }
}

fn key<'a>(plan: &'a Plan, content: &'a str, grants: &'a str) -> Key<'a> {
    Key {
        tenant: &plan.tenant,
        skill: plan.approval_key(),
        script: match &plan.target {
            Checked::Script(script) => script.script.path().into(),
            // The arguments decide what a command does, so a yes covers one command line.
            Checked::Command(command) => command_line(&command.name, &plan.args).into(),
        },
        content,
        grants,
    }
}

/// A command and its arguments, quoted as for a shell, so that no two command lines have the same text.
fn command_line(name: &str, args: &[String]) -> String {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let mut line = match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => quoted(name),
    };
    for arg in args {
        line.push(' ');
        line.push_str(&quoted(arg));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_command_lines_have_the_same_text() {
        let args = |args: &[&str]| -> Vec<String> { args.iter().map(|&arg| arg.into()).collect() };
        let lines = [
            ("git", args(&[])),
            ("git", args(&["a", "b"])),
            ("git", args(&["a b"])),
            ("git", args(&["a' 'b"])),
            ("git", args(&["a\n", "b"])),
            ("git 'a' 'b'", args(&[])),
            ("git 'a'", args(&["b"])),
            ("git", args(&[""])),
        ];
        let mut all: Vec<String> = lines
            .iter()
            .map(|(name, args)| command_line(name, args))
            .collect();
        assert_eq!(all[..2], ["git", "git 'a' 'b'"]);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), lines.len(), "{all:?}");
    }

    #[test]
    fn no_two_grants_have_the_same_text() {
        use std::ffi::OsStr;
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let grants = [
            Grant::Write(path(b"/a\xff")),
            Grant::Write(path(b"/a\xfe")),
            Grant::Write(path("/a\u{fffd}".as_bytes())),
            Grant::Read(path(b"/a\xff")),
        ];
        let mut all: Vec<String> = grants.iter().map(grant_text).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), grants.len(), "{all:?}");
    }
}
