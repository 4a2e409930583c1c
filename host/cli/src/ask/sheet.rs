//! Rows with a label on the left and a text beside it.
//!
//! We wrap texts here and do not leave it to the terminal: a text that controls where a row begins could write rows
//! that look like ours.

use skillrun_skill::text::show;

/// The columns before a text.
pub(super) const INDENT: usize = 12;
/// The fewest columns for a text. A narrower text is unreadable.
pub(super) const MIN_TEXT: usize = 20;
/// Characters shown of one text.
pub(super) const MAX_TEXT: usize = 300;

/// The size of the terminal window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Window {
    /// How many rows our own lines take.
    pub(super) fn rows_of(self, lines: &str) -> usize {
        let rows = |line: &str| width(line).div_ceil(self.columns).max(1);
        lines.lines().map(rows).sum()
    }
}

/// The rows of a text for one window.
#[derive(Debug)]
pub(crate) struct Sheet {
    columns: usize,
    pub(super) rows: usize,
    pub(super) text: String,
}

impl Sheet {
    pub(super) fn new(window: Window) -> Self {
        Self {
            columns: window.columns,
            rows: 0,
            text: String::new(),
        }
    }

    /// Adds a labelled text. Without a label it belongs to the line above.
    pub(super) fn line(&mut self, name: &str, value: &str) {
        self.rows_with(&format!("  {name:<9} "), &" ".repeat(INDENT), value);
    }

    /// Adds a text with `first` before its first row and `next` before every other row.
    pub(crate) fn rows_with(&mut self, first: &str, next: &str, value: &str) {
        // A character in the last column wraps on some terminals only.
        let width = self
            .columns
            .saturating_sub(width(first).max(width(next)) + 1);
        for (at, row) in wrap(value, width.max(MIN_TEXT)).iter().enumerate() {
            self.text.push_str(if at == 0 { first } else { next });
            self.text.push_str(row);
            self.text.push('\n');
            self.rows += 1;
        }
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
        self.rows += other.rows;
    }
}

/// Splits a text into rows of at most `width` columns, at spaces where that leaves no row half empty.
pub(super) fn wrap(text: &str, width: usize) -> Vec<&str> {
    let mut rows = Vec::new();
    let mut rest = text;
    loop {
        let (mut used, mut space, mut end) = (0, 0, rest.len());
        for (at, c) in rest.char_indices() {
            used += char_width(c);
            if used > width {
                // Do not leave a row half empty for the sake of a long word.
                end = if space > at / 2 { space } else { at };
                break;
            }
            if c == ' ' {
                space = at + 1;
            }
        }
        let (row, further) = rest.split_at(end);
        rows.push(row);
        rest = further;
        if rest.is_empty() {
            return rows;
        }
    }
}

fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// An upper bound: terminals do not agree on widths, and a row must not become two.
fn char_width(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

/// A text as it is shown, of at most `max` characters.
pub(super) fn shown_up_to(text: &str, max: usize) -> String {
    let (mut shown, is_cut) = cut(text, max);
    if is_cut {
        shown.push_str(&length_note(text));
    }
    shown
}

pub(super) fn shown(text: &str) -> String {
    shown_up_to(text, MAX_TEXT)
}

/// A text in quotes, and whether it was cut. Nothing in it can look like the closing quote.
pub(super) fn quoted(text: &str, max: usize) -> (String, bool) {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    let (shown, is_cut) = cut(&escaped, max);
    let length_note = if is_cut {
        length_note(text)
    } else {
        String::new()
    };
    (format!("\"{shown}\"{length_note}"), is_cut)
}

/// A line of source code, with its spaces unchanged.
pub(super) fn source(line: &str) -> String {
    let start: String = line.chars().take(MAX_TEXT).collect();
    let length_note = match start.len() < line.len() {
        true => length_note(line),
        false => String::new(),
    };
    show(&start) + &length_note
}

fn length_note(text: &str) -> String {
    format!("… ({} characters)", text.chars().count())
}

/// The beginning of a text, escaped, and whether it was cut.
fn cut(text: &str, max: usize) -> (String, bool) {
    let start: String = text.chars().take(max).collect();
    let shown = visible_blanks(&show(&start));
    match shown.char_indices().nth(max) {
        Some((at, _)) => (shown[..at].to_owned(), true),
        None => (shown, start.len() < text.len()),
    }
}

/// Shows every space but the first of a run as a dot, so that no text can forge columns.
fn visible_blanks(text: &str) -> String {
    // We print a space before each text.
    let mut after_blank = true;
    let each = text.chars().map(|c| {
        let is_blank = c.is_whitespace() || c == '\u{2800}';
        let hides = is_blank && after_blank;
        after_blank = is_blank;
        if hides { '·' } else { c }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        columns: 40,
        rows: 24,
    };

    #[test]
    fn control_characters_are_shown_escaped() {
        assert_eq!(
            shown("a\u{1b}[2Jb\u{202e}c\nd"),
            "a\\u{1b}[2Jb\\u{202e}c\\nd"
        );
        let long = shown(&"x".repeat(1000));
        assert!(long.ends_with("x… (1000 characters)"), "{long}");
        let escaped = shown(&"\u{1b}".repeat(300));
        assert_eq!(
            escaped.chars().count(),
            300 + "… (300 characters)".chars().count()
        );
    }

    #[test]
    fn a_run_of_spaces_is_visible() {
        assert_eq!(shown("a b   c"), "a b ··c");
        assert_eq!(shown(" a\u{3000}\u{a0}\u{2800}b"), "·a\u{3000}··b");
    }

    #[test]
    fn nothing_in_quotes_looks_like_the_closing_quote() {
        assert_eq!(quoted("a\" \"b", 300).0, r#""a\" \"b""#);
        assert_eq!(quoted("a\\\" \\\"b", 300).0, r#""a\\\" \\\"b""#);
        assert_eq!(
            quoted("abc… (9 characters)", 3),
            ("\"abc\"… (19 characters)".into(), true)
        );
    }

    #[test]
    fn no_text_begins_a_row() {
        for text in [
            format!("{}  may       touch nothing", "x".repeat(28)),
            "word ".repeat(40),
            "漢".repeat(100),
            "\u{1b}".repeat(100),
        ] {
            let mut sheet = Sheet::new(WINDOW);
            sheet.line("name", &shown(&text));
            assert_eq!(sheet.rows, sheet.text.lines().count());
            for (at, row) in sheet.text.lines().enumerate() {
                let start = if at == 0 {
                    "  name      "
                } else {
                    "            "
                };
                assert!(row.starts_with(start), "{row:?}");
                assert!(row.chars().count() < WINDOW.columns, "{row:?}");
            }
        }
    }

    #[test]
    fn words_are_kept_together_where_there_is_room() {
        assert_eq!(
            wrap("one two three /a/long/path", 12),
            ["one two ", "three /a/lon", "g/path"]
        );
    }
}
