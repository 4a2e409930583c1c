//! The checks on the rest of a request: runtime, limits, arguments, grants, variables.

use super::RunsIn;
use crate::files::show;
use crate::grant::Grant;
use crate::limits::{Limits, show_bytes, show_duration};
use crate::policy::EffectiveRules;
use crate::programs::{PATH, safe_variables};
use crate::refusal::{Check, Refusal};
use crate::request::{Request, Target, Tier};
use crate::skill::{Language, OWN_VARIABLES, Script};

pub(super) fn check_runtime(
    script: &Script,
    tier: Tier,
    (runtime, runs): (&'static str, RunsIn),
) -> Result<&'static str, Refusal> {
    let language = script.language();
    let (name, word) = (show(script.path()), language.word());
    match runs {
        RunsIn::Wasm | RunsIn::Native => return Ok(runtime),
        RunsIn::NotInstalled => {
            let interpreter = language.interpreter();
            let message =
                format!("interpreter `{interpreter}` for script `{name}` is not installed");
            let package = match language {
                Language::Python => "python3",
                Language::JavaScript => "nodejs",
                _ => interpreter,
            };
            return Err(Refusal::new(Check::Runtime, message).hint(format!(
                "install the system package `{package}`; searched in {}",
                PATH.replace(':', ", ")
            )));
        }
        RunsIn::Nowhere => {}
    }
    let refusal = match (language, tier) {
        (Language::PowerShell | Language::Batch, _) => Refusal::new(
            Check::Runtime,
            format!("no interpreter for {word} script `{name}` on this system"),
        ),
        (_, Tier::Native) => Refusal::new(
            Check::Runtime,
            format!("no native runtime for {word} script `{name}`"),
        ),
        (_, Tier::Wasm) => Refusal::new(
            Check::Runtime,
            format!("no wasm runtime for {word} script `{name}`"),
        ),
        (_, Tier::Auto) => Refusal::new(
            Check::Runtime,
            format!("no runtime for {word} script `{name}`"),
        ),
    };
    Err(refusal.hint("`skillrun runtimes list` shows what can run here"))
}

pub(super) fn check_limits(
    rules: &EffectiveRules<'_>,
    request: &Request,
) -> Result<Limits, Refusal> {
    let max = rules.limits();
    let Some(limits) = &request.limits else {
        return Ok(max);
    };
    limits
        .check()
        .map_err(|error| Refusal::new(Check::Request, error.to_string()))?;
    let bytes = |name, wanted: u64, max: u64| {
        let line = format!("{name} = \"{}\"", show_bytes(wanted));
        (name, wanted > max, line, show_bytes(max))
    };
    let count = |name, wanted: u64, max: u64| {
        let line = format!("{name} = {wanted}");
        (name, wanted > max, line, max.to_string())
    };
    let time = format!("time = \"{}\"", show_duration(limits.time));
    let over = [
        (
            "time",
            limits.time > max.time,
            time,
            show_duration(max.time),
        ),
        bytes("memory", limits.memory, max.memory),
        bytes("output", limits.output, max.output),
        bytes("scratch", limits.scratch, max.scratch),
        bytes("disk", limits.disk, max.disk),
        count(
            "open_files",
            limits.open_files.into(),
            max.open_files.into(),
        ),
        count("processes", limits.processes.into(), max.processes.into()),
        count(
            "fuel",
            limits.fuel.unwrap_or(u64::MAX),
            max.fuel.unwrap_or(u64::MAX),
        ),
    ];
    if limits.arguments > max.arguments {
        let max = show_bytes(max.arguments);
        let message = format!("arguments are limited to `{max}`");
        return Err(Refusal::new(Check::Limits, message));
    }
    match over.into_iter().find(|(_, over, _, _)| *over) {
        None => Ok(limits.clone()),
        Some((name, _, line, max)) => {
            let message = format!("{name} exceeds the policy's maximum of `{max}`");
            let hint = match (name, limits.fuel) {
                ("fuel", None) => "remove `fuel` from [limits] in skillrun.toml".to_owned(),
                _ => format!("write {line} under [limits] in skillrun.toml"),
            };
            Err(Refusal::new(Check::Limits, message).hint(hint))
        }
    }
}

/// Checks the sizes and returns the bytes for standard input.
pub(super) fn check_arguments(request: &Request, limits: &Limits) -> Result<Vec<u8>, Refusal> {
    let too_large = |what: &str, bytes: u64| {
        Refusal::new(
            Check::Request,
            format!(
                "arguments too large: {what} of {bytes} bytes, at most {}",
                show_bytes(limits.arguments)
            ),
        )
        .hint("pass large data as a file in the workspace")
    };
    let bytes: u64 = request.args.iter().map(|arg| arg.len() as u64 + 1).sum();
    if bytes > limits.arguments {
        return Err(too_large("a command line", bytes));
    }
    if let Some(at) = request.args.iter().position(|arg| arg.contains('\0')) {
        return Err(Refusal::new(
            Check::Request,
            format!("argument {} contains a NUL byte", at + 1),
        ));
    }
    let Some(input) = &request.input else {
        return Ok(Vec::new());
    };
    let input = serde_json::to_vec(input)
        .map_err(|error| Refusal::new(Check::Request, format!("input: {error}")))?;
    if input.len() as u64 > limits.arguments {
        return Err(too_large("an input", input.len() as u64));
    }
    Ok(input)
}

/// Names of tenants and sessions are stored and recorded; they are names, not texts.
const MAX_NAME_BYTES: usize = 1024;

pub(super) fn check_session(request: &Request) -> Result<(), Refusal> {
    let names = [("tenant", &request.tenant), ("session", &request.session)];
    match names.iter().find(|(_, name)| name.len() > MAX_NAME_BYTES) {
        None => Ok(()),
        Some((what, _)) => Err(Refusal::new(
            Check::Request,
            format!("the name of the {what} is longer than {MAX_NAME_BYTES} bytes"),
        )),
    }
}

pub(super) fn check_grants(
    rules: &EffectiveRules<'_>,
    target: &Target,
    grants: &[Grant],
) -> Result<(), Refusal> {
    let grantee = match target {
        Target::Script { skill, .. } => format!("skill `{}`", show(skill.name())),
        other => format!("the command `{}`", show(other.name())),
    };
    match grants.iter().find(|grant| !rules.allows(grant)) {
        None => Ok(()),
        Some(grant) => Err(Refusal::new(
            Check::Grants,
            format!("`{grant}` is not granted to {grantee}"),
        )
        .hint(format!(
            "add \"{grant}\" to `allow` in skillrun.toml, or pass --allow {grant}"
        ))),
    }
}

/// The caller may change neither the variables that describe the script and its paths, nor those that prevent a command
/// from executing files that it finds.
pub(super) fn check_env(target: &Target, env: &[(String, String)]) -> Result<(), Refusal> {
    let safe = match target {
        Target::Command(name) => safe_variables(name),
        _ => Vec::new(),
    };
    let refuse = |message: String| Err(Refusal::new(Check::Grants, message));
    for (name, value) in env {
        if OWN_VARIABLES.contains(&name.as_str()) || safe.iter().any(|(own, _)| own == name) {
            return refuse(format!("the variable `{name}` is reserved by skillrun"));
        }
        if value.contains('\0') || name.contains(['\0', '=']) || name.is_empty() {
            return refuse(format!(
                "the variable `{}` has an invalid name or a NUL byte in its value",
                show(name)
            ));
        }
    }
    Ok(())
}
