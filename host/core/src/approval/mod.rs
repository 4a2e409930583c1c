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
mod question;
mod store;

pub use question::{Answer, AnswerError, AskedScript, Change, ChangedFile, Question};
pub use store::Approved;

use crate::decision::{Checked, Permit, hex};
use crate::error::Error;
use crate::files::show;
use crate::grant::Grant;
use crate::policy;
use crate::skill::Skill;
use content::Content;
use std::collections::{HashMap, VecDeque};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Key, Store};

/// Time to find the window, read and think.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Each open question holds the directories of its run open.
const MAX_OPEN: usize = 256;
/// Ids of closed questions that are still told from unknown ones.
const MAX_CLOSED: usize = 4096;

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
    content: Content,
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
    /// Nobody could say what the yes was given to.
    Unwatched {
        permits: Vec<Permit>,
        why: String,
        hint: &'static str,
    },
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
        // A skill that cannot be hashed as a whole could change while the question is open, and what changed would
        // run by the yes to something else.
        let content = match Content::of(first) {
            Ok(content) => content,
            Err(why) => {
                let why = format!("a change of the skill would not be noticed: {why}");
                let hint = "make the skill smaller, or type `skillrun run`, or set approval = \"never\" for it in \
                            skillrun.toml";
                return Ok(Asked::Unwatched { permits, why, hint });
            }
        };
        // What was read to run and what is hashed here must be the same bytes: the files may change between.
        if !permits.iter().all(|permit| content.holds(permit)) {
            let why = "the skill changed while it was read".to_owned();
            let hint = "ask again";
            return Ok(Asked::Unwatched { permits, why, hint });
        }
        let hash = content.hash();
        for permit in &mut permits {
            permit.approved = Some(hash.clone());
        }
        {
            let state = self.state();
            let yes = state.sessions.get(&session);
            if yes.is_some_and(|yes| permits.iter().all(|permit| yes.holds(&hash, permit))) {
                return Ok(Asked::Approved(permits));
            }
        }
        let mut change = None;
        if let Some(store) = &self.store {
            let mut all = true;
            for permit in &permits {
                let grants = grants_of(permit);
                let key = key(permit, &hash, &grants);
                if when == policy::Approval::FirstRun && store.holds(&key)? {
                    continue;
                }
                all = false;
                if change.is_none() {
                    let last = store.last(&key)?;
                    change = last.map(|last| Change::since(last, &content, permit));
                }
            }
            if all {
                return Ok(Asked::Approved(permits));
            }
        }
        let remembered = when == policy::Approval::FirstRun && self.store.is_some();
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
        let (content, hash) = (&open.content, open.content.hash());
        if let Some(store) = self.store.as_ref().filter(|_| open.question.remembered) {
            for permit in &open.permits {
                let grants = grants_of(permit);
                let key = key(permit, &hash, &grants);
                store.add(&key, content, source_of(permit), answer.word())?;
            }
        }
        if let (Answer::YesInSession, Some(first)) = (answer, open.permits.first()) {
            let mut grants: Vec<Grant> = Vec::new();
            for permit in &open.permits {
                grants.extend(asked_for(permit));
            }
            let yes = Yes {
                content: hash,
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

/// What is asked for, in a text that no other grants have: a name may hold anything, a line's end too.
fn grants_of(permit: &Permit) -> String {
    let grants: Vec<String> = asked_for(permit).iter().map(grant_text).collect();
    store::encoded(&grants)
}

/// A grant as text. A path that is not UTF-8 has its bytes behind it, so that no two read the same.
fn grant_text(grant: &Grant) -> String {
    let (Grant::Read(path) | Grant::Write(path)) = grant else {
        return grant.to_string();
    };
    match path.to_str() {
        Some(_) => grant.to_string(),
        None => format!("{grant}\0{}", hex(path.as_os_str().as_bytes())),
    }
}

/// Whether the skill is not what it was when this was approved, or not what the policy demands. What a script reads
/// after it has started can still change: nobody can keep another program from that.
pub(crate) fn is_outdated(permit: &Permit) -> bool {
    let mut wanted = [&permit.approved, &permit.pinned]
        .into_iter()
        .flatten()
        .peekable();
    if wanted.peek().is_none() {
        return false;
    }
    let found = Content::of(permit).map(|content| content.hash());
    wanted.any(|hash| found.as_ref() != Ok(hash))
}

/// The hash of all that a skill holds, as [`Skill::digest`] says it, if a script of it has this hash there: the bytes
/// that will run are part of what was compared.
pub(crate) fn content_with(skill: &Skill, script: &Path, hash: &str) -> Result<String, String> {
    let content = Content::of_folder(skill.root())?;
    match content.holds_file(script, hash) {
        true => Ok(content.hash()),
        false => Err("the script changed meanwhile".into()),
    }
}

impl Skill {
    /// The hash of everything in its folder, for `digest` in a policy; fails with the reason if that is too much, or
    /// cannot be read.
    pub fn digest(&self) -> Result<String, String> {
        let content = Content::of_folder(self.root())?;
        Ok(format!("sha256:{}", content.hash()))
    }
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
    fn no_two_command_lines_read_the_same() {
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
    fn no_two_grants_read_the_same() {
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
