//! The language of a script, and its interpreter.

use std::path::Path;

/// The language of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// `.py`
    Python,
    /// `.js .mjs .cjs`, and `.ts .mts .cts` once their types are stripped
    JavaScript,
    /// `.sh .bash`
    Bash,
    /// `.rb`
    Ruby,
    /// `.pl`
    Perl,
    /// `.ps1`
    PowerShell,
    /// `.bat .cmd`
    Batch,
    /// A language that an embedding program adds, with a runtime of its own.
    Custom(&'static CustomLanguage),
}

/// A language that an embedding program adds.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct CustomLanguage {
    /// Its name in listings.
    pub word: &'static str,
    /// The extension of its files in lower case, without the dot.
    pub extension: &'static str,
    /// The interpreter's name in policies and command lines.
    pub interpreter: &'static str,
}

impl Language {
    /// All of ours.
    #[doc(hidden)]
    pub const ALL: [Self; 7] = [
        Self::Python,
        Self::JavaScript,
        Self::Bash,
        Self::Ruby,
        Self::Perl,
        Self::PowerShell,
        Self::Batch,
    ];

    /// The language that a file's extension stands for.
    pub fn of_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let declares = Path::new(path.file_stem()?).extension() == Some("d".as_ref());
        Some(match extension.as_str() {
            "py" => Self::Python,
            // `x.d.ts` declares types and contains no code.
            "ts" | "mts" | "cts" if declares => return None,
            "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" => Self::JavaScript,
            "sh" | "bash" => Self::Bash,
            "rb" => Self::Ruby,
            "pl" => Self::Perl,
            "ps1" => Self::PowerShell,
            "bat" | "cmd" => Self::Batch,
            _ => return None,
        })
    }

    /// The added language that a file's extension stands for. It takes precedence over ours.
    pub(crate) fn of_custom_extension(
        path: &Path,
        languages: &'static [CustomLanguage],
    ) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let mut languages = languages.iter();
        let found = languages.find(|language| language.extension == extension);
        found.map(Self::Custom)
    }

    /// Whether a file is written in JSX, which is another language than the one its `#!` line names.
    pub(crate) fn is_jsx(path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| {
            ["jsx", "tsx"].contains(&extension.to_ascii_lowercase().as_str())
        })
    }

    /// The language that a `#!` line asks for.
    pub fn of_shebang(first_bytes: &[u8]) -> Option<Self> {
        let line = first_bytes
            .strip_prefix(b"#!")?
            .split(|b| *b == b'\n')
            .next()?;
        let line = std::str::from_utf8(line).ok()?;
        // The last known word wins: in `/usr/bin/env -S npx tsx` the words before it only start the interpreter.
        line.split_whitespace()
            .filter_map(|word| Self::of_interpreter(word.rsplit('/').next()?))
            .next_back()
    }

    /// The language of an interpreter, by the name of its program: `sh`, `python3.12`, `nodejs`.
    #[doc(hidden)]
    pub fn of_interpreter(word: &str) -> Option<Self> {
        let plain = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        Some(match plain {
            "python" | "uv" | "uvx" | "pypy" => Self::Python,
            "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => Self::JavaScript,
            "sh" | "bash" | "dash" | "zsh" => Self::Bash,
            "ruby" => Self::Ruby,
            "perl" => Self::Perl,
            "pwsh" => Self::PowerShell,
            _ => return None,
        })
    }

    /// Its name in listings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::Bash => "bash",
            Self::Ruby => "ruby",
            Self::Perl => "perl",
            Self::PowerShell => "powershell",
            Self::Batch => "batch",
            Self::Custom(language) => language.word,
        }
    }

    /// The interpreter's name in policies and command lines.
    pub fn interpreter(self) -> &'static str {
        match self {
            Self::Python => "python3",
            Self::JavaScript => "node",
            Self::Bash => "bash",
            Self::Ruby => "ruby",
            Self::Perl => "perl",
            Self::PowerShell => "powershell",
            Self::Batch => "cmd",
            Self::Custom(language) => language.interpreter,
        }
    }

    /// Whether its scripts run in a WASI interpreter by default, and not in a native one.
    pub fn has_wasm(self) -> bool {
        matches!(self, Self::Python | Self::JavaScript)
    }

    /// Other commands that skills write for the interpreter.
    #[doc(hidden)]
    pub fn other_names(self) -> &'static [&'static str] {
        match self {
            Self::Python => &["python", "uv run"],
            Self::JavaScript => &[
                "nodejs",
                "node --import tsx",
                "node --experimental-strip-types",
                "tsx",
                "npx tsx",
                "npx -y tsx",
                "npx --yes tsx",
                "pnpm tsx",
                "pnpm exec tsx",
                "yarn tsx",
                "ts-node",
                "npx ts-node",
                "bun",
                "bun run",
                "bunx tsx",
                "npx bun",
                "npx -y bun",
                "deno run",
                "deno run -A",
                "deno run --allow-all",
            ],
            Self::Bash => &["sh"],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Language::{self, *};

    #[test]
    fn extensions_identify_languages_in_any_case() {
        let of = |name: &str| Language::of_extension(name.as_ref());
        for (name, language) in [
            ("a.py", Some(Python)),
            ("a.PY", Some(Python)),
            ("a.b.mjs", Some(JavaScript)),
            ("a.cts", Some(JavaScript)),
            ("a.TS", Some(JavaScript)),
            ("a.tsx", None),
            ("a.d.ts", None),
            ("d.ts", Some(JavaScript)),
            ("a.bash", Some(Bash)),
            ("a.rb", Some(Ruby)),
            ("a.pl", Some(Perl)),
            ("a.cmd", Some(Batch)),
            ("README.md", None),
            ("a", None),
            (".py", None),
        ] {
            assert_eq!(of(name), language, "{name}");
        }
    }

    #[test]
    fn shebang_lines_identify_languages() {
        for (line, language) in [
            ("#!/usr/bin/env python3\nx", Some(Python)),
            ("#!/usr/bin/python3.12", Some(Python)),
            ("#!/usr/bin/env -S uv run --script", Some(Python)),
            ("#! /bin/sh -e", Some(Bash)),
            ("#!/usr/bin/env node", Some(JavaScript)),
            ("#!/usr/bin/env -S npx tsx", Some(JavaScript)),
            ("#!/usr/bin/env -S node --no-warnings", Some(JavaScript)),
            ("#!/usr/bin/env bun", Some(JavaScript)),
            ("#!/bin/awk -f", None),
            ("python3", None),
            ("", None),
        ] {
            assert_eq!(Language::of_shebang(line.as_bytes()), language, "{line}");
        }
    }
}
