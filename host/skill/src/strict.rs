//! The front matter as the reference validator reads it: YAML without flow style, tags, anchors and
//! duplicates, every value text.
//!
//! The loader of skills is lenient on purpose ([`crate::FrontMatter`]); this reader is the strict one. It ends the front
//! matter at any `---`, even in the middle of a line, because the reference validator does: a skill that is valid here must be read
//! the same way everywhere.

use crate::files::show;
use crate::front_matter::{HiddenBoms, indented};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};
use std::collections::HashSet;

/// Levels of nesting. The reference fails with a recursion error somewhere above this; no real front matter comes close.
const MAX_DEPTH: usize = 64;

/// A value and where it starts.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: Kind,
    pub line: usize,
    column: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

impl Node {
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Why the front matter cannot be read, by the first thing that is wrong with it.
#[derive(Debug, PartialEq, Eq)]
pub struct ParseError {
    pub kind: ParseErrorKind,
    pub message: String,
    pub line: Option<usize>,
}

/// What is wrong with a front matter that cannot be read. `check` has a rule for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The document does not start with `---`.
    Missing,
    /// It is not closed by `---`.
    Unclosed,
    /// It is not a list of `field: value` lines.
    NotFields,
    /// It is not valid YAML.
    Invalid,
    /// It uses `[…]` or `{…}`.
    Flow,
    /// It uses a tag.
    Tag,
    /// It uses an anchor.
    Anchor,
    /// A field appears twice.
    Duplicate,
    /// Sibling mappings have different indentation.
    Indentation,
}

fn parse_error(kind: ParseErrorKind, line: usize, message: impl Into<String>) -> ParseError {
    ParseError {
        kind,
        message: message.into(),
        line: Some(line),
    }
}

/// The fields of a document's front matter, each name with its value.
pub fn fields(document: &str) -> Result<Vec<(Node, Node)>, ParseError> {
    let document = document.replace("\r\n", "\n").replace('\r', "\n");
    let Some(rest) = document.strip_prefix("---") else {
        let kind = ParseErrorKind::Missing;
        return Err(parse_error(kind, 1, "SKILL.md does not start with `---`"));
    };
    let Some((yaml, _)) = rest.split_once("---") else {
        let kind = ParseErrorKind::Unclosed;
        return Err(parse_error(
            kind,
            1,
            "the front matter is not closed by `---`",
        ));
    };
    read(yaml).or_else(|error| match error.kind {
        ParseErrorKind::Invalid => read(&indented(yaml)).map_err(|_| error),
        _ => Err(error),
    })
}

/// Trims whitespace. Like the reference validator, it treats the four ASCII separators as whitespace.
pub fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}

/// The trimmed text of a field, unless it is empty.
pub fn text_of<'a>(fields: &'a [(Node, Node)], wanted: &str) -> Option<&'a str> {
    let mut found = fields
        .iter()
        .filter(|(name, _)| name.text() == Some(wanted));
    let (_, value) = found.next()?;
    match &value.kind {
        Kind::Text(text) => Some(strip(text)).filter(|text| !text.is_empty()),
        _ => None,
    }
}

fn read(yaml: &str) -> Result<Vec<(Node, Node)>, ParseError> {
    let invalid = |line: usize, what: &str| parse_error(ParseErrorKind::Invalid, line, what);
    let mut lines = yaml.split('\n').enumerate();
    if let Some((index, _)) = lines.find(|(_, line)| line.chars().any(|c| !is_printable(c))) {
        let message = "the front matter contains a control character";
        return Err(invalid(index + 1, message));
    }
    let first = yaml.lines().find(|line| !line.trim().is_empty());
    if first.is_some_and(|line| line.split(' ').next() == Some("...")) {
        return Err(invalid(
            1,
            "the front matter starts with `...`, which ends a document",
        ));
    }
    let (yaml, boms) = HiddenBoms::hide(yaml);
    let mut reader = Reader {
        events: Parser::new_from_str(&yaml),
        boms: &boms,
        source: yaml.chars().collect(),
        quoted: Vec::new(),
    };
    let mut root = None;
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
            (Event::StreamEnd, _) => break,
            (_, span) if root.is_some() => {
                let message = "the front matter contains a second document";
                return Err(invalid(span.start.line(), message));
            }
            (event, span) => root = Some(reader.node(event, span, 0, false)?),
        }
    }
    if let Some(line) = reader.stray_tab(usize::MAX) {
        return Err(tab_error(line));
    }
    let line = root.as_ref().map_or(1, |root| root.line);
    match root.map(|root| root.kind) {
        Some(Kind::Map(fields)) => {
            check_mapping(&fields)?;
            Ok(fields)
        }
        other => {
            if let Some(Kind::List(items)) = &other {
                items.iter().try_for_each(check_value)?;
            }
            Err(parse_error(
                ParseErrorKind::NotFields,
                line,
                "the front matter is not a list of `field: value` lines",
            ))
        }
    }
}

/// Applies the checks that the reference validator makes after parsing, an outer mapping before its inner ones.
fn check_mapping(fields: &[(Node, Node)]) -> Result<(), ParseError> {
    let mut known = HashSet::new();
    let mut column = None;
    for (name, value) in fields {
        let Some(text) = name.text() else {
            let message = "a field's name is not text";
            return Err(parse_error(ParseErrorKind::Invalid, name.line, message));
        };
        if text == "<<" && value.text().is_some() {
            let message = "the value of the merge key `<<` is not a mapping";
            return Err(parse_error(ParseErrorKind::Invalid, name.line, message));
        }
        if !known.insert(text) {
            let message = format!("the field `{}` appears twice", show(text));
            return Err(parse_error(ParseErrorKind::Duplicate, name.line, message));
        }
    }
    for (_, value) in fields {
        if matches!(value.kind, Kind::Map(_)) && *column.get_or_insert(value.column) != value.column
        {
            let message = "this mapping is indented differently from the one before it";
            return Err(parse_error(
                ParseErrorKind::Indentation,
                value.line,
                message,
            ));
        }
    }
    fields.iter().try_for_each(|(_, value)| check_value(value))
}

fn check_value(value: &Node) -> Result<(), ParseError> {
    match &value.kind {
        Kind::Text(_) => Ok(()),
        Kind::List(items) => items.iter().try_for_each(check_value),
        Kind::Map(fields) => check_mapping(fields),
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    boms: &'a HiddenBoms,
    source: Vec<char>,
    /// The ranges of the scalars that are not plain.
    quoted: Vec<(usize, usize)>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), ParseError> {
        match self.events.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let message = format!("the front matter is not valid YAML: {}", error.info());
                // The parser reports an error at the end on the line after the last one.
                let lines = self.source.iter().filter(|c| **c == '\n').count() + 1;
                let line = error.marker().line().min(lines);
                Err(parse_error(ParseErrorKind::Invalid, line, message))
            }
            None => Ok((Event::StreamEnd, Span::empty(Marker::new(0, 1, 0)))),
        }
    }

    fn node(
        &mut self,
        event: Event<'a>,
        span: Span,
        depth: usize,
        key: bool,
    ) -> Result<Node, ParseError> {
        let (line, column) = (span.start.line(), span.start.col());
        if depth > MAX_DEPTH {
            let message = format!("the front matter is nested more than {MAX_DEPTH} deep");
            return Err(parse_error(ParseErrorKind::Invalid, line, message));
        }
        self.refuse(&event, span)?;
        let kind = match event {
            Event::Scalar(text, style, ..) => {
                let (start, mut end) = (span.start.index(), span.end.index());
                // The parser includes the space after a closing quote in the scalar.
                if matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
                    let space = |at: usize| self.source.get(at).is_some_and(|c| c.is_whitespace());
                    while end > start && space(end - 1) {
                        end -= 1;
                    }
                }
                if style != ScalarStyle::Plain {
                    self.quoted.push((start, end));
                }
                // The reference treats these two plain scalars as operators, not as text.
                match text.as_ref() {
                    "=" | "<<" if style == ScalarStyle::Plain && !key => Kind::List(Vec::new()),
                    _ => Kind::Text(self.boms.restore(&text)),
                }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break Kind::List(items),
                        (event, span) => items.push(self.node(event, span, depth + 1, false)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut fields = Vec::new();
                loop {
                    let name = match self.next()? {
                        (Event::MappingEnd, _) => break Kind::Map(fields),
                        (event, span) => self.node(event, span, depth + 1, true)?,
                    };
                    let (event, span) = self.next()?;
                    fields.push((name, self.node(event, span, depth + 1, false)?));
                }
            }
            _ => {
                let message = "the front matter is not valid YAML: it ends too early";
                return Err(parse_error(ParseErrorKind::Invalid, line, message));
            }
        };
        Ok(Node { kind, line, column })
    }

    /// The line of the first tab outside quotes, block scalars and comments.
    fn stray_tab(&self, before: usize) -> Option<usize> {
        let (mut line, mut at) = (1, 0);
        let mut quoted = self.quoted.iter().peekable();
        let mut space = true;
        while let Some(c) = self.source.get(at).filter(|_| at < before) {
            if let Some((_, end)) = quoted.next_if(|(start, _)| *start <= at) {
                let end = (*end).clamp(at + 1, self.source.len());
                line += self.source[at..end].iter().filter(|c| **c == '\n').count();
                space = self.source[end - 1] == '\n';
                at = end;
                continue;
            }
            match c {
                '\t' => return Some(line),
                '#' if space => {
                    let rest = self.source[at..].iter();
                    at += rest.take_while(|c| **c != '\n').count();
                    continue;
                }
                '\n' => line += 1,
                _ => {}
            }
            space = matches!(c, ' ' | '\n');
            at += 1;
        }
        None
    }

    /// Refuses the YAML features that the reference validator refuses.
    fn refuse(&self, event: &Event<'a>, span: Span) -> Result<(), ParseError> {
        let line = span.start.line();
        let first = self.source.get(span.start.index());
        // The first violation in the text is reported.
        let parse_error = |kind, line, message| match self.stray_tab(span.start.index()) {
            Some(line) => tab_error(line),
            None => parse_error(kind, line, message),
        };
        let (anchor, tag) = match event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => (*anchor, tag),
            _ => return Ok(()),
        };
        if anchor != 0 {
            let message = "anchors are not accepted: put the value in quotes";
            return Err(parse_error(ParseErrorKind::Anchor, line, message));
        }
        if tag.is_some() {
            let message = "tags are not accepted: put the value in quotes";
            return Err(parse_error(ParseErrorKind::Tag, line, message));
        }
        let collection = !matches!(event, Event::Scalar(..));
        if collection && matches!(first, Some('[' | '{')) {
            let message = "`[…]` and `{…}` are not accepted: write one item per line, or put the value in quotes";
            return Err(parse_error(ParseErrorKind::Flow, line, message));
        }
        Ok(())
    }
}

fn tab_error(line: usize) -> ParseError {
    let message = "a tab is used where only spaces are allowed";
    parse_error(ParseErrorKind::Invalid, line, message)
}

/// The characters that YAML allows.
fn is_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn an_error_is_on_a_line_that_exists() {
        let error = fields("---\nname: x\nor---").unwrap_err();
        assert_eq!(error.line, Some(3));
        assert_eq!(
            error.message,
            "the front matter is not valid YAML: simple key expected"
        );
    }
}
