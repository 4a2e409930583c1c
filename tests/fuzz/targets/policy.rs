//! A policy, `skillrun.toml`.
//!
//! An error names a line and a column that exist, and has no control characters. A valid policy becomes invalid with an
//! unknown key: no restriction is ever skipped because it is misspelt.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun::Policy;
use std::path::Path;

fuzz_target!(|text: &str| {
    let base = Path::new("/base");
    match Policy::parse(text, base) {
        Err(why) => assert_position(text, &why),
        Ok(policy) => {
            assert_eq!(
                Policy::parse(&format!("{text}\n# more\n"), base),
                Ok(policy)
            );
            let more = format!("{text}\nzz-no-such-key = 1\n");
            let why = Policy::parse(&more, base).expect_err("an unknown key is skipped");
            assert_position(&more, &why);
            assert!(why.contains("`zz-no-such-key`"), "{why}");
        }
    }
});

fn assert_position(text: &str, why: &str) {
    let position = || {
        let (line, rest) = why.strip_prefix("line ")?.split_once(", column ")?;
        let (column, message) = rest.split_once(": ")?;
        Some((
            line.parse::<usize>().ok()?,
            column.parse::<usize>().ok()?,
            message,
        ))
    };
    let (line, column, message) = position().unwrap_or_else(|| panic!("no position: {why:?}"));
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
