//! Memories and stacks for guests that start from a snapshot.
//!
//! The memory of a guest starts as a private view of its [`Image`], the memory that the interpreter had when it was ready.
//! What the guest writes goes to private copies of pages. After a run, the original bytes are copied back into exactly
//! those pages, and the memory is given to the next run: it finds the pages that most scripts write already in place, so
//! it causes hardly any page faults and changes no mapping of the process.
//!
//! wasmtime's pooling allocator does the same with at most 32 ranges of written pages and discards the rest. An interpreter
//! writes a few hundred pages that are scattered over its heap, so most of them would be discarded, and faulting them in
//! again costs more than everything else in a short run. With a second thread it costs even more, because both change
//! the same address space.
//!
//! What must never happen: a byte that one run wrote is visible to the next. So a memory of which it is not certain that
//! it was reset is unmapped.
//!
//! All unsafe code for the wasm tier is in this crate. It knows nothing about skills, policies or guests.

mod faults;
mod image;
mod mapping;
mod memories;
mod pagemap;
mod stacks;
#[cfg(test)]
mod tests;

pub use image::Image;
pub use memories::Memories;
pub use stacks::Stacks;
