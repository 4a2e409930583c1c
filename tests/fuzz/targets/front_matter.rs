//! The front matter of a `SKILL.md`.
//!
//! The body is the end of the document. Parsed fields, written again in quotes, parse to the same values. The strict
//! parser of `skillrun check` and the lenient one of a run never give one field two values: what was reviewed is what
//! applies.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun_skill::fuzzing::strict_fields;
use skillrun_skill::{FrontMatter, Value};

fuzz_target!(|document: &str| {
    let strict = strict_fields(document);
    if let Err((line, message)) = &strict {
        let lines = document
            .replace("\r\n", "\n")
            .replace('\r', "\n")
            .split('\n')
            .count();
        assert!(
            line.is_none_or(|line| (1..=lines).contains(&line)),
            "{line:?}: {message}"
        );
    }
    let Ok((matter, body)) = FrontMatter::parse(document) else {
        return;
    };
    assert!(document.ends_with(body));
    let fields: Vec<(String, Value)> = matter
        .names()
        .map(|name| (name.to_owned(), matter.get(name).cloned().unwrap()))
        .collect();
    reads_again(&fields);
    if let Ok(strict) = strict
        && reads_alike(document)
    {
        for (name, text) in strict {
            let lenient = matter.get(&name);
            let same = match (&text, lenient) {
                (Some(text), Some(Value::Text(lenient))) => text == lenient,
                (Some(text), Some(Value::Null)) => {
                    matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
                }
                (None, Some(Value::List(_) | Value::Map(_))) => true,
                // The reference validator treats these two plain words as operators, and so does check.
                (None, Some(Value::Text(lenient))) => matches!(lenient.as_str(), "=" | "<<"),
                _ => false,
            };
            assert!(
                same,
                "`{name}` is {text:?} to check and {lenient:?} to a run"
            );
        }
    }
});

/// Whether both parsers find the same front matter in the document, and the same line ends.
fn reads_alike(document: &str) -> bool {
    let odd = ['\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'];
    document.starts_with("---\n")
        && document.contains("\n---\n")
        && document.matches("---").count() == 2
        && !document.contains(odd)
}

fn reads_again(fields: &[(String, Value)]) {
    let mut document = "---\n".to_owned();
    for (name, value) in fields {
        if name.len() > 90 {
            return;
        }
        quoted(name, &mut document);
        document.push_str(": ");
        if !write(value, &mut document) {
            return;
        }
        document.push('\n');
    }
    document.push_str("---\n");
    if document.len() > 60_000 {
        return;
    }
    let (again, _) =
        FrontMatter::parse(&document).unwrap_or_else(|why| panic!("{why}\n{document}"));
    let again: Vec<_> = again
        .names()
        .map(|name| (name.to_owned(), again.get(name).cloned().unwrap()))
        .collect();
    assert_eq!(again, fields);
}

/// Writes in flow style; false if an escaped name could be longer than the 1024 characters that YAML allows.
fn write(value: &Value, document: &mut String) -> bool {
    match value {
        Value::Null => document.push('~'),
        Value::Text(text) => quoted(text, document),
        Value::List(items) => {
            document.push('[');
            for item in items {
                if !write(item, document) {
                    return false;
                }
                document.push_str(", ");
            }
            document.push(']');
        }
        Value::Map(fields) => {
            document.push('{');
            for (name, value) in fields {
                quoted(name, document);
                document.push_str(": ");
                if name.len() > 90 || !write(value, document) {
                    return false;
                }
                document.push_str(", ");
            }
            document.push('}');
        }
    }
    true
}

fn quoted(text: &str, document: &mut String) {
    document.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => document.extend(['\\', c]),
            ' '..='~' => document.push(c),
            c => document.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    document.push('"');
}
