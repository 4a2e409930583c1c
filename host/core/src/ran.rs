//! The result of something that an agent wanted to run. Never an error: the agent continues with it.

use crate::decision::Refusal;
use crate::outcome::Outcome;

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
