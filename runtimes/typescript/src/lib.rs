//! Transpiles TypeScript to JavaScript with oxc, as a WebAssembly guest.
//!
//! The source comes from a skill and may be hostile. oxc recurses as deep as the source nests, and
//! where the grammar is ambiguous it backtracks but keeps failed attempts in its arena: eight
//! kilobytes of `a<a<a<…` take a gigabyte and half a minute, a few more overflow the stack. None of this can
//! be limited from within one process, so it runs like the scripts themselves: the
//! host limits the memory, fuel and time of an instance, and discards it after one call. So the code
//! here needs no limits. The alternative was an arena of fixed size, but it ends the process when it is
//! full.
//!
//! [`transpile`] is the whole interface; `abi` exports it as the world in `wit/world.wit`.

mod diagnostic;
mod helpers;
mod transpile;

#[cfg(target_family = "wasm")]
mod abi;

pub use transpile::{Mapping, Transpiled, transpile};
