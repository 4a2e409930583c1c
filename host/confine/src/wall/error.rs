//! The error for a step that failed in a process that may not allocate: the child of a fork.

use crate::ConfineError;
use rustix::io::Errno;
use std::io;

/// A step that failed, and the kernel's reason.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failed {
    pub(super) step: &'static str,
    pub(super) errno: Errno,
}

/// Adds the step that failed to an error.
pub(super) trait At<T> {
    fn at(self, step: &'static str) -> Result<T, Failed>;
}

impl<T> At<T> for rustix::io::Result<T> {
    fn at(self, step: &'static str) -> Result<T, Failed> {
        self.map_err(|errno| Failed { step, errno })
    }
}

impl<T> At<T> for io::Result<T> {
    fn at(self, step: &'static str) -> Result<T, Failed> {
        self.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
            .at(step)
    }
}

impl From<Failed> for ConfineError {
    fn from(failed: Failed) -> Self {
        fail(failed.step, failed.errno)
    }
}

impl From<Failed> for io::Error {
    fn from(failed: Failed) -> Self {
        let kind = failed.errno.kind();
        Self::new(kind, ConfineError::from(failed))
    }
}

/// The error of a function that the supervisor also uses.
pub(super) fn shared(error: skillrun_supervisor::error::ConfineError) -> ConfineError {
    ConfineError {
        step: error.step,
        why: error.why,
    }
}

pub(super) fn fail(step: &str, why: impl std::fmt::Display) -> ConfineError {
    ConfineError {
        step: step.into(),
        why: why.to_string(),
    }
}
