//! An answers file, which a program wrote for `skillrun expand --answers`.
//!
//! A yes comes only from an object that names this skill and this script, that has the hash of the script or none, and
//! whose answer is yes. The first object that matches applies.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use skillrun::{Answer, Approvals, AuditLog, Decision, Host, Policy, Question, Request, Settings, Skill};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

#[path = "../../../host/cli/src/ask/answers.rs"]
mod answers;

/// What `answers` needs from the command line's crate.
mod failure {
    pub(crate) struct Failure(pub(crate) String);

    impl Failure {
        pub(crate) fn host(message: impl Into<String>) -> Self {
            Self(message.into())
        }
    }

    pub(crate) fn plain(error: &std::io::Error) -> String {
        error.to_string()
    }
}

/// What `answers` needs from `own_file`.
mod own_file {
    pub(crate) struct OwnFile {
        pub(crate) file: std::fs::File,
    }
}

static ASKED: LazyLock<(PathBuf, Box<Question>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder").keep();
    let host = Host::new(Settings {
        cache: folder.join("cache"),
        audit: AuditLog::sink(|_| Ok(())),
        approvals: Approvals::memory(),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    });
    let skill = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/word-count");
    let skill = Arc::new(Skill::load(skill).expect("an example of this repository"));
    let request = Request::new(&skill, "scripts/count.py");
    match host.blocking().decide(&Policy::default(), request) {
        Ok(Decision::Pending(question)) => (folder.join("answers.json"), question),
        other => panic!("no question is open: {other:?}"),
    }
});

fuzz_target!(|text: &[u8]| {
    let (path, question) = &*ASKED;
    fs::write(path, text).expect("a file");
    let file = fs::File::open(path).expect("the file");
    let answer = match answers::read(path, own_file::OwnFile { file }) {
        Ok(all) => answers::find(&all, question),
        Err(failure) => {
            assert!(!failure.0.chars().any(char::is_control), "{:?}", failure.0);
            return;
        }
    };
    let hash = &question.scripts[0].sha256;
    let all: Vec<Value> = serde_json::from_slice(text).expect("accepted answers are JSON");
    let matches = |one: &&Value| {
        (one["skill"] == "word-count" || one["skill"] == question.skill_path.as_str())
            && one["script"] == "scripts/count.py"
            && (one.get("sha256").is_none() || one["sha256"] == **hash)
    };
    let expected = all
        .iter()
        .find(matches)
        .map(|one| one["answer"].as_str().unwrap_or_default());
    assert_eq!(answer.map(Answer::word), expected);
});
