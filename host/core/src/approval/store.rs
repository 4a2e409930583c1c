//! What keeps approvals and questions: two small traits, and the values that pass through them.
//!
//! A store keeps what it gets and decides nothing. Whether an approval covers a run is decided in this module's
//! neighbours, whether a skill changed by the host that asked. Several processes may share a store: each method is one
//! atomic step.
//!
//! The methods may block. A [`Host`](crate::Host) calls them on threads where that is allowed.

use super::{Answer, Approver, Scope};
use crate::clock;
use crate::error::Error;
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::Path;
use std::time::SystemTime;

/// Keeps what people have approved: approvals that are valid until something changes, and approvals for a session.
///
/// An error is an [`Error::Approvals`], which names the store; nothing runs then.
pub trait ApprovalStore: fmt::Debug + Send + Sync {
    /// Whether there is a yes for exactly this.
    fn contains(&self, key: &ApprovalKey<'_>) -> Result<bool, Error>;

    /// The newest yes to a script of a skill, for any content and any grants.
    fn last(&self, tenant: &str, skill: &str, script: &str) -> Result<Option<LastApproval>, Error>;

    /// Stores what one answer approves, all of it or, if it fails, nothing. An approval replaces an earlier one with the same
    /// key. The approval for a session removes those of the same session and skill for another content.
    fn add(
        &self,
        approvals: &[NewApproval<'_>],
        session: Option<&SessionApproval>,
    ) -> Result<(), Error>;

    /// The stored approvals, the oldest first.
    fn list(&self, scope: Scope<'_>) -> Result<Vec<StoredApproval>, Error>;

    /// Removes approvals by their numbers. Returns how many there were.
    fn revoke(&self, scope: Scope<'_>, ids: &[i64]) -> Result<usize, Error>;

    /// The approvals for a session and a skill, expired or not.
    fn session(
        &self,
        tenant: &str,
        session: &str,
        skill: &str,
    ) -> Result<Vec<SessionApproval>, Error>;

    /// The approvals for all sessions, expired or not, the oldest first.
    fn sessions(&self, scope: Scope<'_>) -> Result<Vec<SessionApproval>, Error>;

    /// Sets when the approvals for a session and a skill expire. Those that have expired by `now` stay so.
    fn extend_session(
        &self,
        tenant: &str,
        session: &str,
        skill: &str,
        now: SystemTime,
        expires: SystemTime,
    ) -> Result<(), Error>;

    /// Removes the approvals for a session, or those for one skill. Returns how many there were.
    fn end_session(&self, tenant: &str, session: &str, skill: Option<&str>)
    -> Result<usize, Error>;

    /// Removes the approvals for sessions that have expired.
    fn remove_expired_sessions(&self, now: SystemTime) -> Result<(), Error>;

    /// The file, if it is one: a path that no script may write.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// Keeps open questions and their answers until the process that asked has taken them.
pub trait QuestionStore: fmt::Debug + Send + Sync {
    /// Stores a question, and removes those that expired long ago: the processes that asked them are gone.
    fn open(&self, question: &OpenQuestion) -> Result<(), Error>;

    /// The questions that are neither answered nor expired, the oldest first.
    fn questions(&self, scope: Scope<'_>, now: SystemTime) -> Result<Vec<OpenQuestion>, Error>;

    /// Stores the answer to a question that has none and has not expired. It must be atomic: of two answers, one is
    /// [`AnswerState::Recorded`].
    fn answer(
        &self,
        scope: Scope<'_>,
        id: &str,
        given: &GivenAnswer,
        now: SystemTime,
    ) -> Result<AnswerState, Error>;

    /// The answer to a question, if there is one.
    fn answer_to(&self, id: &str) -> Result<Option<GivenAnswer>, Error>;

    /// Removes the answer to a question: it could not be recorded in the audit log and did not take effect.
    fn reopen(&self, id: &str) -> Result<(), Error>;

    /// Removes a question.
    fn close(&self, id: &str) -> Result<(), Error>;

    /// The file, if it is one: a path that no script may write.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// The key of an approval: a yes is valid for exactly this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalKey<'a> {
    /// The tenant.
    pub tenant: &'a str,
    /// The name of the skill's folder; empty for a command.
    pub skill: &'a str,
    /// The script's path in the skill, or a command line.
    pub script: &'a str,
    /// The hash of everything in the skill.
    pub content: &'a str,
    /// What it may touch, sorted.
    pub grants: &'a [String],
}

/// A yes to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewApproval<'a> {
    /// What it is valid for.
    pub key: ApprovalKey<'a>,
    /// The hashes of the skill's files, to show later what changed. Only this library reads it.
    pub files: &'a str,
    /// The source of the script, to show later what changed.
    pub source: Option<&'a [u8]>,
    /// The answer: one of the two that mean yes.
    pub answer: Answer,
    /// Who gave it.
    pub approver: &'a Approver,
    /// When.
    pub time: &'a str,
}

/// The newest yes to a script, and what it was for.
#[derive(Debug, Clone)]
pub struct LastApproval {
    /// [`NewApproval::time`]
    pub time: String,
    /// [`NewApproval::files`]
    pub files: String,
    /// [`NewApproval::source`]
    pub source: Option<Vec<u8>>,
    /// [`ApprovalKey::grants`]
    pub grants: Vec<String>,
}

/// A stored yes to one script, with this content of its skill and these grants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredApproval {
    /// The number to revoke it by.
    pub id: i64,
    /// The tenant.
    pub tenant: String,
    /// The name of the skill's folder.
    pub skill: String,
    /// The script's path in the skill.
    pub script: String,
    /// The hash of everything in the skill.
    pub content: String,
    /// What it may touch.
    pub grants: Vec<String>,
    /// When the yes was given.
    pub time: String,
    /// Who gave it; absent if an earlier version stored it.
    pub approver: Option<Approver>,
}

/// A yes to everything that a skill runs in a session, with this content and at most these grants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionApproval {
    /// The tenant.
    pub tenant: String,
    /// The session.
    pub session: String,
    /// The path of the skill's folder, or of a command.
    pub skill: String,
    /// The hash of everything in the skill.
    pub content: String,
    /// What it may touch.
    pub grants: Vec<String>,
    /// When the yes was given.
    pub time: String,
    /// When it ends. Using any approval of this skill in the session extends all of them.
    #[serde(serialize_with = "as_text")]
    pub expires: SystemTime,
    /// Who gave it.
    pub approver: Approver,
}

fn as_text<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&clock::text(*time))
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Identifies it.
    pub id: String,
    /// The tenant.
    pub tenant: String,
    /// The question as text. Only this library reads it.
    pub text: String,
    /// When it was asked.
    pub asked: SystemTime,
    /// Until when it can be answered.
    pub expires: SystemTime,
}

/// An answer and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenAnswer {
    /// The answer.
    pub answer: Answer,
    /// Who gave it.
    pub approver: Approver,
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerState {
    /// It is the answer to the question.
    Recorded,
    /// There is no such question in the scope.
    Unknown,
    /// It came too late.
    Expired,
    /// There was an answer before.
    Answered,
}
