//! Shell completions, with the names of skills and scripts.
//!
//! `skillrun completions SHELL` prints a short script. It calls `skillrun` again with the words typed so far, and the
//! variable [`VARIABLE`] set. Scripts that are generated once would know commands and options, but no skill.
//!
//! Bash puts a candidate on the command line unquoted, so a folder named `data$(touch x)` in a cloned repository would
//! run as code. [`with_plain_values`] therefore filters what every argument offers. clap would complete paths by itself,
//! unfiltered, for each argument with a path as its value, so it replaces those completers too.

use crate::args::Args;
use crate::failure::Failure;
use crate::paths;
use crate::text::one_line;
use clap::CommandFactory as _;
use clap::{Arg, Command, ValueHint};
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::Shells;
use skillrun::{Script, Skill};
use skillrun_skill::text::show;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Set to the name of a shell, it makes `skillrun` complete its arguments instead of executing them. clap's default,
/// `COMPLETE`, could be set for another program.
const VARIABLE: &str = "SKILLRUN_COMPLETE";

/// The characters of a description beside a name.
const DESCRIPTION: usize = 80;

/// Completes the command line if a shell asks for it. Returns whether one did.
pub(crate) fn complete() -> Result<bool, clap::Error> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(false);
    }
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| with_plain_values(Args::command()))
        .var(VARIABLE)
        .try_complete(std::env::args_os(), here.as_deref())
}

/// The script that a shell reads to complete `skillrun`.
pub(crate) fn registration(shell: clap_complete::Shell) -> Result<Vec<u8>, Failure> {
    let name = shell.to_string();
    let mut text = Vec::new();
    match Shells::builtins().completer(&name) {
        Some(shell) => {
            shell.write_registration(VARIABLE, "skillrun", "skillrun", "skillrun", &mut text)?;
        }
        None => return Err(Failure::host(format!("no completions for `{name}`"))),
    }
    Ok(text)
}

/// The same command, whose arguments offer only plain values.
fn with_plain_values(command: Command) -> Command {
    command
        .mut_args(with_plain_values_of_arg)
        .mut_subcommands(with_plain_values)
}

fn with_plain_values_of_arg(arg: Arg) -> Arg {
    let completer = match (arg.get::<ArgValueCompleter>(), arg.get_value_hint()) {
        (Some(completer), _) => completer.clone(),
        (None, ValueHint::Unknown | ValueHint::Other) => return arg,
        (None, ValueHint::DirPath) => ArgValueCompleter::new(PathCompleter::dir()),
        (None, ValueHint::FilePath) => ArgValueCompleter::new(PathCompleter::file()),
        (None, _) => ArgValueCompleter::new(PathCompleter::any()),
    };
    arg.add(ArgValueCompleter::new(move |typed: &OsStr| {
        let mut values = completer.complete(typed);
        values.retain(|value| is_plain(value.get_value(), typed));
        values
    }))
}

/// Whether a value means nothing but itself to a shell and to us. One that begins with `-` would be an option.
fn is_plain(value: &OsStr, typed: &OsStr) -> bool {
    let Some(value) = value.to_str() else {
        return false;
    };
    // A folder may be named `~`. Only what was typed refers to the home directory.
    let home = typed.as_encoded_bytes().starts_with(b"~/");
    let value = match value.strip_prefix("~/") {
        Some(rest) if home => rest,
        _ => value,
    };
    // PowerShell reads `@name` as a variable, and `a,b` as two arguments.
    let is_plain = |c: char| c.is_alphanumeric() || "._/+@%-".contains(c);
    // Some letters are blank.
    let is_visible = show(value) == value;
    !value.starts_with(['-', '@']) && value.chars().all(is_plain) && is_visible
}

/// Completes the name of a skill that can be found, or a path.
pub(crate) fn skill_names() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let mut names = complete_skill(typed);
        if typed.is_empty() || typed.as_encoded_bytes().contains(&b'/') || typed == "." {
            names.extend(PathCompleter::dir().complete(typed));
        }
        names
    })
}

/// Completes the name of a script of the skill that was typed before it.
pub(crate) fn script_names() -> ArgValueCompleter {
    ArgValueCompleter::new(complete_script)
}

fn complete_skill(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some((typed, library)) = typed.to_str().zip(library(&Typed::read())) else {
        return Vec::new();
    };
    let (skills, _) = library.list();
    let name = |skill: &Skill| Some(skill.path().file_name()?.to_str()?.to_owned());
    let mut names: Vec<(String, String)> = skills
        .iter()
        .filter_map(|skill| Some((name(skill)?, one_line(skill.description(), DESCRIPTION))))
        .filter(|(name, _)| name.starts_with(typed))
        .collect();
    // Of several skills with one name, the first is used.
    names.sort_by(|(a, _), (b, _)| a.cmp(b));
    names.dedup_by(|(a, _), (b, _)| a == b);
    candidates(names)
}

fn complete_script(typed: &OsStr) -> Vec<CompletionCandidate> {
    let words = Typed::read();
    let (Some(typed), Some(name), Some(library)) =
        (typed.to_str(), words.skill.as_deref(), library(&words))
    else {
        return Vec::new();
    };
    let Ok(found) = crate::find::find_in(&library, name) else {
        return Vec::new();
    };
    let skill = &found.0.skill;
    let file = |script: &Script| {
        let path = script.path();
        path.rsplit_once('/')
            .map_or(path, |(_, file)| file)
            .to_owned()
    };
    let is_unique =
        |name: &String| skill.scripts().iter().filter(|s| file(s) == *name).count() == 1;
    let scripts = skill.scripts().iter().flat_map(|script| {
        let text = skill.describe(script);
        let text = one_line(text.lines().next().unwrap_or_default(), DESCRIPTION);
        // A path is offered where it has been begun, or where the file name is ambiguous.
        let name = match typed.contains('/') {
            true => script.path().to_owned(),
            false => Some(file(script))
                .filter(is_unique)
                .unwrap_or_else(|| script.path().to_owned()),
        };
        name.starts_with(typed).then_some((name, text))
    });
    candidates(scripts.collect())
}

fn candidates(names: Vec<(String, String)>) -> Vec<CompletionCandidate> {
    let candidate = |(name, text): (String, String)| {
        CompletionCandidate::new(name).help((!text.is_empty()).then(|| text.into()))
    };
    names.into_iter().map(candidate).collect()
}

fn library(words: &Typed) -> Option<skillrun::skill::Library> {
    paths::library(&words.skills).ok()
}

/// What was typed so far, as far as names depend on it.
#[derive(Debug, Default)]
struct Typed {
    skill: Option<String>,
    skills: Vec<PathBuf>,
}

impl Typed {
    /// Reads it from the words after `--`, which the shell passes.
    fn read() -> Self {
        let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
        Self::parse(words)
    }

    fn parse(words: impl Iterator<Item = OsString>) -> Self {
        let command = Args::command().ignore_errors(true);
        let matches = command.try_get_matches_from(words).ok();
        let Some((_, matches)) = matches.as_ref().and_then(|all| all.subcommand()) else {
            return Self::default();
        };
        let skill = matches.try_get_one::<String>("skill").ok().flatten();
        let skills = matches.try_get_many::<PathBuf>("folders").ok().flatten();
        Self {
            skill: skill.cloned(),
            skills: skills.map_or_else(Vec::new, |all| all.cloned().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that a shell would run or expand, that end a candidate, control the terminal, or are options.
    const HOSTILE: [&str; 14] = [
        "data$(touch x)",
        "data`x`",
        "data;x",
        "data&x",
        "data|x",
        "data x",
        "data*",
        "data\nx",
        "data\u{b}x",
        "data\u{1b}[2J",
        "data{a,b}",
        "data,-y",
        "~",
        "~root",
    ];

    /// The arguments of a command and its subcommands that offer values of their own.
    fn completed_args(command: &Command) -> Vec<(String, Arg)> {
        let name = command.get_name();
        let own = command.get_arguments().filter(|arg| {
            arg.get::<ArgValueCompleter>().is_some()
                || !matches!(arg.get_value_hint(), ValueHint::Unknown | ValueHint::Other)
        });
        let own = own.map(|arg| (format!("{name} {}", arg.get_id()), arg.clone()));
        let below = command.get_subcommands().flat_map(completed_args);
        own.chain(below).collect()
    }

    #[test]
    fn every_argument_offers_only_plain_values() {
        let folder = tempfile::tempdir().unwrap();
        let at = format!("{}/", folder.path().display());
        for name in HOSTILE {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(format!("{name}.toml")), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("data-1")).unwrap();
        std::fs::write(folder.path().join("file.toml"), "").unwrap();
        let args = completed_args(&with_plain_values(Args::command()));
        let names: Vec<&str> = args.iter().map(|(name, _)| name.as_str()).collect();
        for known in [
            "run workspace",
            "run skill",
            "list folders",
            "check file",
            "expand events",
        ] {
            assert!(names.contains(&known), "{known} is not in {names:?}");
        }
        for (name, arg) in args {
            let completer = arg.get::<ArgValueCompleter>();
            let completer = completer.unwrap_or_else(|| panic!("{name} is not filtered"));
            let values = completer.complete(OsStr::new(&at));
            let values: Vec<&str> = values
                .iter()
                .map(|value| value.get_value().to_str().unwrap())
                .map(|value| value.strip_prefix(&at).unwrap())
                .collect();
            let expected: &[&str] = match (arg.get_value_hint(), arg.get_id().as_str()) {
                (_, "script" | "scripts") => &[],
                (ValueHint::FilePath, _) => &["file.toml", "data-1/"],
                (ValueHint::AnyPath, _) => &["data-1/", "file.toml"],
                _ => &["data-1/"],
            };
            assert_eq!(values, expected, "{name}");
        }
    }

    #[test]
    fn a_value_is_plain_if_a_shell_takes_it_as_it_is() {
        let plain = |value: &str, typed: &str| is_plain(OsStr::new(value), OsStr::new(typed));
        for value in [
            "word-count",
            "./a/b.py",
            "../é/",
            ".",
            "node_modules/@x/",
            "./-x",
        ] {
            assert!(plain(value, ""), "{value}");
        }
        for value in HOSTILE
            .into_iter()
            .chain(["-x", "--x", "@x", "a=b", "a:b", "~/x", "a\\b"])
        {
            assert!(!plain(value, ""), "{value:?}");
        }
        // The home directory is what was typed; the rest is not.
        assert!(plain("~/data/", "~/da"));
        assert!(!plain("~/data$(x)/", "~/da") && !plain("~/-x", "~/") && !plain("~root/", "~"));
    }
}
