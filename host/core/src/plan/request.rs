//! The checks on the rest of a request: runtime, limits, arguments, grants, variables.

use super::RunsIn;
use crate::files::show;
use crate::grant::Grant;
use crate::limits::{Limits, show_bytes, show_duration};
use crate::policy::{EffectiveRules, PolicyRules};
use crate::programs::{PATH, safe_variables};
use crate::refusal::{Check, Refusal};
use crate::request::{Request, Target};
use crate::skill::{Language, OWN_VARIABLES, Script};
use crate::text::toml_string;
use crate::tier::Tier;
use crate::workspace::Workspace;

/// Files that were given as bytes belong to one tenant, if a tenant gave them.
pub(super) fn check_tenant(request: &Request) -> Result<(), Refusal> {
    if let Target::Script { skill, .. } = &request.target {
        check_owner("skill", skill.tenant(), &request.tenant)?;
    }
    match &request.workspace {
        Some(Workspace::Private(private)) => {
            check_owner("workspace", private.tenant(), &request.tenant)
        }
        _ => Ok(()),
    }
}

/// Refuses a skill or a workspace of another tenant.
pub(crate) fn check_owner(what: &str, owner: Option<&str>, tenant: &str) -> Result<(), Refusal> {
    if owner.is_none_or(|owner| owner == tenant) {
        return Ok(());
    }
    let message = format!(
        "the {what} belongs to another tenant, not to `{}`",
        show(tenant)
    );
    let hint = format!("use the {what} through the tenant that gave its files");
    Err(Refusal::new(Check::Tenant, message).hint(hint))
}

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
            let (_, wanted) = line.split_once(" = ").unwrap_or_default();
            let wanted = match (name, limits.fuel) {
                ("fuel", None) => "without a limit".to_owned(),
                _ => format!("`{}`", wanted.trim_matches('"')),
            };
            let policy_rules = rules.sets_limit(name);
            let set = match policy_rules {
                Some(policy_rules) if policy_rules.has_limit(name) => {
                    format!(" that `limits.{name}` in {} sets", policy_rules.name())
                }
                Some(policy_rules) => {
                    format!(", the default that {} enforces", policy_rules.name())
                }
                None => ", the default".to_owned(),
            };
            let message = format!("{name} {wanted} exceeds the maximum of `{max}`{set}");
            let change = match (name, limits.fuel) {
                ("fuel", None) => "remove `fuel` from [limits]".to_owned(),
                _ => format!("write {line} under [limits]"),
            };
            let hint = policy_rules.unwrap_or_else(|| rules.own()).hint(&change);
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
    let mut forbidden = grants
        .iter()
        .filter_map(|grant| Some((grant, rules.forbids(grant)?)));
    match forbidden.next() {
        None => Ok(()),
        Some((grant, policy_rules)) => {
            let shown = show(&grant.to_string());
            let message = format!("`{shown}` is not granted to {grantee}{}", policy_rules.by());
            Err(not_granted(policy_rules, message, grant))
        }
    }
}

/// The refusal of something that a policy does not grant.
pub(super) fn not_granted(
    policy_rules: PolicyRules<'_>,
    message: String,
    grant: &Grant,
) -> Refusal {
    let change = add_to_allow(grant);
    policy_rules.refusal(Check::Grants, message, &change, grant.clone())
}

/// The change of a policy that allows `grant`. Untrusted names are in it, so it is one string of TOML.
pub(super) fn add_to_allow(grant: &Grant) -> String {
    match toml_string(&grant.to_string()) {
        Some(grant) => format!("add {grant} to `allow`"),
        None => "add this grant to `allow`".to_owned(),
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
