//! The environment variables of a script, in every runtime.

use crate::plan::{Checked, Plan};
use crate::programs::{PATH, safe_variables};

/// The guest path of the scratch directory.
const SCRATCH: &str = "/tmp";

/// The guest path of the scratch directory: `/tmp`, unless a grant is mounted there.
pub(crate) fn scratch_path(plan: &Plan) -> &'static str {
    let taken = plan.mounts().any(|mount| mount.guest == SCRATCH);
    if taken { "/scratch" } else { SCRATCH }
}

/// The environment variables of a script, with none of ours. `scratch` is the guest path of its scratch directory.
pub(crate) fn environment(plan: &Plan, scratch: &str) -> Vec<(String, String)> {
    let version = env!("CARGO_PKG_VERSION");
    let skill = match &plan.target {
        Checked::Script(script) => vec![
            ("SKILL_NAME", script.skill.name()),
            ("SKILL_BASE_DIR", plan.skill_base().unwrap_or_default()),
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
    if !plan.env.iter().any(|(name, _)| name == "TZ") {
        all.push(("TZ".into(), "UTC".into()));
    }
    if let Checked::Command(command) = &plan.target {
        all.extend(safe_variables(&command.name));
    }
    all.extend(plan.env.iter().cloned());
    all
}
