//! Reads bash: the commands it starts, and the variables that it reads but does not set.
//!
//! bash cannot be parsed without running it. This reads words, quotes, comments, here-documents and substitutions, and
//! takes a word as a command where the grammar allows one.

mod tables;
mod words;

use super::facts::{Facts, is_one_of};
use std::collections::{BTreeMap, BTreeSet};
use tables::{BEFORE_COMMAND, BUILTINS, COMMON, PRESET};

/// The facts of a bash script.
pub(super) fn facts(source: &str) -> Facts {
    let chars: Vec<char> = source.chars().collect();
    let mut reader = Reader {
        chars: &chars,
        at: 0,
        line_number: 1,
        facts: Facts::default(),
        read: BTreeMap::new(),
        set: BTreeSet::new(),
        functions: Vec::new(),
        here_documents: Vec::new(),
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
    let is_preset = |name: &str| name.starts_with("BASH_") || is_one_of(name, PRESET);
    for (name, line) in read {
        if !is_preset(&name) && !set.contains(&name) {
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
    line_number: usize,
    facts: Facts,
    read: BTreeMap<String, usize>,
    set: BTreeSet<String>,
    functions: Vec<String>,
    /// Delimiters of the here-documents that start after this line, and whether leading tabs are stripped.
    here_documents: Vec<(String, bool)>,
}

/// Nesting of substitutions; deeper ones are not read.
const MAX_NESTING: usize = 24;

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn step(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        self.line_number += usize::from(c == '\n');
        Some(c)
    }

    /// Reads commands up to `end`, or to the end of the source.
    fn commands(&mut self, end: Option<char>, nesting: usize) {
        let mut role = Role::Command;
        let mut cases = 0usize;
        let mut parens = 0usize;
        while let Some(c) = self.peek(0) {
            if Some(c) == end
                && (c != ')' || (parens == 0 && !(cases > 0 && role == Role::Pattern)))
            {
                self.step();
                return;
            }
            match c {
                '\n' => {
                    self.step();
                    self.skip_here_documents();
                    if role != Role::Pattern {
                        role = Role::Command;
                    }
                }
                ' ' | '\t' | '\r' => {
                    self.step();
                }
                '#' => self.rest_of_line(),
                ';' | '&' | '|' => {
                    let double = c == ';' && self.peek(1) == Some(';');
                    self.step();
                    if role != Role::Pattern {
                        role = Role::Command;
                    }
                    if double && cases > 0 {
                        while self.peek(0).is_some_and(|c| c == ';' || c == '&') {
                            self.step();
                        }
                        role = Role::Pattern;
                    }
                }
                '(' => {
                    self.step();
                    // `name()` defines a function, `((` computes, `(` opens a subshell.
                    if self.peek(0) == Some('(') && role == Role::Command {
                        self.arithmetic();
                        role = Role::Argument;
                    } else if role != Role::Pattern {
                        parens += 1;
                        role = Role::Command;
                    }
                }
                ')' => {
                    self.step();
                    match role {
                        Role::Pattern => role = Role::Command,
                        _ => {
                            parens = parens.saturating_sub(1);
                            role = Role::Argument;
                        }
                    }
                }
                '<' if self.peek(1) == Some('<') && self.peek(2) != Some('<') => {
                    self.here_document(nesting)
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
                    let line_number = self.line_number;
                    let word = self.word(nesting);
                    role = self.take(&word, line_number, role, &mut cases);
                }
            }
        }
    }

    /// Handles a word in its role. Returns the role of the next word.
    fn take(&mut self, word: &Word, line_number: usize, role: Role, cases: &mut usize) -> Role {
        let text = word.text.as_str();
        match role {
            Role::Pattern if text == "esac" && !word.quoted => {
                *cases = cases.saturating_sub(1);
                return Role::Argument;
            }
            Role::Pattern => return Role::Pattern,
            Role::Command => {}
            Role::Argument => {
                self.facts.urls(text, line_number);
                return Role::Argument;
            }
            Role::Name => {
                self.names(text);
                return Role::Name;
            }
            Role::CaseWord => {
                return match text {
                    "in" => Role::Pattern,
                    _ => Role::CaseWord,
                };
            }
        }
        if word.quoted && word.opaque {
            return Role::Argument;
        }
        if let Some(name) = assigned(text) {
            self.set.insert(name.to_owned());
            self.facts.urls(text, line_number);
            return Role::Command;
        }
        match text {
            "case" => {
                *cases += 1;
                return Role::CaseWord;
            }
            "esac" => {
                *cases = cases.saturating_sub(1);
                return Role::Argument;
            }
            "for" | "select" | "read" | "local" | "declare" | "typeset" | "readonly" | "export"
            | "mapfile" | "readarray" | "getopts" | "unset" => return Role::Name,
            "function" => {
                let name = self.next_word();
                self.functions.push(name);
                return Role::Argument;
            }
            _ if is_one_of(text, BEFORE_COMMAND) => return Role::Command,
            _ => {}
        }
        let rest = &self.chars[self.at..];
        let space = rest.iter().take_while(|c| matches!(c, ' ' | '\t')).count();
        if rest.get(space) == Some(&'(') && rest.get(space + 1) == Some(&')') {
            self.functions.push(text.to_owned());
            self.at += space + 2;
            return Role::Command;
        }
        let builtin = is_one_of(text, BUILTINS);
        let mut letters = text.chars();
        let plausible = letters.next().is_some_and(|c| c.is_ascii_alphanumeric())
            && letters.all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
        if plausible && !word.opaque && !builtin && !is_one_of(text, COMMON) {
            self.facts.command(text, line_number);
        }
        Role::Argument
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

/// What a word is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A command, or what may come before one.
    Command,
    Argument,
    /// The name of a variable that is set.
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
    /// Whether a part of it is known only at run time.
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
