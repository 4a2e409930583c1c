//! The description of a script: its first comment block or docstring.

use super::language::Language;

/// Characters of a description.
const MAX_CHARS: usize = 500;

/// The first comment block or docstring of a script, at most 500 characters, empty if there is none.
pub(crate) fn describe(language: Language, source: &[u8]) -> String {
    let source = String::from_utf8_lossy(source);
    let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
    let lines = source
        .lines()
        .skip_while(|line| is_preamble(language, line));
    let text = match language {
        Language::Python => python(lines),
        Language::JavaScript => javascript(lines),
        _ => line_comments(lines, "#"),
    };
    shorten(&text)
}

/// Whether a line is for tools or about licences, and not for a reader.
fn is_preamble(language: Language, line: &str) -> bool {
    let line = line.trim();
    let words = line.trim_start_matches(['#', '/', '*', ' ']);
    line.is_empty()
        || line.starts_with("#!")
        || words.starts_with("-*-")
        || words.starts_with("coding:")
        || words.starts_with("vim:")
        || words.starts_with("shellcheck ")
        || words.starts_with("frozen_string_literal:")
        || words.starts_with("eslint")
        || words.starts_with("@ts-")
        || words.starts_with("<reference ")
        || (line.starts_with(['#', '/']) && is_legal(words))
        || matches!(
            line.trim_end_matches(';'),
            "\"use strict\"" | "'use strict'" | "#" | "//"
        )
        || (language == Language::Perl && (line.starts_with("use ") || line.starts_with("no ")))
}

/// Whether a line starts like a licence notice.
fn is_legal(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    [
        "spdx-",
        "copyright ",
        "(c) ",
        "licensed under ",
        "@license",
        "@copyright",
    ]
    .iter()
    .any(|start| words.starts_with(start))
}

fn python<'a>(mut lines: impl Iterator<Item = &'a str>) -> String {
    let mut comment = String::new();
    while let Some(line) = lines.next() {
        let line = line.trim();
        // PEP 723 metadata is for a package manager.
        if line.starts_with("# /// ") {
            lines
                .by_ref()
                .take_while(|line| line.trim() != "# ///")
                .for_each(drop);
            continue;
        }
        if let Some(text) = line.strip_prefix('#') {
            if comment_paragraph(&mut comment, text) {
                return comment;
            }
            continue;
        }
        if line.is_empty() {
            continue;
        }
        let opening = line.trim_start_matches(['r', 'R', 'u', 'U']);
        for quotes in ["\"\"\"", "'''", "\"", "'"] {
            if let Some(rest) = opening.strip_prefix(quotes) {
                return until(quotes, rest, lines);
            }
        }
        break;
    }
    comment
}

fn javascript<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut lines = lines.peekable();
    loop {
        while lines
            .next_if(|line| is_preamble(Language::JavaScript, line))
            .is_some()
        {}
        let Some(first) = lines.next() else {
            return String::new();
        };
        let first = first.trim();
        let Some(rest) = first.strip_prefix("/*") else {
            return line_comments(std::iter::once(first).chain(lines), "//");
        };
        let block = block_comment(&until("*/", rest.trim_start_matches('*'), lines.by_ref()));
        // A licence, or settings for a linter: the next block may be the description.
        if !block.is_empty() {
            return block;
        }
    }
}

/// The text of a `/* … */` that is for a reader.
fn block_comment(block: &str) -> String {
    let lines = || {
        block
            .lines()
            .map(|line| line.trim().trim_start_matches('*').trim())
    };
    if lines().any(is_legal) {
        return String::new();
    }
    let mut text = Vec::new();
    for line in lines().skip_while(|line| is_preamble(Language::JavaScript, line)) {
        let Some(tag) = line.strip_prefix('@') else {
            text.push(line);
            continue;
        };
        let (tag, words) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        // Other tags are for tools, and so is the text after them.
        if !["file", "fileoverview", "overview", "description", "module"].contains(&tag) {
            break;
        }
        if tag != "module" {
            text.push(words.trim());
        }
    }
    text.join("\n").trim().to_owned()
}

fn line_comments<'a>(lines: impl Iterator<Item = &'a str>, start: &str) -> String {
    let mut comment = String::new();
    for line in lines {
        match line.trim().strip_prefix(start) {
            Some(text) if !comment_paragraph(&mut comment, text) => {}
            _ => break,
        }
    }
    comment
}

/// Adds a comment line. Returns whether the block is complete because an empty line ends it.
fn comment_paragraph(comment: &mut String, text: &str) -> bool {
    let text = text.trim_start_matches(['#', '/', '!']).trim();
    // A line of `=====` is decoration.
    if text.chars().all(|c| !c.is_alphanumeric()) {
        return text.is_empty() && !comment.is_empty();
    }
    if !comment.is_empty() {
        comment.push('\n');
    }
    comment.push_str(text);
    false
}

fn until<'a>(end: &str, first: &'a str, lines: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for line in std::iter::once(first).chain(lines) {
        if let Some(at) = line.find(end) {
            text.push_str(&line[..at]);
            break;
        }
        text.push_str(line);
        text.push('\n');
        // A quote that is never closed is a broken script; the description is at its start.
        if text.len() > 8 * MAX_CHARS {
            break;
        }
    }
    text
}

fn shorten(text: &str) -> String {
    let text = text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let text: String = text
        .trim()
        .chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .collect();
    match text.char_indices().nth(MAX_CHARS) {
        None => text,
        Some(_) => text.chars().take(MAX_CHARS - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(language: Language, source: &str) -> String {
        describe(language, source.as_bytes())
    }

    #[test]
    fn a_docstring_is_the_description_of_a_python_script() {
        let source = "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\"\"\"Counts words.\n\nUsage: count.py FILE\n\"\"\"\nimport sys\n";
        assert_eq!(
            of(Language::Python, source),
            "Counts words.\n\nUsage: count.py FILE"
        );
        assert_eq!(of(Language::Python, "r'''One line'''\nx = 1"), "One line");
    }

    #[test]
    fn package_metadata_is_not_a_description() {
        let source = "# /// script\n# dependencies = [\"x\"]\n# ///\n\"\"\"Real one.\"\"\"\n";
        assert_eq!(of(Language::Python, source), "Real one.");
    }

    #[test]
    fn a_comment_block_is_the_description_without_a_docstring() {
        assert_eq!(
            of(Language::Python, "# Does this.\n# And that.\n\nimport x\n"),
            "Does this.\nAnd that."
        );
        assert_eq!(
            of(
                Language::Bash,
                "#!/bin/bash\n# =====\n# Deploys.\n#\n# More.\nset -e\n"
            ),
            "Deploys."
        );
        assert_eq!(
            of(Language::JavaScript, "// Builds.\nconst x = 1;"),
            "Builds."
        );
        assert_eq!(
            of(
                Language::JavaScript,
                "'use strict';\n/**\n * Builds it\n * all.\n */\nx()"
            ),
            "Builds it\nall."
        );
    }

    #[test]
    fn licences_and_settings_are_not_descriptions() {
        for (language, source) in [
            (
                Language::Python,
                "# SPDX-License-Identifier: MIT\n# Copyright 2025 A\n\"\"\"Builds.\"\"\"\n",
            ),
            (
                Language::JavaScript,
                "#!/usr/bin/env node\n// SPDX-License-Identifier: MIT\n\n// Builds.\nx()",
            ),
            (
                Language::JavaScript,
                "/*\n * Copyright (c) 2025 A\n * All rights reserved.\n */\n'use strict'\n/** Builds. */\nx()",
            ),
            (
                Language::JavaScript,
                "/* eslint-disable no-console */\n// @ts-check\n/// <reference types=\"node\" />\n/**\n * @file Builds.\n * @author A\n */\n",
            ),
        ] {
            assert_eq!(of(language, source), "Builds.", "{source}");
        }
    }

    #[test]
    fn a_description_ends_at_a_tag_for_tools() {
        let source = "/**\n * @module build\n * Builds it.\n *\n * Usage: build.ts FILE\n * @param x\n * more\n */\n";
        assert_eq!(
            of(Language::JavaScript, source),
            "Builds it.\n\nUsage: build.ts FILE"
        );
        let unclosed = format!("/* {}", "* ".repeat(20_000));
        assert!(of(Language::JavaScript, &unclosed).chars().count() <= MAX_CHARS);
    }

    #[test]
    fn a_script_without_comments_has_an_empty_description() {
        for language in [Language::Python, Language::JavaScript, Language::Bash] {
            assert_eq!(of(language, "x = 1\n# later\n"), "");
            assert_eq!(of(language, ""), "");
        }
    }

    #[test]
    fn a_description_is_cut_at_500_characters() {
        let long = format!("\"\"\"{}\"\"\"", "é".repeat(2000));
        let text = of(Language::Python, &long);
        assert_eq!(text.chars().count(), MAX_CHARS);
        assert!(text.ends_with('…'));
    }
}
