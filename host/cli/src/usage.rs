//! Wrong usage: what clap reports, and a corrected command where we can tell what was meant.

use crate::args::{Args, Command};
use crate::failure::{HOST, print_message};
use clap::error::{ContextKind, ErrorKind};
use skillrun_skill::text::{shell_word, show};
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

/// The longest command line that we try to correct, in words. The number of parses grows with its square.
const MAX_WORDS: usize = 50;

/// Prints help, a version or an error of clap, and returns the exit code. Wrong usage has one code for all commands, that
/// of a host error: clap's 2 could be the exit code of a script.
pub(crate) fn report(error: &clap::Error, words: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    match with_separator(error, words) {
        Some((unexpected, command)) => {
            print_message("error", &format!("unexpected argument `{unexpected}`"));
            let command = command.map(|command| format!(": {command}"));
            let hint = "put `--` before the script's arguments";
            print_message("hint", &format!("{hint}{}", command.unwrap_or_default()));
        }
        None => print(error, words),
    }
    ExitCode::from(HOST)
}

/// Prints an error of clap. It repeats words, which may contain names from a skill, so what would control a terminal is
/// escaped: the error is that of the escaped words.
fn print(error: &clap::Error, words: &[OsString]) {
    let shown = words
        .iter()
        .map(|word| show(&word.to_string_lossy()).into());
    let shown: Vec<OsString> = shown.collect();
    let _ = match Args::parse_words(shown.clone()) {
        _ if shown == words => error.print(),
        Err(error) => error.print(),
        // The error was a character that is escaped now.
        Ok(_) => {
            let text = error.render().to_string();
            let lines: Vec<String> = text.split('\n').map(show).collect();
            std::io::stderr().write_all(lines.join("\n").as_bytes())
        }
    };
}

/// The first argument of a script that was typed without `--` before it, and the command with `--`, if it can be shown.
/// `None` if that is not the error.
fn with_separator(error: &clap::Error, words: &[OsString]) -> Option<(String, Option<String>)> {
    // A misspelt option is not an argument for the script.
    let is_misspelt = error.get(ContextKind::SuggestedArg).is_some();
    if error.kind() != ErrorKind::UnknownArgument || is_misspelt || words.len() > MAX_WORDS {
        return None;
    }
    let mut ours = words.to_vec();
    let mut scripts = Vec::new();
    // clap reports one argument at a time.
    while let Some(at) = first_unknown(&ours) {
        scripts.push(ours.remove(at));
    }
    Args::parse_words(ours.clone()).ok()?;
    let first = scripts.first()?.to_string_lossy().into_owned();
    let separator = ours.iter().position(|word| word == "--");
    let separator = separator.unwrap_or_else(|| {
        ours.push("--".into());
        ours.len() - 1
    });
    ours.splice(separator + 1..separator + 1, scripts);
    let command = ours.iter().skip(1).map(|word| shell_word(word.to_str()?));
    let command: Option<Vec<String>> = command.collect();
    let command = command.map(|command| format!("skillrun {}", command.join(" ")));
    Some((first, command))
}

/// The position of the first word that clap does not know, if a skill and a script come before it.
fn first_unknown(words: &[OsString]) -> Option<usize> {
    let parse = |count: usize| Args::parse_words(words.iter().take(count).cloned());
    let is_unknown =
        |at: &usize| parse(at + 1).is_err_and(|error| error.kind() == ErrorKind::UnknownArgument);
    let at = (1..words.len()).find(is_unknown)?;
    match parse(at).ok()?.command {
        Command::Run(run) if run.script.is_some() => Some(at),
        _ => None,
    }
}
