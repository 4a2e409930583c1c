//! Implements the world `typescript` by hand: two exports and one layout are simpler than a binding generator.
//!
//! Nothing is ever freed: an instance serves one call.

use crate::{Transpiled, transpile};
use std::alloc::{Layout, alloc, handle_alloc_error};
use std::mem::ManuallyDrop;

/// `result<transpiled, string>` as the canonical ABI lays it out in memory.
#[repr(C)]
struct Answer {
    /// 0 for `ok`, 1 for `err`.
    failed: u8,
    /// The code, or the message.
    text: *const u8,
    text_length: usize,
    mappings: *const crate::Mapping,
    mappings_length: usize,
}

/// Allocates memory for what the host passes.
///
/// # Safety
///
/// Only the canonical ABI calls this, and it never asks to grow or free what it got here.
#[unsafe(no_mangle)]
unsafe extern "C" fn cabi_realloc(
    _old: *mut u8,
    _old_size: usize,
    align: usize,
    size: usize,
) -> *mut u8 {
    let Ok(layout) = Layout::from_size_align(size, align) else {
        std::process::abort();
    };
    if size == 0 {
        return std::ptr::without_provenance_mut(align);
    }
    // SAFETY: the size is not zero.
    let memory = unsafe { alloc(layout) };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    memory
}

/// The export of the world.
///
/// # Safety
///
/// Only the canonical ABI calls this, with two initialised buffers from [`cabi_realloc`].
#[unsafe(export_name = "transpile")]
unsafe extern "C" fn export(
    name: *const u8,
    name_length: usize,
    source: *const u8,
    source_length: usize,
) -> *const Answer {
    // SAFETY: the host wrote that many bytes there and never accesses them again.
    let (name, source) = unsafe {
        (
            std::slice::from_raw_parts(name, name_length),
            std::slice::from_raw_parts(source, source_length),
        )
    };
    let (failed, text, mappings) = match transpile(&String::from_utf8_lossy(name), source) {
        Ok(Transpiled { code, mappings }) => (0, code, mappings),
        Err(message) => (1, message, Vec::new()),
    };
    let (text, mappings) = (ManuallyDrop::new(text), ManuallyDrop::new(mappings));
    Box::leak(Box::new(Answer {
        failed,
        text: text.as_ptr(),
        text_length: text.len(),
        mappings: mappings.as_ptr(),
        mappings_length: mappings.len(),
    }))
}
