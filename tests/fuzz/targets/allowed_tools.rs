//! The `allowed-tools` of a skill: splitting and matching.
//!
//! Splitting loses nothing but separators. A field allows a command line exactly if a plain matcher, written here
//! without regard to speed, says so; one that names neither `Bash` nor `*` never allows anything.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun::skill::{AllowedTools, Value};

fuzz_target!(|input: (&str, &str, &str)| {
    let (field, other, line) = input;
    // The plain matcher takes the product of the two lengths.
    if field.len() > 2000 || other.len() > 2000 || line.len() > 400 {
        return;
    }
    let tools = AllowedTools::read(&Value::Text(field.to_owned())).expect("text restricts");
    let letters = |text: &str| {
        text.chars()
            .filter(|c| !" \t\n\r,".contains(*c))
            .collect::<String>()
    };
    let entries: Vec<&str> = tools.entries().collect();
    assert_eq!(letters(&entries.concat()), letters(field));

    let lines = [line.to_owned()];
    let allowed = tools.allow_script(&lines);
    assert_eq!(
        allowed,
        entries.iter().any(|entry| allows(entry, line)),
        "{field:?} {line:?}"
    );
    if !field.contains("Bash") && !entries.contains(&"*") {
        assert!(!allowed);
    }
    assert!(!tools.allow_script(&[]) || entries.iter().any(|entry| ["Bash", "*"].contains(entry)));

    let of_other = AllowedTools::read(&Value::Text(other.to_owned())).expect("text restricts");
    let both = Value::List(vec![
        Value::Text(field.to_owned()),
        Value::Text(other.to_owned()),
        Value::Null,
    ]);
    let both = AllowedTools::read(&both).expect("a list restricts");
    assert_eq!(
        both.allow_script(&lines),
        allowed || of_other.allow_script(&lines)
    );
});

fn allows(entry: &str, line: &str) -> bool {
    let Some((tool, pattern)) = entry.split_once('(') else {
        return entry == "Bash" || entry == "*";
    };
    let pattern = pattern.strip_suffix(')').unwrap_or(pattern).trim();
    let words = pattern
        .strip_suffix(":*")
        .or_else(|| pattern.strip_suffix(" *"));
    tool == "Bash"
        && match words {
            Some(words) => matches(words, line) || matches(&format!("{words} *"), line),
            None => matches(pattern, line),
        }
}

/// `*` is any text; the textbook algorithm, row by row.
fn matches(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut row = vec![false; text.len() + 1];
    row[0] = true;
    for p in pattern.chars() {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match p {
                '*' => row[at] || (at > 0 && next[at - 1]),
                p => at > 0 && row[at - 1] && text[at - 1] == p,
            };
        }
        row = next;
    }
    row[text.len()]
}
