//! Answers that were written down before, for machines: a JSON list of objects with `skill` and `script`, or
//! with `command`, an `answer`, and `sha256` if only those bytes are meant.

use crate::failure::{Failure, plain};
use crate::own_file::OwnFile;
use serde_json::Value;
use skillrun::{Answer, Question};
use std::io::Read as _;
use std::path::Path;

/// Written by hand or by a program that asked elsewhere; a larger one is something else.
const MAX_BYTES: u64 = 1024 * 1024;
const KEYS: [&str; 5] = ["skill", "script", "command", "sha256", "answer"];

/// One answer, and what it is to.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Empty for a command.
    skill: String,
    script: String,
    sha256: Option<String>,
    answer: Answer,
}

/// Reads the answers in an open file; `path` is its name for messages.
pub(super) fn read(path: &Path, own: OwnFile) -> Result<Vec<Prepared>, Failure> {
    let fail = |why: String| Failure::host(format!("answers `{}`: {why}", path.display()));
    let mut text = String::new();
    let mut some = own.file.take(MAX_BYTES + 1);
    some.read_to_string(&mut text)
        .map_err(|error| fail(plain(&error)))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(fail(format!("is larger than {MAX_BYTES} bytes")));
    }
    let all: Vec<Value> = serde_json::from_str(&text)
        .map_err(|error| fail(format!("is not a JSON list: {error}")))?;
    let all = all.iter().enumerate();
    all.map(|(at, value)| one(value).map_err(|why| fail(format!("answer {}: {why}", at + 1))))
        .collect()
}

fn one(value: &Value) -> Result<Prepared, String> {
    let object = value.as_object().ok_or("it is not an object")?;
    if let Some(unknown) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!(
            "`{}` is not one of {}",
            unknown.escape_debug(),
            KEYS.join(", ")
        ));
    }
    if let Some((key, _)) = object.iter().find(|(_, value)| !value.is_string()) {
        return Err(format!("`{key}` is not a text"));
    }
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let needed = |key: &str| text(key).ok_or(format!("`{key}` is missing"));
    let answer: Answer = needed("answer")?
        .parse()
        .map_err(|error: skillrun::AnswerError| error.to_string())?;
    let (skill, script) = match text("command") {
        Some(_) if object.contains_key("skill") || object.contains_key("script") => {
            return Err("it is for a command or for a script of a skill".into());
        }
        Some(command) => (String::new(), command),
        None => (needed("skill")?, needed("script")?),
    };
    Ok(Prepared {
        skill,
        script,
        sha256: text("sha256"),
        answer,
    })
}

/// The answer to a question: to each of its scripts there must be one, and the least of them counts. A skill is known
/// by its path, or by the name of its folder if it hides no other; the name that it gives itself is its own word.
pub(super) fn of(all: &[Prepared], question: &Question) -> Option<Answer> {
    let mut least = Answer::YesInSession;
    let folder = Path::new(&question.skill_path).file_name();
    let folder = folder.and_then(|name| name.to_str()).unwrap_or_default();
    for script in &question.scripts {
        let found = all.iter().find(|prepared| {
            let is_skill = match prepared.skill.contains('/') {
                true => prepared.skill == question.skill_path,
                false => prepared.skill == folder && question.hides.is_empty(),
            };
            is_skill
                && prepared.script == script.script
                && prepared
                    .sha256
                    .as_ref()
                    .is_none_or(|hash| *hash == script.sha256)
        })?;
        least = match (least, found.answer) {
            (Answer::No, _) | (_, Answer::No) => Answer::No,
            (Answer::YesInSession, Answer::YesInSession) => Answer::YesInSession,
            _ => Answer::YesOnce,
        };
    }
    Some(least)
}
