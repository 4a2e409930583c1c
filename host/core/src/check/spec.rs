//! The rules of the specification for the fields, as the reference validator applies them.

use super::rules::{self, Rule};
use super::strict::{Kind, Node};
use crate::files::show;
use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

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

/// A rule that is broken, what breaks it, and the line of the field.
pub(super) type Breach = (&'static Rule, String, Option<usize>);

/// The rules that the fields of the skill in `folder` break, in the reference's order.
pub(super) fn breaches(fields: &[(Node, Node)], folder: &str) -> Vec<Breach> {
    let mut all = Vec::new();
    // A mapping that is merged in belongs to no field of its own.
    let fields = || fields.iter().filter(|(name, _)| name.text() != Some("<<"));
    for (name, _) in fields() {
        let text = name.text().unwrap_or_default();
        if !FIELDS.contains(&text) {
            let hint = match crate::suggest::nearest(text, FIELDS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "put it below `metadata`".into(),
            };
            let message = format!("`{}` is no field of the specification: {hint}", show(text));
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
            let breaches = name(value, folder).into_iter();
            all.extend(breaches.map(|(rule, message)| (rule, message, Some(line))));
        }
    }
    match get("description") {
        None => {
            let message = "there is no `description`".to_owned();
            all.push((&rules::DESCRIPTION_MISSING, message, Some(1)));
        }
        Some((line, value)) => match value.text() {
            Some(text) if !strip(text).is_empty() => {
                let (rule, most) = (&rules::DESCRIPTION_TOO_LONG, MAX_DESCRIPTION);
                all.extend(too_long("description", text, rule, most, line));
            }
            _ => {
                let message = "the `description` is not text, or empty".to_owned();
                all.push((&rules::DESCRIPTION_EMPTY, message, Some(line)));
            }
        },
    }
    match get("compatibility") {
        None => {}
        Some((line, value)) => match value.text() {
            Some(text) => {
                let (rule, most) = (&rules::COMPATIBILITY_TOO_LONG, MAX_COMPATIBILITY);
                all.extend(too_long("compatibility", text, rule, most, line));
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
    most: usize,
    line: usize,
) -> Option<Breach> {
    let length = text.chars().count();
    let message = format!("the `{field}` has {length} characters, and at most {most} are allowed");
    (length > most).then_some((rule, message, Some(line)))
}

fn name(value: &Node, folder: &str) -> Vec<(&'static Rule, String)> {
    let Some(text) = value.text().map(strip).filter(|text| !text.is_empty()) else {
        let message = "the `name` is not text, or empty".to_owned();
        return vec![(&rules::NAME_EMPTY, message)];
    };
    let name = normal(text);
    let shown = show(&name);
    let length = name.chars().count();
    let mut all: Vec<(&'static Rule, String)> = Vec::new();
    if length > MAX_NAME {
        let message =
            format!("the `name` has {length} characters, and at most {MAX_NAME} are allowed");
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
            "the name `{shown}` holds `{odd}`: only letters, digits and hyphens are allowed"
        );
        all.push((&rules::NAME_CHARACTERS, message));
    }
    if normal(folder) != name {
        let message = format!(
            "the name `{shown}` is not that of the folder, `{}`",
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

/// Letters and numbers by their category; Rust's own notion counts combining vowels as well.
fn is_alphanumeric(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    GeneralCategoryGroup::Letter.contains(category)
        || GeneralCategoryGroup::DecimalNumber.contains(category)
        // Of the other numbers those that stand for a value, which is nearly all of them.
        || GeneralCategoryGroup::LetterNumber.contains(category)
        || GeneralCategoryGroup::OtherNumber.contains(category)
}

/// Without the space around it; the four separators of ASCII are space for the reference.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}

/// The text of a field, without the space around it, if there is any.
pub(crate) fn text_of<'a>(fields: &'a [(Node, Node)], wanted: &str) -> Option<&'a str> {
    let mut found = fields
        .iter()
        .filter(|(name, _)| name.text() == Some(wanted));
    let (_, value) = found.next()?;
    match &value.kind {
        Kind::Text(text) => Some(strip(text)).filter(|text| !text.is_empty()),
        _ => None,
    }
}
