//! `skillrun approvals`: lists and revokes approvals.

use crate::args::{Approvals, ApprovalsAction};
use crate::failure::Failure;
use crate::list::printable;
use crate::{output, paths};
use serde_json::json;
use skillrun::approval::StoredApproval;
use skillrun_skill::text::show;
use std::io::Write as _;

pub(crate) fn approvals(args: &Approvals) -> Result<u8, Failure> {
    let approvals = skillrun::Approvals::file(paths::approvals()?);
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
            let meant = |one: &&StoredApproval| {
                *all || ids.contains(&one.id.to_string())
                    || skill.as_ref().is_some_and(|name| *name == one.skill)
            };
            let revoked: Vec<i64> = known.iter().filter(meant).map(|one| one.id).collect();
            let unknown: Vec<String> = ids
                .iter()
                .filter(|id| !known.iter().any(|one| one.id.to_string() == **id))
                .cloned()
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
                    label: "error",
                    message: match skill {
                        Some(name) if unknown.is_empty() => {
                            format!("nothing is approved for skill `{}`", printable(name))
                        }
                        _ => {
                            let names = unknown.iter().map(|id| format!("`{}`", printable(id)));
                            let names: Vec<String> = names.collect();
                            format!("no such approval: {}", names.join(", "))
                        }
                    },
                    hint: Some(
                        "`skillrun approvals list` shows their numbers; --skill NAME revokes every approval of a skill"
                            .into(),
                    ),
                }),
            }
        }
    }
}

fn line(one: &StoredApproval) -> String {
    let grants = match one.grants.as_slice() {
        [] => "no grants".to_owned(),
        some => some
            .iter()
            .map(|one| grant(one))
            .collect::<Vec<_>>()
            .join(" "),
    };
    let tenant = match one.tenant.as_str() {
        "" => String::new(),
        tenant => format!("  tenant {}", show(tenant)),
    };
    format!(
        "{:>4}  {}  {} {}  {}…  {}{tenant}",
        one.id,
        one.time.get(..19).unwrap_or(&one.time),
        show(&one.skill),
        show(&one.script),
        one.content.get(..12).unwrap_or_default(),
        grants,
    )
}

/// A grant as one word: a path with a space in it must not look like two grants.
fn grant(grant: &str) -> String {
    match grant.contains(char::is_whitespace) {
        true => format!("\"{}\"", show(grant)),
        false => show(grant),
    }
}
