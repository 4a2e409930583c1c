//! The result of verifying a log.

use super::chain::LineHash;
use serde::Serialize;
use std::path::PathBuf;

/// The result of verifying a log.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// The files that were read, the oldest first.
    pub files: Vec<VerifiedFile>,
    /// The number of lines.
    pub lines: u64,
    /// How many of them are from before the log had a chain.
    pub unchained: u64,
    /// The number of the newest line in the chain.
    pub newest: Option<u64>,
    /// Its hash. Stored elsewhere, it proves later that nothing before it was rewritten.
    pub newest_hash: Option<LineHash>,
    /// The problems, at most a hundred.
    pub findings: Vec<AuditFinding>,
    /// The number of further problems.
    pub more_findings: u64,
    /// What is notable and not a problem, at most a hundred.
    pub notes: Vec<AuditFinding>,
}

/// A file that was verified.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct VerifiedFile {
    /// Its path.
    pub path: PathBuf,
    /// The number of its lines.
    pub lines: u64,
}

/// A finding about a line or a file.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct AuditFinding {
    /// The file.
    pub file: PathBuf,
    /// The line in this file, from 1.
    pub line: Option<u64>,
    /// The kind of finding.
    pub kind: AuditFindingKind,
    /// The description for people.
    pub message: String,
}

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuditFindingKind {
    /// A line does not match the hash in its neighbour or the head.
    Changed,
    /// Lines are missing.
    Missing,
    /// A line is not where it was written.
    OutOfPlace,
    /// A line is not part of the chain.
    Foreign,
    /// A line is incomplete.
    CutShort,
    /// A line is longer than the maximum.
    TooLong,
    /// The head is absent, unreadable, or older than the log.
    Head,
    /// Lines are from before the log had a chain.
    Unchained,
    /// The hash that was asked for is not in the chain.
    HashNotFound,
}

impl Verification {
    /// Whether there are no problems.
    pub fn is_valid(&self) -> bool {
        self.findings.is_empty()
    }
}
