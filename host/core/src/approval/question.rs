//! Questions to a person, and their answers.

use super::store::LastApproval;
use super::{Group, access};
use crate::content::Content;
use crate::error::Error;
use crate::files::show;
use crate::grant::Grant;
use crate::plan::{Checked, Plan};
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
    /// It may run, and so may everything that this skill runs in this session.
    YesInSession,
    /// It may not.
    No,
}

impl Answer {
    /// All answers, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::YesOnce, Self::YesInSession, Self::No];

    /// Its name in questions, answers and the audit log.
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

/// Why an answer was not accepted. Nothing runs because of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// There never was such a question, or it was closed long ago.
    #[error("there is no question `{id}`")]
    Unknown {
        /// The id that was passed.
        id: String,
    },
    /// Nobody answered in time, which counts as no.
    #[error("question `{id}` has expired")]
    Expired {
        /// The id of the question.
        id: String,
    },
    /// It was answered before.
    #[error("question `{id}` is already answered")]
    Answered {
        /// The id of the question.
        id: String,
    },
    /// It is not one of the options.
    #[error("`{option}` is not an answer: use yes_once, yes_in_session or no")]
    NoSuchOption {
        /// The text that was passed.
        option: String,
    },
    /// The answer could not be recorded, so nothing runs.
    #[error(transparent)]
    Host(#[from] Error),
}

/// A question to a person: may these scripts of a skill run, with these arguments and grants?
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Identifies the question in an answer.
    pub id: String,
    /// The tenant.
    pub tenant: String,
    /// The session.
    pub session: String,
    /// The skill's name; empty for a command of this machine.
    pub skill: String,
    /// The path of the skill.
    pub skill_path: String,
    /// Skills of the same name that this one shadows.
    #[serde(skip)]
    pub shadowed: Vec<std::path::PathBuf>,
    /// The skill's own description.
    pub description: String,
    /// What would run; more than one if they belong together.
    pub scripts: Vec<AskedScript>,
    /// The directory that the scripts may read and write.
    pub workspace: Option<String>,
    /// What they may touch in addition to that and to what every script may touch.
    pub grants: Vec<String>,
    /// The hash of everything in the skill, or of the command.
    pub content_hash: String,
    /// What changed since the last yes, if there was one.
    pub change: Option<Change>,
    /// Whether a yes is valid until something changes.
    pub remembered: bool,
    /// The possible answers.
    pub options: [Answer; 3],
    /// The answer that counts if nobody answers.
    pub default: Answer,
    /// The time to answer.
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
    /// Its own description.
    pub description: String,
}

/// What changed since the last yes to a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The time of that yes.
    pub since: String,
    /// The files that changed.
    pub files: Vec<ChangedFile>,
    /// The grants that are requested now and were not requested then.
    pub more_grants: Vec<String>,
    /// The script before and after; absent if it did not change or is too large to keep.
    #[serde(skip)]
    pub sources: Option<(String, String)>,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path in the skill.
    pub path: String,
    /// `new`, `changed` or `removed`.
    pub how: &'static str,
}

impl Question {
    pub(super) fn about(
        group: &Group,
        content_hash: &str,
        change: Option<Change>,
        remembered: bool,
        timeout: Duration,
    ) -> Self {
        let mut grants: Vec<String> = Vec::new();
        for plan in group.iter() {
            grants.extend(plan.grants.iter().map(Grant::to_string));
        }
        grants.sort();
        grants.dedup();
        let script = |plan: &Plan| AskedScript {
            script: plan.script().to_owned(),
            path: plan.script_path().display().to_string(),
            sha256: plan.hash.clone(),
            args: plan.args.clone(),
            description: match &plan.target {
                Checked::Script(script) => script.skill.describe(&script.script),
                Checked::Command(_) => String::new(),
            },
        };
        let first = &group.first;
        let skill = match &first.target {
            Checked::Script(script) => Some(&script.skill),
            Checked::Command(_) => None,
        };
        let of_skill = |text: fn(&Skill) -> String| skill.map(|skill| text(skill));
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            tenant: first.tenant.clone(),
            session: first.session.clone(),
            skill: first.skill().to_owned(),
            skill_path: of_skill(|skill| skill.path().display().to_string()).unwrap_or_default(),
            shadowed: skill
                .map(|skill| skill.shadowed().to_vec())
                .unwrap_or_default(),
            description: of_skill(|skill| skill.description().to_owned()).unwrap_or_default(),
            scripts: group.iter().map(script).collect(),
            workspace: first.workspace_path(),
            grants,
            content_hash: content_hash.to_owned(),
            change,
            remembered,
            options: Answer::ALL,
            default: Answer::No,
            timeout_seconds: timeout.as_secs(),
        }
    }
}

impl Change {
    pub(super) fn since(last: LastApproval, content: &Content, plan: &Plan) -> Self {
        let before = last.source.and_then(|bytes| String::from_utf8(bytes).ok());
        let now = plan
            .source()
            .and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let grants = access(plan).into_iter();
        let files = content.files().changes_since(&last.files).into_iter();
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
