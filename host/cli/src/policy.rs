//! `skillrun policy`: shows what a policy means, and records which policies a person trusts.

use crate::args::{Policy as Args, PolicyAction};
use crate::ask::{self, Sheet};
use crate::failure::{Failure, HOST, NOT_FOUND, REFUSED, print_message};
use crate::paths::{self, POLICY};
use crate::text::shown;
use serde_json::json;
use skillrun::Policy;
use skillrun::policy::{PolicyFile, PolicyPart};
use skillrun_skill::text::show;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The exit code for an invalid policy, as `check` uses it for invalid skills.
const INVALID: u8 = 1;

pub(crate) fn policy(args: &Args) -> Result<u8, Failure> {
    match &args.action {
        PolicyAction::Trust { file, yes, json } => trust(file, *yes, *json),
        PolicyAction::Untrust { file, json } => untrust(file, *json),
        PolicyAction::List { json } => list(*json),
        PolicyAction::Check { file, json } => check(file.as_deref(), *json),
    }
}

fn trust(path: &Path, yes: bool, json: bool) -> Result<u8, Failure> {
    if paths::is_inside_skill(path) {
        return Err(paths::inside_skill(path));
    }
    let file = read(path)?;
    let policy = parse(&file)?;
    // A link is refused in any case, so do not ask a person to read it first.
    if !yes && !file.is_link() {
        let text = |sheet: &mut Sheet| question(sheet, &file, &policy);
        match ask::confirm(text, "trust this policy? [y/N]\n> ")? {
            Some(Ok(())) => {}
            Some(Err(why)) => return Err(not_trusted(&file, why, None)),
            None => {
                let hint = "read the policy, then run `skillrun policy trust --yes`";
                let why = "there is no terminal to ask at";
                return Err(not_trusted(&file, why, Some(hint)));
            }
        }
    }
    // The bytes were read once: what the person saw is what we trust.
    let known = paths::trusted_policies()?.trust(&file)?;
    let mut out = crate::output::json_or_text(json);
    match json {
        true => writeln!(out, "{}", json!(known))?,
        false => writeln!(out, "trusted {}", shown(&known.path))?,
    }
    Ok(0)
}

fn not_trusted(file: &PolicyFile, why: &str, hint: Option<&str>) -> Failure {
    Failure {
        code: REFUSED,
        label: "refused",
        message: format!("policy `{}` was not trusted: {why}", shown(file.path())),
        hint: hint.map(str::to_owned),
    }
}

/// Writes the whole policy and its meaning.
///
/// Every row of the file starts with `| `, or with `… ` if it continues the row above. Every row of the meaning is
/// indented. So no text of the policy can look like a row of ours, and nothing in it controls the terminal: a tab,
/// too, is shown as `\t`.
fn question(sheet: &mut Sheet, file: &PolicyFile, policy: &Policy) {
    sheet.rows_with("policy ", "       ", &shown(file.path()));
    sheet.rows_with("", "", "");
    let content = String::from_utf8_lossy(file.bytes());
    for line in content.lines() {
        sheet.rows_with("  | ", "  … ", &show(line));
    }
    for line in ["", "This means:", ""] {
        sheet.rows_with("", "", line);
    }
    for line in meaning(policy.parts()).lines() {
        let text = line.trim_start();
        let indent = " ".repeat(2 + line.len() - text.len());
        sheet.rows_with(&indent, &format!("{indent}  … "), text);
    }
    sheet.rows_with("", "", "");
}

fn untrust(path: &Path, json: bool) -> Result<u8, Failure> {
    let real = real(path)?;
    let was = paths::trusted_policies()?.untrust(&real)?;
    let mut out = crate::output::json_or_text(json);
    if was {
        match json {
            true => writeln!(out, "{}", json!({"path": real, "was_trusted": true}))?,
            false => writeln!(out, "no longer trusted {}", shown(&real))?,
        }
        return Ok(0);
    }
    Err(Failure {
        code: NOT_FOUND,
        label: "error",
        message: format!("policy `{}` is not trusted", shown(&real)),
        hint: Some("`skillrun policy list` shows the trusted policies".into()),
    })
}

/// The path under which the trust of a policy is recorded. The policy itself may no longer exist.
fn real(path: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path)?;
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    Ok(match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    })
}

fn list(json: bool) -> Result<u8, Failure> {
    let all = paths::trusted_policies()?.list()?;
    let mut out = crate::output::json_or_text(json);
    if json {
        writeln!(out, "{}", json!(all))?;
        return Ok(0);
    }
    if all.is_empty() {
        writeln!(std::io::stderr(), "no policy is trusted")?;
    }
    for known in all {
        let start = known.sha256.get(..12).unwrap_or_default();
        writeln!(out, "{start}…  {}", shown(&known.path))?;
    }
    Ok(0)
}

fn check(path: Option<&Path>, json: bool) -> Result<u8, Failure> {
    let here = PathBuf::from(POLICY);
    let usual = || match here.symlink_metadata() {
        Ok(_) => here.clone(),
        Err(_) => paths::own_policy()
            .filter(|own| own.symlink_metadata().is_ok())
            .unwrap_or_else(|| here.clone()),
    };
    let is_named = path.is_some();
    let path = path.map_or_else(usual, Path::to_owned);
    let file = match read(&path) {
        Ok(file) => Some(file),
        // Without a policy, the ceilings may still have something to say.
        Err(missing) if !is_named && missing.code == NOT_FOUND => {
            let empty = paths::with_ceilings(Policy::default(), false)?;
            match empty.ceilings().is_empty() {
                true => return Err(missing),
                false => None,
            }
        }
        Err(failure) => return Err(failure),
    };
    let policy = file.as_ref().map(parse).transpose()?;
    let policy = paths::with_ceilings(policy.unwrap_or_default(), is_named)?;
    let source = file.as_ref().map(PolicyFile::path);
    let mut out = crate::output::json_or_text(json);
    if json {
        let ceilings = policy.ceilings().iter();
        let ceilings = ceilings
            .map(|ceiling| json!({"path": ceiling.source(), "parts": ceiling.ceiling_parts()}));
        let object = json!({
            "path": source,
            "parts": policy.parts(),
            "ceilings": ceilings.collect::<Vec<_>>(),
            "in_force": policy.effective_part(),
        });
        writeln!(out, "{object}")?;
        return Ok(0);
    }
    let source = source.map_or_else(|| "none".to_owned(), shown);
    writeln!(out, "policy {source}\n")?;
    write!(out, "{}", meaning(policy.parts()))?;
    for ceiling in policy.ceilings() {
        let source = ceiling.source().map(shown).unwrap_or_default();
        writeln!(out, "\nceiling {source}\n")?;
        write!(out, "{}", meaning(ceiling.ceiling_parts()))?;
    }
    if !policy.ceilings().is_empty() {
        writeln!(out, "\nin force\n")?;
        write!(out, "{}", meaning(vec![policy.effective_part()]))?;
    }
    if paths::is_inside_skill(&path) {
        print_message("warning", "it is inside a skill, where no policy is read");
    }
    Ok(0)
}

fn read(path: &Path) -> Result<PolicyFile, Failure> {
    let missing = path
        .symlink_metadata()
        .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    PolicyFile::read(path).map_err(|error| Failure {
        code: if missing { NOT_FOUND } else { HOST },
        label: "error",
        ..error.into()
    })
}

fn parse(file: &PolicyFile) -> Result<Policy, Failure> {
    let policy = file.parse().map_err(|error| Failure {
        code: INVALID,
        label: "error",
        ..error.into()
    })?;
    Ok(paths::with_home_dirs(policy, file))
}

/// A summary of a policy.
fn meaning(parts: Vec<PolicyPart>) -> String {
    let mut text = String::new();
    for part in parts {
        let PolicyPart {
            section,
            skills,
            digest,
            inherit,
            runtime,
            enforce,
            any_grant,
            grants,
            approval,
            native,
            workers,
            interpreters,
            limits,
        } = part;
        let is_section = section.is_some();
        let head = section.unwrap_or_else(|| "every skill".into());
        let _ = writeln!(text, "{}", show(&head));
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<12}  {}", show(value));
        };
        let paths: Vec<String> = skills.iter().map(|path| shown(path)).collect();
        match (is_section, paths.is_empty()) {
            (false, _) => {}
            (true, true) => line("applies to", "any folder of this name with this content"),
            (true, false) => line("applies to", &paths.join(", ")),
        }
        if let Some(digest) = digest {
            line("digest", &digest);
        }
        if enforce {
            line("enforce", "flags and other policies can only narrow it");
        }
        let more = match (is_section, inherit, grants.is_empty()) {
            _ if any_grant => Some("anything that is granted elsewhere"),
            (false, _, true) => Some("nothing"),
            (true, true, true) => Some("what every skill may touch"),
            (true, false, true) => Some("nothing"),
            (true, true, false) => Some("and what every skill may touch"),
            (_, _, false) => None,
        };
        let all: Vec<&str> = grants.iter().map(String::as_str).chain(more).collect();
        line("may touch", &all.join(", "));
        let asked = |word: &str| match word {
            "never" => "never: scripts run without asking".to_owned(),
            other => other.to_owned(),
        };
        if let Some(word) = approval {
            line("approval", &asked(word));
        }
        if let Some(word) = native {
            line("native", word);
        }
        if let Some(word) = workers {
            line("workers", word);
        }
        if let Some(word) = runtime {
            line("runtime", word);
        }
        if let Some(names) = interpreters {
            let names = match names.is_empty() {
                true => "none".to_owned(),
                false => names.join(", "),
            };
            line("interpreters", &names);
        }
        if !limits.is_empty() {
            line("limits", &limits.join(", "));
        }
    }
    text
}
