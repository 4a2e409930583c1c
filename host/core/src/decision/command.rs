//! The checks on a command of this machine: the policy names it, and it is installed.

use super::{Check, CheckedCommand, Refusal, hex};
use crate::files::{plain, show};
use crate::grant::Grant;
use crate::policy::EffectiveRules;
use crate::programs::{self, PATH};
use crate::request::Tier;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read as _};

/// The grant that a command needs. Whether it is installed is nobody's business before that.
pub(super) fn check_granted(rules: &EffectiveRules<'_>, name: &str) -> Result<Grant, Refusal> {
    let wanted: Grant = format!("run:{name}").parse().map_err(|_| {
        let message = format!("`{}` is not the name of a command", show(name));
        Refusal::new(Check::Request, message).hint("a command is named without a path")
    })?;
    match rules.allows(&wanted) {
        true => Ok(wanted),
        false => Err(
            Refusal::new(Check::Grants, format!("`{wanted}` is not granted")).hint(format!(
                "add \"{wanted}\" to `allow` in skillrun.toml, or pass --allow {wanted}"
            )),
        ),
    }
}

/// Finds the command, and hashes it.
pub(super) fn find(name: &str, tier: Tier) -> Result<(CheckedCommand, String), Refusal> {
    if tier == Tier::Wasm {
        let message = format!("no wasm runtime for the command `{name}`");
        return Err(Refusal::new(Check::Runtime, message));
    }
    let missing = || {
        let message = format!("the command `{name}` is not installed");
        let folders = PATH.replace(':', ", ");
        Refusal::new(Check::Runtime, message).hint(format!("it is looked for in {folders}"))
    };
    let program = programs::find(&[name]).ok_or_else(missing)?;
    let hash = File::open(&program).and_then(hash).map_err(|error| {
        let message = format!("the command `{name}`: {}", plain(&error));
        Refusal::new(Check::Runtime, message)
    })?;
    let name = name.to_owned();
    Ok((CheckedCommand { name, program }, hash))
}

fn hash(mut file: File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut part = vec![0; 256 * 1024];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&part[..count]),
        }
    }
}
