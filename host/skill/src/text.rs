//! Text that is safe to print: names escaped for a message, and bytes in hexadecimal digits.

pub use crate::utf8::Utf8Decoder;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};
use std::fmt::Write as _;

/// As many combining marks as one character has in any language; more of them only cover the lines around it.
const MAX_MARKS: usize = 4;

/// Escapes a name for a message. Control characters, invisible characters and characters without a glyph are
/// escaped, so that a file name cannot rewrite the line it is printed in, nor look like another name.
pub fn show(name: &str) -> String {
    if name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return name.to_owned();
    }
    let categories = CodePointMapData::<GeneralCategory>::new();
    let mut shown = String::with_capacity(name.len());
    let (mut before, mut marks) = (GeneralCategory::Unassigned, 0);
    for c in name.chars() {
        let category = categories.get(c);
        marks = match category {
            GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark => marks + 1,
            _ => 0,
        };
        // A variation selector that turns a symbol into an emoji has a visible effect.
        let makes_emoji = c == '\u{fe0f}' && before == GeneralCategory::OtherSymbol;
        if marks > MAX_MARKS || (is_hidden(c, category) && !makes_emoji) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        before = category;
    }
    shown
}

/// Whether a character is invisible or ambiguous. Blank letters are among the default-ignorable code points.
fn is_hidden(c: char, category: GeneralCategory) -> bool {
    use GeneralCategory as Category;
    matches!(
        category,
        Category::Control
            | Category::Format
            | Category::LineSeparator
            | Category::ParagraphSeparator
            | Category::PrivateUse
            | Category::Unassigned
    ) || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shown_name_stays_on_its_line(name in any::<String>()) {
            let controls = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{2028}' | '\u{2029}');
            let shown = show(&name);
            prop_assert!(!shown.chars().any(controls));
            prop_assert_eq!(show(&shown), shown);
        }
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for c in [
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{180e}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{2028}',
            '\u{2029}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fffe}',
            '\u{e000}',
            '\u{1d173}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{10ffff}',
        ] {
            assert_eq!(show(&format!("a{c}b")), format!("a{}b", c.escape_unicode()));
        }
    }

    #[test]
    fn stacked_combining_marks_are_escaped() {
        let four = format!("a{}", "\u{301}".repeat(4));
        assert_eq!(show(&four), four);
        assert_eq!(
            show(&format!("{four}\u{301}\u{20dd}b")),
            format!("{four}\\u{{301}}\\u{{20dd}}b")
        );
    }

    #[test]
    fn text_of_any_script_stays_readable() {
        for text in [
            "plain ASCII, \"quoted\" \\ and all",
            "Zażółć gęślą jaźń",
            "e\u{301}te\u{301}",
            "Việt Nam",
            "Ελληνικά",
            "українська",
            "שָׁלוֹם",
            "مرحبا",
            "हिन्दी में",
            "ภาษาไทยนี้",
            "中文，日本語、한국어",
            "“–” … ½ € 🙂 ❤\u{fe0f}",
        ] {
            assert_eq!(show(text), text);
        }
    }
}
