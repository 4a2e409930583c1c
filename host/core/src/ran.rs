//! The result of something that an agent wanted to run. Never an error: the agent continues with it.

use crate::error::RunError;
use crate::outcome::Outcome;
use crate::refusal::Refusal;

/// The result of something that an agent wanted to run.
#[derive(Debug)]
pub enum Ran {
    /// It ran.
    Ended(Box<Outcome>),
    /// It was not allowed.
    Refused(Refusal),
    /// The host failed to run it.
    Failed(String),
}

impl From<Result<Outcome, RunError>> for Ran {
    fn from(result: Result<Outcome, RunError>) -> Self {
        match result {
            Ok(outcome) => Self::Ended(Box::new(outcome)),
            Err(RunError::Refused(refusal)) => Self::Refused(refusal),
            Err(RunError::Host(error)) => Self::Failed(error.to_string()),
        }
    }
}
