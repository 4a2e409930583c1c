//! What the kernel takes as a command line.

use crate::decision::{Check, Permit, Refusal};
use crate::limits::show_bytes;
use crate::runtime::environment::environment;
use rustix::process::{Resource, getrlimit};

/// What the kernel counts for each argument and variable besides its bytes.
const POINTER: u64 = size_of::<usize>() as u64;
/// Bytes of one argument or variable, with the one that ends it; where pages are larger, it may be longer.
const LONGEST: u64 = 128 << 10;
/// What every command line has room for, and what none has.
const LEAST: u64 = 128 << 10;
const MOST: u64 = 6 << 20;
/// For the interpreter, the script, and a scratch directory of any name.
const OWN: u64 = 16 << 10;

/// Refuses arguments that the kernel hands to no program.
pub(super) fn check(permit: &Permit) -> Result<(), Refusal> {
    let too_large = |what: &str, bytes: u64, most: u64| {
        let most = show_bytes(most);
        let message = format!(
            "arguments too large: {what} of {bytes} bytes, at most {most} for a native script"
        );
        Err(Refusal::new(Check::Request, message)
            .hint("pass large data as input or as a file in the workspace"))
    };
    let variables = environment(permit, "");
    let variables = variables
        .iter()
        .map(|(name, value)| name.len() + 1 + value.len());
    let lengths = permit.args.iter().map(String::len).chain(variables);
    let lengths: Vec<u64> = lengths.map(|length| length as u64).collect();
    if let Some(bytes) = lengths.iter().find(|length| **length >= LONGEST) {
        return too_large("one", *bytes, LONGEST - 1);
    }
    let room = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX) / 4;
    let room = room.clamp(LEAST, MOST) - OWN;
    let bytes: u64 = lengths.iter().map(|length| length + 1 + POINTER).sum();
    match bytes > room {
        true => too_large("a command line", bytes, room),
        false => Ok(()),
    }
}
