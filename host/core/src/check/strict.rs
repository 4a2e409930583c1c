//! The front matter as the reference validator reads it: YAML without flow style, tags, anchors and
//! duplicates, every value text.
//!
//! The loader of skills is lenient and stays so ([`crate::FrontMatter`]); this reader is the other
//! one. It cuts at any `---`, in the middle of a line too, because the reference does: a skill that it
//! calls valid must read the same everywhere.

use super::rules::{self, Rule};
use crate::files::show;
use crate::skill::Marks;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};
use std::collections::HashSet;

/// The reference ends in a recursion error somewhere above this; no front matter comes near.
const MAX_DEPTH: usize = 64;

/// A value, and where it starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
    column: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

impl Node {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The first rule that the front matter breaks as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) rule: &'static Rule,
    pub(crate) message: String,
    pub(crate) line: Option<usize>,
}

fn broken(rule: &'static Rule, line: usize, message: impl Into<String>) -> Broken {
    Broken {
        rule,
        message: message.into(),
        line: Some(line),
    }
}

/// The fields of a document's front matter, each name with its value.
pub(crate) fn fields(document: &str) -> Result<Vec<(Node, Node)>, Broken> {
    let document = document.replace("\r\n", "\n").replace('\r', "\n");
    let Some(rest) = document.strip_prefix("---") else {
        let rule = &rules::FRONT_MATTER_MISSING;
        return Err(broken(rule, 1, "SKILL.md does not start with `---`"));
    };
    let Some((yaml, _)) = rest.split_once("---") else {
        let rule = &rules::FRONT_MATTER_UNCLOSED;
        return Err(broken(rule, 1, "the front matter is not closed by `---`"));
    };
    read(yaml).or_else(|broken| match broken.rule.id {
        "yaml-invalid" => read(&crate::skill::indented(yaml)).map_err(|_| broken),
        _ => Err(broken),
    })
}

fn read(yaml: &str) -> Result<Vec<(Node, Node)>, Broken> {
    let invalid = |line: usize, what: &str| broken(&rules::YAML_INVALID, line, what);
    let mut lines = yaml.split('\n').enumerate();
    if let Some((index, _)) = lines.find(|(_, line)| line.chars().any(|c| !is_printable(c))) {
        let message = "the front matter holds a control character";
        return Err(invalid(index + 1, message));
    }
    let first = yaml.lines().find(|line| !line.trim().is_empty());
    if first.is_some_and(|line| line.split(' ').next() == Some("...")) {
        return Err(invalid(
            1,
            "the front matter starts with the end of a document",
        ));
    }
    let (yaml, marks) = Marks::hide(yaml);
    let mut reader = Reader {
        events: Parser::new_from_str(&yaml),
        marks: &marks,
        source: yaml.chars().collect(),
        quoted: Vec::new(),
    };
    let mut root = None;
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
            (Event::StreamEnd, _) => break,
            (_, span) if root.is_some() => {
                let message = "the front matter holds a second document";
                return Err(invalid(span.start.line(), message));
            }
            (event, span) => root = Some(reader.node(event, span, 0, false)?),
        }
    }
    if let Some(line) = reader.stray_tab(usize::MAX) {
        return Err(stray(line));
    }
    let line = root.as_ref().map_or(1, |root| root.line);
    match root.map(|root| root.kind) {
        Some(Kind::Map(fields)) => {
            construct(&fields)?;
            Ok(fields)
        }
        other => {
            if let Some(Kind::List(items)) = &other {
                items.iter().try_for_each(nested)?;
            }
            Err(broken(
                &rules::FRONT_MATTER_NOT_FIELDS,
                line,
                "the front matter is not a list of `field: value` lines",
            ))
        }
    }
}

/// What the reference refuses only after all was read, the outer mapping before those in it.
fn construct(fields: &[(Node, Node)]) -> Result<(), Broken> {
    let mut known = HashSet::new();
    let mut column = None;
    for (name, value) in fields {
        let Some(text) = name.text() else {
            let message = "a field's name is not text";
            return Err(broken(&rules::YAML_INVALID, name.line, message));
        };
        if text == "<<" && value.text().is_some() {
            let message = "`<<` merges mappings, and its value is none";
            return Err(broken(&rules::YAML_INVALID, name.line, message));
        }
        if !known.insert(text) {
            let message = format!("the field `{}` stands twice", show(text));
            return Err(broken(&rules::YAML_DUPLICATE, name.line, message));
        }
    }
    for (_, value) in fields {
        if matches!(value.kind, Kind::Map(_)) && *column.get_or_insert(value.column) != value.column
        {
            let message = "this mapping is not indented as the one before it";
            return Err(broken(&rules::YAML_INDENTATION, value.line, message));
        }
    }
    fields.iter().try_for_each(|(_, value)| nested(value))
}

fn nested(value: &Node) -> Result<(), Broken> {
    match &value.kind {
        Kind::Text(_) => Ok(()),
        Kind::List(items) => items.iter().try_for_each(nested),
        Kind::Map(fields) => construct(fields),
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    marks: &'a Marks,
    source: Vec<char>,
    /// Where the scalars are that are not plain.
    quoted: Vec<(usize, usize)>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Broken> {
        match self.events.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let message = format!("the front matter is not valid YAML: {}", error.info());
                // What is missing at the end is missed on a line that is not there.
                let lines = self.source.iter().filter(|c| **c == '\n').count() + 1;
                let line = error.marker().line().min(lines);
                Err(broken(&rules::YAML_INVALID, line, message))
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
    ) -> Result<Node, Broken> {
        let (line, column) = (span.start.line(), span.start.col());
        if depth > MAX_DEPTH {
            let message = format!("the front matter is nested more than {MAX_DEPTH} deep");
            return Err(broken(&rules::YAML_INVALID, line, message));
        }
        self.refuse(&event, span)?;
        let kind = match event {
            Event::Scalar(text, style, ..) => {
                let (start, mut end) = (span.start.index(), span.end.index());
                // The parser counts the space after a closing quote to the scalar.
                if matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
                    let space = |at: usize| self.source.get(at).is_some_and(|c| c.is_whitespace());
                    while end > start && space(end - 1) {
                        end -= 1;
                    }
                }
                if style != ScalarStyle::Plain {
                    self.quoted.push((start, end));
                }
                // In two plain words the reference sees operators, and no text.
                match text.as_ref() {
                    "=" | "<<" if style == ScalarStyle::Plain && !key => Kind::List(Vec::new()),
                    _ => Kind::Text(self.marks.show(&text)),
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
                return Err(broken(&rules::YAML_INVALID, line, message));
            }
        };
        Ok(Node { kind, line, column })
    }

    /// The line of a tab that is neither in quotes, nor in a block of text, nor in a comment.
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

    /// What YAML has and the reference refuses.
    fn refuse(&self, event: &Event<'a>, span: Span) -> Result<(), Broken> {
        let line = span.start.line();
        let first = self.source.get(span.start.index());
        // What stands first is refused first.
        let broken = |rule, line, message| match self.stray_tab(span.start.index()) {
            Some(line) => stray(line),
            None => broken(rule, line, message),
        };
        let (anchor, tag) = match event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => (*anchor, tag),
            _ => return Ok(()),
        };
        if anchor != 0 {
            let message = "anchors are not accepted: put the value in quotes";
            return Err(broken(&rules::YAML_ANCHOR, line, message));
        }
        if tag.is_some() {
            let message = "tags are not accepted: put the value in quotes";
            return Err(broken(&rules::YAML_TAG, line, message));
        }
        let collection = !matches!(event, Event::Scalar(..));
        if collection && matches!(first, Some('[' | '{')) {
            let message = "`[…]` and `{…}` are not accepted: write one item a line, or put the value in quotes";
            return Err(broken(&rules::YAML_FLOW, line, message));
        }
        Ok(())
    }
}

fn stray(line: usize) -> Broken {
    let message = "a tab stands where only spaces may";
    broken(&rules::YAML_INVALID, line, message)
}

/// The characters that YAML has.
fn is_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn an_error_is_on_a_line_that_is_there() {
        let broken = fields("---\nname: x\nor---").unwrap_err();
        assert_eq!(broken.line, Some(3));
        assert_eq!(
            broken.message,
            "the front matter is not valid YAML: simple key expected"
        );
    }
}
