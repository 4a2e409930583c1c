//! Reads bash: the commands in the places of commands, the variables that the script does not set.
//!
//! bash cannot be parsed without running it; this reads words, quotes, comments, here-documents and
//! substitutions, and takes a word for a command where one may stand.

mod tables;
mod words;

use super::facts::{Facts, is_one_of};
use std::collections::{BTreeMap, BTreeSet};
use tables::{BEFORE_COMMAND, BUILTINS, COMMON, MORE_BUILTINS, SET};

/// What a bash script tells.
pub(super) fn facts(source: &str) -> Facts {
    let chars: Vec<char> = source.chars().collect();
    let mut reader = Reader {
        chars: &chars,
        at: 0,
        number: 1,
        facts: Facts::default(),
        read: BTreeMap::new(),
        set: BTreeSet::new(),
        functions: Vec::new(),
        documents: Vec::new(),
    };
    reader.commands(None, 0);
    let Reader {
        mut facts,
        read,
        set,
        functions,
        ..
    } = reader;
    for name in &functions {
        facts.commands.remove(name);
    }
    let ours = |name: &str| name.starts_with("BASH_") || is_one_of(name, SET);
    for (name, line) in read {
        if !ours(&name) && !set.contains(&name) {
            facts.env(&name, line);
        }
    }
    let fetching = ["curl", "wget"]
        .iter()
        .filter_map(|name| facts.commands.get(*name));
    facts.network = fetching.min().copied();
    facts
}

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
    number: usize,
    facts: Facts,
    read: BTreeMap<String, usize>,
    set: BTreeSet<String>,
    functions: Vec<String>,
    /// The ends of here-documents that start after this line, and whether tabs before them are cut.
    documents: Vec<(String, bool)>,
}

/// Substitutions nested deeper are not looked into.
const MAX_NESTING: usize = 24;

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn step(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        self.number += usize::from(c == '\n');
        Some(c)
    }

    /// Reads commands up to `end`, or to the end of the source.
    fn commands(&mut self, end: Option<char>, nesting: usize) {
        let mut place = Place::Command;
        let mut cases = 0usize;
        let mut parens = 0usize;
        while let Some(c) = self.peek(0) {
            if Some(c) == end
                && (c != ')' || (parens == 0 && !(cases > 0 && place == Place::Pattern)))
            {
                self.step();
                return;
            }
            match c {
                '\n' => {
                    self.step();
                    self.skip_documents();
                    if place != Place::Pattern {
                        place = Place::Command;
                    }
                }
                ' ' | '\t' | '\r' => {
                    self.step();
                }
                '#' => self.rest_of_line(),
                ';' | '&' | '|' => {
                    let double = c == ';' && self.peek(1) == Some(';');
                    self.step();
                    if place != Place::Pattern {
                        place = Place::Command;
                    }
                    if double && cases > 0 {
                        while self.peek(0).is_some_and(|c| c == ';' || c == '&') {
                            self.step();
                        }
                        place = Place::Pattern;
                    }
                }
                '(' => {
                    self.step();
                    // `name()` defines a function, `((` computes, `(` opens a shell of its own.
                    if self.peek(0) == Some('(') && place == Place::Command {
                        self.arithmetic();
                        place = Place::Argument;
                    } else if place != Place::Pattern {
                        parens += 1;
                        place = Place::Command;
                    }
                }
                ')' => {
                    self.step();
                    match place {
                        Place::Pattern => place = Place::Command,
                        _ => {
                            parens = parens.saturating_sub(1);
                            place = Place::Argument;
                        }
                    }
                }
                '<' if self.peek(1) == Some('<') && self.peek(2) != Some('<') => {
                    self.document(nesting)
                }
                '<' | '>' => {
                    let substitutes = self.peek(1) == Some('(');
                    self.step();
                    if substitutes && nesting < MAX_NESTING {
                        self.step();
                        self.commands(Some(')'), nesting + 1);
                    } else {
                        while matches!(self.peek(0), Some('>' | '<' | '&' | '|')) {
                            self.step();
                        }
                        while matches!(self.peek(0), Some(' ' | '\t')) {
                            self.step();
                        }
                        self.word(nesting);
                    }
                }
                _ => {
                    let number = self.number;
                    let word = self.word(nesting);
                    place = self.take(&word, number, place, &mut cases);
                }
            }
        }
    }

    /// Takes a word at its place; returns the place of the next one.
    fn take(&mut self, word: &Word, number: usize, place: Place, cases: &mut usize) -> Place {
        let text = word.text.as_str();
        match place {
            Place::Pattern if text == "esac" && !word.quoted => {
                *cases = cases.saturating_sub(1);
                return Place::Argument;
            }
            Place::Pattern => return Place::Pattern,
            Place::Command => {}
            Place::Argument => {
                self.facts.urls(text, number);
                return Place::Argument;
            }
            Place::Name => {
                self.names(text);
                return Place::Name;
            }
            Place::CaseWord => {
                return match text {
                    "in" => Place::Pattern,
                    _ => Place::CaseWord,
                };
            }
        }
        if word.quoted && word.opaque {
            return Place::Argument;
        }
        if let Some(name) = assigned(text) {
            self.set.insert(name.to_owned());
            self.facts.urls(text, number);
            return Place::Command;
        }
        match text {
            "case" => {
                *cases += 1;
                return Place::CaseWord;
            }
            "esac" => {
                *cases = cases.saturating_sub(1);
                return Place::Argument;
            }
            "for" | "select" | "read" | "local" | "declare" | "typeset" | "readonly" | "export"
            | "mapfile" | "readarray" | "getopts" | "unset" => return Place::Name,
            "function" => {
                let name = self.next_word();
                self.functions.push(name);
                return Place::Argument;
            }
            _ if is_one_of(text, BEFORE_COMMAND) => return Place::Command,
            _ => {}
        }
        let rest = &self.chars[self.at..];
        let space = rest.iter().take_while(|c| matches!(c, ' ' | '\t')).count();
        if rest.get(space) == Some(&'(') && rest.get(space + 1) == Some(&')') {
            self.functions.push(text.to_owned());
            self.at += space + 2;
            return Place::Command;
        }
        let builtin = is_one_of(text, BUILTINS) || is_one_of(text, MORE_BUILTINS);
        let mut letters = text.chars();
        let plausible = letters.next().is_some_and(|c| c.is_ascii_alphanumeric())
            && letters.all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
        if plausible && !word.opaque && !builtin && !is_one_of(text, COMMON) {
            self.facts.command(text, number);
        }
        Place::Argument
    }

    /// The names in `read a b`, `local x=1`, `for x in …`.
    fn names(&mut self, text: &str) {
        let name = assigned(text).unwrap_or(text);
        if is_name(name) && name != "in" {
            self.set.insert(name.to_owned());
        }
    }

    fn next_word(&mut self) -> String {
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.step();
        }
        self.word(MAX_NESTING)
            .text
            .trim_end_matches("()")
            .to_owned()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A command may stand here.
    Command,
    Argument,
    /// Names of variables that are set.
    Name,
    /// Between `case` and `in`.
    CaseWord,
    /// Before the `)` of a branch of `case`.
    Pattern,
}

#[derive(Debug, Default)]
struct Word {
    text: String,
    quoted: bool,
    /// A part of it is known only when it runs.
    opaque: bool,
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The name in `X=…`, `X+=…` or `X[…]=…`.
fn assigned(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    is_name(name).then_some(name)
}

#[cfg(test)]
mod tests;
