//! `skillrun approvals`: what people have said yes to, and taking it back.

use crate::args::{Approvals, ApprovalsAction};
use crate::failure::Failure;
use crate::list::printable;
use crate::{output, places};
use serde_json::json;
use skillrun::Approved;
use std::io::Write as _;

pub(crate) fn approvals(args: &Approvals) -> Result<u8, Failure> {
    let approvals = skillrun::Approvals::file(places::approvals()?);
    let (ApprovalsAction::List { json } | ApprovalsAction::Revoke { json, .. }) = &args.action;
    let mut out = output::json_or_text(*json);
    match &args.action {
        ApprovalsAction::List { json } => {
            let all = approvals.list()?;
            if *json {
                writeln!(out, "{}", json!(all))?;
            } else if all.is_empty() {
                writeln!(std::io::stderr(), "nothing is approved")?;
            }
            for one in all.iter().filter(|_| !json) {
                writeln!(out, "{}", line(one))?;
            }
            Ok(0)
        }
        ApprovalsAction::Revoke {
            ids,
            skill,
            all,
            json,
        } => {
            let known = approvals.list()?;
            let meant = |one: &&Approved| {
                *all || ids.contains(&one.id)
                    || skill.as_ref().is_some_and(|name| *name == one.skill)
            };
            let revoked: Vec<i64> = known.iter().filter(meant).map(|one| one.id).collect();
            let unknown: Vec<String> = ids
                .iter()
                .filter(|id| !known.iter().any(|one| one.id == **id))
                .map(i64::to_string)
                .collect();
            let count = approvals.revoke(&revoked)?;
            if *json {
                writeln!(out, "{}", json!({"revoked": revoked, "unknown": unknown}))?;
            } else {
                writeln!(out, "revoked {count}")?;
            }
            match unknown.is_empty() && !(revoked.is_empty() && skill.is_some()) {
                true => Ok(0),
                false => Err(Failure {
                    code: crate::failure::NOT_FOUND,
                    word: "error",
                    message: match skill {
                        Some(name) if unknown.is_empty() => {
                            format!("nothing is approved for skill `{}`", printable(name))
                        }
                        _ => format!("there is no approval {}", unknown.join(", ")),
                    },
                    hint: Some("`skillrun approvals list` shows them".into()),
                }),
            }
        }
    }
}

fn line(one: &Approved) -> String {
    let grants = match one.grants.as_slice() {
        [] => "no grants".to_owned(),
        some => some
            .iter()
            .map(|one| grant(one))
            .collect::<Vec<_>>()
            .join(" "),
    };
    let world = match one.world.as_str() {
        "" => String::new(),
        world => format!("  world {}", skillrun::show_name(world)),
    };
    format!(
        "{:>4}  {}  {} {}  {}…  {}{world}",
        one.id,
        one.time.get(..19).unwrap_or(&one.time),
        skillrun::show_name(&one.skill),
        skillrun::show_name(&one.script),
        one.content.get(..12).unwrap_or_default(),
        grants,
    )
}

/// A grant as one word: a path with a blank in it must not look like two grants.
fn grant(grant: &str) -> String {
    match grant.contains(char::is_whitespace) {
        true => format!("\"{}\"", skillrun::show_name(grant)),
        false => skillrun::show_name(grant),
    }
}
