//! The checks on the script: it exists, it is inside its skill, it is a plain file, its interpreter is allowed, and
//! the skill's `allowed-tools` allow it.

use crate::content::Content;
use crate::contents::Contents;
use crate::files::{self, ReadError, plain, show};
use crate::grant::Grant;
use crate::policy::EffectiveRules;
use crate::refusal::{Check, Refusal};
use crate::skill::{NoScript, Script, Skill};
use crate::text::{shell_path, single_quoted, toml_string};
use cap_std::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Far above any script that was written by hand or by a model.
pub(super) const MAX_SCRIPT_BYTES: u64 = 10 * 1024 * 1024;

pub(super) fn find_script(skill: &Skill, wanted: &str) -> Result<Script, Refusal> {
    let name = show(wanted);
    let of = show(skill.name());
    let available = || {
        let all: Vec<_> = skill
            .scripts()
            .iter()
            .take(20)
            .map(|s| show(s.path()))
            .collect();
        match (all.len(), skill.scripts().len()) {
            (0, _) => "this skill has no scripts".to_owned(),
            (n, all_of) if n < all_of => {
                format!("its scripts: {}, … ({all_of} in all)", all.join(", "))
            }
            _ => format!("its scripts: {}", all.join(", ")),
        }
    };
    match skill.find_script(wanted) {
        Ok(script) => Ok(script.clone()),
        Err(NoScript::Missing { nearest }) => {
            let nearest = nearest
                .and_then(shell_path)
                .map(|name| format!("did you mean `{name}`? "))
                .unwrap_or_default();
            Err(Refusal::new(
                Check::Script,
                format!("script `{name}` not found in skill `{of}`"),
            )
            .hint(format!("{nearest}{}", available())))
        }
        Err(NoScript::Ambiguous { candidates }) => {
            let all: Vec<_> = candidates
                .iter()
                .map(|path| format!("`{}`", show(path)))
                .collect();
            Err(Refusal::new(
                Check::Script,
                format!(
                    "script `{name}` is ambiguous in skill `{of}`: {}",
                    all.join(", ")
                ),
            )
            .hint("name it by its path"))
        }
        Err(NoScript::Outside) => Err(outside(&of, &name)),
        Err(NoScript::Unfit { path, why }) => Err(Refusal::new(
            Check::Script,
            format!("`{}` of skill `{of}` {why}", show(&path)),
        )
        .hint(available())),
    }
}

fn outside(skill: &str, script: &str) -> Refusal {
    Refusal::new(
        Check::Path,
        format!("script `{script}` leads out of skill `{skill}`"),
    )
    .hint("name a script by its path inside the skill; links must stay inside too")
}

/// Reads the script once, through the handle that is checked. Also returns its path with links resolved.
pub(super) fn read_script(skill: &Skill, script: &Script) -> Result<(Vec<u8>, PathBuf), Refusal> {
    let (name, of) = (show(script.path()), show(skill.name()));
    let fail = |error: ReadError| match error {
        ReadError::Outside => outside(&of, &name),
        ReadError::Io(error) => Refusal::new(
            Check::Script,
            format!(
                "cannot read script `{name}` of skill `{of}`: {}",
                plain(&error)
            ),
        ),
        error => Refusal::new(
            Check::Script,
            format!("script `{name}` of skill `{of}` {error}"),
        ),
    };
    let opened = files::open_with_path(&skill.root(), Path::new(script.path()));
    let (file, meta, real) = opened.map_err(fail)?;
    // If the folder was moved in the meantime, the path as listed is used; the digest and the approval are then compared
    // under that path.
    let real = real.and_then(Result::ok);
    let real = real.and_then(|path| Some(path.strip_prefix(skill.directory()).ok()?.to_owned()));
    let real = real.unwrap_or_else(|| script.path().into());
    let source = files::read_open(file, &meta, MAX_SCRIPT_BYTES).map_err(fail)?;
    for (bit, word) in [(0o4000, "setuid"), (0o2000, "setgid")] {
        if meta.mode() & bit != 0 {
            return Err(Refusal::new(
                Check::Permission,
                format!("script `{name}` of skill `{of}` has the {word} bit"),
            )
            .hint("remove it: a script never needs the rights of its owner"));
        }
    }
    Ok((source, real))
}

/// Compares the content of the skill with the digests in its sections, if there are any, and returns it. The script that
/// was read must be part of that content.
pub(super) fn check_digest(
    rules: &EffectiveRules<'_>,
    skill: &Skill,
    real: &Path,
    hash: &str,
    contents: &mut Contents,
) -> Result<Option<Arc<Content>>, Refusal> {
    let path = show(&skill.path().display().to_string());
    let refuse = |message: String| Refusal::new(Check::Policy, message);
    let mut compared = None;
    for (policy_rules, wanted) in rules.digests() {
        let section = policy_rules.section().unwrap_or_default();
        let content =
            contents
                .of(skill)
                .and_then(|content| match content.contains_file(real, hash) {
                    true => Ok(content),
                    false => Err("the script changed in the meantime".to_owned()),
                });
        let content = content.map_err(|why| {
            refuse(format!(
                "the skill in `{path}` cannot be compared with the digest in the policy's section `{section}`: {why}"
            ))
        })?;
        if wanted.strip_prefix("sha256:") != Some(content.hash()) {
            let by = policy_rules.by();
            let digest = content.hash();
            return Err(refuse(format!(
                "the skill in `{path}` does not match the digest in the policy's section `{section}`{by}"
            ))
            .hint(match by.is_empty() {
                true => format!(
                    "if this content is intended, write digest = \"sha256:{digest}\" in `{section}`"
                ),
                false => policy_rules.hint(&format!("set digest = \"sha256:{digest}\"")),
            }));
        }
        compared = Some(content);
    }
    Ok(compared)
}

pub(super) fn check_interpreter(
    rules: &EffectiveRules<'_>,
    skill: &Skill,
    script: &Script,
) -> Result<(), Refusal> {
    let wanted = script.interpreter();
    let Some(policy_rules) = rules.forbids_interpreter(wanted) else {
        return Ok(());
    };
    let message = format!(
        "interpreter `{wanted}` is not allowed for skill `{}`{} (allowed: {})",
        show(skill.name()),
        policy_rules.by(),
        rules.interpreters().join(", ")
    );
    let grant = Grant::Interpreter(wanted.to_owned());
    Err(policy_rules.refusal(
        Check::Interpreter,
        message,
        &add_to_interpreters(wanted),
        grant,
    ))
}

/// The change of a policy that allows an interpreter.
pub(super) fn add_to_interpreters(name: &str) -> String {
    match toml_string(name) {
        Some(name) => format!("add {name} to `interpreters`"),
        None => "add it to `interpreters`".to_owned(),
    }
}

pub(super) fn check_allowed_tools(
    skill: &Skill,
    script: &Script,
    args: &[String],
) -> Result<(), Refusal> {
    let Some(tools) = skill.allowed_tools() else {
        return Ok(());
    };
    if tools.allow_script(&command_lines(skill, script, args)) {
        return Ok(());
    }
    let (of, list) = (show(skill.name()), show(&tools.to_string()));
    let message = if tools.entries().any(|entry| entry.starts_with("Bash")) {
        format!(
            "the command line `{} {}` matches none of the allowed-tools of skill `{of}`: {list}",
            script.interpreter(),
            show(script.path())
        )
    } else {
        let tools = match tools.entries().next() {
            Some(_) => format!("its allowed-tools are {list}"),
            None => "its allowed-tools are empty".into(),
        };
        format!("Tool 'Bash' not allowed for skill `{of}`: {tools}")
    };
    Err(Refusal::new(Check::AllowedTools, message)
        .hint("the skill itself sets `allowed-tools` in SKILL.md; a script needs `Bash` or a matching `Bash(…)` there"))
}

/// The command lines by which a skill may refer to this run.
fn command_lines(skill: &Skill, script: &Script, args: &[String]) -> Vec<String> {
    let path = script.path();
    let folder = skill
        .path()
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    let paths = [
        path.to_owned(),
        format!("./{path}"),
        format!("{folder}/{path}"),
        format!("skills/{folder}/{path}"),
        format!("{{baseDir}}/{path}"),
        format!("${{CLAUDE_SKILL_DIR}}/{path}"),
        format!("${{CLAUDE_PLUGIN_ROOT}}/{path}"),
        skill.path().join(path).display().to_string(),
    ];
    let tail = |quote: fn(&str) -> String| {
        args.iter().fold(String::new(), |mut tail, arg| {
            tail.push(' ');
            match is_one_word(arg) {
                true => tail.push_str(arg),
                false => tail.push_str(&quote(arg)),
            }
            tail
        })
    };
    let interpreters = std::iter::once(script.interpreter())
        .chain(script.language().other_names().iter().copied());
    let mut lines: Vec<String> = interpreters
        .flat_map(|interpreter| {
            let quoted = paths
                .iter()
                .map(move |path| format!("{interpreter} \"{path}\""));
            paths
                .iter()
                .map(move |path| format!("{interpreter} {path}"))
                .chain(quoted)
        })
        .collect();
    lines.extend(paths);
    let double = match args.iter().all(|arg| is_one_word(arg)) {
        true => Vec::new(),
        false => with_tail(&lines, &tail(in_double_quotes)),
    };
    lines = with_tail(&lines, &tail(single_quoted));
    lines.extend(double);
    lines
}

fn with_tail(lines: &[String], tail: &str) -> Vec<String> {
    lines.iter().map(|line| [line, tail].concat()).collect()
}

/// Whether a shell would parse it as one literal word. Without quotes, `a --dry-run` would be two words, one of which
/// a pattern may demand.
fn is_one_word(arg: &str) -> bool {
    let splits = |c: char| c.is_whitespace() || c.is_control() || "\"'`\\$&|;<>()".contains(c);
    !arg.is_empty() && !arg.contains(splits)
}

fn in_double_quotes(arg: &str) -> String {
    let mut quoted = String::from('"');
    for c in arg.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_with_spaces_counts_as_one_word_of_the_command_line() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir_all(folder.join("scripts")).unwrap();
        std::fs::write(folder.join("scripts/x.py"), "").unwrap();
        let allowed = |tools: &str, args: &[&str]| {
            let text = format!("---\ndescription: d\nallowed-tools: {tools}\n---\n");
            std::fs::write(folder.join("SKILL.md"), text).unwrap();
            let skill = Skill::load(folder).unwrap();
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            check_allowed_tools(&skill, &skill.scripts()[0], &args).is_ok()
        };
        let dry = "Bash(python3 scripts/x.py * --dry-run)";
        for (tools, args, expected) in [
            (dry, &["--force", "--dry-run"][..], true),
            (dry, &["--force", "a --dry-run"], false),
            (dry, &["--force", "a' --dry-run"], false),
            (dry, &["--force", "a\" --dry-run"], false),
            (dry, &["--force", "a\n--dry-run"], false),
            (dry, &["--force\\", " --dry-run"], false),
            (
                "Bash(python3 scripts/x.py a=1,b:/c.d@e%f+g)",
                &["a=1,b:/c.d@e%f+g"],
                true,
            ),
            ("Bash(python3 scripts/x.py 'a b' c)", &["a b", "c"], true),
            ("Bash(python3 scripts/x.py \"a b\" c)", &["a b", "c"], true),
            ("Bash(python3 scripts/x.py a b c)", &["a b", "c"], false),
            ("Bash(python3 scripts/x.py a )", &["a", ""], false),
            ("Bash(python3 scripts/x.py:*)", &["a b", ""], true),
        ] {
            assert_eq!(allowed(tools, args), expected, "{tools} / {args:?}");
        }
    }

    #[test]
    fn quoted_arguments_are_escaped() {
        assert_eq!(single_quoted("it's $5"), r"'it'\''s $5'");
        assert_eq!(in_double_quotes("\"it's\" \\ $5"), r#""\"it's\" \\ \$5""#);
    }
}
