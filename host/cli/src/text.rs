//! Text for a terminal: in one line, wrapped, and without characters that would control it.

use icu_properties::CodePointMapData;
use icu_properties::props::{EastAsianWidth, GeneralCategory};
use std::path::Path;

/// The fewest columns of a description. In a narrower window the terminal wraps the line.
const MIN_DESCRIPTION: usize = 10;
/// The columns of the word between a name and its description.
const WORD: usize = 10;
/// The columns of a label, with the space after it.
const LABEL: usize = 15;

/// The columns of the terminal that stdout is. `None` for a pipe or a file, which gets the full text.
pub(crate) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    // A terminal that does not know its size reports 0.
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// Lines with a name, a word and a description. A name that does not fit is never cut, because it is there to be typed:
/// it has lines of its own.
pub(crate) struct Table {
    indent: usize,
    name: usize,
    columns: Option<usize>,
}

impl Table {
    /// A table with these names, whose column is at most `max` wide.
    pub(crate) fn new<'a>(
        indent: usize,
        names: impl Iterator<Item = &'a str>,
        max: usize,
        columns: Option<usize>,
    ) -> Self {
        let name = names.map(|name| display_width(&printable(name))).max();
        let mut name = name.unwrap_or(0).min(max);
        if let Some(columns) = columns {
            name = name.min(columns.saturating_sub(indent + 2 + WORD + 2 + MIN_DESCRIPTION));
        }
        Self {
            indent,
            name,
            columns,
        }
    }

    pub(crate) fn row(&self, name: &str, word: &str, description: &str) -> String {
        let Self {
            indent,
            name: width,
            columns,
        } = *self;
        let name = printable(name);
        let pad = " ".repeat(width.saturating_sub(display_width(&name)));
        let mut start = format!("{:indent$}{name}{pad}", "");
        let mut budget = usize::MAX;
        if let Some(columns) = columns {
            if display_width(&name) > width {
                start = broken(&start, columns, indent) + "\n" + &" ".repeat(indent + width);
            }
            budget = columns.saturating_sub(indent + width + 2 + WORD + 2);
        }
        let text = one_line(description, budget.max(MIN_DESCRIPTION));
        let line = format!("{start}  {word:<WORD$}  {text}");
        line.trim_end().to_owned()
    }
}

/// A label and a value, which continues on further lines if the window is too narrow for it.
pub(crate) fn labelled(label: &str, value: &str, columns: Option<usize>) -> String {
    let line = format!("{label:<LABEL$}{}", printable(value));
    match columns {
        Some(columns) => broken(&line, columns, LABEL),
        None => line,
    }
}

/// Text on one line, cut after `max` columns.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let line = printable(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    match display_width(&line) > max {
        false => line,
        true => line[..fitting(&line, max.saturating_sub(1))].to_owned() + "…",
    }
}

/// Text on lines of at most `width` columns, broken between words, and within words that are wider than that.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace().map(printable) {
        match lines.last_mut() {
            Some(line) if display_width(line) + 1 + display_width(&word) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.extend(broken(&word, width, 0).split('\n').map(str::to_owned)),
        }
    }
    lines.join("\n")
}

/// Printable text on lines of at most `width` columns, broken anywhere. All but the first line are indented.
pub(crate) fn broken(text: &str, width: usize, indent: usize) -> String {
    // In a window that is narrower than the indent, the terminal wraps the lines.
    let room = width.saturating_sub(indent).max(MIN_DESCRIPTION);
    let (first, mut rest) = text.split_at(fitting(text, room.saturating_add(indent)));
    let mut lines = first.to_owned();
    while !rest.is_empty() {
        let (line, further) = rest.split_at(fitting(rest, room));
        lines.push('\n');
        lines.push_str(&" ".repeat(indent));
        lines.push_str(line);
        rest = further;
    }
    lines
}

/// The bytes of the longest beginning of a text that fits into `width` columns.
fn fitting(text: &str, width: usize) -> usize {
    let mut used = 0;
    let mut characters = text.char_indices();
    let next = characters.find(|(_, c)| {
        used += char_width(*c);
        used > width
    });
    next.map_or(text.len(), |(at, _)| at)
}

/// The columns that a text takes in a terminal.
pub(crate) fn display_width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    if c.is_ascii() {
        return 1;
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    if matches!(
        category,
        GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark | GeneralCategory::Format
    ) {
        return 0;
    }
    match CodePointMapData::<EastAsianWidth>::new().get(c) {
        EastAsianWidth::Wide | EastAsianWidth::Fullwidth => 2,
        _ => 1,
    }
}

/// A path, with the characters replaced that would control a terminal.
pub(crate) fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// Text from a skill, with the characters replaced that would control a terminal.
pub(crate) fn printable(text: &str) -> String {
    let controls = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|c| {
            if controls(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words() {
        let text = "a description  of\nseveral words";
        assert_eq!(wrapped(text, 13), "a description\nof several\nwords");
        assert_eq!(wrapped(text, 11), "a\ndescription\nof several\nwords");
        assert_eq!(wrapped(text, usize::MAX), "a description of several words");
    }

    #[test]
    fn text_is_cut_after_the_last_character_that_fits() {
        assert_eq!(one_line("a  b\nc", 5), "a b c");
        assert_eq!(one_line("a  b\nc d", 5), "a b …");
        assert_eq!(one_line("ééé", 3), "ééé");
        assert_eq!(one_line("e\u{301}e\u{301}", 2), "e\u{301}e\u{301}");
        assert_eq!(one_line("技能技能", 7), "技能技…");
        assert_eq!(one_line("技能技能", 6), "技能…");
    }

    #[test]
    fn a_word_that_is_too_wide_is_broken() {
        assert_eq!(wrapped("a 技能技能技能技能", 10), "a\n技能技能技\n能技能");
        assert_eq!(
            labelled("path", "/abc/defghijk", Some(25)),
            "path           /abc/defgh\n               ijk"
        );
        assert_eq!(labelled("path", "/a", None), "path           /a");
    }

    #[test]
    fn a_name_that_does_not_fit_has_a_line_of_its_own() {
        let names = ["short", "a-name-that-is-long", "技能"];
        let table = |columns| Table::new(0, names.into_iter(), 32, columns);
        let rows = |table: &Table| names.map(|name| table.row(name, "1 script", "What it does."));
        assert_eq!(
            rows(&table(Some(30))),
            [
                "short   1 script    What it d…",
                "a-name-that-is-long\n        1 script    What it d…",
                "技能    1 script    What it d…",
            ]
        );
        assert_eq!(
            rows(&table(None))[0],
            "short                1 script    What it does."
        );
    }
}
