//! TypeScript to JavaScript by oxc, as a WebAssembly guest of its own.
//!
//! The source comes from a skill and may be hostile. oxc recurses as deep as the source nests, and
//! where the grammar is ambiguous it tries, keeps what it tried in its arena and tries again: eight
//! kilobytes of `a<a<a<…` take a gigabyte and half a minute, a few more overflow the stack. None of this can
//! be bounded from within one process, so it runs like the scripts themselves: the
//! host gives an instance memory, fuel and a deadline, and throws it away after one call. Here
//! nothing has to be careful. An arena of fixed size was the alternative; it ends the process when it is
//! full.
//!
//! [`transpile`] is all there is; `abi` puts it behind the world in `wit/world.wit`.

mod diagnostic;
mod helpers;
mod transpile;

#[cfg(target_family = "wasm")]
mod abi;

pub use transpile::{Mapping, Transpiled, transpile};
