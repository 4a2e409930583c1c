//! `skillrun audit`: shows what ran and what was refused, and verifies that the log was not changed.

mod args;
mod show;
mod verify;

pub(crate) use args::Audit;

use crate::failure::Failure;
use args::Action;

pub(crate) fn audit(args: Audit) -> Result<u8, Failure> {
    match args.action {
        Action::Show(show) => show::show(*show),
        Action::Verify(verify) => verify::verify(verify),
    }
}
