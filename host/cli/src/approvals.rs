//! `skillrun approvals`: lists and revokes approvals.

use crate::args::{Approvals, ApprovalsAction};
use crate::failure::Failure;
use crate::text::printable;
use crate::{output, paths};
use serde_json::json;
use skillrun::approval::{Scope, SessionApproval, StoredApproval};
use skillrun_skill::text::show;
use std::io::Write as _;

pub(crate) fn approvals(args: &Approvals) -> Result<u8, Failure> {
    let approvals = skillrun::Approvals::file(paths::approvals()?);
    let (ApprovalsAction::List { json } | ApprovalsAction::Revoke { json, .. }) = &args.action;
    let mut out = output::json_or_text(*json);
    match &args.action {
        ApprovalsAction::List { json } => {
            let all = approvals.list(Scope::All)?;
            let sessions = approvals.sessions(Scope::All)?;
            if *json {
                let all = all.iter().map(|one| json!(one));
                let all: Vec<_> = all.chain(sessions.iter().map(|one| json!(one))).collect();
                writeln!(out, "{}", json!(all))?;
                return Ok(0);
            }
            if all.is_empty() && sessions.is_empty() {
                writeln!(std::io::stderr(), "nothing is approved")?;
            }
            for one in &all {
                writeln!(out, "{}", line(one))?;
            }
            for one in &sessions {
                writeln!(out, "{}", session_line(one))?;
            }
            Ok(0)
        }
        ApprovalsAction::Revoke {
            ids,
            skill,
            session,
            all,
            json,
        } => {
            let known = approvals.list(Scope::All)?;
            let is_skill = |name: &str| skill.as_ref().is_some_and(|wanted| wanted == name);
            let meant = |one: &&StoredApproval| {
                *all || ids.contains(&one.id.to_string()) || is_skill(&one.skill)
            };
            let revoked: Vec<i64> = known.iter().filter(meant).map(|one| one.id).collect();
            let unknown: Vec<String> = ids
                .iter()
                .filter(|id| !known.iter().any(|one| one.id.to_string() == **id))
                .cloned()
                .collect();
            let mut count = approvals.revoke(Scope::All, &revoked)?;
            let mut ended = Vec::new();
            for one in approvals.sessions(Scope::All)? {
                let is_session = session.as_ref().is_some_and(|name| *name == one.session);
                if *all || is_session || is_skill(folder(&one)) {
                    count += approvals.end_session(&one.tenant, &one.session, Some(&one.skill))?;
                    ended.push(one.session);
                }
            }
            // Sessions of several skills are not next to each other.
            ended.sort();
            ended.dedup();
            let missing = match (skill, session) {
                _ if !unknown.is_empty() => {
                    let names = unknown.iter().map(|id| format!("`{}`", printable(id)));
                    let names: Vec<String> = names.collect();
                    Some(format!("no such approval: {}", names.join(", ")))
                }
                _ if count > 0 => None,
                (Some(name), _) => Some(format!(
                    "nothing is approved for skill `{}`",
                    printable(name)
                )),
                (None, Some(name)) => Some(format!(
                    "nothing is approved for session `{}`",
                    printable(name)
                )),
                (None, None) => None,
            };
            if *json {
                let done = json!({"revoked": revoked, "unknown": unknown, "sessions": ended});
                writeln!(out, "{done}")?;
            } else if missing.is_none() || count > 0 {
                writeln!(out, "revoked {count}")?;
            }
            let hint = match session {
                Some(_) if unknown.is_empty() => "`skillrun approvals list` shows the sessions",
                _ => {
                    "`skillrun approvals list` shows their numbers; --skill NAME revokes every approval of a skill"
                }
            };
            match missing {
                None => Ok(0),
                Some(message) => Err(Failure {
                    code: crate::failure::NOT_FOUND,
                    label: "error",
                    message,
                    hint: Some(hint.into()),
                }),
            }
        }
    }
}

fn line(one: &StoredApproval) -> String {
    let approver = match &one.approver {
        Some(approver) => format!("  by {approver}"),
        None => String::new(),
    };
    format!(
        "{:>4}  {}  {} {}  {}…  {}{}{approver}",
        one.id,
        second(&one.time),
        show(&one.skill),
        show(&one.script),
        one.content.get(..12).unwrap_or_default(),
        grants(&one.grants),
        tenant(&one.tenant),
    )
}

/// An approval for a session has no number: the session is ended as a whole.
fn session_line(one: &SessionApproval) -> String {
    let expires = json!(one)["expires"].clone();
    format!(
        "   -  {}  {}  {}…  {}{}  session {} until {}  by {}",
        second(&one.time),
        show(folder(one)),
        one.content.get(..12).unwrap_or_default(),
        grants(&one.grants),
        tenant(&one.tenant),
        show(&one.session),
        second(expires.as_str().unwrap_or_default()),
        one.approver,
    )
}

/// The name of the skill's folder, or of the command.
fn folder(one: &SessionApproval) -> &str {
    one.skill.rsplit('/').next().unwrap_or_default()
}

/// A time to the second.
fn second(time: &str) -> &str {
    time.get(..19).unwrap_or(time)
}

fn tenant(tenant: &str) -> String {
    match tenant {
        "" => String::new(),
        tenant => format!("  tenant {}", show(tenant)),
    }
}

fn grants(grants: &[String]) -> String {
    match grants {
        [] => "no grants".to_owned(),
        some => {
            let some: Vec<String> = some.iter().map(|one| grant(one)).collect();
            some.join(" ")
        }
    }
}

/// A grant as one word: a path with a space in it must not look like two grants.
fn grant(grant: &str) -> String {
    match grant.contains(char::is_whitespace) {
        true => format!("\"{}\"", show(grant)),
        false => show(grant),
    }
}
