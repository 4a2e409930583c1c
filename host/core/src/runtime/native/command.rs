//! The kernel's limits on a command line.

use crate::limits::show_bytes;
use crate::plan::Plan;
use crate::refusal::{Check, Refusal};
use crate::runtime::environment::environment;
use rustix::process::{Resource, getrlimit};

/// What the kernel counts for each argument and variable in addition to its bytes.
const POINTER: u64 = size_of::<usize>() as u64;
/// The kernel's limit for one argument or variable, including the final zero byte; where pages are
/// larger, it is higher.
const MAX_ARGUMENT: u64 = 128 << 10;
/// The least and the most that the kernel allows for a whole command line.
const MIN_TOTAL: u64 = 128 << 10;
const MAX_TOTAL: u64 = 6 << 20;
/// Reserved for the interpreter, the script, and a scratch directory of any name.
const RESERVED: u64 = 16 << 10;

/// Refuses arguments that the kernel would not pass to a program.
pub(super) fn check(plan: &Plan) -> Result<(), Refusal> {
    let too_large = |what: &str, bytes: u64, most: u64| {
        let most = show_bytes(most);
        let message = format!(
            "arguments or variables too large: {what} {bytes} bytes, and a native script can get at \
             most {most}"
        );
        Err(Refusal::new(Check::Request, message)
            .hint("pass large data as input or as a file in the workspace"))
    };
    let variables = environment(plan, "");
    let variables = variables
        .iter()
        .map(|(name, value)| name.len() + 1 + value.len());
    let lengths = plan.args.iter().map(String::len).chain(variables);
    let lengths: Vec<u64> = lengths.map(|length| length as u64).collect();
    if let Some(bytes) = lengths.iter().find(|length| **length >= MAX_ARGUMENT) {
        return too_large("one has", *bytes, MAX_ARGUMENT - 1);
    }
    let budget = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX) / 4;
    let budget = budget.clamp(MIN_TOTAL, MAX_TOTAL) - RESERVED;
    let bytes: u64 = lengths.iter().map(|length| length + 1 + POINTER).sum();
    match bytes > budget {
        true => too_large("all together have", bytes, budget),
        false => Ok(()),
    }
}
