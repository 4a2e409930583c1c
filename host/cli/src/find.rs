//! Finding the skill that was typed.

use crate::failure::{Failure, NOT_FOUND, print_message};
use crate::paths;
use crate::text::printable;
use skillrun::skill::{Found, Library, SkillError};
use skillrun_skill::text::shell_word;
use std::path::{Path, PathBuf};

/// Finds a skill by path or by name. The caller prints what the user should know about the choice.
pub(crate) fn find(folders: &[PathBuf], name: &str) -> Result<Found, Failure> {
    Ok(paths::library(folders)?.find(name)?)
}

/// The same for a person at the command line. Where no skill has the name, a skill folder of this name in the current
/// directory is used; the flag says so. A script may have created that folder, so the caller has to print
/// [`note_folder`], even with `--quiet`, and must not give the folder anything: see [`reject_folder`].
pub(crate) fn find_or_folder(folders: &[PathBuf], name: &str) -> Result<(Found, bool), Failure> {
    Ok(find_in(&paths::library(folders)?, name)?)
}

/// Says that a folder of the current directory is used.
pub(crate) fn note_folder(name: &str) {
    let name = printable(name);
    let text = format!("no skill is named `{name}`; using the folder `./{name}`, without grants");
    print_message("note", &text);
}

/// The failure of a run that would give grants or a workspace to a folder of the current directory by its bare name. A
/// name does not say that this folder is meant; its path does.
pub(crate) fn reject_folder(name: &str) -> Failure {
    let path = match shell_word(&format!("./{name}")) {
        Some(path) => format!("`{path}`"),
        None => "its path".to_owned(),
    };
    Failure {
        code: NOT_FOUND,
        label: "error",
        message: format!("skill `{}` not found", printable(name)),
        hint: Some(format!(
            "there is a folder of this name here: write {path} to give it grants or a workspace"
        )),
    }
}

/// Finds a skill by path or by name, or a skill folder of this name in the current directory; the flag says so.
pub(crate) fn find_in(library: &Library, name: &str) -> Result<(Found, bool), SkillError> {
    match library.find(name) {
        Err(SkillError::NotFound { .. }) if is_skill_folder(name) => {
            Ok((library.find(&format!("./{name}"))?, true))
        }
        found => Ok((found?, false)),
    }
}

fn is_skill_folder(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && Path::new(name).join("SKILL.md").is_file()
}
