//! Checks the fields against the specification, as the reference validator does.

use super::rules::{self, Rule};
use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use skillrun_skill::strict::{Node, ParseErrorKind, strip};
use skillrun_skill::suggest;
use skillrun_skill::text::show;

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;
const FIELDS: [&str; 6] = [
    "allowed-tools",
    "compatibility",
    "description",
    "license",
    "metadata",
    "name",
];

/// A violated rule, the message, and the line of the field.
pub(super) type Violation = (&'static Rule, String, Option<usize>);

/// The rule that a front matter violates if it cannot be read.
pub(super) fn rule_of(kind: ParseErrorKind) -> &'static Rule {
    match kind {
        ParseErrorKind::Missing => &rules::FRONT_MATTER_MISSING,
        ParseErrorKind::Unclosed => &rules::FRONT_MATTER_UNCLOSED,
        ParseErrorKind::NotFields => &rules::FRONT_MATTER_NOT_FIELDS,
        ParseErrorKind::Invalid => &rules::YAML_INVALID,
        ParseErrorKind::Flow => &rules::YAML_FLOW,
        ParseErrorKind::Tag => &rules::YAML_TAG,
        ParseErrorKind::Anchor => &rules::YAML_ANCHOR,
        ParseErrorKind::Duplicate => &rules::YAML_DUPLICATE,
        ParseErrorKind::Indentation => &rules::YAML_INDENTATION,
    }
}

/// The rules that the fields of the skill in `folder` violate, in the reference validator's order.
pub(super) fn violations(fields: &[(Node, Node)], folder: &str) -> Vec<Violation> {
    let mut all = Vec::new();
    // `<<` merges a mapping and is not a field itself.
    let fields = || fields.iter().filter(|(name, _)| name.text() != Some("<<"));
    for (name, _) in fields() {
        let text = name.text().unwrap_or_default();
        if !FIELDS.contains(&text) {
            let hint = match suggest::nearest(text, FIELDS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "move it to `metadata`".into(),
            };
            let message = format!(
                "`{}` is not a field of the specification: {hint}",
                show(text)
            );
            all.push((&rules::FIELD_UNKNOWN, message, Some(name.line)));
        }
    }
    let get = |wanted: &str| {
        let mut found = fields().filter(|(name, _)| name.text() == Some(wanted));
        found.next().map(|(name, value)| (name.line, value))
    };
    match get("name") {
        None => all.push((&rules::NAME_MISSING, "there is no `name`".into(), Some(1))),
        Some((line, value)) => {
            let violations = name(value, folder).into_iter();
            all.extend(violations.map(|(rule, message)| (rule, message, Some(line))));
        }
    }
    match get("description") {
        None => {
            let message = "there is no `description`".to_owned();
            all.push((&rules::DESCRIPTION_MISSING, message, Some(1)));
        }
        Some((line, value)) => match value.text() {
            Some(text) if !strip(text).is_empty() => {
                let (rule, max) = (&rules::DESCRIPTION_TOO_LONG, MAX_DESCRIPTION);
                all.extend(too_long("description", text, rule, max, line));
            }
            _ => {
                let message = "the `description` is empty or not text".to_owned();
                all.push((&rules::DESCRIPTION_EMPTY, message, Some(line)));
            }
        },
    }
    match get("compatibility") {
        None => {}
        Some((line, value)) => match value.text() {
            Some(text) => {
                let (rule, max) = (&rules::COMPATIBILITY_TOO_LONG, MAX_COMPATIBILITY);
                all.extend(too_long("compatibility", text, rule, max, line));
            }
            None => {
                let message = "the `compatibility` is not text".to_owned();
                all.push((&rules::COMPATIBILITY_NOT_TEXT, message, Some(line)));
            }
        },
    }
    all
}

fn too_long(
    field: &str,
    text: &str,
    rule: &'static Rule,
    max: usize,
    line: usize,
) -> Option<Violation> {
    let length = text.chars().count();
    let message = format!("the `{field}` has {length} characters, but at most {max} are allowed");
    (length > max).then_some((rule, message, Some(line)))
}

fn name(value: &Node, folder: &str) -> Vec<(&'static Rule, String)> {
    let Some(text) = value.text().map(strip).filter(|text| !text.is_empty()) else {
        let message = "the `name` is empty or not text".to_owned();
        return vec![(&rules::NAME_EMPTY, message)];
    };
    let name = normal(text);
    let shown = show(&name);
    let length = name.chars().count();
    let mut all: Vec<(&'static Rule, String)> = Vec::new();
    if length > MAX_NAME {
        let message =
            format!("the `name` has {length} characters, but at most {MAX_NAME} are allowed");
        all.push((&rules::NAME_TOO_LONG, message));
    }
    if name != name.to_lowercase() {
        let message = format!("the name `{shown}` is not lower case");
        all.push((&rules::NAME_NOT_LOWER_CASE, message));
    }
    if name.starts_with('-') || name.ends_with('-') {
        let message = format!("the name `{shown}` starts or ends with a hyphen");
        all.push((&rules::NAME_OUTER_HYPHEN, message));
    }
    if name.contains("--") {
        let message = format!("the name `{shown}` has two hyphens in a row");
        all.push((&rules::NAME_DOUBLE_HYPHEN, message));
    }
    if let Some(odd) = name.chars().find(|c| !is_alphanumeric(*c) && *c != '-') {
        let odd = show(&odd.to_string());
        let message = format!(
            "the name `{shown}` contains `{odd}`: only letters, digits and hyphens are allowed"
        );
        all.push((&rules::NAME_CHARACTERS, message));
    }
    if normal(folder) != name {
        let message = format!(
            "the name `{shown}` differs from the folder name `{}`",
            show(folder)
        );
        all.push((&rules::NAME_NOT_FOLDER, message));
    }
    all
}

fn normal(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfkc()
        .normalize(text)
        .into_owned()
}

/// Letters and numbers by Unicode category. Rust's `char::is_alphanumeric` also includes combining vowels.
fn is_alphanumeric(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    GeneralCategoryGroup::Letter.contains(category)
        || GeneralCategoryGroup::DecimalNumber.contains(category)
        // The reference accepts other numbers only if they have a numeric value, which is nearly all of them.
        || GeneralCategoryGroup::LetterNumber.contains(category)
        || GeneralCategoryGroup::OtherNumber.contains(category)
}
