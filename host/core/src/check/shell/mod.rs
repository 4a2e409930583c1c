//! Reads bash: the commands in the places of commands, the variables that the script does not set.
//!
//! bash cannot be parsed without running it; this reads words, quotes, comments, here-documents and
//! substitutions, and takes a word for a command where one may stand.

mod tables;

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

    fn rest_of_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.step();
        }
    }

    fn word(&mut self, nesting: usize) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => {
                    // `x=(…)` is a list, not a shell of its own.
                    if c == '(' && word.text.ends_with('=') {
                        self.step();
                        self.list(nesting);
                        continue;
                    }
                    break;
                }
                '\\' => {
                    self.step();
                    word.text.extend(self.step().filter(|c| *c != '\n'));
                }
                '\'' => {
                    word.quoted = true;
                    self.step();
                    while let Some(c) = self.step().filter(|c| *c != '\'') {
                        word.text.push(c);
                    }
                }
                '"' => {
                    word.quoted = true;
                    self.step();
                    self.quoted(&mut word, nesting);
                }
                '$' => self.dollar(&mut word, nesting),
                '`' => {
                    self.step();
                    word.opaque = true;
                    self.inner('`', nesting);
                }
                c => {
                    self.step();
                    word.text.push(c);
                }
            }
        }
        if word.text.is_empty() && !word.quoted && !word.opaque {
            // Whatever stands here, the reading goes on.
            word.text.extend(self.step());
        }
        word
    }

    fn quoted(&mut self, word: &mut Word, nesting: usize) {
        while let Some(c) = self.peek(0) {
            match c {
                '"' => {
                    self.step();
                    return;
                }
                '\\' => {
                    self.step();
                    word.text.extend(self.step());
                }
                '$' => self.dollar(word, nesting),
                '`' => {
                    self.step();
                    word.opaque = true;
                    self.inner('`', nesting);
                }
                c => {
                    self.step();
                    word.text.push(c);
                }
            }
        }
    }

    fn inner(&mut self, end: char, nesting: usize) {
        if nesting < MAX_NESTING {
            self.commands(Some(end), nesting + 1);
        } else {
            while self.step().is_some_and(|c| c != end) {}
        }
    }

    fn list(&mut self, nesting: usize) {
        if nesting >= MAX_NESTING {
            return;
        }
        while let Some(c) = self.peek(0) {
            match c {
                ')' => {
                    self.step();
                    return;
                }
                '#' => self.rest_of_line(),
                c if c.is_whitespace() => {
                    self.step();
                }
                _ => {
                    let number = self.number;
                    let word = self.word(nesting + 1);
                    self.facts.urls(&word.text, number);
                }
            }
        }
    }

    /// `$x`, `${x…}`, `$(…)`, `$((…))`.
    fn dollar(&mut self, word: &mut Word, nesting: usize) {
        let number = self.number;
        self.step();
        word.opaque = true;
        word.text.push(super::facts::HOLE);
        match self.peek(0) {
            Some('(') if self.peek(1) == Some('(') => {
                self.step();
                self.arithmetic();
            }
            Some('(') => {
                self.step();
                self.inner(')', nesting);
            }
            Some('{') => {
                self.step();
                let start = self.at;
                while self.peek(0).is_some_and(|c| matches!(c, '#' | '!')) {
                    self.step();
                }
                let name = self.identifier();
                self.reads(&name, number);
                if nesting >= MAX_NESTING {
                    self.at = start;
                    while self.step().is_some_and(|c| c != '}') {}
                    return;
                }
                let mut rest = Word::default();
                while let Some(c) = self.peek(0) {
                    match c {
                        '}' => {
                            self.step();
                            break;
                        }
                        '\\' => {
                            self.step();
                            self.step();
                        }
                        '"' => {
                            self.step();
                            self.quoted(&mut rest, nesting + 1);
                        }
                        '$' => self.dollar(&mut rest, nesting + 1),
                        c => {
                            self.step();
                            rest.text.push(c);
                        }
                    }
                }
                // `${X:=default}` sets it, too; a default may be an address.
                self.facts.urls(&rest.text, number);
            }
            Some('\'') => {}
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.identifier();
                self.reads(&name, number);
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.step();
            }
            _ => {}
        }
    }

    fn identifier(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self
            .peek(0)
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        {
            name.push(c);
            self.step();
        }
        name
    }

    fn reads(&mut self, name: &str, number: usize) {
        let upper = name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if upper && name.chars().any(|c| c.is_ascii_uppercase()) && self.read.len() < 1000 {
            self.read.entry(name.to_owned()).or_insert(number);
        }
    }

    /// To the end of `((…))`; the first bracket has been read.
    fn arithmetic(&mut self) {
        let mut depth = 1usize;
        while let Some(c) = self.step() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn document(&mut self, nesting: usize) {
        self.at += 2;
        let tabs = self.peek(0) == Some('-');
        if tabs {
            self.step();
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.step();
        }
        let end = self.word(nesting.max(MAX_NESTING));
        self.documents.push((end.text, tabs));
    }

    fn skip_documents(&mut self) {
        for (end, tabs) in std::mem::take(&mut self.documents) {
            while self.at < self.chars.len() {
                let start = self.at;
                let number = self.number;
                self.rest_of_line();
                let line: String = self.chars[start..self.at].iter().collect();
                self.step();
                let bare = if tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if bare.trim_end_matches('\r') == end {
                    break;
                }
                self.facts.urls(&line, number);
            }
        }
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
