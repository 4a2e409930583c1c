//! The readers that no caller of the library needs, for the fuzz targets in `tests/fuzz`.
//!
//! Behind the cargo feature `fuzzing`, hidden from the documentation, and not part of the interface: it may
//! change with any commit. Everything here calls the code that a run calls, and decides nothing itself.

pub use crate::check::fuzzing::{Facts, facts, references, strict_fields};
pub use crate::runtime::wasm::fuzzing::{Answer, Call, Guest, Place, TypeScript};

use crate::skill::Language;

/// What a script says of itself.
pub fn describe(language: Language, source: &[u8]) -> String {
    crate::skill::describe(language, source)
}
