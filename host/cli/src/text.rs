//! Text for a terminal: in one line, wrapped, and without characters that would control it.

use std::path::Path;

/// The fewest characters of a description. In a narrower window the terminal wraps the line.
const MIN_DESCRIPTION: usize = 10;

/// The columns of the terminal that stdout is. `None` for a pipe or a file, which gets the full text.
pub(crate) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    // A terminal that does not know its size reports 0.
    (size.ws_col > 0).then_some(size.ws_col.into())
}

/// The characters for a description on a line that starts with `used` others.
pub(crate) fn budget(used: usize) -> usize {
    columns().map_or(usize::MAX, |all| {
        all.saturating_sub(used).max(MIN_DESCRIPTION)
    })
}

/// Text on one line, cut after `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let line = printable(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    match line.char_indices().nth(max) {
        None => line,
        Some(_) => line.chars().take(max - 1).chain(['…']).collect(),
    }
}

/// Text on lines of at most `width` characters, broken between words.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace().map(printable) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines.join("\n")
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
        assert_eq!(wrapped(text, 5), "a\ndescription\nof\nseveral\nwords");
        assert_eq!(wrapped(text, usize::MAX), "a description of several words");
    }

    #[test]
    fn text_is_cut_after_the_last_character_that_fits() {
        assert_eq!(one_line("a  b\nc", 5), "a b c");
        assert_eq!(one_line("a  b\nc d", 5), "a b …");
        assert_eq!(one_line("ééé", 3), "ééé");
    }
}
