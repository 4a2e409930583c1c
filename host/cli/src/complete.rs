//! Shell completions, with the names of skills and scripts.
//!
//! `skillrun completions SHELL` prints a short script. It calls `skillrun` again with the words typed so far, and the
//! variable [`VARIABLE`] set. Scripts that are generated once would know commands and options, but no skill.

use crate::args::Args;
use crate::failure::Failure;
use crate::list::one_line;
use crate::paths;
use clap::CommandFactory as _;
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::Shells;
use skillrun::{Script, Skill};
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
    CompleteEnv::with_factory(Args::command)
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

/// Names that mean something to a shell or to us are left out. Bash puts a candidate on the command line unquoted, so the
/// name of a folder in a cloned repository would run as code; and a name that begins with `-` would be an option.
fn candidates(names: Vec<(String, String)>) -> Vec<CompletionCandidate> {
    let is_plain = |c: char| c.is_alphanumeric() || "._/+@%,-".contains(c);
    let names = names
        .into_iter()
        .filter(|(name, _)| !name.starts_with('-') && name.chars().all(is_plain));
    let candidate = |(name, text): (String, String)| {
        CompletionCandidate::new(name).help((!text.is_empty()).then(|| text.into()))
    };
    names.map(candidate).collect()
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
