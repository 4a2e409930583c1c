//! The answers file, for machines: a JSON list of objects with `skill` and `script`, or with `command`; with an
//! `answer`; and with `sha256` if the answer is for those bytes alone.

use crate::failure::{Failure, plain};
use crate::own_file::OwnFile;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use skillrun::{Answer, Question};
use std::io::Read as _;
use std::path::Path;

/// Bytes of an answers file. A person wrote it, or a program that asked elsewhere. A larger file is something else.
const MAX_BYTES: u64 = 1024 * 1024;
const KEYS: [&str; 5] = ["skill", "script", "command", "sha256", "answer"];

/// One answer, and the script or command it is for.
#[derive(Debug)]
pub(crate) struct FileAnswer {
    /// Empty for a command.
    skill: String,
    script: String,
    sha256: Option<String>,
    answer: Answer,
}

/// Reads the answers in an open file; `path` is its name for messages.
pub(super) fn read(path: &Path, own: OwnFile) -> Result<Vec<FileAnswer>, Failure> {
    let fail = |why: String| Failure::host(format!("answers `{}`: {why}", path.display()));
    let mut bytes = Vec::new();
    let mut start = own.file.take(MAX_BYTES + 1);
    start
        .read_to_end(&mut bytes)
        .map_err(|error| fail(plain(&error)))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fail(format!("larger than {MAX_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| fail("not UTF-8 text".into()))?;
    let all: Vec<Value> =
        serde_json::from_str(&text).map_err(|error| fail(format!("not a JSON list: {error}")))?;
    let all = all.iter().enumerate();
    let answers = all
        .map(|(at, value)| {
            parse_one(value).map_err(|why| fail(format!("answer {}: {why}", at + 1)))
        })
        .collect::<Result<_, _>>()?;
    // A `Value` keeps the last of two equal keys. Which one counts would depend on who reads the file.
    serde_json::from_str::<Vec<UniqueKeys>>(&text).map_err(|error| fail(error.to_string()))?;
    Ok(answers)
}

/// The keys of an answer. Deserializing fails if one is there twice.
#[derive(Deserialize)]
#[expect(dead_code, reason = "only the keys matter")]
struct UniqueKeys {
    skill: Option<IgnoredAny>,
    script: Option<IgnoredAny>,
    command: Option<IgnoredAny>,
    sha256: Option<IgnoredAny>,
    answer: Option<IgnoredAny>,
}

fn parse_one(value: &Value) -> Result<FileAnswer, String> {
    let object = value.as_object().ok_or("it is not an object")?;
    if let Some(unknown) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!(
            "`{}` is not one of {}",
            unknown.escape_debug(),
            KEYS.join(", ")
        ));
    }
    if let Some((key, _)) = object.iter().find(|(_, value)| !value.is_string()) {
        return Err(format!("`{key}` is not a string"));
    }
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let needed = |key: &str| text(key).ok_or(format!("`{key}` is missing"));
    let answer: Answer = needed("answer")?
        .parse()
        .map_err(|error: skillrun::AnswerError| error.to_string())?;
    let (skill, script) = match text("command") {
        Some(_) if object.contains_key("skill") || object.contains_key("script") => {
            return Err("pass either `command`, or `skill` and `script`".into());
        }
        Some(command) => (String::new(), command),
        None => (needed("skill")?, needed("script")?),
    };
    Ok(FileAnswer {
        skill,
        script,
        sha256: text("sha256"),
        answer,
    })
}

/// Finds the answer to a question. Each of its scripts needs one, and the weakest applies. An answer names a skill by its
/// path, or by the name of its folder if it shadows no other skill. The name in `SKILL.md` does not count: the skill's
/// author chose it.
pub(super) fn find(all: &[FileAnswer], question: &Question) -> Option<Answer> {
    let mut weakest = Answer::YesInSession;
    let folder = Path::new(&question.skill_path).file_name();
    let folder = folder.and_then(|name| name.to_str()).unwrap_or_default();
    for script in &question.scripts {
        let found = all.iter().find(|answer| {
            let is_skill = match answer.skill.contains('/') {
                true => answer.skill == question.skill_path,
                false => answer.skill == folder && question.shadowed.is_empty(),
            };
            is_skill
                && answer.script == script.script
                && answer
                    .sha256
                    .as_ref()
                    .is_none_or(|hash| *hash == script.sha256)
        })?;
        weakest = match (weakest, found.answer) {
            (Answer::No, _) | (_, Answer::No) => Answer::No,
            (Answer::YesInSession, Answer::YesInSession) => Answer::YesInSession,
            _ => Answer::YesOnce,
        };
    }
    Some(weakest)
}
