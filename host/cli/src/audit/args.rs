//! What was typed after `skillrun audit`.

use clap::{Args as ClapArgs, Subcommand};
use skillrun::{AuditTime, LineHash};
use std::path::PathBuf;

const VERIFY_HELP: &str = "\
Every line holds the hash of the one before, and `audit.head` remembers the newest. So it is found
that a line was changed, removed, inserted, moved or cut short, at the end of the log too.

What cannot be found: lines that were never written, and a log that somebody who may write both it
and its head made anew from some line on. For the latter, note the hash that is printed at the end
somewhere else, and pass it later with --after: it must still be in the chain.

A log that was moved away by others is verified by naming all its files, in any order.

Exit codes: 0 the log is as it was written, 1 it is not, 125 it cannot be read.

Examples:
  skillrun audit verify
  skillrun audit verify --after 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  skillrun audit verify /backup/audit-1.jsonl /backup/audit.jsonl";

const SHOW_HELP: &str = "\
A time is `2026-01-31T12:00:00Z`, a date like `2026-01-31` (its beginning in UTC), or how long ago:
`90s`, `15m`, `2h`, `3d`, `1w`. Lines are shown in the order in which they were written.

Examples:
  skillrun audit show -n 20
  skillrun audit show --event refused --since 1d
  skillrun audit show --skill word-count --status timed_out --json";

/// What happens, and how runs end, as the log has it.
const EVENTS: [&str; 5] = ["refused", "approved", "started", "finished", "aborted"];
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
    /// Show what was run and what was refused
    Show(Box<Show>),
    /// Check that the log is as it was written
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
    /// The files [default: your log, with what it was rotated into]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// A hash that must be in the chain; what came before it may be gone
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
    /// The run's id, or how it begins
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,
    /// The tenant
    #[arg(long)]
    pub(crate) world: Option<String>,
    /// The conversation
    #[arg(long)]
    pub(crate) chat: Option<String>,
    /// Only the last so many
    #[arg(short, value_name = "N", allow_negative_numbers = true)]
    pub(crate) number: Option<usize>,
    /// Print the lines as they stand in the log
    #[arg(long)]
    pub(crate) json: bool,
}
