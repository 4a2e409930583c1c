//! Exposes the readers of sources and documents to the fuzz targets.

use super::{javascript, python, shell, strict};
use crate::skill::Language;
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

/// The fields that `skillrun check` reads, with their text if they have one, or the line and message of the error.
#[expect(
    clippy::type_complexity,
    reason = "a named type would be longer than this"
)]
pub fn strict_fields(
    document: &str,
) -> Result<Vec<(String, Option<String>)>, (Option<usize>, String)> {
    let text = |node: &strict::Node| node.text().map(str::to_owned);
    match strict::fields(document) {
        Ok(fields) => Ok(fields
            .iter()
            .map(|(name, value)| (text(name).unwrap_or_default(), text(value)))
            .collect()),
        Err(error) => Err((error.line, error.message)),
    }
}
