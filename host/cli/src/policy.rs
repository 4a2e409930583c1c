//! `skillrun policy`: what a policy means, and whose word makes that of a directory count.

use crate::args::{Policy as Args, PolicyAction};
use crate::failure::{Failure, NOT_FOUND, REFUSED, say};
use crate::places::{self, POLICY};
use crate::{ask, list};
use serde_json::json;
use skillrun::{Policy, PolicyFile, PolicyPart, show_name};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The exit code for a policy that is wrong, as `check` has it for skills.
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
    if places::is_of_a_skill(path) {
        return Err(places::of_a_skill(path));
    }
    let file = read(path)?;
    let policy = parse(&file)?;
    // A link is refused in any case; nobody has to read it first.
    if !yes && !file.is_link() {
        let text = question(&file, &policy);
        match ask::confirm(&text, "trust this policy? [y/N]\n> ")? {
            Some(true) => {}
            Some(false) => return Err(not_trusted(&file, "a person answered `no`", None)),
            None => {
                let hint = "read it, then run it with --yes";
                let why = "there is no terminal to ask at";
                return Err(not_trusted(&file, why, Some(hint)));
            }
        }
    }
    // What was shown is what is trusted: the bytes were read once.
    let known = places::trusted()?.trust(&file)?;
    let mut out = std::io::stdout().lock();
    match json {
        true => writeln!(out, "{}", json!(known))?,
        false => writeln!(out, "trusted {}", shown(&known.path))?,
    }
    Ok(0)
}

fn not_trusted(file: &PolicyFile, why: &str, hint: Option<&str>) -> Failure {
    Failure {
        code: REFUSED,
        word: "refused",
        message: format!("policy `{}` was not trusted: {why}", shown(file.path())),
        hint: hint.map(str::to_owned),
    }
}

/// All that a person needs to see; nothing in it steers a terminal.
fn question(file: &PolicyFile, policy: &Policy) -> String {
    let mut text = format!("policy {}\n\n", shown(file.path()));
    let content = String::from_utf8_lossy(file.bytes());
    for line in content.lines() {
        let parts: Vec<String> = line.split('\t').map(show_name).collect();
        let _ = writeln!(text, "  {}", parts.join("\t").trim_end());
    }
    let _ = write!(text, "\nThis means:\n\n{}\n", meaning(policy));
    text
}

fn untrust(path: &Path, json: bool) -> Result<u8, Failure> {
    let real = real(path)?;
    let was = places::trusted()?.untrust(&real)?;
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", json!({"path": real, "was_trusted": was}))?;
    } else if was {
        writeln!(out, "no longer trusted {}", shown(&real))?;
    }
    if was {
        return Ok(0);
    }
    if json {
        return Ok(NOT_FOUND);
    }
    Err(Failure {
        code: NOT_FOUND,
        word: "error",
        message: format!("policy `{}` is not trusted", shown(&real)),
        hint: Some("`skillrun policy list` shows what is".into()),
    })
}

/// The path by which a policy is known, also of one that is gone.
fn real(path: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path)?;
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    Ok(match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    })
}

fn list(json: bool) -> Result<u8, Failure> {
    let all = places::trusted()?.list()?;
    let mut out = std::io::stdout().lock();
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
        Err(_) => places::own_policy()
            .filter(|own| own.symlink_metadata().is_ok())
            .unwrap_or_else(|| here.clone()),
    };
    let path = path.map_or_else(usual, Path::to_owned);
    let file = read(&path)?;
    let policy = parse(&file)?;
    let mut out = std::io::stdout().lock();
    if json {
        let object = json!({"path": file.path(), "parts": policy.parts()});
        writeln!(out, "{object}")?;
        return Ok(0);
    }
    writeln!(out, "policy {}\n", shown(file.path()))?;
    write!(out, "{}", meaning(&policy))?;
    if places::is_of_a_skill(&path) {
        say("warning", "it lies in a skill and counts for nothing there");
    }
    Ok(0)
}

fn read(path: &Path) -> Result<PolicyFile, Failure> {
    let file = PolicyFile::read(path);
    file.map_err(|error| Failure::host(error.to_string()))
}

fn parse(file: &PolicyFile) -> Result<Policy, Failure> {
    let policy = file.parse().map_err(|error| Failure {
        code: INVALID,
        ..Failure::host(error.to_string())
    })?;
    Ok(places::at_home(policy, file))
}

/// What a policy says, in short.
fn meaning(policy: &Policy) -> String {
    let mut text = String::new();
    for part in policy.parts() {
        let PolicyPart {
            section,
            skills,
            digest,
            inherit,
            grants,
            approval,
            native,
            interpreters,
            limits,
        } = part;
        let is_section = section.is_some();
        let head = section.unwrap_or_else(|| "every skill".into());
        let _ = writeln!(text, "{}", show_name(&head));
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<12}  {}", show_name(value));
        };
        let paths: Vec<String> = skills.iter().map(|path| shown(path)).collect();
        match (is_section, paths.is_empty()) {
            (false, _) => {}
            (true, true) => line("is for", "any folder of this name with this content"),
            (true, false) => line("is for", &paths.join(", ")),
        }
        if let Some(digest) = digest {
            line("digest", &digest);
        }
        let more = match (is_section, inherit, grants.is_empty()) {
            (false, _, true) => Some("nothing"),
            (true, true, true) => Some("what every skill may touch"),
            (true, false, true) => Some("nothing"),
            (true, true, false) => Some("and what every skill may touch"),
            (_, _, false) => None,
        };
        let all: Vec<&str> = grants.iter().map(String::as_str).chain(more).collect();
        line("may touch", &all.join(", "));
        let asked = |word: &str| match word {
            "never" => "never: nobody is asked".to_owned(),
            other => other.to_owned(),
        };
        if let Some(word) = approval {
            line("approval", &asked(word));
        }
        if let Some(word) = native {
            line("native", word);
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

fn shown(path: &Path) -> String {
    list::printable(&path.display().to_string())
}
