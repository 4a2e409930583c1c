//! Parsers that no caller of the library needs, for the fuzz targets in `tests/fuzz`.
//!
//! They are behind the cargo feature `fuzzing`, hidden from the documentation, and not part of the interface: they may
//! change with any commit. Everything here only calls the code that a run calls.

pub use crate::check::fuzzing::{Facts, facts, references, strict_fields};
pub use crate::runtime::wasm::fuzzing::{Call, CallResult, Guest, Mount, TypeScript};

use crate::skill::Language;

/// The description in a script's first comment or docstring.
pub fn describe(language: Language, source: &[u8]) -> String {
    crate::skill::describe(language, source)
}
