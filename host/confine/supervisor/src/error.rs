//! The error for a setup step that failed.

use std::fmt::Display;

/// A step of the setup that failed, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfineError {
    /// The step.
    pub step: String,
    /// The reason.
    pub why: String,
}

impl ConfineError {
    /// A step that failed for this reason.
    pub fn new(step: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            step: step.into(),
            why: why.into(),
        }
    }
}

/// Adds the step that failed to an error.
pub trait Step<T> {
    /// For this step.
    fn step(self, step: &str) -> Result<T, ConfineError>;
    /// For this step on this path.
    fn step_on(self, step: &str, what: &[u8]) -> Result<T, ConfineError>;
}

impl<T, E: Display> Step<T> for Result<T, E> {
    /// For this step.
    fn step(self, step: &str) -> Result<T, ConfineError> {
        self.map_err(|error| ConfineError::new(step, error.to_string()))
    }

    /// For this step on this path.
    fn step_on(self, step: &str, what: &[u8]) -> Result<T, ConfineError> {
        self.map_err(|error| {
            let what = String::from_utf8_lossy(what);
            ConfineError::new(format!("{step} `{what}`"), error.to_string())
        })
    }
}
