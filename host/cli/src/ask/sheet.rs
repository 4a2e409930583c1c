//! Lines with a name at their left and a text beside it.
//!
//! Texts are wrapped here and not by the terminal: a text that chose where a row begins could write rows that look
//! like ours.

/// The columns before a text.
const INDENT: usize = 12;
/// Of a narrower window nobody reads anything.
const MIN_TEXT: usize = 20;
/// Characters shown of one text.
pub(super) const MAX_TEXT: usize = 300;

/// How much can be seen at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Window {
    /// How many rows whole lines of our own take.
    pub(super) fn rows_of(self, lines: &str) -> usize {
        let rows = |line: &str| wide(line).div_ceil(self.columns).max(1);
        lines.lines().map(rows).sum()
    }
}

#[derive(Debug)]
pub(super) struct Sheet {
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

    /// A line under a name; without one it belongs to the line above.
    pub(super) fn line(&mut self, name: &str, value: &str) {
        self.rows_with(&format!("  {name:<9} "), &" ".repeat(INDENT), value);
    }

    /// A text behind `first`, and on further rows behind `next`.
    pub(super) fn rows_with(&mut self, first: &str, next: &str, value: &str) {
        // In the last column some terminals wrap, others wait.
        let room = self.columns.saturating_sub(wide(first).max(wide(next)) + 1);
        for (at, row) in wrapped(value, room.max(MIN_TEXT)).iter().enumerate() {
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

/// A text in rows of at most `room` columns, broken at blanks where that leaves no row half empty.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<&str> {
    let mut rows = Vec::new();
    let mut rest = text;
    loop {
        let (mut used, mut space, mut end) = (0, 0, rest.len());
        for (at, c) in rest.char_indices() {
            used += columns(c);
            if used > room {
                // A row is not left half empty for a word that is long.
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

fn wide(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// At most so many columns: terminals do not agree, and a row must not become two.
fn columns(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

/// A text as it is shown, of at most `most` characters.
pub(super) fn shown_to(text: &str, most: usize) -> String {
    let (mut shown, is_cut) = cut(text, most);
    if is_cut {
        shown.push_str(&told(text));
    }
    shown
}

pub(super) fn shown(text: &str) -> String {
    shown_to(text, MAX_TEXT)
}

/// A text in quotes, and whether something of it is missing; nothing in it can look like their end.
pub(super) fn quoted(text: &str, most: usize) -> (String, bool) {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    let (shown, is_cut) = cut(&escaped, most);
    let told = if is_cut { told(text) } else { String::new() };
    (format!("\"{shown}\"{told}"), is_cut)
}

/// A line of a program, with its blanks as they are.
pub(super) fn source(line: &str) -> String {
    let start: String = line.chars().take(MAX_TEXT).collect();
    let told = match start.len() < line.len() {
        true => told(line),
        false => String::new(),
    };
    skillrun::show_name(&start) + &told
}

fn told(text: &str) -> String {
    format!("… ({} characters)", text.chars().count())
}

/// The beginning of a text, escaped, and whether that is not all of it.
fn cut(text: &str, most: usize) -> (String, bool) {
    let start: String = text.chars().take(most).collect();
    let shown = visible_blanks(&skillrun::show_name(&start));
    match shown.char_indices().nth(most) {
        Some((at, _)) => (shown[..at].to_owned(), true),
        None => (shown, start.len() < text.len()),
    }
}

/// Every blank but the first of a row of them as a dot, so that no text makes columns.
fn visible_blanks(text: &str) -> String {
    // Before a text stands a blank of ours.
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
    fn texts_that_would_steer_a_terminal_are_shown_as_what_they_are() {
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
    fn a_row_of_blanks_is_seen() {
        assert_eq!(shown("a b   c"), "a b ··c");
        assert_eq!(shown(" a\u{3000}\u{a0}\u{2800}b"), "·a\u{3000}··b");
    }

    #[test]
    fn nothing_in_quotes_looks_like_their_end() {
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
            wrapped("one two three /a/long/path", 12),
            ["one two ", "three /a/lon", "g/path"]
        );
    }
}
