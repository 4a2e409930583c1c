//! The `allowed-tools` field: the tools that a skill says it uses.
//!
//! Published skills write it as a space-separated string, a comma-separated string or a YAML list, with
//! entries such as `Bash(git:*)` or `Bash(python3 "${X}/a.py" *)`: the splitter respects
//! parentheses and quotes within them. The field narrows what a skill may do and never widens it:
//! running a script needs `Bash`, and `Bash(pattern)` must match the command line. A field that names
//! no tool, or has another form, allows none: a mistake must not remove the restriction.

use super::front_matter::Value;
use std::fmt;

/// Bytes that are searched for the text between two `*`, for all entries and command lines together: a
/// skill may have thousands of entries, and a caller may pass megabytes. Real ones stay far below.
const MAX_SEARCHED: usize = 1 << 30;

/// The tools a skill allows itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedTools(Vec<String>);

impl AllowedTools {
    /// Reads the field. Returns `None` if it is null, which restricts nothing, as if it were missing.
    pub fn read(field: &Value) -> Option<Self> {
        let text = |item: &Value| match item {
            Value::Text(text) => split(text),
            Value::Null | Value::List(_) | Value::Map(_) => Vec::new(),
        };
        match field {
            Value::Null => None,
            Value::List(items) => Some(Self(items.iter().flat_map(text).collect())),
            other => Some(Self(text(other))),
        }
    }

    /// The entries, in the order they were written.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether a script may run, given all command lines that stand for this run: one match is enough.
    pub fn allow_script(&self, command_lines: &[String]) -> bool {
        self.allow_within(command_lines, &mut { MAX_SEARCHED })
    }

    fn allow_within(&self, command_lines: &[String], budget: &mut usize) -> bool {
        self.entries().any(|entry| match entry.split_once('(') {
            None => entry == "Bash" || entry == "*",
            Some(("Bash", pattern)) => {
                let pattern = pattern.strip_suffix(')').unwrap_or(pattern).trim();
                let mut lines = command_lines.iter();
                lines.any(|line| matches(pattern, line, budget))
            }
            Some(_) => false,
        })
    }
}

impl fmt::Display for AllowedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("none"),
            entries => f.write_str(&entries.join(", ")),
        }
    }
}

/// Splits at spaces and commas outside parentheses. `Bash (git:*)` is one entry, not the entry `Bash`.
fn split(text: &str) -> Vec<String> {
    const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];
    let mut entries = Vec::new();
    let mut entry = String::new();
    let mut depth = 0usize;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if depth > 0 => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                entries.push(std::mem::take(&mut entry));
                continue;
            }
            (None, c) if depth == 0 && SPACE.contains(&c) => {
                let rest = letters.as_str().trim_start_matches(SPACE);
                letters = rest.chars();
                if !rest.starts_with('(') {
                    entries.push(std::mem::take(&mut entry));
                }
                continue;
            }
            _ => {}
        }
        entry.push(c);
    }
    entries.push(entry);
    entries.retain(|entry| !entry.is_empty());
    entries
}

/// `git:*` and `git *` match `git` and `git …`; elsewhere `*` matches any text; all else is literal.
fn matches(pattern: &str, line: &str, budget: &mut usize) -> bool {
    let bare = pattern.strip_suffix(":*");
    match bare.or_else(|| pattern.strip_suffix(" *")) {
        Some(bare) => glob(bare, line, budget) || glob(&[bare, " *"].concat(), line, budget),
        None => glob(pattern, line, budget),
    }
}

/// `budget` is the number of bytes that may still be searched. Once it is used up, nothing matches.
fn glob(pattern: &str, text: &str, budget: &mut usize) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        if *budget == 0 {
            return false;
        }
        let found = rest.find(part).map(|at| at + part.len());
        *budget = budget.saturating_sub(found.unwrap_or(rest.len()));
        match found {
            Some(end) => rest = &rest[end..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::super::front_matter::FrontMatter;
    use super::*;
    use proptest::prelude::*;

    fn tools(text: &str) -> Vec<String> {
        split(text)
    }

    #[test]
    fn spaces_and_commas_separate_only_outside_parentheses() {
        assert_eq!(tools("Bash Read Write"), ["Bash", "Read", "Write"]);
        assert_eq!(tools("Bash, Read,Write"), ["Bash", "Read", "Write"]);
        assert_eq!(
            tools("Bash(git:*), Bash(python3 \"${X}/a.py\" *) Read"),
            ["Bash(git:*)", "Bash(python3 \"${X}/a.py\" *)", "Read"]
        );
        assert_eq!(
            tools("Bash(echo \"a) b\" *) Read"),
            ["Bash(echo \"a) b\" *)", "Read"]
        );
        assert_eq!(tools(" , "), Vec::<String>::new());
        assert_eq!(
            tools("Bash (git:*) Read,Bash \t\n(a b) Bash"),
            ["Bash(git:*)", "Read", "Bash(a b)", "Bash"]
        );
    }

    #[test]
    fn a_list_and_a_string_are_equivalent() {
        let list = Value::List(vec![
            Value::Text("Bash(git:*)".into()),
            Value::Text("Read".into()),
        ]);
        let text = Value::Text("Bash(git:*) Read".into());
        assert_eq!(AllowedTools::read(&list), AllowedTools::read(&text));
    }

    #[test]
    fn only_a_missing_or_null_field_restricts_nothing() {
        let read = |line: &str| {
            let document = format!("---\n{line}\n---\n");
            let (matter, _) = FrontMatter::parse(&document).unwrap();
            matter.get("allowed-tools").and_then(AllowedTools::read)
        };
        for line in [
            "",
            "allowed-tools:",
            "allowed-tools: ~",
            "allowed-tools: null",
            "allowed-tools: NULL # none",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
        for line in [
            "allowed-tools: ''",
            "allowed-tools: \" \"",
            "allowed-tools: ','",
            "allowed-tools: 'null'",
            "allowed-tools: >\n\n",
            "allowed-tools: !!str",
            "allowed-tools: []",
            "allowed-tools: [~]",
            "allowed-tools: ['']",
            "allowed-tools: {}",
            "allowed-tools: {Bash: no}",
            "allowed-tools: [[Bash]]",
            "allowed-tools: [{Bash: x}]",
            "allowed-tools:\n  - Bash: x",
            "allowed-tools: Bash (git:*)",
        ] {
            let tools = read(line).unwrap_or_else(|| panic!("{line} restricts nothing"));
            assert!(!tools.allow_script(&["python3 a.py".into()]), "{line}");
        }
        assert_eq!(read("allowed-tools: []").unwrap().to_string(), "none");
    }

    #[test]
    fn bash_allows_scripts_and_its_absence_does_not() {
        let allow = |field: &str, line: &str| {
            AllowedTools::read(&Value::Text(field.into()))
                .is_none_or(|tools| tools.allow_script(&[line.to_owned()]))
        };
        for (field, line, allowed) in [
            ("Bash, Read", "python3 scripts/x.py", true),
            ("Read, Write", "python3 scripts/x.py", false),
            ("BashX", "python3 scripts/x.py", false),
            ("Bash(python3:*)", "python3 scripts/x.py a", true),
            ("Bash(python3:*)", "python3", true),
            ("Bash(python3:*)", "python3x scripts/x.py", false),
            ("Bash(git:*)", "python3 scripts/x.py", false),
            ("Bash(python3 scripts/*)", "python3 scripts/x.py", true),
            ("Bash(python3 scripts/x.py *)", "python3 scripts/x.py", true),
            (
                "Bash(python3 scripts/x.py *)",
                "python3 scripts/x.py a",
                true,
            ),
            (
                "Bash(python3 scripts/x.py)",
                "python3 scripts/x.py a",
                false,
            ),
            ("Bash(*/x.py*)", "python3 scripts/x.py a", true),
            ("Bash(*)", "anything", true),
        ] {
            assert_eq!(allow(field, line), allowed, "{field} / {line}");
        }
    }

    #[test]
    fn nothing_matches_after_the_search_limit() {
        let tools = |field: &str| AllowedTools::read(&Value::Text(field.into())).unwrap();
        let lines = ["python3 x.py ".to_owned() + &"a".repeat(1000)];
        let mut budget = 10_000;
        let many = tools(&"Bash(*b*),".repeat(5000));
        assert!(!many.allow_within(&lines, &mut budget));
        assert_eq!(budget, 0);
        for (field, allowed) in [
            ("Bash(*x.py*)", false),
            ("Bash(python3:*)", true),
            ("Bash(python3 *)", true),
            ("Bash", true),
        ] {
            assert_eq!(
                tools(field).allow_within(&lines, &mut 0),
                allowed,
                "{field}"
            );
        }
    }

    proptest! {
        #[test]
        fn splitting_loses_no_letter(text in "[A-Za-z(): ,*\"']{0,60}") {
            let letters = |s: &str| s.chars().filter(|c| c.is_ascii_alphabetic()).collect::<String>();
            prop_assert_eq!(letters(&split(&text).concat()), letters(&text));
        }

        #[test]
        fn a_star_matches_everything_and_a_literal_only_itself(text in "[^*]{0,30}", other in "[^*]{0,30}") {
            let glob = |pattern: &str, text: &str| glob(pattern, text, &mut { MAX_SEARCHED });
            prop_assert!(glob("*", &text));
            prop_assert!(glob(&text, &text));
            prop_assert_eq!(glob(&text, &other), text == other);
        }

        #[test]
        fn a_colon_and_a_space_before_the_star_are_equivalent(
            pattern in "[ab*]{0,4}",
            line in "[ab ]{0,8}",
        ) {
            let matches = |pattern: String, line: &str| matches(&pattern, line, &mut { MAX_SEARCHED });
            let with_colon = matches(format!("{pattern}:*"), &line);
            prop_assert_eq!(with_colon, matches(format!("{pattern} *"), &line));
            // The line with a space after its last word.
            let words = format!("{line} ");
            prop_assert_eq!(with_colon, glob(&format!("{pattern} *"), &words, &mut { MAX_SEARCHED }));
        }
    }
}
