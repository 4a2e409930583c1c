//! What `benches/` measures and no caller of the library needs.
//!
//! Hidden from the documentation and not part of the interface. It is no cargo feature: the benchmarks would then build
//! everything a second time.

use crate::audit::{AuditLog, Event, RunInfo};
use crate::error::Error;

/// Writes a line like that of a refused request, and waits until it is written.
pub async fn write_line(log: &AuditLog, skill: &str, reason: &str) -> Result<(), Error> {
    log.write(refused(skill, reason)).await
}

/// The same on a thread that may block, as those of guests may.
pub async fn write_line_now(log: &AuditLog, skill: &str, reason: &str) -> Result<(), Error> {
    let mut written = log.write(refused(skill, reason));
    written.write_now();
    written.await
}

fn refused<'a>(skill: &'a str, reason: &str) -> Event<'a> {
    let run = RunInfo {
        run_id: "00000000-0000-7000-8000-000000000000",
        skill,
        script: "scripts/main.py",
        ..RunInfo::default()
    };
    Event::refused(run, reason)
}
