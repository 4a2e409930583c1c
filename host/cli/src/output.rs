//! Standard output for texts from skills, models and files.
//!
//! A pipe or a file gets every byte unchanged. Some characters control a terminal, so there they are escaped.

use skillrun_skill::text::show;
use std::io::{self, IsTerminal as _, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the last text on standard output, a terminal, ended in the middle of a line.
static IS_MID_LINE: AtomicBool = AtomicBool::new(false);

/// Starts a new line for a message on standard error, if that is the terminal on which a line of text is unfinished.
pub(crate) fn finish_line() {
    let terminal = |stat: rustix::io::Result<rustix::fs::Stat>| stat.ok().map(|stat| stat.st_rdev);
    let (out, err) = (io::stdout(), io::stderr());
    let is_same =
        err.is_terminal() && terminal(rustix::fs::fstat(&out)) == terminal(rustix::fs::fstat(&err));
    if is_same && IS_MID_LINE.swap(false, Ordering::SeqCst) {
        let _ = writeln!(io::stderr());
    }
}

/// Standard output for text.
pub(crate) fn text() -> Output<StdoutLock<'static>> {
    stdout(Escapes::Shown)
}

/// Standard output for JSON, which stays JSON.
pub(crate) fn json() -> Output<StdoutLock<'static>> {
    stdout(Escapes::Json)
}

/// Standard output for JSON or for text.
pub(crate) fn json_or_text(is_json: bool) -> Output<StdoutLock<'static>> {
    match is_json {
        true => json(),
        false => text(),
    }
}

fn stdout(escapes: Escapes) -> Output<StdoutLock<'static>> {
    let out = io::stdout();
    let escapes = out.is_terminal().then_some(escapes);
    Output {
        out: out.lock(),
        escapes,
        partial: Vec::new(),
    }
}

/// A stream that escapes control characters if it is a terminal.
#[derive(Debug)]
pub(crate) struct Output<W> {
    out: W,
    escapes: Option<Escapes>,
    /// The bytes of an incomplete character.
    partial: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Escapes {
    /// As messages show them.
    Shown,
    /// As JSON escapes them in strings. They occur nowhere else in JSON.
    Json,
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(escapes) = self.escapes else {
            return self.out.write(bytes);
        };
        self.partial.extend(bytes);
        let mut shown = String::new();
        let mut rest = self.partial.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    escapes.push(&mut shown, text);
                    rest = &[];
                }
                Err(error) => {
                    let (text, after) = rest.split_at(error.valid_up_to());
                    escapes.push(&mut shown, std::str::from_utf8(text).unwrap_or_default());
                    rest = after;
                    if let Some(length) = error.error_len() {
                        shown.push(char::REPLACEMENT_CHARACTER);
                        rest = &after[length..];
                        continue;
                    }
                }
            }
            break;
        }
        self.partial = rest.to_vec();
        self.out.write_all(shown.as_bytes())?;
        if let Some(last) = shown.bytes().last() {
            IS_MID_LINE.store(last != b'\n', Ordering::SeqCst);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Escapes {
    /// Appends a text; newlines and tabs are kept.
    fn push(self, shown: &mut String, text: &str) {
        for part in text.split_inclusive(['\n', '\t']) {
            let end = part.len() - usize::from(part.ends_with(['\n', '\t']));
            let (line, end) = part.split_at(end);
            match self {
                Self::Shown => shown.push_str(&show(line)),
                Self::Json => {
                    for c in line.chars() {
                        push_json(shown, c);
                    }
                }
            }
            shown.push_str(end);
        }
    }
}

fn push_json(shown: &mut String, c: char) {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    if show(text) == text {
        return shown.push(c);
    }
    for unit in c.encode_utf16(&mut [0; 2]) {
        shown.push_str(&format!("\\u{unit:04x}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(escapes: Option<Escapes>, parts: &[&[u8]]) -> Vec<u8> {
        let mut output = Output {
            out: Vec::new(),
            escapes,
            partial: Vec::new(),
        };
        for part in parts {
            output.write_all(part).unwrap();
        }
        output.out
    }

    #[test]
    fn a_terminal_gets_escapes_and_a_pipe_gets_every_byte() {
        let text = "a\u{1b}[2J\tb\u{9b}c\u{202e}\nd\r\né漢";
        assert_eq!(written(None, &[text.as_bytes()]), text.as_bytes());
        assert_eq!(
            String::from_utf8(written(Some(Escapes::Shown), &[text.as_bytes()])).unwrap(),
            "a\\u{1b}[2J\tb\\u{9b}c\\u{202e}\nd\\r\né漢"
        );
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"a": "\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}é \\ \""});
        let shown = written(Some(Escapes::Json), &[value.to_string().as_bytes()]);
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(
            shown,
            r#"{"a":"\u001b\u007f\u009b\u202e\udb40\udc41é \\ \""}"#
        );
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, value);
    }

    #[test]
    fn characters_may_come_in_pieces() {
        let text = "é漢\u{9b}🙂".as_bytes();
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        let shown = written(Some(Escapes::Shown), &bytes);
        assert_eq!(String::from_utf8(shown).unwrap(), "é漢\\u{9b}🙂");
        let broken = written(Some(Escapes::Shown), &[b"a\xff\xc3", b"(b"]);
        assert_eq!(String::from_utf8(broken).unwrap(), "a\u{fffd}\u{fffd}(b");
    }
}
