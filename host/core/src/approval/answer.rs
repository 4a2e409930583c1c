//! The answers to a question, and why one is not accepted.

use crate::error::Error;
use crate::files::show;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
