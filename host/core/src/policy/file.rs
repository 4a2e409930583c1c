//! The text of a policy, read strictly: an unknown key, a misspelt grant or a value out of range is an
//! error that names its line and column and the nearest right word.
//!
//! Read key by key from a tree with places rather than derived: a derived reader knows where a value is
//! malformed, but not where one is out of range or no grant.

use super::section::{Section, Target};
use super::{Approval, Limited, Native, Policy, Rules};
use crate::files::show;
use crate::grant::Grant;
use crate::limits::{self, LimitError, Limits};
use crate::skill::Language;
use crate::suggest::nearest;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const KEYS: [&str; 6] = [
    "interpreters",
    "approval",
    "native",
    "allow",
    "limits",
    "skill",
];
const SKILL_KEYS: [&str; 7] = [
    "digest",
    "inherit",
    "interpreters",
    "approval",
    "native",
    "allow",
    "limits",
];
const LIMITS: [&str; 8] = [
    "time",
    "fuel",
    "memory",
    "output",
    "scratch",
    "disk",
    "open_files",
    "processes",
];
const APPROVALS: [(&str, Approval); 3] = [
    ("never", Approval::Never),
    ("first-run", Approval::FirstRun),
    ("always", Approval::Always),
];
const NATIVES: [(&str, Native); 3] = [
    ("refuse", Native::Refuse),
    ("confined", Native::Confined),
    ("namespaces", Native::Namespaces),
];

type Value<'a> = Spanned<DeValue<'a>>;
type Table<'a> = DeTable<'a>;

/// Reads a policy's text; relative paths in it are below `base`.
pub(super) fn parse(text: &str, base: &Path) -> Result<Policy, String> {
    let reader = Reader { text, base };
    let table = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        reader.at(start..start, error.message())
    })?;
    reader.policy(table.get_ref())
}

struct Reader<'a> {
    text: &'a str,
    base: &'a Path,
}

impl Reader<'_> {
    fn policy(&self, table: &Table<'_>) -> Result<Policy, String> {
        let mut policy = Policy::default();
        for (key, value) in table {
            let rules = &mut policy.rules;
            match key.get_ref().as_ref() {
                "interpreters" => rules.interpreters = Some(self.interpreters(value)?),
                "approval" => rules.approval = Some(self.word(value, "approval", &APPROVALS)?),
                "native" => rules.native = Some(self.word(value, "native", &NATIVES)?),
                "allow" => rules.allow = self.grants(value)?,
                "limits" => rules.limits = self.limits(value)?,
                "skill" => policy.sections = self.sections(value)?,
                other => return Err(self.unknown(key.span(), other, "a key", &KEYS)),
            }
        }
        Ok(policy)
    }

    fn sections(&self, value: &Value<'_>) -> Result<Vec<Section>, String> {
        let mut sections = Vec::new();
        for (key, value) in self.table(value, "skill")? {
            let name = key.get_ref().as_ref();
            let target = self.target(name).ok_or_else(|| {
                let why = format!(
                    "`{}` is neither the name nor the path of a skill's folder",
                    show(name)
                );
                self.at(key.span(), &why)
            })?;
            let table = self.table(value, name)?;
            let mut digest = None;
            for (key, value) in table {
                if key.get_ref() == "digest" {
                    digest = Some(self.digest(value)?);
                }
            }
            sections.push(Section {
                key: name.to_owned(),
                target,
                digest,
                rules: self.rules(table)?,
            });
        }
        Ok(sections)
    }

    /// What a section's key stands for: a path has a `/`, and any other is a name.
    fn target(&self, key: &str) -> Option<Target> {
        if matches!(key, "" | "." | ".." | "~") || key.contains('\0') {
            return None;
        }
        match key.split_once('/') {
            None => Some(Target::Name),
            Some(("~", below)) => Some(Target::BelowHome(below.trim_start_matches('/').into())),
            Some((user, _)) if user.starts_with('~') => None,
            Some(_) => Some(Target::Path(self.base.join(key))),
        }
    }

    fn digest(&self, value: &Value<'_>) -> Result<String, String> {
        let text = self.text(value, "a digest such as \"sha256:…\"")?;
        let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        let hex = text.strip_prefix("sha256:");
        match hex.is_some_and(|hex| hex.len() == 64 && hex.chars().all(is_hex)) {
            true => Ok(text.to_owned()),
            false => {
                let why = format!(
                    "`{}` is not a digest: copy it from `skillrun show`, `sha256:` and 64 digits",
                    show(text)
                );
                Err(self.at(value.span(), &why))
            }
        }
    }

    fn rules(&self, table: &Table<'_>) -> Result<Rules, String> {
        let mut rules = Rules::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                // Says which skill is meant, not what it may do.
                "digest" => {}
                "inherit" => {
                    let inherit = value.get_ref().as_bool();
                    let bad = || self.at(value.span(), "`inherit` is `true` or `false`");
                    rules.alone = !inherit.ok_or_else(bad)?;
                }
                "interpreters" => rules.interpreters = Some(self.interpreters(value)?),
                "approval" => rules.approval = Some(self.word(value, "approval", &APPROVALS)?),
                "native" => rules.native = Some(self.word(value, "native", &NATIVES)?),
                "allow" => rules.allow = self.grants(value)?,
                "limits" => rules.limits = self.limits(value)?,
                other => {
                    return Err(self.unknown(key.span(), other, "a key of a skill", &SKILL_KEYS));
                }
            }
        }
        Ok(rules)
    }

    fn limits(&self, value: &Value<'_>) -> Result<Limited, String> {
        let mut limited = Limited::default();
        for (key, value) in self.table(value, "limits")? {
            let duration = || -> Result<_, String> {
                let text = self.text(value, "a duration such as \"30s\"")?;
                limits::parse_duration(text).map_err(|error| self.at_limit(value, &error))
            };
            let bytes = || -> Result<_, String> {
                let text = self.text(value, "a size such as \"256MiB\"")?;
                limits::parse_bytes(text).map_err(|error| self.at_limit(value, &error))
            };
            match key.get_ref().as_ref() {
                "time" => limited.time = Some(duration()?),
                "fuel" => limited.fuel = Some(self.number(value)?),
                "memory" => limited.memory = Some(bytes()?),
                "output" => limited.output = Some(bytes()?),
                "scratch" => limited.scratch = Some(bytes()?),
                "disk" => limited.disk = Some(bytes()?),
                "open_files" => limited.open_files = Some(self.number(value)?),
                "processes" => limited.processes = Some(self.number(value)?),
                other => return Err(self.unknown(key.span(), other, "a limit", &LIMITS)),
            }
            // Each by itself, so that the message names its place.
            let checked = limited.applied_to(Limits::default()).check();
            checked.map_err(|error| self.at_limit(value, &error))?;
        }
        Ok(limited)
    }

    fn grants(&self, value: &Value<'_>) -> Result<Vec<Grant>, String> {
        let mut grants = Vec::new();
        for value in self.list(value, "allow")? {
            let text = self.text(value, "a grant such as \"read:./data\"")?;
            let grant: Grant = text
                .parse()
                .map_err(|error: crate::GrantError| self.at(value.span(), &error.to_string()))?;
            if let Grant::Interpreter(name) = &grant {
                self.known_interpreter(value, name)?;
            }
            grants.push(grant.resolved(self.base));
        }
        Ok(grants)
    }

    fn interpreters(&self, value: &Value<'_>) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for value in self.list(value, "interpreters")? {
            let name = self.text(value, "the name of an interpreter")?;
            self.known_interpreter(value, name)?;
            names.push(name.to_owned());
        }
        Ok(names)
    }

    fn known_interpreter(&self, value: &Value<'_>, name: &str) -> Result<(), String> {
        let known = Language::ALL.map(Language::interpreter);
        match known.contains(&name) {
            true => Ok(()),
            false => Err(self.unknown(value.span(), name, "an interpreter", &known)),
        }
    }

    fn word<T: Copy>(
        &self,
        value: &Value<'_>,
        key: &str,
        words: &[(&str, T)],
    ) -> Result<T, String> {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let text = self.text(value, &format!("one of {}", names.join(", ")))?;
        let found = words.iter().find(|(name, _)| *name == text);
        let what = format!("a value of `{key}`");
        found
            .map(|(_, word)| *word)
            .ok_or_else(|| self.unknown(value.span(), text, &what, &names))
    }

    fn table<'t>(&self, value: &'t Value<'_>, what: &str) -> Result<&'t Table<'t>, String> {
        let bad = || self.at(value.span(), &format!("`{}` is not a table", show(what)));
        value.get_ref().as_table().ok_or_else(bad)
    }

    fn list<'t>(
        &self,
        value: &'t Value<'_>,
        what: &str,
    ) -> Result<impl Iterator<Item = &'t Value<'t>>, String> {
        let bad = || self.at(value.span(), &format!("`{what}` is not a list"));
        Ok(value.get_ref().as_array().ok_or_else(bad)?.iter())
    }

    fn text<'t>(&self, value: &'t Value<'_>, what: &str) -> Result<&'t str, String> {
        let bad = || self.at(value.span(), &format!("expected {what} in quotes"));
        value.get_ref().as_str().ok_or_else(bad)
    }

    fn number<T: TryFrom<u64>>(&self, value: &Value<'_>) -> Result<T, String> {
        let integer = value.get_ref().as_integer();
        let number = integer.and_then(|integer| {
            let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok()?;
            T::try_from(number).ok()
        });
        number.ok_or_else(|| self.at(value.span(), "expected a whole number"))
    }

    fn at_limit(&self, value: &Value<'_>, error: &LimitError) -> String {
        self.at(value.span(), &error.to_string())
    }

    fn unknown(&self, span: Range<usize>, wrong: &str, what: &str, right: &[&str]) -> String {
        let nearest = nearest(wrong, right.iter().copied());
        let help = match nearest {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("there are {}", right.join(", ")),
        };
        self.at(span, &format!("`{}` is not {what}; {help}", show(wrong)))
    }

    /// A message with the place that it is about.
    fn at(&self, span: Range<usize>, message: &str) -> String {
        let before = self.text.get(..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[start..].chars().count() + 1;
        format!("line {line}, column {column}: {message}")
    }
}
