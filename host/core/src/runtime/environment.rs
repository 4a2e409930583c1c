//! What a script finds in its environment, whatever executes it.

use crate::decision::{Checked, Permit};
use crate::programs::{PATH, safe_variables};

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
    let skill = match &permit.subject {
        Checked::Script(script) => vec![
            ("SKILL_NAME", script.skill.name()),
            ("SKILL_BASE_DIR", permit.skill_base().unwrap_or_default()),
            ("SKILL_VERSION", script.skill.version()),
            ("SKILLKIT_VERSION", version),
        ],
        Checked::Command(_) => vec![],
    };
    let own = [
        ("SKILLRUN_VERSION", version),
        ("HOME", scratch),
        ("TMPDIR", scratch),
        ("PATH", PATH),
        ("LANG", "C.UTF-8"),
    ];
    let mut all: Vec<(String, String)> = skill
        .iter()
        .chain(&own)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    if !permit.env.iter().any(|(name, _)| name == "TZ") {
        all.push(("TZ".into(), "UTC".into()));
    }
    if let Checked::Command(command) = &permit.subject {
        all.extend(safe_variables(&command.name));
    }
    all.extend(permit.env.iter().cloned());
    all
}
