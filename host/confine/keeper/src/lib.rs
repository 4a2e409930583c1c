//! What passes between a host and the keeper of one confined program.
//!
//! Both are built from this file, so they cannot disagree. Paths and arguments are bytes: nothing
//! here assumes that they are text.
//!
//! A keeper is started before it is needed, sets up what every run needs, and waits for a plan. Plans
//! without a program are trials, of which it serves any number; with the first program it ends.

mod plan;
mod report;

pub use plan::{Backend, Limits, Missing, Place, Plan, Scratch};
pub use report::{End, Hold, Holds, Layer, Message, Report, Spent, Stopped};

/// Bytes that one message may have.
pub const MAX_MESSAGE: usize = 64 * 1024;
/// Handles that one message of the kernel's can carry, less those that are not places.
pub const MAX_PLACES: usize = 240;
