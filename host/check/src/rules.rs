//! The rules of `check`. Their names never change.
//!
//! Errors are the rules of the specification, as the reference validator applies them: a skill without
//! errors is valid there as well. A finding from reading sources is a guess and never an error.

use std::fmt;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The skill violates the specification.
    Error,
    /// Something will probably not work with skillrun.
    Warning,
    /// Useful to know before a script runs.
    Note,
}

impl Level {
    /// Its name in every output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One thing that `check` looks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, which stays the same in every version.
    pub id: &'static str,
    /// Its severity.
    pub level: Level,
    /// What it requires, in one sentence.
    pub summary: &'static str,
}

macro_rules! rules {
    ($($name:ident $level:ident $id:literal $summary:literal)*) => {
        $(pub(crate) static $name: Rule = Rule {
            id: $id,
            level: Level::$level,
            summary: $summary,
        };)*

        impl Rule {
            /// Every rule, in a fixed order.
            pub fn all() -> &'static [&'static Rule] {
                static ALL: &[&Rule] = &[$(&$name),*];
                ALL
            }
        }
    };
}

rules! {
    SKILL_MD_MISSING Error "skill-md-missing" "a skill's folder contains a SKILL.md"
    SKILL_MD_UNREADABLE Error "skill-md-unreadable" "SKILL.md is a regular file inside the skill"
    SKILL_MD_TOO_LARGE Error "skill-md-too-large" "SKILL.md is at most 1 MiB"
    SKILL_MD_NOT_UTF8 Error "skill-md-not-utf8" "SKILL.md is UTF-8 text"
    FRONT_MATTER_MISSING Error "front-matter-missing" "SKILL.md starts with front matter between `---`"
    FRONT_MATTER_UNCLOSED Error "front-matter-unclosed" "the front matter is closed by `---`"
    FRONT_MATTER_NOT_FIELDS Error "front-matter-not-fields" "the front matter is a list of `field: value` lines"
    YAML_INVALID Error "yaml-invalid" "the front matter is valid YAML"
    YAML_FLOW Error "yaml-flow" "the front matter uses no `[…]` and no `{…}`"
    YAML_TAG Error "yaml-tag" "the front matter uses no tags"
    YAML_ANCHOR Error "yaml-anchor" "the front matter uses no anchors"
    YAML_DUPLICATE Error "yaml-duplicate" "a field appears once"
    YAML_INDENTATION Error "yaml-indentation" "sibling mappings have the same indentation"
    FIELD_UNKNOWN Error "field-unknown" "the front matter contains only fields of the specification"
    NAME_MISSING Error "name-missing" "there is a `name`"
    NAME_EMPTY Error "name-empty" "the `name` is text and not empty"
    NAME_TOO_LONG Error "name-too-long" "the `name` has at most 64 characters"
    NAME_NOT_LOWER_CASE Error "name-not-lower-case" "the `name` is lower case"
    NAME_OUTER_HYPHEN Error "name-outer-hyphen" "the `name` does not start or end with a hyphen"
    NAME_DOUBLE_HYPHEN Error "name-double-hyphen" "the `name` has no two hyphens in a row"
    NAME_CHARACTERS Error "name-characters" "the `name` contains only letters, digits and hyphens"
    NAME_NOT_FOLDER Error "name-not-folder" "the `name` equals the name of the folder"
    DESCRIPTION_MISSING Error "description-missing" "there is a `description`"
    DESCRIPTION_EMPTY Error "description-empty" "the `description` is text and not empty"
    DESCRIPTION_TOO_LONG Error "description-too-long" "the `description` has at most 1024 characters"
    COMPATIBILITY_NOT_TEXT Error "compatibility-not-text" "the `compatibility` is text"
    COMPATIBILITY_TOO_LONG Error "compatibility-too-long" "the `compatibility` has at most 500 characters"
    REFERENCE_MISSING Warning "reference-missing" "a file that SKILL.md refers to exists"
    SCRIPT_UNREADABLE Warning "script-unreadable" "a script is a regular file of at most 1 MiB inside the skill"
    SCRIPT_UNREFERENCED Note "script-unreferenced" "a script is mentioned by SKILL.md or by another file of the skill"
    RUNTIME_NONE Warning "runtime-none" "a script is written in a language that skillrun can run"
    IMPORT_MISSING Warning "import-missing" "what a script imports is in the skill or in the standard library"
    IMPORT_NATIVE Warning "import-native" "what a script imports runs in the sandbox"
    IMPORT_ABSENT Warning "import-absent" "a standard library module that a script imports is available in the sandbox"
    IMPORT_LIMITED Note "import-limited" "a standard library module that a script imports is complete in the sandbox"
    IMPORT_OPTIONAL Note "import-optional" "a script can run without an optional import that is not available"
    GRANT_WANTED Note "grant-wanted" "a script runs without grants"
    CHECK_INCOMPLETE Warning "check-incomplete" "a skill's scripts are few and small enough to be read"
}
