//! Why a program could not be started.

use std::fmt::Display;

/// A step of the set-up that failed.
#[derive(Debug)]
pub(crate) struct Unable {
    pub(crate) step: String,
    pub(crate) why: String,
}

impl Unable {
    pub(crate) fn new(step: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            step: step.into(),
            why: why.into(),
        }
    }
}

/// Names the step that an error came from.
pub(crate) trait Step<T> {
    fn step(self, step: &str) -> Result<T, Unable>;
    fn step_on(self, step: &str, what: &[u8]) -> Result<T, Unable>;
}

impl<T, E: Display> Step<T> for Result<T, E> {
    fn step(self, step: &str) -> Result<T, Unable> {
        self.map_err(|error| Unable::new(step, error.to_string()))
    }

    fn step_on(self, step: &str, what: &[u8]) -> Result<T, Unable> {
        self.map_err(|error| {
            let what = String::from_utf8_lossy(what);
            Unable::new(format!("{step} `{what}`"), error.to_string())
        })
    }
}
