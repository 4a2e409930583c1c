//! Prints the findings as workflow commands, which GitHub turns into annotations.

use super::Checked;
use crate::text::printable;
use skillrun_check::Level;
use std::io::{self, Write};

pub(super) fn print(all: &[Checked], out: &mut impl Write) -> io::Result<()> {
    for checked in all {
        for finding in &checked.report.findings {
            let command = match finding.rule.level {
                Level::Error => "error",
                Level::Warning => "warning",
                Level::Note => "notice",
            };
            let file = checked.path_of(&finding.file).display().to_string();
            let line = finding.line.map(|line| format!(",line={line}"));
            writeln!(
                out,
                "::{command} file={}{},title={}::{}",
                property(&printable(&file)),
                line.unwrap_or_default(),
                property(finding.rule.id),
                data(&printable(&finding.message))
            )?;
        }
    }
    Ok(())
}

/// Escapes the message of a command, after its `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// Escapes a property before it, where more characters are special.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_command_or_starts_another() {
        assert_eq!(data("100%\r\n::error::x"), "100%25%0D%0A::error::x");
        assert_eq!(property("a,b:c%\n"), "a%2Cb%3Ac%25%0A");
    }
}
