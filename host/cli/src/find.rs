//! Finding the skill that was typed.

use crate::agent::warn_shadowed;
use crate::failure::{Failure, print_message};
use crate::list::printable;
use crate::paths;
use skillrun::skill::{Found, Library, SkillError};
use std::path::{Path, PathBuf};

/// Finds a skill by path or by name, and prints what the user should know about the choice, unless `quiet`.
pub(crate) fn find(folders: &[PathBuf], name: &str, quiet: bool) -> Result<Found, Failure> {
    let found = paths::library(folders)?.find(name)?;
    if !quiet {
        warn_shadowed(&found);
    }
    Ok(found)
}

/// The same for a person at the command line. Where no skill has the name, a skill folder of this name in the current
/// directory is used, and a note says so, even if `quiet`: a script may have created the folder.
///
/// Only a person's word without grants goes that way. An agent, or a command line with `--allow`, has to name the path,
/// so that nothing is granted to a folder that nobody named.
pub(crate) fn find_or_folder(
    folders: &[PathBuf],
    name: &str,
    quiet: bool,
) -> Result<Found, Failure> {
    let (found, is_folder) = find_in(&paths::library(folders)?, name)?;
    if is_folder {
        let name = printable(name);
        print_message(
            "note",
            &format!("no skill is named `{name}`; using the folder `./{name}`"),
        );
    }
    if !quiet {
        warn_shadowed(&found);
    }
    Ok(found)
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
