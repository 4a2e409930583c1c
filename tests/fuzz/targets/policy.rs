//! A policy, `skillrun.toml`.
//!
//! An error names a line and a column that exist, and holds nothing that steers a terminal. A policy that is read
//! stops being one with a key that nobody knows: no restriction is ever skipped because it is misspelt.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun::Policy;
use std::path::Path;

fuzz_target!(|text: &str| {
    let base = Path::new("/base");
    match Policy::parse(text, base) {
        Err(why) => has_place(text, &why),
        Ok(policy) => {
            assert_eq!(
                Policy::parse(&format!("{text}\n# more\n"), base),
                Ok(policy)
            );
            let more = format!("{text}\nzz-no-such-key = 1\n");
            let why = Policy::parse(&more, base).expect_err("a key that nobody knows is skipped");
            has_place(&more, &why);
            assert!(why.contains("`zz-no-such-key`"), "{why}");
        }
    }
});

fn has_place(text: &str, why: &str) {
    let place = || {
        let (line, rest) = why.strip_prefix("line ")?.split_once(", column ")?;
        let (column, message) = rest.split_once(": ")?;
        Some((
            line.parse::<usize>().ok()?,
            column.parse::<usize>().ok()?,
            message,
        ))
    };
    let (line, column, message) = place().unwrap_or_else(|| panic!("no place: {why:?}"));
    let there = line
        .checked_sub(1)
        .and_then(|line| text.split('\n').nth(line));
    let there = there.unwrap_or_else(|| panic!("no such line: {why:?}"));
    assert!(
        (1..=there.chars().count() + 1).contains(&column),
        "no such column: {why:?}"
    );
    assert!(!message.is_empty());
    assert!(!message.chars().any(char::is_control), "{why:?}");
}
