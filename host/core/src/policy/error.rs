//! Why a policy could not be read or made.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a policy could not be read, parsed, built or written. A problem in a text has a line and a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    path: Option<PathBuf>,
    position: Option<Position>,
    message: String,
    hint: Option<String>,
}

/// A place in a text, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    /// In characters.
    pub(super) column: usize,
}

impl PolicyError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            path: None,
            position: None,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn at(self, position: Position) -> Self {
        Self {
            position: Some(position),
            ..self
        }
    }

    pub(super) fn in_file(self, path: &Path) -> Self {
        Self {
            path: Some(path.to_owned()),
            ..self
        }
    }

    /// Names the section that it is about, for an error without a position.
    pub(super) fn in_section(self, header: &str) -> Self {
        Self {
            message: format!("{header}: {}", self.message),
            ..self
        }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The file, as the caller named it; `None` for a policy that was not read from a file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The line of the problem, from 1; `None` if it is not about a place in a text.
    pub fn line(&self) -> Option<usize> {
        self.position.map(|position| position.line)
    }

    /// The column of the problem in characters, from 1.
    pub fn column(&self) -> Option<usize> {
        self.position.map(|position| position.column)
    }

    /// What is wrong, without the file and the position.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it, if the message does not say it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for PolicyError {
    /// The file, the position and the message in one line, without the hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "policy `{}`: ", path.display())?;
        }
        if let Some(Position { line, column }) = self.position {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for PolicyError {}
