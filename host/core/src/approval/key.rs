//! What an approval is valid for: the content of a skill, a script or a command line, and what it may touch.

use super::store::ApprovalKey;
use crate::content::Content;
use crate::contents::Contents;
use crate::plan::{Checked, Plan};
use crate::text::single_quoted;
use std::borrow::Cow;
use std::sync::Arc;

/// Everything in the skill, or only the command.
pub(super) fn content_of(plan: &Plan, contents: &mut Contents) -> Result<Arc<Content>, String> {
    match &plan.target {
        Checked::Script(script) => contents.of(&script.skill),
        Checked::Command(command) => {
            Ok(Arc::new(Content::of_command(&command.program, &plan.hash)))
        }
    }
}

pub(super) fn key<'a>(
    plan: &'a Plan,
    script: &'a str,
    content: &'a str,
    grants: &'a [String],
) -> ApprovalKey<'a> {
    ApprovalKey {
        tenant: &plan.tenant,
        skill: plan.approval_key(),
        script,
        content,
        grants,
    }
}

pub(super) fn script_key(plan: &Plan) -> Cow<'_, str> {
    match &plan.target {
        Checked::Script(script) => script.script.path().into(),
        // The arguments decide what a command does, so a yes covers one command line.
        Checked::Command(command) => command_line(&command.name, &plan.args).into(),
    }
}

/// A command and its arguments, quoted as for a shell, so that no two command lines have the same text.
fn command_line(name: &str, args: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let mut line = match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => single_quoted(name),
    };
    for arg in args {
        line.push(' ');
        line.push_str(&single_quoted(arg));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_command_lines_have_the_same_text() {
        let args = |args: &[&str]| -> Vec<String> { args.iter().map(|&arg| arg.into()).collect() };
        let lines = [
            ("git", args(&[])),
            ("git", args(&["a", "b"])),
            ("git", args(&["a b"])),
            ("git", args(&["a' 'b"])),
            ("git", args(&["a\n", "b"])),
            ("git 'a' 'b'", args(&[])),
            ("git 'a'", args(&["b"])),
            ("git", args(&[""])),
        ];
        let mut all: Vec<String> = lines
            .iter()
            .map(|(name, args)| command_line(name, args))
            .collect();
        assert_eq!(all[..2], ["git", "git 'a' 'b'"]);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), lines.len(), "{all:?}");
    }
}
