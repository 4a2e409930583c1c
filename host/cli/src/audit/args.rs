//! The arguments of `skillrun audit`.

use clap::{Args as ClapArgs, Subcommand};
use skillrun::audit::{AuditTime, LineHash};
use std::path::PathBuf;

const VERIFY_HELP: &str = "\
Every line contains the hash of the line before it, and `audit.head` contains the newest hash. So
this finds lines that were changed, removed, inserted, moved or cut short, also at the end of the log.

It cannot find lines that were never written, nor a log that was rewritten from some line on by a user
who can write both the log and `audit.head`. To detect a rewritten log, keep the hash that is printed
at the end in another place, and pass it later with --after: it must still be in the chain.

If `audit.head` is removed or damaged, runs continue, and the next line of the log records it
(`new_head`). It is reported until --after names the hash of that line or of a later one.

To verify a log that was moved away, name all its files, in any order.

Exit codes: 0 the log is intact, 1 it is not, 125 it cannot be read.

Examples:
  skillrun audit verify
  skillrun audit verify --json
  skillrun audit verify ~/backup/audit.jsonl";

const SHOW_HELP: &str = "\
A time is `2026-01-31T12:00:00Z`, a date like `2026-01-31` (its beginning in UTC), or how long ago:
`90s`, `15m`, `2h`, `3d`, `1w`. Lines are shown in the order of the log.

Examples:
  skillrun audit show -n 20
  skillrun audit show --event refused --since 1d
  skillrun audit show --skill word-count --status timed_out --json";

/// The events and statuses in the log.
const EVENTS: [&str; 6] = [
    "refused", "approved", "started", "finished", "aborted", "new_head",
];
const STATUSES: [&str; 7] = [
    "exited",
    "signaled",
    "timed_out",
    "out_of_fuel",
    "out_of_memory",
    "trapped",
    "cancelled",
];

#[derive(Debug, ClapArgs)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show what ran and what was refused
    Show(Box<Show>),
    /// Verify that the log was not changed
    Verify(Verify),
}

impl Audit {
    pub(crate) fn json(&self) -> bool {
        match &self.action {
            Action::Show(show) => show.json,
            Action::Verify(verify) => verify.json,
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct Verify {
    /// The files [default: your log, with its rotated files]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A hash that must be in the chain; lines before it may be missing
    #[arg(long, value_name = "HASH")]
    pub(crate) after: Option<LineHash>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct Show {
    /// The name of the skill
    #[arg(long)]
    pub(crate) skill: Option<String>,
    /// The script: its path in the skill, its file name or its stem
    #[arg(long)]
    pub(crate) script: Option<String>,
    /// How the run ended
    #[arg(long, value_parser = STATUSES)]
    pub(crate) status: Option<String>,
    /// What happened
    #[arg(long, value_parser = EVENTS)]
    pub(crate) event: Option<String>,
    /// Not before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<AuditTime>,
    /// Before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<AuditTime>,
    /// The run's id, or its beginning
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// The tenant
    #[arg(long, alias = "world")]
    pub(crate) tenant: Option<String>,
    /// The session
    #[arg(long, alias = "chat")]
    pub(crate) session: Option<String>,
    /// Only the last N lines
    #[arg(short, value_name = "N", allow_negative_numbers = true)]
    pub(crate) number: Option<usize>,
    /// Print the lines as they are in the log
    #[arg(long)]
    pub(crate) json: bool,
}
