//! What a person is asked, and what can be answered.

use super::content::Content;
use super::store::Last;
use super::{asked_for, grant_text, source_of};
use crate::decision::{Checked, Permit};
use crate::error::Error;
use crate::files::show;
use crate::grant::Grant;
use crate::skill::Skill;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

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
    /// Skills of the same name that this one hides.
    #[serde(skip)]
    pub hides: Vec<std::path::PathBuf>,
    /// What the skill says it is for.
    pub description: String,
    /// What is to run; more than one where they belong together.
    pub scripts: Vec<AskedScript>,
    /// The directory that they may read and write.
    pub workspace: Option<String>,
    /// What they may touch, besides that and what every script may.
    pub grants: Vec<String>,
    /// The hash of everything in the skill, or of the command.
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

impl Question {
    pub(super) fn about(
        permits: &[Permit],
        content_hash: String,
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
            hides: skill
                .map(|skill| skill.shadowed().to_vec())
                .unwrap_or_default(),
            description: of_skill(|skill| skill.description().to_owned()).unwrap_or_default(),
            scripts: permits.iter().map(script).collect(),
            workspace: first.and_then(|permit| permit.workspace_path()),
            grants,
            content_hash: Some(content_hash),
            change,
            remembered,
            options: Answer::ALL,
            default: Answer::No,
            timeout_seconds: timeout.as_secs(),
        }
    }
}

impl Change {
    pub(super) fn since(last: Last, content: &Content, permit: &Permit) -> Self {
        let before = last.source.and_then(|bytes| String::from_utf8(bytes).ok());
        let now = source_of(permit).and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let grants = asked_for(permit);
        let grants = grants.iter().map(grant_text);
        let files = content.changes_since(&last.files).into_iter();
        Self {
            since: last.time,
            files: files.map(|(path, how)| ChangedFile { path, how }).collect(),
            more_grants: grants
                .filter(|grant| !last.grants.contains(grant))
                .collect(),
            sources: before.zip(now).filter(|(before, now)| before != now),
        }
    }
}
