//! `skillrun audit`: what was run and what was refused, and whether the record is as it was written.

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
