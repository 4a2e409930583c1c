//! Systems on which nothing can be confined yet.

use crate::{Backend, End, Job, Unable, Unavailable};

/// A way of holding programs; there is none here.
#[derive(Debug)]
pub enum Confinement {}

/// A confined program; there is none here.
#[derive(Debug)]
pub enum Running {}

impl Confinement {
    /// Says that nothing can be confined here.
    pub fn find() -> Result<Self, Unavailable> {
        Err(Unavailable { tried: Vec::new() })
    }

    /// Says that nothing can be confined here.
    pub fn with(backend: Backend) -> Result<Self, Unable> {
        let step = format!("use {}", backend.word());
        let why = "native programs are confined on Linux only".into();
        Err(Unable { step, why })
    }

    /// Starts nothing.
    pub fn start(&self, _: Job) -> Result<Running, Unable> {
        match *self {}
    }
}

impl Running {
    /// Waits for nothing.
    pub async fn ended(self) -> Result<End, Unable> {
        match self {}
    }
}
