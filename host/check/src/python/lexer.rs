//! Splits Python into logical lines of tokens.
//!
//! It distinguishes strings, comments, brackets and indentation, and parses nothing. Adjacent strings are joined, and
//! the expressions in f-strings are read as well.

use super::super::facts::PLACEHOLDER;

/// Nesting of f-strings; deeper ones are not read.
const MAX_NESTING: usize = 4;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Other(char),
}

#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) indent: usize,
    pub(super) tokens: Vec<(Token, usize)>,
}

impl Line {
    pub(super) fn name(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some((Token::Name(name), _)) => Some(name),
            _ => None,
        }
    }

    pub(super) fn text(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some((Token::Text(text), _)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn is(&self, at: usize, c: char) -> bool {
        matches!(self.tokens.get(at), Some((Token::Other(other), _)) if *other == c)
    }

    pub(super) fn line_number(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |(_, line)| *line)
    }
}

/// The logical lines of a source.
pub(super) fn lines(source: &str) -> Vec<Line> {
    let chars: Vec<char> = source
        .strip_prefix('\u{feff}')
        .unwrap_or(source)
        .chars()
        .collect();
    let mut lexer = Lexer {
        chars: &chars,
        at: 0,
        line_number: 1,
        nesting: 0,
    };
    let mut lines = Vec::new();
    while lexer.at < chars.len() {
        let line = lexer.line();
        if !line.tokens.is_empty() {
            lines.push(line);
        }
    }
    lines
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
    line_number: usize,
    nesting: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn step(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        self.line_number += usize::from(c == '\n');
        Some(c)
    }

    /// One logical line, its end included.
    fn line(&mut self) -> Line {
        let mut line = Line::default();
        while let Some(c) = self.peek(0).filter(|c| matches!(c, ' ' | '\t' | '\u{c}')) {
            line.indent += if c == '\t' { 8 } else { 1 };
            self.step();
        }
        let mut depth = 0usize;
        while let Some(c) = self.peek(0) {
            match c {
                '\n' if depth == 0 => {
                    self.step();
                    break;
                }
                '#' => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.step();
                    }
                }
                // A line continuation.
                '\\' => {
                    self.step();
                    if self.peek(0) == Some('\r') {
                        self.step();
                    }
                    self.step();
                }
                c if c.is_whitespace() => {
                    self.step();
                }
                '"' | '\'' => self.string(&mut line, ""),
                c if c.is_alphanumeric() || c == '_' => self.word(&mut line),
                c => {
                    match c {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    line.tokens.push((Token::Other(c), self.line_number));
                    self.step();
                }
            }
        }
        line
    }

    fn word(&mut self, line: &mut Line) {
        let (start, line_number) = (self.at, self.line_number);
        while self
            .peek(0)
            .is_some_and(|c| c.is_alphanumeric() || c == '_')
        {
            self.at += 1;
        }
        let word: String = self.chars[start..self.at].iter().collect();
        let prefix = word.to_ascii_lowercase();
        let is_prefix = prefix.len() <= 2 && prefix.chars().all(|c| "rubft".contains(c));
        if is_prefix && matches!(self.peek(0), Some('"' | '\'')) {
            return self.string(line, &prefix);
        }
        line.tokens.push((Token::Name(word), line_number));
    }

    fn string(&mut self, line: &mut Line, prefix: &str) {
        let (formatted, line_number) = (prefix.contains(['f', 't']), self.line_number);
        let Some(quote) = self.step() else { return };
        let triple = self.peek(0) == Some(quote) && self.peek(1) == Some(quote);
        if triple {
            self.at += 2;
        }
        let mut text = String::new();
        let mut inner = Vec::new();
        while let Some(c) = self.peek(0) {
            let closes = c == quote
                && (!triple || (self.peek(1) == Some(quote) && self.peek(2) == Some(quote)));
            if closes {
                self.at += if triple { 3 } else { 1 };
                break;
            }
            if c == '\n' && !triple {
                break;
            }
            self.step();
            match c {
                '\\' => {
                    // A backslash at the end of a line continues the string; other escapes do not matter here.
                    if let Some(next) = self.step().filter(|c| *c != '\n') {
                        text.extend([c, next]);
                    }
                }
                '{' if formatted && self.peek(0) == Some('{') => {
                    self.step();
                    text.push('{');
                }
                '{' if formatted => {
                    inner.extend(self.expression());
                    text.push(PLACEHOLDER);
                }
                c => text.push(c),
            }
        }
        // Adjacent strings are one string.
        let joined = match line.tokens.last_mut() {
            Some((Token::Text(before), _)) if inner.is_empty() => {
                before.push_str(&text);
                true
            }
            _ => false,
        };
        if !joined {
            line.tokens.push((Token::Text(text), line_number));
        }
        if !inner.is_empty() {
            // In brackets, so that the tokens around it are not mistaken for a part of it.
            line.tokens.push((Token::Other('{'), line_number));
            line.tokens.extend(inner);
            line.tokens.push((Token::Other('}'), line_number));
        }
    }

    /// The expression between the braces of an f-string, up to and including the closing brace.
    fn expression(&mut self) -> Vec<(Token, usize)> {
        let (start, line_number) = (self.at, self.line_number);
        let (mut depth, mut quote) = (1usize, None);
        while let Some(c) = self.step() {
            match (quote, c) {
                (None, '{' | '(' | '[') => depth += 1,
                (None, '}' | ')' | ']') => depth -= 1,
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), c) if c == open => quote = None,
                (_, '\n') => quote = None,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        if self.nesting >= MAX_NESTING {
            return Vec::new();
        }
        let end = self.at.saturating_sub(1).max(start);
        let mut lexer = Lexer {
            chars: &self.chars[start..end],
            at: 0,
            line_number,
            nesting: self.nesting + 1,
        };
        let mut tokens = Vec::new();
        while lexer.at < lexer.chars.len() {
            tokens.extend(lexer.line().tokens);
        }
        tokens
    }
}
