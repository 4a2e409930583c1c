//! The sources of scripts, parsed without running them: the `#!` line, the description, and what `check` finds in
//! Python, JavaScript and shell.
//!
//! A description is at most 500 characters and has no control characters. Everything that is found has a line that the
//! source has.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun_check::fuzzing::facts;
use skillrun_skill::Language;
use skillrun_skill::fuzzing::describe;

const LANGUAGES: [Language; 5] = [
    Language::Python,
    Language::JavaScript,
    Language::Bash,
    Language::Ruby,
    Language::Perl,
];

fuzz_target!(|source: &[u8]| {
    if Language::of_shebang(source).is_some() {
        assert!(source.starts_with(b"#!"));
    }
    for language in LANGUAGES {
        let description = describe(language, source);
        assert!(description.chars().count() <= 500);
        assert!(
            !description.chars().any(|c| c.is_control() && c != '\n'),
            "{description:?}"
        );
    }
    let text = String::from_utf8_lossy(source);
    let lines = text.split(['\n', '\r']).count();
    for language in &LANGUAGES[..3] {
        let facts = facts(*language, &text);
        let all = [&facts.imports, &facts.hosts, &facts.commands, &facts.env];
        for (name, line) in all.into_iter().flatten() {
            assert!(
                (1..=lines).contains(line),
                "{language:?}: {name:?} on line {line} of {lines}"
            );
        }
        for (name, _) in facts.commands.iter().chain(&facts.env) {
            assert!(
                !name.contains(|c: char| c.is_control() || c.is_whitespace()),
                "{name:?}"
            );
        }
        for (host, _) in &facts.hosts {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._*".contains(c);
            assert!(host.chars().all(plain), "{host:?}");
        }
    }
});
