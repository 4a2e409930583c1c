//! The front matter of a `SKILL.md`: split off, read as YAML, kept as text values.
//!
//! Values keep the text that was written (`version: 1.10` is `1.10`, not 1.1), as in the reference
//! validator. Anchors and aliases are refused: no real skill uses them, and they let a small file
//! expand without bound. For these two reasons the loader uses the parser's events; a deserialiser
//! would decide both for us.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};
use std::borrow::Cow;
use std::collections::HashSet;

/// Bytes of front matter. Real front matter stays below 2 KiB; the limit bounds the work.
const MAX_BYTES: usize = 64 * 1024;
const MAX_DEPTH: usize = 16;

/// A value in the front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing: no value, `~` or `null`, without quotes.
    Null,
    /// A scalar, as it was written.
    Text(String),
    /// A sequence.
    List(Vec<Value>),
    /// A mapping, in the order it was written.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The text of a scalar that is not empty or null.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !matches!(text.trim(), "" | "~" | "null") => Some(text.trim()),
            _ => None,
        }
    }
}

/// The fields of a front matter, in the order they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter {
    fields: Vec<(String, Value)>,
    /// Problems that were repaired.
    pub(crate) warnings: Vec<String>,
}

impl FrontMatter {
    /// Reads the front matter of `document`. Returns it with the text that follows.
    pub fn parse(document: &str) -> Result<(Self, &str), String> {
        let (yaml, body) = split(document)?;
        if yaml.len() > MAX_BYTES {
            return Err(format!("the front matter is larger than {MAX_BYTES} bytes"));
        }
        match load(yaml).or_else(|error| load(&indented(yaml)).map_err(|_| error)) {
            Ok(fields) => Ok((
                Self {
                    fields,
                    warnings: Vec::new(),
                },
                body,
            )),
            Err(error) => {
                // `description: Use when: x` is the most frequent mistake, and its meaning is clear.
                let fields = load(&quote_values(yaml)).map_err(|_| error.clone())?;
                let warning =
                    format!("the front matter is not valid YAML ({error}); read line by line");
                Ok((
                    Self {
                        fields,
                        warnings: vec![warning],
                    },
                    body,
                ))
            }
        }
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// The text of a field.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::text)
    }

    /// The text of a field below another.
    pub fn nested_text(&self, outer: &str, inner: &str) -> Option<&str> {
        match self.get(outer) {
            Some(Value::Map(fields)) => fields
                .iter()
                .find(|(key, _)| key == inner)
                .and_then(|(_, value)| value.text()),
            _ => None,
        }
    }

    /// The names of all fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(key, _)| key.as_str())
    }
}

fn split(document: &str) -> Result<(&str, &str), String> {
    let document = document.strip_prefix('\u{feff}').unwrap_or(document);
    let mut rest = document;
    let mut line = || {
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        (!line.is_empty()).then_some((line.trim_end(), after))
    };
    let Some(("---", start)) = line() else {
        return Err("it does not start with a line `---`".into());
    };
    let mut before = start;
    while let Some((text, after)) = line() {
        if text == "---" {
            let yaml = &start[..start.len() - before.len()];
            return Ok((yaml, after));
        }
        before = after;
    }
    Err("the front matter is not closed by a line `---`".into())
}

fn load(yaml: &str) -> Result<Vec<(String, Value)>, String> {
    read(yaml, &HiddenBoms::none()).or_else(|error| {
        let (yaml, boms) = HiddenBoms::hide(yaml);
        read(&yaml, &boms).map_err(|_| error)
    })
}

fn read(yaml: &str, boms: &HiddenBoms) -> Result<Vec<(String, Value)>, String> {
    let mut loader = Loader {
        events: Parser::new_from_str(yaml),
        boms,
    };
    loop {
        match loader.next()? {
            Event::StreamStart | Event::DocumentStart(_) => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(Vec::new()),
            event => match loader.value(event, 0)? {
                Value::Map(fields) => return Ok(fields),
                value if value.text().is_none() => return Ok(Vec::new()),
                _ => return Err("it is not a list of `field: value` lines".into()),
            },
        }
    }
}

struct Loader<'a> {
    events: Parser<'a, saphyr_parser::StrInput<'a>>,
    boms: &'a HiddenBoms,
}

impl<'a> Loader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.events.next() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(with_line(&error)),
            None => Ok(Event::StreamEnd),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        match event {
            Event::Scalar(_, _, anchor, _) if anchor != 0 => Err(no_aliases()),
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) if anchor != 0 => {
                Err(no_aliases())
            }
            Event::Scalar(text, ScalarStyle::Plain, _, None) if is_null(&text) => Ok(Value::Null),
            Event::Scalar(text, ..) => Ok(Value::Text(self.boms.restore(&text))),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Value::List(items)),
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut fields: Vec<(String, Value)> = Vec::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Value::Map(fields)),
                        // A name is text, even `null`.
                        Event::Scalar(text, _, 0, _) => self.boms.restore(&text),
                        event => match self.value(event, depth + 1)? {
                            Value::Text(key) => key,
                            _ => return Err("a field's name is not plain text".into()),
                        },
                    };
                    let event = self.next()?;
                    let value = self.value(event, depth + 1)?;
                    if fields.iter().any(|(known, _)| *known == key) {
                        return Err(format!(
                            "the field `{}` appears twice",
                            crate::files::show(&key)
                        ));
                    }
                    fields.push((key, value));
                }
            }
            Event::Alias(_) => Err(no_aliases()),
            _ => Err("it ends too early".into()),
        }
    }
}

/// Hides byte order marks from the parser: it refuses them inside a document, while the reference validator reads
/// them as any other character. They are replaced by a character that does not occur in the text.
pub(crate) struct HiddenBoms(Option<char>);

impl HiddenBoms {
    const MARK: char = '\u{feff}';

    fn none() -> Self {
        Self(None)
    }

    /// The text without byte order marks, and their replacement. A text that contains every private-use
    /// character keeps its marks.
    pub(crate) fn hide(text: &str) -> (Cow<'_, str>, Self) {
        if !text.contains(Self::MARK) {
            return (text.into(), Self::none());
        }
        let used: HashSet<char> = text.chars().collect();
        match ('\u{e000}'..='\u{f8ff}').find(|c| !used.contains(c)) {
            Some(other) => {
                let hidden = text.replace(Self::MARK, other.encode_utf8(&mut [0; 4]));
                (hidden.into(), Self(Some(other)))
            }
            None => (text.into(), Self::none()),
        }
    }

    /// Restores the byte order marks.
    pub(crate) fn restore(&self, text: &str) -> String {
        match self.0 {
            Some(other) => text.replace(other, Self::MARK.encode_utf8(&mut [0; 4])),
            None => text.to_owned(),
        }
    }
}

fn no_aliases() -> String {
    "anchors and aliases are not accepted".into()
}

fn with_line(error: &ScanError) -> String {
    // The document's first line is the `---`, which the parser does not see.
    format!("{} at line {}", error.info(), error.marker().line() + 1)
}

fn is_null(plain: &str) -> bool {
    matches!(plain, "" | "~" | "null" | "Null" | "NULL")
}

/// Each `key: value` at the left margin with its value in quotes, unless it is null, quoted or structured.
fn quote_values(yaml: &str) -> String {
    let mut repaired = String::with_capacity(yaml.len() + 16);
    for line in yaml.lines() {
        let quoted = line
            .split_once(": ")
            .filter(|(key, _)| !key.is_empty() && !key.starts_with([' ', '#', '-']))
            .map(|(key, value)| (key, without_comment(value).trim()))
            .filter(|(_, value)| !is_null(value))
            .filter(|(_, value)| !value.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*']));
        match quoted {
            Some((key, value)) => {
                repaired.push_str(&format!("{key}: '{}'", value.replace('\'', "''")));
            }
            None => repaired.push_str(line),
        }
        repaired.push('\n');
    }
    repaired
}

/// A plain value without its comment. A `#` starts a comment at the start of the value or after whitespace.
fn without_comment(value: &str) -> &str {
    let begins = |at: &usize| {
        value[..*at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    };
    let comment = value.match_indices('#').map(|(at, _)| at).find(begins);
    &value[..comment.unwrap_or(value.len())]
}

/// Indents the continuation lines of quoted scalars, which changes no value. The reference validator accepts
/// them at column 0, but the parser does not.
pub(crate) fn indented(yaml: &str) -> String {
    let mut text = String::with_capacity(yaml.len() + 16);
    let mut open = None;
    for line in yaml.split_inclusive('\n') {
        let rest = match open {
            Some(_) => {
                text.push(' ');
                line
            }
            None => line
                .split_once(": ")
                .map_or("", |(_, value)| value.trim_start()),
        };
        text.push_str(line);
        let mut letters = rest.chars();
        if open.is_none() {
            open = letters.next().filter(|c| matches!(c, '"' | '\''));
        }
        while let (Some(quote), Some(c)) = (open, letters.next()) {
            match c {
                '\\' if quote == '"' => drop(letters.next()),
                '\'' if quote == c && letters.as_str().starts_with(c) => drop(letters.next()),
                c if c == quote => open = None,
                _ => {}
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(document: &str) -> Result<(FrontMatter, &str), String> {
        FrontMatter::parse(document)
    }

    #[test]
    fn values_stay_the_text_that_was_written() {
        let (matter, body) = parse(
            "---\nname: pdf\nversion: 1.10\nflag: yes\nmetadata:\n  version: 007\n  author: \"a: b\"\n---\n# Body\n",
        )
        .unwrap();
        assert_eq!(matter.text("name"), Some("pdf"));
        assert_eq!(matter.text("version"), Some("1.10"));
        assert_eq!(matter.text("flag"), Some("yes"));
        assert_eq!(matter.nested_text("metadata", "version"), Some("007"));
        assert_eq!(matter.nested_text("metadata", "author"), Some("a: b"));
        assert_eq!(body, "# Body\n");
        assert_eq!(
            matter.names().collect::<Vec<_>>(),
            ["name", "version", "flag", "metadata"]
        );
    }

    #[test]
    fn byte_order_mark_and_windows_line_ends_are_read() {
        let (matter, body) =
            parse("\u{feff}---\r\nname: a\r\ndescription: b\r\n---\r\ntext").unwrap();
        assert_eq!(matter.text("description"), Some("b"));
        assert_eq!(body, "text");
    }

    #[test]
    fn a_byte_order_mark_in_a_value_is_part_of_it() {
        let (matter, _) =
            parse("---\ndescription: \u{feff}a \u{feff}b\u{e000}\nlicense: \"\u{feff}c\"\n---\n")
                .unwrap();
        assert_eq!(
            matter.text("description"),
            Some("\u{feff}a \u{feff}b\u{e000}")
        );
        assert_eq!(matter.text("license"), Some("\u{feff}c"));
        assert!(matter.warnings.is_empty());
    }

    #[test]
    fn quoted_text_may_continue_at_column_0() {
        let (matter, _) =
            parse("---\nname: a\ndescription: \"one\ntwo: \\\"x\\\"\nthree\"\nlicense: 'it''s\nmine'\n---\n").unwrap();
        assert_eq!(matter.text("description"), Some("one two: \"x\" three"));
        assert_eq!(matter.text("license"), Some("it's mine"));
        assert!(matter.warnings.is_empty());
    }

    #[test]
    fn an_unquoted_colon_is_repaired_with_a_warning() {
        let (matter, _) = parse("---\nname: a\ndescription: Use when: it's late\n---\n").unwrap();
        assert_eq!(matter.text("description"), Some("Use when: it's late"));
        assert_eq!(matter.warnings.len(), 1);
    }

    #[test]
    fn a_comment_is_not_part_of_a_repaired_value() {
        let field = |line: &str| {
            let document = format!("---\ndescription: Use when: late\n{line}\n---\n");
            let (matter, _) = parse(&document).unwrap();
            assert_eq!(matter.warnings.len(), 1);
            matter.get("allowed-tools").cloned()
        };
        let text = |text: &str| Some(Value::Text(text.into()));
        for (line, value) in [
            ("allowed-tools: Read # Bash", text("Read")),
            ("allowed-tools: Read\t# Bash", text("Read")),
            ("allowed-tools: Read#Bash", text("Read#Bash")),
            ("allowed-tools: 'Read # x'", text("Read # x")),
            ("allowed-tools: # Bash", Some(Value::Null)),
            ("allowed-tools: ", Some(Value::Null)),
            ("allowed-tools: null # Bash", Some(Value::Null)),
            ("allowed-tools: 'null'", text("null")),
        ] {
            assert_eq!(field(line), value, "{line}");
        }
    }

    #[test]
    fn invalid_front_matter_is_refused_with_a_reason() {
        for (document, why) in [
            ("# Title", "it does not start with a line `---`"),
            ("", "it does not start with a line `---`"),
            (
                "---\nname: a\n",
                "the front matter is not closed by a line `---`",
            ),
            (
                "---\na: &x 1\nb: *x\n---\n",
                "anchors and aliases are not accepted",
            ),
            ("---\na: 1\na: 2\n---\n", "the field `a` appears twice"),
            (
                "---\njust text\n---\n",
                "it is not a list of `field: value` lines",
            ),
        ] {
            assert_eq!(parse(document).unwrap_err(), why, "{document}");
        }
    }

    #[test]
    fn an_empty_front_matter_has_no_fields() {
        let (matter, body) = parse("---\n---\nbody").unwrap();
        assert_eq!(matter.names().count(), 0);
        assert_eq!(body, "body");
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = format!("---\na: {}{}\n---\n", "[".repeat(5000), "]".repeat(5000));
        assert!(parse(&deep).is_err());
    }

    proptest! {
        #[test]
        fn no_document_makes_the_parser_panic(document in "(---\n)?(.|\n){0,200}(\n---\n)?(.|\n){0,20}") {
            let _ = parse(&document);
        }

        #[test]
        fn any_quoted_value_is_unchanged(value in "[^\"\\\\\\p{C}]{1,40}") {
            let document = format!("---\ndescription: \"{value}\"\n---\n");
            let (matter, _) = parse(&document).map_err(TestCaseError::fail)?;
            prop_assert_eq!(matter.get("description"), Some(&Value::Text(value)));
        }
    }
}
