//! Systems on which nothing can be confined yet.

use crate::{Backend, Captured, ConfineError, End, Handle, Job, NoBackendError};
use std::path::Path;

/// Whether every program sees this path of the machine; there are no programs here.
pub fn is_shown(_: &Path) -> bool {
    false
}

/// A backend that works; there is none here.
#[derive(Debug)]
pub enum Confinement {}

/// A confined program; there is none here.
#[derive(Debug)]
pub enum Running {}

impl Confinement {
    /// Does nothing.
    pub fn expect() {}

    /// Reports that nothing can be confined here.
    pub fn find() -> Result<Self, NoBackendError> {
        Err(NoBackendError {
            rejected: Vec::new(),
            is_transient: false,
        })
    }

    /// Reports that nothing can be confined here.
    pub fn with(backend: Backend) -> Result<Self, ConfineError> {
        let step = format!("use {}", backend.word());
        let why = "native programs are confined on Linux only".into();
        Err(ConfineError { step, why })
    }

    /// Changes nothing.
    pub fn with_spare_supervisor(self) -> Self {
        match self {}
    }

    /// How programs are confined; they are not here.
    pub fn backend(&self) -> Backend {
        match *self {}
    }

    /// The layers and limits of a probe; there is none here.
    pub fn probe(&self) -> &End {
        match *self {}
    }

    /// Stronger backends that do not work here.
    pub fn rejected(&self) -> &[(Backend, ConfineError)] {
        match *self {}
    }

    /// Mounts nothing.
    pub fn can_mount(&self, _: Handle, _: &Path) -> Result<(), ConfineError> {
        match *self {}
    }

    /// Starts nothing.
    pub fn start(&self, _: Job) -> Result<Running, ConfineError> {
        match *self {}
    }
}

impl Running {
    /// Stops nothing.
    pub fn stop(&self) {
        match *self {}
    }

    /// Abandons nothing.
    pub fn abandon(self, _: impl Send + 'static) {
        match self {}
    }

    /// Waits for nothing.
    pub async fn ended(&mut self) -> Result<End, ConfineError> {
        match *self {}
    }

    /// Captures nothing.
    pub async fn capture(
        self,
        _: &[u8],
        _: u64,
    ) -> Result<(End, Captured, Captured), ConfineError> {
        match self {}
    }
}
