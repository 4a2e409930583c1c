//! A person's yes: questions and answers as values.
//!
//! A decision that needs a person is a [`Question`]; whoever can reach one shows it, and brings back an
//! [`Answer`] by the question's id. Nothing here calls a front end, waits or knows a clock on the wall: a
//! question that nobody answers in time is answered with no.
//!
//! What is remembered: under `first-run`, a yes holds for what the skill holds now, the grants asked and the workspace,
//! in a file; `yes_in_session` also for every script of the skill in this conversation, as long as the skill
//! stays what it is and asks for no more, in memory. Under `always` only the second. For a command of this machine
//! the first holds for one command line, the second for all of them.

mod content;
mod store;

pub use store::Approved;

use crate::decision::{Checked, Permit};
use crate::error::Error;
use crate::files::show;
use crate::grant::Grant;
use crate::policy;
use crate::skill::Skill;
use content::Content;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Key, Store};

/// Time to find the window, read and think.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Each open question holds the directories of its run open.
const MAX_OPEN: usize = 256;
/// Ids of closed questions that are still told from unknown ones.
const MAX_CLOSED: usize = 4096;

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It may run.
    YesOnce,
    /// It may run, and all that this skill runs in this conversation.
    YesInSession,
    /// It may not.
    No,
}

impl Answer {
    /// All that can be answered, in the order they are offered.
    pub const ALL: [Self; 3] = [Self::YesOnce, Self::YesInSession, Self::No];

    /// The word for it in questions, answers and the audit log.
    pub fn word(self) -> &'static str {
        match self {
            Self::YesOnce => "yes_once",
            Self::YesInSession => "yes_in_session",
            Self::No => "no",
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Answer {
    type Err = AnswerError;

    fn from_str(text: &str) -> Result<Self, AnswerError> {
        let found = Self::ALL.into_iter().find(|answer| answer.word() == text);
        found.ok_or_else(|| AnswerError::NoSuchOption { option: show(text) })
    }
}

/// Why an answer was not taken. The question is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// There never was such a question, or it is long closed.
    #[error("there is no question `{id}`")]
    Unknown {
        /// What was answered to.
        id: String,
    },
    /// It was answered with no by the passing of time.
    #[error("question `{id}` has expired")]
    Expired {
        /// The question.
        id: String,
    },
    /// Somebody else was first.
    #[error("question `{id}` is already answered")]
    Answered {
        /// The question.
        id: String,
    },
    /// It is none of the options.
    #[error("`{option}` is no answer: yes_once, yes_in_session or no")]
    NoSuchOption {
        /// What was answered.
        option: String,
    },
    /// The answer could not be recorded, so nothing runs.
    #[error(transparent)]
    Host(#[from] Error),
}

/// What a person is asked: may these scripts of a skill run, with these arguments and grants?
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// By which it is answered.
    pub id: String,
    /// The tenant.
    pub world: String,
    /// The conversation.
    pub chat: String,
    /// The skill's name; empty if a command of this machine is to run.
    pub skill: String,
    /// Where the skill is.
    pub skill_path: String,
    /// What the skill says it is for.
    pub description: String,
    /// What is to run; more than one where they belong together.
    pub scripts: Vec<AskedScript>,
    /// The directory that they may read and write.
    pub workspace: Option<String>,
    /// What they may touch, besides that and what every script may.
    pub grants: Vec<String>,
    /// The hash of everything in the skill; absent if that is too much to look at.
    pub content_hash: Option<String>,
    /// What is different since the last yes, if there was one.
    pub change: Option<Change>,
    /// Whether a yes holds until something changes.
    pub remembered: bool,
    /// What can be answered.
    pub options: [Answer; 3],
    /// What it comes to if nobody answers.
    pub default: Answer,
    /// After how long that is.
    pub timeout_seconds: u64,
}

/// One script of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedScript {
    /// Its path in the skill, or the name of a command.
    pub script: String,
    /// Its real, absolute path.
    pub path: String,
    /// The hash of the bytes that will run.
    pub sha256: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What it says of itself.
    pub description: String,
}

/// What is different since the last yes to a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// When that was.
    pub since: String,
    /// The files, each `new`, `changed` or `removed`.
    pub files: Vec<ChangedFile>,
    /// The grants that are asked for now and were not then.
    pub more_grants: Vec<String>,
    /// The script as it was, and as it is; absent if it did not change or is too long to keep.
    #[serde(skip)]
    pub sources: Option<(String, String)>,
}

/// A file that is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path in the skill.
    pub path: String,
    /// `new`, `changed` or `removed`.
    pub how: &'static str,
}

/// Where approvals are kept, and the questions that are open.
#[derive(Debug)]
pub struct Approvals {
    store: Option<Store>,
    timeout: Duration,
    state: Mutex<State>,
}

impl Clone for Approvals {
    /// The same place, without the open questions.
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
    open: HashMap<String, Open>,
    closed: VecDeque<(String, Closed)>,
    sessions: HashMap<Session, Yes>,
}

/// A question that nobody has answered.
#[derive(Debug)]
pub(crate) struct Open {
    question: Question,
    permits: Vec<Permit>,
    content: Option<Content>,
    asked: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Closed {
    Answered,
    Expired,
}

/// A world, a chat, and the path of a skill or a command.
pub(crate) type Session = (String, String, PathBuf);

#[derive(Debug)]
struct Yes {
    content: String,
    grants: Vec<Grant>,
}

/// What came of asking whether somebody has said yes.
pub(crate) enum Asked {
    /// Somebody has.
    Approved(Vec<Permit>),
    /// Somebody must be asked.
    Open(Box<Question>),
    /// Nobody can be asked now.
    TooMany(Vec<Permit>),
}

impl Approvals {
    /// Approvals in a file, made on the first yes, for its owner alone.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            store: Some(Store(path.into())),
            ..Self::memory()
        }
    }

    /// Approvals that end with the host.
    pub fn memory() -> Self {
        Self {
            store: None,
            timeout: TIMEOUT,
            state: Mutex::default(),
        }
    }

    /// The same with this time to answer instead of five minutes.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        self.store.as_ref().map(Store::path)
    }

    /// All that is remembered, the oldest first.
    pub fn list(&self) -> Result<Vec<Approved>, Error> {
        self.store
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), Store::list)
    }

    /// Takes yeses back, by their numbers; returns how many there were.
    pub fn revoke(&self, ids: &[i64]) -> Result<usize, Error> {
        self.store
            .as_ref()
            .map_or_else(|| Ok(0), |store| store.revoke(ids))
    }

    /// Whether what these permits are for was approved; all are of one skill, world and chat.
    pub(crate) fn ask(
        &self,
        mut permits: Vec<Permit>,
        when: policy::Approval,
    ) -> Result<Asked, Error> {
        let Some(first) = permits.first() else {
            return Ok(Asked::Approved(permits));
        };
        let session = session(first);
        // What was read to run and what is hashed here must be the same bytes: the files may change between.
        let content = Content::of(first).ok();
        let content = content.filter(|content| permits.iter().all(|permit| content.holds(permit)));
        // Otherwise asked each time: what cannot be told apart cannot be remembered.
        let hash = content.as_ref().map(Content::hash);
        for permit in &mut permits {
            permit.approved.clone_from(&hash);
        }
        if let Some(hash) = &hash {
            let state = self.state();
            let yes = state.sessions.get(&session);
            if yes.is_some_and(|yes| permits.iter().all(|permit| yes.holds(hash, permit))) {
                return Ok(Asked::Approved(permits));
            }
        }
        let mut change = None;
        if let (Some(store), Some(hash), Some(content)) = (&self.store, &hash, &content) {
            let mut all = true;
            for permit in &permits {
                let grants = grants_of(permit);
                let key = key(permit, hash, &grants);
                if when == policy::Approval::FirstRun && store.holds(&key)? {
                    continue;
                }
                all = false;
                if change.is_none() {
                    let last = store.last(&key)?;
                    change = last.map(|last| Change::since(last, content, permit));
                }
            }
            if all {
                return Ok(Asked::Approved(permits));
            }
        }
        let remembered =
            when == policy::Approval::FirstRun && self.store.is_some() && hash.is_some();
        let question = Question::about(&permits, hash, change, remembered, self.timeout);
        let mut state = self.state();
        if state.open.len() >= MAX_OPEN {
            return Ok(Asked::TooMany(permits));
        }
        let open = Open {
            question: question.clone(),
            permits,
            content,
            asked: Instant::now(),
        };
        state.open.insert(question.id.clone(), open);
        Ok(Asked::Open(Box::new(question)))
    }

    /// Takes a question off the open ones, if it is one and its time has not passed.
    pub(crate) fn take(&self, id: &str) -> Result<Open, AnswerError> {
        let late = |open: &Open| open.asked.elapsed() >= self.timeout;
        if self.state().open.get(id).is_some_and(late) {
            return Err(AnswerError::Expired { id: show(id) });
        }
        self.take_late(id)
    }

    /// Takes a question off the open ones, if it is one.
    pub(crate) fn take_late(&self, id: &str) -> Result<Open, AnswerError> {
        let mut state = self.state();
        if let Some(open) = state.open.remove(id) {
            state.close(id, Closed::Answered);
            return Ok(open);
        }
        let id = show(id);
        let closed = state.closed.iter().find(|(known, _)| *known == id);
        Err(match closed.map(|(_, how)| how) {
            Some(Closed::Answered) => AnswerError::Answered { id },
            Some(Closed::Expired) => AnswerError::Expired { id },
            None => AnswerError::Unknown { id },
        })
    }

    /// The questions whose time has passed, taken off the open ones.
    pub(crate) fn take_expired(&self) -> Vec<Open> {
        let mut state = self.state();
        let late = |open: &Open| open.asked.elapsed() >= self.timeout;
        let open = state.open.iter();
        let ids: Vec<String> = open
            .filter(|(_, open)| late(open))
            .map(|(id, _)| id.clone())
            .collect();
        let mut expired = Vec::new();
        for id in ids {
            expired.extend(state.open.remove(&id));
            state.close(&id, Closed::Expired);
        }
        expired
    }

    /// Remembers a yes.
    pub(crate) fn remember(&self, open: &Open, answer: Answer) -> Result<(), Error> {
        let (Some(content), Some(hash)) = (&open.content, &open.question.content_hash) else {
            return Ok(());
        };
        if let Some(store) = self.store.as_ref().filter(|_| open.question.remembered) {
            for permit in &open.permits {
                let grants = grants_of(permit);
                let key = key(permit, hash, &grants);
                store.add(&key, content, source_of(permit), answer.word())?;
            }
        }
        if let (Answer::YesInSession, Some(first)) = (answer, open.permits.first()) {
            let mut grants: Vec<Grant> = Vec::new();
            for permit in &open.permits {
                grants.extend(asked_for(permit));
            }
            let yes = Yes {
                content: hash.clone(),
                grants,
            };
            self.state().sessions.insert(session(first), yes);
        }
        Ok(())
    }

    /// The questions that wait for an answer, the oldest first.
    pub(crate) fn open(&self) -> Vec<Question> {
        let state = self.state();
        let mut open: Vec<&Open> = state.open.values().collect();
        open.sort_by_key(|open| open.asked);
        open.into_iter().map(|open| open.question.clone()).collect()
    }

    /// Forgets what was approved for a conversation.
    pub(crate) fn end_session(&self, world: &str, chat: &str) {
        let mut state = self.state();
        state
            .sessions
            .retain(|(of_world, of_chat, _), _| of_world != world || of_chat != chat);
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

impl Open {
    /// What is asked.
    pub(crate) fn question(&self) -> &Question {
        &self.question
    }

    /// What it was asked for.
    pub(crate) fn into_permits(self) -> Vec<Permit> {
        self.permits
    }

    pub(crate) fn permits(&self) -> &[Permit] {
        &self.permits
    }

    /// Whether the skill is not what was asked about.
    pub(crate) fn is_outdated(&self) -> bool {
        self.permits.first().is_some_and(is_outdated)
    }
}

impl Yes {
    fn holds(&self, content: &str, permit: &Permit) -> bool {
        let covered = |wanted: &Grant| self.grants.iter().any(|held| held.covers(wanted));
        self.content == content && asked_for(permit).iter().all(covered)
    }
}

impl Question {
    fn about(
        permits: &[Permit],
        content_hash: Option<String>,
        change: Option<Change>,
        remembered: bool,
        timeout: Duration,
    ) -> Self {
        let mut grants: Vec<String> = Vec::new();
        for permit in permits {
            grants.extend(permit.grants.iter().map(Grant::to_string));
        }
        grants.sort();
        grants.dedup();
        let script = |permit: &Permit| AskedScript {
            script: permit.script().to_owned(),
            path: permit.script_path().display().to_string(),
            sha256: permit.hash.clone(),
            args: permit.args.clone(),
            description: match &permit.subject {
                Checked::Script(script) => script.skill.describe(&script.script),
                Checked::Command(_) => String::new(),
            },
        };
        let skill = permits.first().and_then(|permit| match &permit.subject {
            Checked::Script(script) => Some(&script.skill),
            Checked::Command(_) => None,
        });
        let of_skill = |text: fn(&Skill) -> String| skill.map(|skill| text(skill));
        let first = permits.first();
        let of = |text: fn(&Permit) -> String| first.map(text).unwrap_or_default();
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            world: of(|permit| permit.world.clone()),
            chat: of(|permit| permit.chat.clone()),
            skill: of(|permit| permit.skill().to_owned()),
            skill_path: of_skill(|skill| skill.path().display().to_string()).unwrap_or_default(),
            description: of_skill(|skill| skill.description().to_owned()).unwrap_or_default(),
            scripts: permits.iter().map(script).collect(),
            workspace: first.and_then(|permit| permit.workspace_path()),
            grants,
            content_hash,
            change,
            remembered,
            options: Answer::ALL,
            default: Answer::No,
            timeout_seconds: timeout.as_secs(),
        }
    }
}

impl Change {
    fn since(last: store::Last, content: &Content, permit: &Permit) -> Self {
        let before = last.source.and_then(|bytes| String::from_utf8(bytes).ok());
        let now = source_of(permit).and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let had: Vec<&str> = last.grants.lines().collect();
        let grants = asked_for(permit);
        let grants = grants.iter().map(Grant::to_string);
        let files = content.changes_since(&last.files).into_iter();
        Self {
            since: last.time,
            files: files.map(|(path, how)| ChangedFile { path, how }).collect(),
            more_grants: grants
                .filter(|grant| !had.contains(&grant.as_str()))
                .collect(),
            sources: before.zip(now).filter(|(before, now)| before != now),
        }
    }
}

/// What a yes for a conversation is remembered by.
pub(crate) fn session(permit: &Permit) -> Session {
    let path = match &permit.subject {
        Checked::Script(script) => script.skill.path(),
        Checked::Command(command) => &command.program,
    };
    (permit.world.clone(), permit.chat.clone(), path.to_owned())
}

fn source_of(permit: &Permit) -> Option<&[u8]> {
    match &permit.subject {
        Checked::Script(script) => Some(&script.source),
        Checked::Command(_) => None,
    }
}

/// What a yes is given to: the grants, and the workspace, which is as much as one.
fn asked_for(permit: &Permit) -> Vec<Grant> {
    let workspace = permit.workspace_path().map(PathBuf::from);
    let mut all = permit.grants.clone();
    all.extend(workspace.map(Grant::Write));
    all.sort();
    all.dedup();
    all
}

fn grants_of(permit: &Permit) -> String {
    let grants: Vec<String> = asked_for(permit).iter().map(Grant::to_string).collect();
    grants.join("\n")
}

/// Whether the skill is not what it was when this was approved. What a script reads after it has started can still
/// change: nobody can keep another program from that.
pub(crate) fn is_outdated(permit: &Permit) -> bool {
    let approved = permit.approved.as_ref();
    approved
        .is_some_and(|hash| Content::of(permit).map(|content| content.hash()).as_ref() != Ok(hash))
}

fn key<'a>(permit: &'a Permit, content: &'a str, grants: &'a str) -> Key<'a> {
    Key {
        world: &permit.world,
        skill: permit.section(),
        script: match &permit.subject {
            Checked::Script(script) => script.script.path().into(),
            // What a command does is in its arguments: a yes to one line is none to another.
            Checked::Command(command) => command_line(&command.name, &permit.args).into(),
        },
        content,
        grants,
    }
}

/// A command with its arguments as a shell would take them, so that no two lines read the same.
fn command_line(name: &str, args: &[String]) -> String {
    let mut line = name.to_owned();
    for arg in args {
        line.push_str(" '");
        line.push_str(&arg.replace('\'', "'\\''"));
        line.push('\'');
    }
    line
}
