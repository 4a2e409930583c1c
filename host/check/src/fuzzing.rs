//! The readers of sources and documents, for the fuzz targets in `tests/fuzz`.
//!
//! They are behind the cargo feature `fuzzing`, hidden from the documentation, and not part of the interface: they may
//! change with any commit. Everything here only calls the code that `check` calls.

use super::{javascript, python, shell};
use skillrun_skill::Language;
use std::collections::BTreeMap;

/// What a source imports and uses, each with its line.
#[derive(Debug, Default)]
pub struct Facts {
    /// What it imports.
    pub imports: Vec<(String, usize)>,
    /// Hosts in URLs.
    pub hosts: Vec<(String, usize)>,
    /// Commands that it starts; an empty name is a command that is computed.
    pub commands: Vec<(String, usize)>,
    /// Environment variables that it reads.
    pub env: Vec<(String, usize)>,
}

/// Reads a source as `skillrun check` does.
pub fn facts(language: Language, source: &str) -> Facts {
    let facts = match language {
        Language::Python => python::facts(source),
        Language::JavaScript => javascript::facts(source),
        _ => shell::facts(source),
    };
    let hosts = facts.hosts.into_iter();
    Facts {
        imports: facts
            .imports
            .into_iter()
            .map(|import| (import.name, import.line))
            .collect(),
        hosts: hosts.map(|((host, _), line)| (host, line)).collect(),
        commands: facts.commands.into_iter().collect(),
        env: facts.env.into_iter().collect(),
    }
}

/// The paths in the skill that a document refers to, each with its line.
pub fn references(document: &str, names: &[&str]) -> BTreeMap<String, usize> {
    super::references::of(document, names)
}
