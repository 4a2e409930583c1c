//! What `benches/` measures and no caller of the library needs.
//!
//! Hidden from the documentation and not part of the interface. It is no cargo feature: the benchmarks would then build
//! everything a second time.

use crate::audit::{AuditLog, Event, RunInfo};
use crate::error::Error;

/// Writes a line like that of a refused request, and waits until it is written.
pub async fn write_line(log: &AuditLog, skill: &str, reason: &str) -> Result<(), Error> {
    let run = RunInfo {
        run_id: "00000000-0000-7000-8000-000000000000",
        skill,
        script: "scripts/main.py",
        ..RunInfo::default()
    };
    log.write(Event::refused(run, reason)).await
}
