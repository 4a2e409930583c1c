//! What came of verifying a log.

use super::chain::LineHash;
use serde::Serialize;
use std::path::PathBuf;

/// What came of verifying a log.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// The files that were read, the oldest first.
    pub files: Vec<VerifiedFile>,
    /// All lines.
    pub lines: u64,
    /// Those that were written before there was a chain.
    pub unchained: u64,
    /// The number of the newest line in the chain.
    pub newest: Option<u64>,
    /// Its hash: noted elsewhere, it proves later that nothing before it was rewritten.
    pub newest_hash: Option<LineHash>,
    /// What is wrong, at most a hundred times.
    pub findings: Vec<AuditFinding>,
    /// Further things that are wrong.
    pub more_findings: u64,
    /// What is remarkable and not wrong, at most a hundred times.
    pub notes: Vec<AuditFinding>,
}

/// A file that was verified.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct VerifiedFile {
    /// Where it is.
    pub path: PathBuf,
    /// How many lines it has.
    pub lines: u64,
}

/// Something about a line or a file.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct AuditFinding {
    /// The file.
    pub file: PathBuf,
    /// The line in this file, from 1.
    pub line: Option<u64>,
    /// Of which kind it is.
    pub kind: AuditWrong,
    /// What it is, in words.
    pub message: String,
}

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuditWrong {
    /// A line is not what its neighbour or the head says it was.
    Changed,
    /// Lines are gone.
    Missing,
    /// A line stands where it was not written.
    OutOfPlace,
    /// What stands there is not a line of the chain.
    Foreign,
    /// A line lacks its end.
    CutShort,
    /// A line is longer than any that is written.
    TooLong,
    /// The head is absent, unreadable, or older than the log.
    Head,
    /// Lines from before there was a chain.
    Unchained,
    /// The hash that was asked for is not in the chain.
    HashNotFound,
}

impl Verification {
    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.findings.is_empty()
    }
}
