//! Readers of a skill that no caller of the library needs, for the fuzz targets in `tests/fuzz`.
//!
//! They are behind the cargo feature `fuzzing`, hidden from the documentation, and not part of the interface: they may
//! change with any commit. Everything here only calls the code that loading and checking a skill call.

use crate::{Language, strict};

/// The description in a script's first comment or docstring.
pub fn describe(language: Language, source: &[u8]) -> String {
    crate::describe::describe(language, source)
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
