//! A policy, `skillrun.toml`.
//!
//! An error names a line and a column that exist, and has no control characters. A valid policy becomes invalid with an
//! unknown key: no restriction is ever skipped because it is misspelt. A written policy is the policy that was parsed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun::Policy;
use skillrun::policy::PolicyError;
use std::path::Path;

fuzz_target!(|text: &str| {
    let base = Path::new("/base");
    match Policy::parse(text, base) {
        Err(why) => assert_position(text, &why),
        Ok(policy) => {
            assert_eq!(
                Policy::parse(&format!("{text}\n# more\n"), base),
                Ok(policy.clone())
            );
            let written = policy.to_toml().expect("a parsed policy can be written");
            assert_eq!(Policy::parse(&written, base).as_ref(), Ok(&policy), "{written}");
            let more = format!("{text}\nzz-no-such-key = 1\n");
            let why = Policy::parse(&more, base).expect_err("an unknown key is skipped");
            assert_position(&more, &why);
            assert!(why.message().contains("`zz-no-such-key`"), "{why}");
        }
    }
});

fn assert_position(text: &str, why: &PolicyError) {
    let (line, column) = (why.line().expect("no line"), why.column().expect("no column"));
    let there = line
        .checked_sub(1)
        .and_then(|line| text.split('\n').nth(line));
    let there = there.unwrap_or_else(|| panic!("no such line: {why:?}"));
    assert!(
        (1..=there.chars().count() + 1).contains(&column),
        "no such column: {why:?}"
    );
    assert!(!why.message().is_empty());
    assert!(!why.to_string().chars().any(char::is_control), "{why:?}");
}
