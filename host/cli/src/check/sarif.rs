//! Prints the findings as a SARIF 2.1.0 log.

use super::Checked;
use crate::text::printable;
use serde_json::{Value, json};
use skillrun_check::{Finding, Rule};
use std::path::Path;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn log(all: &[Checked]) -> Value {
    let rules: Vec<_> = Rule::all()
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": {"text": rule.summary},
                "defaultConfiguration": {"level": rule.level.word()},
            })
        })
        .collect();
    let results: Vec<_> = all
        .iter()
        .flat_map(|checked| {
            let findings = checked.report.findings.iter();
            findings.map(move |finding| result(checked, finding))
        })
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "skillrun",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(checked: &Checked, finding: &Finding) -> Value {
    let index = Rule::all()
        .iter()
        .position(|rule| rule.id == finding.rule.id);
    let mut location = json!({"artifactLocation": {"uri": uri(&checked.path_of(&finding.file))}});
    if let Some(line) = finding.line {
        location["region"] = json!({"startLine": line});
    }
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": finding.rule.level.word(),
        "message": {"text": printable(&finding.message)},
        "locations": [{"physicalLocation": location}],
    })
}

/// A path as a URI: relative to the working directory, or `file://` for an absolute path.
fn uri(path: &Path) -> String {
    let mut uri = String::from(if path.is_absolute() { "file://" } else { "" });
    let path = path.strip_prefix("./").unwrap_or(path);
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_becomes_a_valid_uri() {
        assert_eq!(uri(Path::new("./a b/c:d%é")), "a%20b/c%3Ad%25%C3%A9");
        assert_eq!(uri(Path::new("/x/y")), "file:///x/y");
    }
}
