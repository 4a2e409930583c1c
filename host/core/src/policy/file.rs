//! Parses the text of a policy strictly: an unknown key, a misspelt grant or a value out of range is an
//! error that names its line and column and the nearest valid word.
//!
//! It reads key by key from a tree with spans instead of deriving `Deserialize`: a derived parser knows
//! where a value is malformed, but not where one is out of range or not a grant.

use super::build::{self, Lines};
use super::definition::{Definition, LimitRules, Rules, SkillRules};
use super::error::{PolicyError, Position};
use super::section::Selector;
use super::{ApprovalMode, NativeMode, Policy, WorkerMode};
use crate::files::show;
use crate::grant::Grant;
use crate::limits::{self, LimitError};
use crate::skill::Language;
use crate::suggest::nearest;
use crate::tier::Tier;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const KEYS: [&str; 8] = [
    "enforce",
    "interpreters",
    "approval",
    "native",
    "workers",
    "allow",
    "limits",
    "skill",
];
const SKILL_KEYS: [&str; 9] = [
    "digest",
    "inherit",
    "runtime",
    "interpreters",
    "approval",
    "native",
    "workers",
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
pub(super) fn parse(text: &str, base: &Path) -> Result<Policy, PolicyError> {
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
    fn policy(&self, table: &Table<'_>) -> Result<Policy, PolicyError> {
        let mut definition = Definition::default();
        let mut lines = Lines::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "enforce" => definition.enforce = self.flag(value, "enforce")?,
                "skill" => self.sections(value, &mut definition, &mut lines)?,
                other
                    if self.read_rule(other, value, &mut definition.rules, &mut lines.rules)? => {}
                other if SKILL_KEYS.contains(&other) => {
                    let why = format!("`{other}` applies to one skill, not to every skill");
                    let hint = "write it under the header of a section, as in [skill.deploy]";
                    return Err(self.at(key.span(), &why).with_hint(hint));
                }
                other => return Err(self.unknown(key.span(), other, "a key", &KEYS)),
            }
        }
        build::build(definition, lines, self.base)
    }

    fn sections(
        &self,
        value: &Value<'_>,
        definition: &mut Definition,
        lines: &mut Lines,
    ) -> Result<(), PolicyError> {
        let mut selected: Vec<Selector> = Vec::new();
        for (key, value) in self.table(value, "skill")? {
            let name = key.get_ref().as_ref();
            let at_key = |error: PolicyError| error.at(self.position(key.span().start));
            let selector = Selector::parse(name, self.base).map_err(at_key)?;
            if selected.contains(&selector) {
                let why = format!("`{}` selects the same skill as another section", show(name));
                return Err(self.at(key.span(), &why));
            }
            selected.push(selector);
            let (mut rules, mut grants) = (SkillRules::default(), Vec::new());
            for (key, value) in self.table(value, name)? {
                match key.get_ref().as_ref() {
                    "digest" => rules.digest = Some(self.digest(value)?),
                    "runtime" => {
                        let tiers = Tier::ALL.map(|tier| (tier.word(), tier));
                        rules.runtime = Some(self.keyword(value, "runtime", &tiers)?);
                    }
                    "inherit" => rules.inherit = self.flag(value, "inherit")?,
                    "enforce" => {
                        let why = "`enforce` applies to the whole policy, not to one skill";
                        let hint = "write it at the top of the file, before every header";
                        return Err(self.at(key.span(), why).with_hint(hint));
                    }
                    other if self.read_rule(other, value, &mut rules.rules, &mut grants)? => {}
                    other => {
                        let what = "a key of a section";
                        return Err(self.unknown(key.span(), other, what, &SKILL_KEYS));
                    }
                }
            }
            lines.skills.insert(name.to_owned(), grants);
            definition.skills.insert(name.to_owned(), rules);
        }
        Ok(())
    }

    fn flag(&self, value: &Value<'_>, key: &str) -> Result<bool, PolicyError> {
        let why = || format!("`{key}` must be `true` or `false`");
        let flag = value.get_ref().as_bool();
        flag.ok_or_else(|| self.at(value.span(), &why()))
    }

    fn digest(&self, value: &Value<'_>) -> Result<String, PolicyError> {
        let text = self.text(value, "a digest such as \"sha256:…\"")?;
        let at_value = |error: PolicyError| error.at(self.position(value.span().start));
        build::check_digest(text).map_err(at_value)?;
        Ok(text.to_owned())
    }

    /// Reads a key that stands both at the top and in sections; `false` if it is another one. `lines` are those of its
    /// grants.
    fn read_rule(
        &self,
        key: &str,
        value: &Value<'_>,
        rules: &mut Rules,
        lines: &mut Vec<usize>,
    ) -> Result<bool, PolicyError> {
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
            "workers" => {
                let modes = WorkerMode::ALL.map(|mode| (mode.word(), mode));
                rules.workers = Some(self.keyword(value, key, &modes)?);
            }
            "allow" => {
                let (grants, at) = self.grants(value)?;
                rules.allow = Some(grants);
                *lines = at;
            }
            "limits" => rules.limits = self.limits(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn limits(&self, value: &Value<'_>) -> Result<LimitRules, PolicyError> {
        let mut limits = LimitRules::default();
        for (key, value) in self.table(value, "limits")? {
            let duration = || -> Result<_, PolicyError> {
                let text = self.text(value, "a duration such as \"30s\"")?;
                limits::parse_duration(text).map_err(|error| self.at_limit(value, &error))
            };
            let bytes = || -> Result<_, PolicyError> {
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
            let at_value = |error: PolicyError| error.at(self.position(value.span().start));
            limits.check().map_err(at_value)?;
        }
        Ok(limits)
    }

    /// The grants and their lines.
    fn grants(&self, value: &Value<'_>) -> Result<(Vec<Grant>, Vec<usize>), PolicyError> {
        let (mut grants, mut lines) = (Vec::new(), Vec::new());
        for value in self.list(value, "allow")? {
            let text = self.text(value, "a grant such as \"read:./data\"")?;
            let grant: Grant = text.parse().map_err(|error: crate::grant::GrantError| {
                self.at(value.span(), &error.to_string())
            })?;
            if let Grant::Interpreter(name) = &grant {
                self.known_interpreter(value, name)?;
            }
            grants.push(grant);
            lines.push(self.line(value.span().start));
        }
        Ok((grants, lines))
    }

    fn interpreters(&self, value: &Value<'_>) -> Result<Vec<String>, PolicyError> {
        let mut names = Vec::new();
        for value in self.list(value, "interpreters")? {
            let name = self.text(value, "the name of an interpreter")?;
            self.known_interpreter(value, name)?;
            names.push(name.to_owned());
        }
        Ok(names)
    }

    fn known_interpreter(&self, value: &Value<'_>, name: &str) -> Result<(), PolicyError> {
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
    ) -> Result<T, PolicyError> {
        let names: Vec<&str> = keywords.iter().map(|(name, _)| *name).collect();
        let text = self.text(value, &format!("one of {}", names.join(", ")))?;
        let found = keywords.iter().find(|(name, _)| *name == text);
        let what = format!("a value of `{key}`");
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| self.unknown(value.span(), text, &what, &names))
    }

    fn table<'t>(&self, value: &'t Value<'_>, what: &str) -> Result<&'t Table<'t>, PolicyError> {
        let bad = || self.at(value.span(), &format!("`{}` is not a table", show(what)));
        value.get_ref().as_table().ok_or_else(bad)
    }

    fn list<'t>(
        &self,
        value: &'t Value<'_>,
        what: &str,
    ) -> Result<impl Iterator<Item = &'t Value<'t>>, PolicyError> {
        let bad = || self.at(value.span(), &format!("`{what}` is not a list"));
        Ok(value.get_ref().as_array().ok_or_else(bad)?.iter())
    }

    fn text<'t>(&self, value: &'t Value<'_>, what: &str) -> Result<&'t str, PolicyError> {
        let bad = || self.at(value.span(), &format!("expected {what} in quotes"));
        value.get_ref().as_str().ok_or_else(bad)
    }

    fn number<T: TryFrom<u64>>(&self, value: &Value<'_>) -> Result<T, PolicyError> {
        let integer = value.get_ref().as_integer();
        let number = integer.and_then(|integer| {
            let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok()?;
            T::try_from(number).ok()
        });
        number.ok_or_else(|| self.at(value.span(), "expected a whole number"))
    }

    fn at_limit(&self, value: &Value<'_>, error: &LimitError) -> PolicyError {
        self.at(value.span(), &error.to_string())
    }

    fn unknown(&self, span: Range<usize>, found: &str, what: &str, valid: &[&str]) -> PolicyError {
        let nearest = nearest(found, valid.iter().copied());
        let help = match nearest {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("expected one of {}", valid.join(", ")),
        };
        self.at(span, &format!("`{}` is not {what}; {help}", show(found)))
    }

    /// A problem with the line and column that it is about.
    fn at(&self, span: Range<usize>, message: &str) -> PolicyError {
        PolicyError::new(message).at(self.position(span.start))
    }

    fn position(&self, start: usize) -> Position {
        let before = self.text.get(..start).unwrap_or_default();
        let row = before.rfind('\n').map_or(0, |at| at + 1);
        Position {
            line: self.line(start),
            column: before[row..].chars().count() + 1,
        }
    }

    fn line(&self, start: usize) -> usize {
        let before = self.text.get(..start).unwrap_or_default();
        before.matches('\n').count() + 1
    }
}
