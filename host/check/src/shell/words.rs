//! Reads the words of bash: quotes, substitutions, arrays and here-documents.

use super::super::facts::PLACEHOLDER;
use super::{MAX_NESTING, Reader, Word};

impl Reader<'_> {
    pub(super) fn rest_of_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.step();
        }
    }

    pub(super) fn word(&mut self, nesting: usize) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => {
                    // `x=(…)` is an array, not a subshell.
                    if c == '(' && word.text.ends_with('=') {
                        self.step();
                        self.array(nesting);
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
            // Always make progress.
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

    fn array(&mut self, nesting: usize) {
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
                    let line_number = self.line_number;
                    let word = self.word(nesting + 1);
                    self.facts.urls(&word.text, line_number);
                }
            }
        }
    }

    /// `$x`, `${x…}`, `$(…)`, `$((…))`.
    fn dollar(&mut self, word: &mut Word, nesting: usize) {
        let line_number = self.line_number;
        self.step();
        word.opaque = true;
        word.text.push(PLACEHOLDER);
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
                self.reads(&name, line_number);
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
                // A default may be a URL.
                self.facts.urls(&rest.text, line_number);
            }
            Some('\'') => {}
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.identifier();
                self.reads(&name, line_number);
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

    fn reads(&mut self, name: &str, line_number: usize) {
        let upper = name
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if upper && name.chars().any(|c| c.is_ascii_uppercase()) && self.read.len() < 1000 {
            self.read.entry(name.to_owned()).or_insert(line_number);
        }
    }

    /// Skips to the end of `((…))`. The first parenthesis has been read.
    pub(super) fn arithmetic(&mut self) {
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

    pub(super) fn here_document(&mut self, nesting: usize) {
        self.at += 2;
        let tabs = self.peek(0) == Some('-');
        if tabs {
            self.step();
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.step();
        }
        let end = self.word(nesting.max(MAX_NESTING));
        self.here_documents.push((end.text, tabs));
    }

    pub(super) fn skip_here_documents(&mut self) {
        for (end, tabs) in std::mem::take(&mut self.here_documents) {
            while self.at < self.chars.len() {
                let start = self.at;
                let line_number = self.line_number;
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
                self.facts.urls(&line, line_number);
            }
        }
    }
}
