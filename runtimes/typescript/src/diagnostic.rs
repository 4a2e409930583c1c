//! Renders an error in a source for a reader: its location, the line with a caret, the message.

use oxc_diagnostics::{Diagnostics, OxcDiagnostic};
use std::fmt::Write as _;

/// Characters of a source line that are shown. They include the location of the error.
const MAX_LINE: usize = 120;
/// Characters of oxc's message that are shown: it may quote the source.
const MAX_MESSAGE: usize = 500;

/// The first error, rendered.
pub(crate) fn check(name: &str, source: &str, found: &Diagnostics) -> Result<(), String> {
    match found.errors().next() {
        None => Ok(()),
        Some(error) => Err(render(name, source, error)),
    }
}

pub(crate) fn not_utf8(name: &str, source: &[u8], at: usize) -> String {
    let line = 1 + source[..at].iter().filter(|byte| **byte == b'\n').count();
    format!("{}:{line}\nthe file is not UTF-8", plain(name))
}

fn render(name: &str, source: &str, error: &OxcDiagnostic) -> String {
    let mut text = plain(name);
    if let Some(label) = error.labels.first() {
        let at = usize::try_from(label.offset()).unwrap_or(usize::MAX);
        let at = source.floor_char_boundary(at.min(source.len()));
        let start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let number = 1 + source[..start].matches('\n').count();
        let before = source[start..at].chars().count();
        let line = source[start..].lines().next().unwrap_or_default();
        // A minified line is long: show the part around the error.
        let skipped = before.saturating_sub(MAX_LINE / 2);
        let shown: String = line.chars().skip(skipped).take(MAX_LINE).collect();
        let caret: String = shown
            .chars()
            .take(before - skipped)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let shown: String = shown.chars().map(visible).collect();
        let _ = write!(text, ":{number}:{}\n{shown}\n{caret}^", before + 1);
    }
    let message: String = plain(&error.message).chars().take(MAX_MESSAGE).collect();
    let _ = write!(text, "\n{message}");
    if let Some(help) = &error.help {
        let help: String = plain(help).chars().take(MAX_MESSAGE).collect();
        let _ = write!(text, "\n{help}");
    }
    text
}

/// Every character takes one column, so that the caret points at the right one.
fn visible(c: char) -> char {
    if c != '\t' && steers(c) {
        char::REPLACEMENT_CHARACTER
    } else {
        c
    }
}

/// Text on one line without control sequences for a terminal.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Control and bidirectional characters.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
