//! What `check` can find, each thing with a name that stays.
//!
//! Errors are the rules of the specification, as the reference validator has them: a skill without
//! one is valid there, too. What was found by reading sources is a guess and never an error.

use std::fmt;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The skill breaks the specification.
    Error,
    /// Something will probably not work here.
    Warning,
    /// Good to know before it runs.
    Note,
}

impl Level {
    /// The word for it, everywhere.
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
    /// How much it weighs.
    pub level: Level,
    /// What it demands, in one sentence.
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
    SKILL_MD_MISSING Error "skill-md-missing" "a skill's folder holds a SKILL.md"
    SKILL_MD_UNREADABLE Error "skill-md-unreadable" "SKILL.md is a plain file inside the skill"
    SKILL_MD_TOO_LARGE Error "skill-md-too-large" "SKILL.md holds at most 1 MiB"
    SKILL_MD_NOT_UTF8 Error "skill-md-not-utf8" "SKILL.md is UTF-8 text"
    FRONT_MATTER_MISSING Error "front-matter-missing" "SKILL.md starts with front matter between `---`"
    FRONT_MATTER_UNCLOSED Error "front-matter-unclosed" "the front matter is closed by `---`"
    FRONT_MATTER_NOT_FIELDS Error "front-matter-not-fields" "the front matter is a list of `field: value` lines"
    YAML_INVALID Error "yaml-invalid" "the front matter is valid YAML"
    YAML_FLOW Error "yaml-flow" "the front matter uses no `[…]` and no `{…}`"
    YAML_TAG Error "yaml-tag" "the front matter uses no tags"
    YAML_ANCHOR Error "yaml-anchor" "the front matter uses no anchors"
    YAML_DUPLICATE Error "yaml-duplicate" "a field stands once"
    YAML_INDENTATION Error "yaml-indentation" "mappings beside each other are indented alike"
    FIELD_UNKNOWN Error "field-unknown" "the front matter holds only fields of the specification"
    NAME_MISSING Error "name-missing" "there is a `name`"
    NAME_EMPTY Error "name-empty" "the `name` is text and not empty"
    NAME_TOO_LONG Error "name-too-long" "the `name` has at most 64 characters"
    NAME_NOT_LOWER_CASE Error "name-not-lower-case" "the `name` is lower case"
    NAME_OUTER_HYPHEN Error "name-outer-hyphen" "the `name` starts and ends with no hyphen"
    NAME_DOUBLE_HYPHEN Error "name-double-hyphen" "the `name` has no two hyphens in a row"
    NAME_CHARACTERS Error "name-characters" "the `name` holds letters, digits and hyphens only"
    NAME_NOT_FOLDER Error "name-not-folder" "the `name` is that of the folder"
    DESCRIPTION_MISSING Error "description-missing" "there is a `description`"
    DESCRIPTION_EMPTY Error "description-empty" "the `description` is text and not empty"
    DESCRIPTION_TOO_LONG Error "description-too-long" "the `description` has at most 1024 characters"
    COMPATIBILITY_NOT_TEXT Error "compatibility-not-text" "the `compatibility` is text"
    COMPATIBILITY_TOO_LONG Error "compatibility-too-long" "the `compatibility` has at most 500 characters"
    REFERENCE_MISSING Warning "reference-missing" "a file that SKILL.md refers to is there"
    SCRIPT_UNREADABLE Warning "script-unreadable" "a script is a plain file of at most 1 MiB inside the skill"
    SCRIPT_UNREFERENCED Note "script-unreferenced" "a script is mentioned by SKILL.md or by another file of the skill"
    RUNTIME_NONE Warning "runtime-none" "a script is written in a language that runs here"
    IMPORT_MISSING Warning "import-missing" "what a script imports is in the skill or in the library of its language"
    IMPORT_NATIVE Warning "import-native" "what a script imports runs in the sandbox"
    IMPORT_ABSENT Warning "import-absent" "a library module that a script imports is there in the sandbox"
    IMPORT_LIMITED Note "import-limited" "a library module that a script imports is there in full"
    IMPORT_OPTIONAL Note "import-optional" "a script can go on without what is not there"
    GRANT_WANTED Note "grant-wanted" "what a script will probably ask for"
    CHECK_INCOMPLETE Warning "check-incomplete" "a skill's scripts are few and small enough to be read"
}
