//! Names, words and paths as text: escaped for a message, quoted for a shell, or with a text of their own; and bytes in
//! hexadecimal digits.

pub use crate::utf8::Utf8Decoder;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

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
        || BLANK.contains(&c)
}

/// Letters and symbols without a glyph that Unicode does not call ignorable: the null notehead of musical notation, and the
/// blanks of Egyptian hieroglyphs.
const BLANK: [char; 3] = ['\u{1d159}', '\u{13441}', '\u{13442}'];

/// A word in single quotes, as a shell reads it.
pub fn single_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A word of a command that a message suggests, quoted where a shell would read it as anything else.
///
/// `None` if the command would not be the one that is meant once somebody has pasted it: the word contains a character
/// that cannot be shown, a backslash, which not all shells keep in single quotes, or a backtick, which ends the command
/// in a message. The replacement character stands for what is not UTF-8. Describe such a thing instead.
pub fn shell_word(word: &str) -> Option<String> {
    if !is_exact(word) || word.contains(['\\', '`']) {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    // zsh replaces `=name` by the path of a program.
    let is_plain = !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain);
    Some(match is_plain {
        true => word.to_owned(),
        false => single_quoted(word),
    })
}

/// The same for the path of a file. It is no option, whatever it begins with.
pub fn shell_path(path: impl AsRef<Path>) -> Option<String> {
    let path = path.as_ref().to_str()?;
    match path.starts_with('-') {
        true => shell_word(&format!("./{path}")),
        false => shell_word(path),
    }
}

/// A string of a policy that a message suggests, with its quotes. `None` if the text cannot be shown exactly.
pub fn toml_string(text: &str) -> Option<String> {
    is_exact(text).then(|| toml_quoted(text))
}

/// Any text as a string of TOML, which escapes like JSON.
pub fn toml_quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a message shows this text as it is.
fn is_exact(text: &str) -> bool {
    !text.contains(char::REPLACEMENT_CHARACTER) && show(text) == text
}

/// A path as text. If it is not UTF-8, its bytes are appended, so that no two paths have the same text: no path contains
/// a NUL.
pub fn path_text(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => format!("{}\0{}", path.display(), hex(path.as_os_str().as_bytes())),
    }
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
    fn a_word_is_quoted_or_not_suggested() {
        for (word, shown) in [
            ("scripts/a.py", Some("scripts/a.py")),
            ("write:/a=b,c@d%e+f", Some("write:/a=b,c@d%e+f")),
            ("", Some("''")),
            ("a b", Some("'a b'")),
            ("it's", Some(r"'it'\''s'")),
            ("net:*", Some("'net:*'")),
            ("net:[::1]:80", Some("'net:[::1]:80'")),
            ("~", Some("'~'")),
            ("=ls", Some("'=ls'")),
            ("$(x)", Some("'$(x)'")),
            ("é", Some("'é'")),
            ("a`b", None),
            ("a\\", None),
            ("a\n", None),
            ("a\u{202e}", None),
            ("a\u{fffd}", None),
        ] {
            assert_eq!(shell_word(word).as_deref(), shown, "{word:?}");
        }
        assert_eq!(shell_path("-y").as_deref(), Some("./-y"));
        assert_eq!(shell_path("--a b").as_deref(), Some("'./--a b'"));
        assert_eq!(shell_path("a-y").as_deref(), Some("a-y"));
        assert_eq!(
            toml_string("a\", \"b\\").as_deref(),
            Some(r#""a\", \"b\\""#)
        );
        assert_eq!(toml_string("a\u{7f}"), None);
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
            '\u{13441}',
            '\u{13442}',
            '\u{1d159}',
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
