//! The content that an approval is for: everything in the skill of a permit, or the command alone.

use crate::decision::{Checked, Permit};
pub(super) use skillrun_skill::content::Content;

/// Hashes everything in a skill, or only the command. Fails with the reason if the skill is too large or cannot be
/// read.
pub(super) fn of(permit: &Permit) -> Result<Content, String> {
    match &permit.target {
        Checked::Script(script) => Content::of_folder(script.skill.root()),
        Checked::Command(command) => {
            let path = command.program.display().to_string();
            Ok(Content::of_file(path, permit.hash.clone()))
        }
    }
}

/// Whether the bytes in a permit are those that were hashed.
pub(super) fn matches(content: &Content, permit: &Permit) -> bool {
    match &permit.target {
        Checked::Script(script) => content.contains_file(&script.real, &permit.hash),
        Checked::Command(_) => true,
    }
}
