//! Finds the interpreters of this machine.

use crate::programs;
use crate::skill::Language;
use std::path::PathBuf;

/// The languages that can run natively.
pub(super) const LANGUAGES: [Language; 5] = [
    Language::Bash,
    Language::Ruby,
    Language::Perl,
    Language::Python,
    Language::JavaScript,
];

/// The interpreter of a language, if it is where every confined program can see it.
pub(super) fn find(language: Language) -> Option<PathBuf> {
    match language {
        Language::JavaScript => programs::find(&["node", "nodejs"]),
        _ => programs::find(&[language.interpreter()]),
    }
}
