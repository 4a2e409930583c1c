//! Where a script runs: in a WASI interpreter, or in one of this machine.

/// Where a script should run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tier {
    /// Where its language runs by default.
    #[default]
    Auto,
    /// In a WASI interpreter.
    Wasm,
    /// In an interpreter of this machine, confined.
    Native,
}

impl Tier {
    /// All tiers.
    pub(crate) const ALL: [Self; 3] = [Self::Auto, Self::Wasm, Self::Native];

    /// Its name in a policy file.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Wasm => "wasm",
            Self::Native => "native",
        }
    }
}
