//! What passes between a host and the keeper of one confined program.
//!
//! Both are built from this file, so they cannot disagree. Paths and arguments are bytes: nothing
//! here assumes that they are text.

mod plan;
mod report;

pub use plan::{Backend, Limits, Place, Plan, Scratch};
pub use report::{End, Hold, Holds, Layer, Report, Spent, Stopped};

/// Bytes that one report may have.
pub const MAX_REPORT: usize = 64 * 1024;
/// Handles that one message of the kernel's can carry, less those that are not places.
pub const MAX_PLACES: usize = 240;
