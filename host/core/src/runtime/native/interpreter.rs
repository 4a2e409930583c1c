//! Where the interpreters of this machine are.

use crate::decision::PATH;
use crate::skill::Language;
use rustix::fs::{Access, access};
use std::path::{Path, PathBuf};

/// The languages that can run natively.
pub(super) const LANGUAGES: [Language; 5] = [
    Language::Bash,
    Language::Ruby,
    Language::Perl,
    Language::Python,
    Language::JavaScript,
];

/// The interpreter of a language, if it is where every program can see it.
pub(super) fn find(language: Language) -> Option<PathBuf> {
    let names: &[&str] = match language {
        Language::JavaScript => &["node", "nodejs"],
        _ => &[language.interpreter()],
    };
    let folders = PATH.split(':').map(Path::new);
    let candidates = folders.flat_map(|folder| names.iter().map(|name| folder.join(name)));
    let fits = |path: &PathBuf| {
        path.is_file() && access(path, Access::EXEC_OK).is_ok() && skillrun_confine::is_shown(path)
    };
    candidates.into_iter().find(fits)
}
