//! What a run may touch, as texts that a store keeps, and whether an approval for a session covers it.

use super::store::SessionApproval;
use crate::grant::Grant;
use crate::plan::{Checked, Plan};
use crate::text::path_text;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// Begins the text of a workspace. No grant begins with it.
const WORKSPACE: &str = "workspace:";

/// What a run may touch: the grants and the workspace, sorted. The same directory counts differently as a workspace and
/// as a grant, because the script starts in its workspace.
pub(super) fn access(plan: &Plan) -> Vec<String> {
    access_of([plan])
}

/// What several runs may touch.
pub(super) fn access_of<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for plan in plans {
        all.extend(plan.grants.iter().map(grant_text));
        let workspace = plan.workspace_path();
        all.extend(workspace.map(|path| format!("{WORKSPACE}{}", path_text(&path))));
    }
    all.sort();
    all.dedup();
    all
}

/// The path of a plan's skill or command, as text.
pub(super) fn skill_path(plan: &Plan) -> String {
    path_text(match &plan.target {
        Checked::Script(script) => script.skill.path(),
        Checked::Command(command) => &command.program,
    })
}

/// What an approval for a session and a skill covers. Approvals do not add up: nobody was asked about what two of them
/// allow together.
#[derive(Debug, Default)]
pub(super) struct Covered {
    grants: Vec<Grant>,
    /// Directories to write, kept apart from the grants: a script starts in its workspace, and its arguments may tell it
    /// what to do there.
    workspaces: Vec<Grant>,
}

impl Covered {
    pub(super) fn by(approval: &SessionApproval) -> Self {
        let mut covered = Self::default();
        for text in &approval.grants {
            // A text that cannot be read covers nothing.
            match text.strip_prefix(WORKSPACE) {
                Some(path) => {
                    let path = parse_path(path).map(Grant::Write);
                    covered.workspaces.extend(path);
                }
                None => covered.grants.extend(parse_grant(text)),
            }
        }
        covered
    }

    /// Whether a run touches nothing else.
    pub(super) fn covers(&self, plan: &Plan) -> bool {
        let covered =
            |grants: &[Grant], wanted: &Grant| grants.iter().any(|grant| grant.covers(wanted));
        let workspace = plan.workspace_path().map(Grant::Write);
        let mut grants = plan.grants.iter();
        grants.all(|wanted| covered(&self.grants, wanted))
            && workspace.is_none_or(|wanted| covered(&self.workspaces, &wanted))
    }
}

/// A grant as text, so that no two grants have the same one.
fn grant_text(grant: &Grant) -> String {
    match grant {
        Grant::Read(path) => format!("read:{}", path_text(path)),
        Grant::Write(path) => format!("write:{}", path_text(path)),
        other => other.to_string(),
    }
}

/// The grant of a text. The text of a grant may contain characters that nobody can type.
fn parse_grant(text: &str) -> Option<Grant> {
    let grant = match text.split_once(':') {
        Some(("read", path)) => Grant::Read(parse_path(path)?),
        Some(("write", path)) => Grant::Write(parse_path(path)?),
        _ => text.parse().ok()?,
    };
    (grant_text(&grant) == text).then_some(grant)
}

/// The path of a text that [`path_text`] returned.
fn parse_path(text: &str) -> Option<PathBuf> {
    let Some((_, digits)) = text.split_once('\0') else {
        return Some(text.into());
    };
    let bytes = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    let bytes = bytes.collect::<Option<Vec<u8>>>()?;
    Some(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    #[test]
    fn every_grant_has_a_text_of_its_own_that_means_it() {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let grants = [
            Grant::Write(path(b"/a\xff")),
            Grant::Write(path(b"/a\xfe")),
            Grant::Write(path("/a\u{fffd}".as_bytes())),
            Grant::Read(path(b"/a\xff")),
            Grant::Read(path(b"/a\nwrite:/b")),
            Grant::Write(path(b"/a b")),
            Grant::Write(Grant::SKILL.into()),
            Grant::Net("*.example.com".into(), Some(443)),
            Grant::Net("*".into(), None),
            Grant::Env("X".into()),
            Grant::Run("git".into()),
            Grant::Interpreter("ruby".into()),
            Grant::Native,
        ];
        let mut all: Vec<String> = grants.iter().map(grant_text).collect();
        for (grant, text) in grants.iter().zip(&all) {
            assert_eq!(parse_grant(text).as_ref(), Some(grant), "{text:?}");
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), grants.len(), "{all:?}");
        for text in ["", "reed:/a", "read", "write:/a\0zz", "net:a b", "env:A B"] {
            assert_eq!(parse_grant(text), None, "{text:?}");
        }
    }
}
