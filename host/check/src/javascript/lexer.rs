//! Splits JavaScript and TypeScript into tokens.
//!
//! It distinguishes strings, templates, comments and regular expressions, and parses nothing. The expressions in
//! templates are read as well.

use super::super::facts::{PLACEHOLDER, is_one_of};

/// Nesting of templates; deeper ones are not read.
const MAX_NESTING: usize = 4;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Other(char),
}

pub(super) type Tokens = Vec<(Token, usize)>;

/// The tokens of a source.
pub(super) struct Source(pub(super) Tokens);

impl Source {
    pub(super) fn read(source: &str) -> Self {
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        let chars: Vec<char> = source.chars().collect();
        Self(tokens(&chars, 1, 0))
    }

    pub(super) fn name(&self, at: usize) -> Option<&str> {
        match self.0.get(at) {
            Some((Token::Name(name), _)) => Some(name),
            _ => None,
        }
    }

    pub(super) fn text(&self, at: usize) -> Option<&str> {
        match self.0.get(at) {
            Some((Token::Text(text), _)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn is(&self, at: usize, c: char) -> bool {
        matches!(self.0.get(at), Some((Token::Other(other), _)) if *other == c)
    }

    pub(super) fn line_number(&self, at: usize) -> usize {
        self.0.get(at).map_or(0, |(_, line)| *line)
    }

    /// Whether the token before is a dot, so that the name is a member.
    pub(super) fn is_member(&self, at: usize) -> bool {
        at > 0 && self.is(at - 1, '.')
    }
}

/// Words after which a `/` starts a regular expression.
const BEFORE_REGEX: &str = "\
    return typeof case in of delete void throw new else do await yield";

fn tokens(chars: &[char], line_number: usize, nesting: usize) -> Tokens {
    let mut lexer = Lexer {
        chars,
        at: 0,
        line_number,
        nesting,
        tokens: Vec::new(),
    };
    // The `#!` line.
    if chars.starts_with(&['#', '!']) && nesting == 0 {
        lexer.rest_of_line();
    }
    while let Some(c) = lexer.peek(0) {
        lexer.token(c);
    }
    lexer.tokens
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
    line_number: usize,
    nesting: usize,
    tokens: Tokens,
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

    fn rest_of_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn token(&mut self, c: char) {
        match (c, self.peek(1)) {
            ('/', Some('/')) => self.rest_of_line(),
            ('/', Some('*')) => {
                self.at += 2;
                while let Some(c) = self.step() {
                    if c == '*' && self.peek(0) == Some('/') {
                        self.at += 1;
                        break;
                    }
                }
            }
            ('/', _) if self.starts_regex() => self.regex(),
            ('"' | '\'', _) => self.string(c),
            ('`', _) => self.template(),
            (c, _) if c.is_whitespace() => {
                self.step();
            }
            (c, _) if c.is_alphanumeric() || c == '_' || c == '$' => {
                let start = self.at;
                while self
                    .peek(0)
                    .is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$')
                {
                    self.at += 1;
                }
                let word = self.chars[start..self.at].iter().collect();
                self.tokens.push((Token::Name(word), self.line_number));
            }
            (c, _) => {
                self.tokens.push((Token::Other(c), self.line_number));
                self.step();
            }
        }
    }

    fn starts_regex(&self) -> bool {
        match self.tokens.last() {
            None => true,
            Some((Token::Name(word), _)) => is_one_of(word.as_str(), BEFORE_REGEX),
            Some((Token::Text(_), _)) => false,
            Some((Token::Other(c), _)) => !matches!(c, ')' | ']' | '}'),
        }
    }

    fn regex(&mut self) {
        self.step();
        let mut class = false;
        while let Some(c) = self.peek(0).filter(|c| *c != '\n') {
            self.step();
            match c {
                '\\' => {
                    self.step();
                }
                '[' => class = true,
                ']' => class = false,
                '/' if !class => break,
                _ => {}
            }
        }
        // It is a value, so a `/` after it is a division.
        self.tokens.push((Token::Other(')'), self.line_number));
    }

    fn string(&mut self, quote: char) {
        let line_number = self.line_number;
        self.step();
        let mut text = String::new();
        while let Some(c) = self.peek(0).filter(|c| *c != '\n') {
            self.step();
            match c {
                '\\' => text.extend(self.step().filter(|c| *c != '\n')),
                c if c == quote => break,
                c => text.push(c),
            }
        }
        self.tokens.push((Token::Text(text), line_number));
    }

    fn template(&mut self) {
        let line_number = self.line_number;
        self.step();
        let mut text = String::new();
        let mut inner = Vec::new();
        while let Some(c) = self.step() {
            match (c, self.peek(0)) {
                ('`', _) => break,
                ('\\', _) => text.extend(self.step()),
                ('$', Some('{')) => {
                    self.step();
                    let (start, line) = (self.at, self.line_number);
                    self.skip_expression();
                    let end = self.at.saturating_sub(1).max(start);
                    if self.nesting < MAX_NESTING {
                        inner.extend(tokens(&self.chars[start..end], line, self.nesting + 1));
                    }
                    text.push(PLACEHOLDER);
                }
                (c, _) => text.push(c),
            }
        }
        self.tokens.push((Token::Text(text), line_number));
        if !inner.is_empty() {
            self.tokens.push((Token::Other('{'), line_number));
            self.tokens.extend(inner);
            self.tokens.push((Token::Other('}'), line_number));
        }
    }

    /// Skips to the end of a `${…}`, including its closing brace. Strings in it may contain braces.
    fn skip_expression(&mut self) {
        // Open templates and braces, innermost last.
        let mut open = vec!['{'];
        while let Some(c) = self.step() {
            let inside = open.last().copied();
            match (inside, c) {
                (Some('`'), '\\') => {
                    self.step();
                }
                (Some('`'), '`') => {
                    open.pop();
                }
                (Some('`'), '$') if self.peek(0) == Some('{') => {
                    self.step();
                    open.push('{');
                }
                (Some('`'), _) => {}
                (_, '`') => open.push('`'),
                (_, '{') => open.push('{'),
                (_, '}') => {
                    open.pop();
                }
                (_, '"' | '\'') => {
                    while let Some(next) = self.peek(0).filter(|next| *next != '\n') {
                        self.step();
                        match next {
                            '\\' => {
                                self.step();
                            }
                            next if next == c => break,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
            if open.is_empty() {
                return;
            }
        }
    }
}
