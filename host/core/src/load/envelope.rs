//! The text of a loaded skill: elements in a fixed order, everything in them escaped.
//!
//! No text from a skill or a script can open or close an element: `&`, `<` and `>` are always written as
//! entities, and characters that XML does not allow are replaced.

use std::fmt::Write as _;

/// Writes elements. They are closed in reverse order of opening.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    text: String,
    open: Vec<&'static str>,
}

impl Envelope {
    pub(super) fn open(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, ">");
        self.open.push(name);
    }

    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    pub(super) fn line(&mut self) {
        self.text.push('\n');
    }

    /// An element with text.
    pub(super) fn element(&mut self, name: &'static str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        self.write(text);
        self.close();
    }

    /// An empty element.
    pub(super) fn empty(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, "/>\n");
    }

    pub(super) fn write(&mut self, text: &str) {
        for c in text.chars() {
            self.push(c);
        }
    }

    pub(super) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)], end: &str) {
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"");
            for c in value.chars() {
                match c {
                    '"' => self.text.push_str("&quot;"),
                    '\n' => self.text.push_str("&#10;"),
                    '\t' => self.text.push_str("&#9;"),
                    '\r' => self.text.push_str("&#13;"),
                    other => self.push(other),
                }
            }
            self.text.push('"');
        }
        self.text.push_str(end);
    }

    fn push(&mut self, c: char) {
        match c {
            '&' => self.text.push_str("&amp;"),
            '<' => self.text.push_str("&lt;"),
            '>' => self.text.push_str("&gt;"),
            '\t' | '\n' => self.text.push(c),
            // XML parsers would turn it into a newline.
            '\r' => self.text.push_str("&#13;"),
            '\u{fffe}' | '\u{ffff}' => self.text.push(char::REPLACEMENT_CHARACTER),
            other if other.is_control() && other < '\u{80}' => {
                self.text.push(char::REPLACEMENT_CHARACTER);
            }
            other => self.text.push(other),
        }
    }
}

/// At most `max` bytes of a text, cut between characters, and whether anything was cut.
pub(super) fn cut(text: &str, max: usize) -> (&str, bool) {
    if text.len() <= max {
        return (text, false);
    }
    let end = (0..=max).rev().find(|at| text.is_char_boundary(*at));
    (&text[..end.unwrap_or(0)], true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_opens_or_closes_an_element(text in "(.|\n|<|>|&|/|\"){0,60}") {
            let mut envelope = Envelope::default();
            envelope.element("a", &[("b", &text)], &text);
            let whole = envelope.finish();
            prop_assert_eq!(whole.matches('<').count(), 2);
            prop_assert_eq!(whole.matches('>').count(), 2);
            let attribute = whole.split('"').nth(1).unwrap_or_default();
            let start = ["<a b=\"", attribute, "\">"].concat();
            prop_assert!(whole.starts_with(&start));
        }

        #[test]
        fn a_text_is_cut_between_characters(text in ".{0,20}", most in 0usize..40) {
            let (kept, was_cut) = cut(&text, most);
            prop_assert!(kept.len() <= most && text.starts_with(kept));
            prop_assert_eq!(was_cut, kept.len() < text.len());
        }
    }
}
