//! What came of something that an agent wanted to run: never an error, an agent goes on.

use crate::decision::Refusal;
use crate::outcome::Outcome;

/// What came of something that was to run.
#[derive(Debug)]
pub enum Ran {
    /// It ran.
    Ended(Box<Outcome>),
    /// It was not allowed.
    Refused(Refusal),
    /// The host failed at it.
    Failed(String),
}
