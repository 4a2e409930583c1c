//! The readers of sources and documents, for the fuzz targets.

use super::{javascript, python, shell, strict};
use crate::skill::Language;
use std::collections::BTreeMap;

/// What reading a source tells, each with its line.
#[derive(Debug, Default)]
pub struct Facts {
    /// What it imports.
    pub imports: Vec<(String, usize)>,
    /// Hosts in addresses.
    pub hosts: Vec<(String, usize)>,
    /// Commands that it starts; an empty name is one that is computed.
    pub commands: Vec<(String, usize)>,
    /// Variables that it reads.
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

/// The fields that `skillrun check` reads, with the text of those that are text; or the line and the message.
#[expect(
    clippy::type_complexity,
    reason = "a type of its own would be more to read than this"
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
        Err(broken) => Err((broken.line, broken.message)),
    }
}
