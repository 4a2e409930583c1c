//! Parses the text of a policy strictly: an unknown key, a misspelt grant or a value out of range is an
//! error that names its line and column and the nearest valid word.
//!
//! It reads key by key from a tree with spans instead of deriving `Deserialize`: a derived parser knows
//! where a value is malformed, but not where one is out of range or not a grant.

use super::section::{Section, Selector};
use super::{ApprovalMode, LimitOverrides, NativeMode, Policy, Rules};
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
type Value<'a> = Spanned<DeValue<'a>>;
type Table<'a> = DeTable<'a>;

/// Parses a policy's text. Relative paths in it start at `base`.
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
            match key.get_ref().as_ref() {
                "skill" => policy.sections = self.sections(value)?,
                other if self.read_rule(other, value, &mut policy.rules)? => {}
                other => return Err(self.unknown(key.span(), other, "a key", &KEYS)),
            }
        }
        Ok(policy)
    }

    fn sections(&self, value: &Value<'_>) -> Result<Vec<Section>, String> {
        let mut sections = Vec::new();
        for (key, value) in self.table(value, "skill")? {
            let name = key.get_ref().as_ref();
            let selector = self.selector(name).ok_or_else(|| {
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
                selector,
                digest,
                rules: self.rules(table)?,
            });
        }
        Ok(sections)
    }

    /// Parses a section's key: with a `/` it is a path, otherwise a name.
    fn selector(&self, key: &str) -> Option<Selector> {
        if matches!(key, "" | "." | ".." | "~") || key.contains('\0') {
            return None;
        }
        match key.split_once('/') {
            None => Some(Selector::Name),
            Some(("~", below)) => Some(Selector::BelowHome(below.trim_start_matches('/').into())),
            Some((user, _)) if user.starts_with('~') => None,
            Some(_) => Some(Selector::Path(self.base.join(key))),
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
                    "`{}` is not a digest: expected `sha256:` and 64 lowercase hexadecimal digits, as `skillrun show` prints them",
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
                // Selects the skill; it is not a rule.
                "digest" => {}
                "inherit" => {
                    let inherit = value.get_ref().as_bool();
                    let bad = || self.at(value.span(), "`inherit` must be `true` or `false`");
                    rules.no_inherit = !inherit.ok_or_else(bad)?;
                }
                other if self.read_rule(other, value, &mut rules)? => {}
                other => {
                    return Err(self.unknown(key.span(), other, "a key of a section", &SKILL_KEYS));
                }
            }
        }
        Ok(rules)
    }

    /// Reads a key that stands both at the top and in sections; `false` if it is another one.
    fn read_rule(&self, key: &str, value: &Value<'_>, rules: &mut Rules) -> Result<bool, String> {
        match key {
            "interpreters" => rules.interpreters = Some(self.interpreters(value)?),
            "approval" => {
                let modes = ApprovalMode::ALL.map(|mode| (mode.word(), mode));
                rules.approval = Some(self.keyword(value, key, &modes)?);
            }
            "native" => {
                let modes = NativeMode::ALL.map(|mode| (mode.word(), mode));
                rules.native = Some(self.keyword(value, key, &modes)?);
            }
            "allow" => (rules.allow, rules.allow_lines) = self.grants(value)?,
            "limits" => rules.limits = self.limits(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn limits(&self, value: &Value<'_>) -> Result<LimitOverrides, String> {
        let mut limits = LimitOverrides::default();
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
                "time" => limits.time = Some(duration()?),
                "fuel" => limits.fuel = Some(self.number(value)?),
                "memory" => limits.memory = Some(bytes()?),
                "output" => limits.output = Some(bytes()?),
                "scratch" => limits.scratch = Some(bytes()?),
                "disk" => limits.disk = Some(bytes()?),
                "open_files" => limits.open_files = Some(self.number(value)?),
                "processes" => limits.processes = Some(self.number(value)?),
                other => return Err(self.unknown(key.span(), other, "a limit", &LIMITS)),
            }
            // Each limit is checked on its own, so that the message names its line.
            let checked = limits.applied_to(Limits::default()).check();
            checked.map_err(|error| self.at_limit(value, &error))?;
        }
        Ok(limits)
    }

    /// The grants and their lines.
    fn grants(&self, value: &Value<'_>) -> Result<(Vec<Grant>, Vec<usize>), String> {
        let (mut grants, mut lines) = (Vec::new(), Vec::new());
        for value in self.list(value, "allow")? {
            let text = self.text(value, "a grant such as \"read:./data\"")?;
            let grant: Grant = text.parse().map_err(|error: crate::grant::GrantError| {
                self.at(value.span(), &error.to_string())
            })?;
            if let Grant::Interpreter(name) = &grant {
                self.known_interpreter(value, name)?;
            }
            grants.push(grant.resolved(self.base));
            lines.push(self.line(value.span().start));
        }
        Ok((grants, lines))
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

    fn keyword<T: Copy>(
        &self,
        value: &Value<'_>,
        key: &str,
        keywords: &[(&str, T)],
    ) -> Result<T, String> {
        let names: Vec<&str> = keywords.iter().map(|(name, _)| *name).collect();
        let text = self.text(value, &format!("one of {}", names.join(", ")))?;
        let found = keywords.iter().find(|(name, _)| *name == text);
        let what = format!("a value of `{key}`");
        found
            .map(|(_, value)| *value)
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

    fn unknown(&self, span: Range<usize>, found: &str, what: &str, valid: &[&str]) -> String {
        let nearest = nearest(found, valid.iter().copied());
        let help = match nearest {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("expected one of {}", valid.join(", ")),
        };
        self.at(span, &format!("`{}` is not {what}; {help}", show(found)))
    }

    /// A message with the line and column that it is about.
    fn at(&self, span: Range<usize>, message: &str) -> String {
        let before = self.text.get(..span.start).unwrap_or_default();
        let line = self.line(span.start);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[start..].chars().count() + 1;
        format!("line {line}, column {column}: {message}")
    }

    fn line(&self, start: usize) -> usize {
        let before = self.text.get(..start).unwrap_or_default();
        before.matches('\n').count() + 1
    }
}
