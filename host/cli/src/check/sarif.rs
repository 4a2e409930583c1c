//! What was found, as a SARIF 2.1.0 log.

use super::Checked;
use crate::list::printable;
use serde_json::{Value, json};
use skillrun::check::{Finding, Rule};
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
    let mut place = json!({"artifactLocation": {"uri": uri(&checked.place(&finding.file))}});
    if let Some(line) = finding.line {
        place["region"] = json!({"startLine": line});
    }
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": finding.rule.level.word(),
        "message": {"text": printable(&finding.message)},
        "locations": [{"physicalLocation": place}],
    })
}

/// A path as a reference relative to the folder the command ran in, or as an address of its own.
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
    fn a_path_is_an_address_whatever_its_name_holds() {
        assert_eq!(uri(Path::new("./a b/c:d%é")), "a%20b/c%3Ad%25%C3%A9");
        assert_eq!(uri(Path::new("/x/y")), "file:///x/y");
    }
}
