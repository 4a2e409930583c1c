//! Parsers that no caller of the library needs, for the fuzz targets in `tests/fuzz`.
//!
//! They are behind the cargo feature `fuzzing`, hidden from the documentation, and not part of the interface: they may
//! change with any commit. Everything here only calls the code that a run calls.

pub use crate::runtime::wasm::fuzzing::{Call, CallResult, Guest, Mount, TypeScript};
