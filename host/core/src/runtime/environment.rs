//! What a script finds in its environment, whatever executes it.

use crate::decision::{PATH, Permit};

/// Where a script sees its scratch directory.
const SCRATCH: &str = "/tmp";

/// Where the script sees its scratch directory: `/tmp`, unless something granted is there.
pub(crate) fn scratch_path(permit: &Permit) -> &'static str {
    let taken = permit.mounts.iter().any(|mount| mount.guest == SCRATCH);
    if taken { "/scratch" } else { SCRATCH }
}

/// What a script finds in its environment: nothing of ours. `scratch` is where it sees that directory.
pub(crate) fn environment(permit: &Permit, scratch: &str) -> Vec<(String, String)> {
    let version = env!("CARGO_PKG_VERSION");
    let own = [
        ("SKILL_NAME", permit.skill.name()),
        ("SKILL_BASE_DIR", permit.skill_base()),
        ("SKILL_VERSION", permit.skill.version()),
        ("SKILLKIT_VERSION", version),
        ("SKILLRUN_VERSION", version),
        ("HOME", scratch),
        ("TMPDIR", scratch),
        ("PATH", PATH),
        ("LANG", "C.UTF-8"),
    ];
    let mut all: Vec<(String, String)> = own
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    if !permit.env.iter().any(|(name, _)| name == "TZ") {
        all.push(("TZ".into(), "UTC".into()));
    }
    all.extend(permit.env.iter().cloned());
    all
}
