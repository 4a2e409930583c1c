//! The interpreters, and what is particular to each.

use super::typescript::Transpiler;
use crate::skill::Language;
use skillrun_runtimes::Guest;
use std::sync::Arc;

/// The name of the transpiler's guest.
pub(super) const TYPESCRIPT: &str = "typescript";

/// An interpreter and what is particular to it.
pub(crate) struct Interpreter {
    pub(super) guest: Guest,
    pub(super) language: Language,
    /// The size of the engine's stack. The interpreter checks its own stack and raises an error that the
    /// script can catch; the engine's stack must not overflow before that.
    pub(super) stack: usize,
    /// Memory that stays resident in a slot from one run to the next: as much as most scripts touch.
    pub(super) resident: usize,
    /// The transpiler from TypeScript, for the interpreter that imports it.
    pub(super) transpiler: Option<Arc<Transpiler>>,
}

impl Interpreter {
    pub(crate) fn python() -> Self {
        Self {
            guest: skillrun_runtimes::python(),
            language: Language::Python,
            stack: 128 << 20,
            resident: 4 << 20,
            transpiler: None,
        }
    }

    pub(crate) fn javascript(transpiler: &Arc<Transpiler>) -> Self {
        Self {
            guest: skillrun_runtimes::javascript(),
            language: Language::JavaScript,
            stack: 128 << 20,
            resident: 4 << 20,
            transpiler: Some(Arc::clone(transpiler)),
        }
    }

    /// The interpreter with this name.
    pub(super) fn by_name(name: &str, transpiler: &Arc<Transpiler>) -> Option<Self> {
        let all = [Self::python(), Self::javascript(transpiler)];
        all.into_iter().find(|known| known.guest.name() == name)
    }
}
