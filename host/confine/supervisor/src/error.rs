//! The error for a setup step that failed.

use std::fmt::Display;

/// A step of the setup that failed, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConfineError {
    pub(crate) step: String,
    pub(crate) why: String,
}

impl ConfineError {
    pub(crate) fn new(step: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            step: step.into(),
            why: why.into(),
        }
    }
}

/// Adds the step that failed to an error.
pub(crate) trait Step<T> {
    fn step(self, step: &str) -> Result<T, ConfineError>;
    fn step_on(self, step: &str, what: &[u8]) -> Result<T, ConfineError>;
}

impl<T, E: Display> Step<T> for Result<T, E> {
    fn step(self, step: &str) -> Result<T, ConfineError> {
        self.map_err(|error| ConfineError::new(step, error.to_string()))
    }

    fn step_on(self, step: &str, what: &[u8]) -> Result<T, ConfineError> {
        self.map_err(|error| {
            let what = String::from_utf8_lossy(what);
            ConfineError::new(format!("{step} `{what}`"), error.to_string())
        })
    }
}
