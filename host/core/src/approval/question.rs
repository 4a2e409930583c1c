//! Questions to a person.

use super::access::access;
use super::answer::Answer;
use super::group::Group;
use super::store::LastApproval;
use crate::content::{Content, FileHashes};
use crate::files::show;
use crate::grant::Grant;
use crate::plan::{Checked, Plan};
use crate::skill::Skill;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

/// A question to a person: may these scripts of a skill run, with these arguments and grants?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Identifies the question in an answer.
    pub id: String,
    /// The tenant.
    pub tenant: String,
    /// The session.
    pub session: String,
    /// The skill's name; empty for a command of this machine.
    pub skill: String,
    /// The path of the skill.
    pub skill_path: String,
    /// Skills of the same name that this one shadows.
    #[serde(skip)]
    pub shadowed: Vec<std::path::PathBuf>,
    /// The skill's own description.
    pub description: String,
    /// What would run; more than one if they belong together.
    pub scripts: Vec<AskedScript>,
    /// The directory that the scripts may read and write.
    pub workspace: Option<String>,
    /// What they may touch in addition to that and to what every script may touch.
    pub grants: Vec<String>,
    /// The hash of everything in the skill, or of the command.
    pub content_hash: String,
    /// What changed since the last yes, if there was one.
    pub change: Option<Change>,
    /// Whether a yes is valid until something changes.
    pub remembered: bool,
    /// The possible answers.
    pub options: [Answer; 3],
    /// The answer that counts if nobody answers.
    pub default: Answer,
    /// The time to answer.
    pub timeout_seconds: u64,
    /// The enforcing policy that demands the answer, for messages. Then a front end must not answer by a flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforced_by: Option<String>,
}

/// One script of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedScript {
    /// Its path in the skill, or the name of a command.
    pub script: String,
    /// Its real, absolute path.
    pub path: String,
    /// The hash of the bytes that will run.
    pub sha256: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its own description.
    pub description: String,
}

/// What changed since the last yes to a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The time of that yes.
    pub since: String,
    /// The files that changed.
    pub files: Vec<ChangedFile>,
    /// The grants that are requested now and were not requested then.
    pub more_grants: Vec<String>,
    /// The script before and after; absent if it did not change or is too large to keep.
    #[serde(skip)]
    pub sources: Option<(String, String)>,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path in the skill.
    pub path: String,
    /// `new`, `changed` or `removed`.
    pub how: &'static str,
}

impl<'de> Deserialize<'de> for ChangedFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            path: String,
            how: String,
        }
        let Fields { path, how } = Fields::deserialize(deserializer)?;
        let mut known = ["new", "changed", "removed"].into_iter();
        match known.find(|known| *known == how) {
            Some(how) => Ok(Self { path, how }),
            None => Err(D::Error::custom(format!(
                "unknown kind of change `{}`",
                show(&how)
            ))),
        }
    }
}

/// A question in a store, with the fields that its JSON for front ends leaves out.
#[derive(Serialize, Deserialize)]
struct StoredQuestion<Q> {
    question: Q,
    shadowed: Vec<String>,
    sources: Option<(String, String)>,
}

impl Question {
    pub(super) fn about(
        group: &Group,
        content_hash: &str,
        change: Option<Change>,
        remembered: bool,
        timeout: Duration,
    ) -> Self {
        let mut grants: Vec<String> = Vec::new();
        for plan in group.iter() {
            grants.extend(plan.grants.iter().map(Grant::to_string));
        }
        grants.sort();
        grants.dedup();
        let script = |plan: &Plan| AskedScript {
            script: plan.script().to_owned(),
            path: plan.script_path().display().to_string(),
            sha256: plan.hash.clone(),
            args: plan.args.clone(),
            description: match &plan.target {
                Checked::Script(script) => script.skill.describe(&script.script),
                Checked::Command(_) => String::new(),
            },
        };
        let first = &group.first;
        let skill = match &first.target {
            Checked::Script(script) => Some(&script.skill),
            Checked::Command(_) => None,
        };
        let of_skill = |text: fn(&Skill) -> String| skill.map(|skill| text(skill));
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            tenant: first.tenant.clone(),
            session: first.session.clone(),
            skill: first.skill().to_owned(),
            skill_path: of_skill(|skill| skill.path().display().to_string()).unwrap_or_default(),
            shadowed: skill
                .map(|skill| skill.shadowed().to_vec())
                .unwrap_or_default(),
            description: of_skill(|skill| skill.description().to_owned()).unwrap_or_default(),
            scripts: group.iter().map(script).collect(),
            workspace: first.workspace_text(),
            grants,
            content_hash: content_hash.to_owned(),
            change,
            remembered,
            options: Answer::ALL,
            default: Answer::No,
            timeout_seconds: timeout.as_secs(),
            enforced_by: group.first.approval_by.clone(),
        }
    }

    /// The text for a store.
    pub(super) fn to_text(&self) -> String {
        let shadowed = self.shadowed.iter();
        let stored = StoredQuestion {
            question: self,
            shadowed: shadowed.map(|path| path.display().to_string()).collect(),
            sources: self.change.as_ref().and_then(|one| one.sources.clone()),
        };
        // Texts and numbers always have a JSON form.
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// The question of such a text.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let stored: StoredQuestion<Self> = serde_json::from_str(text).ok()?;
        let mut question = stored.question;
        question.shadowed = stored.shadowed.into_iter().map(Into::into).collect();
        if let Some(change) = &mut question.change {
            change.sources = stored.sources;
        }
        Some(question)
    }
}

impl Change {
    pub(super) fn since(last: LastApproval, content: &Content, plan: &Plan) -> Self {
        let before = last.source.and_then(|bytes| String::from_utf8(bytes).ok());
        let now = plan
            .source()
            .and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let grants = access(plan).into_iter();
        let last_files: FileHashes = serde_json::from_str(&last.files).unwrap_or_default();
        let files = content.files().changes_since(&last_files).into_iter();
        Self {
            since: last.time,
            files: files.map(|(path, how)| ChangedFile { path, how }).collect(),
            more_grants: grants
                .filter(|grant| !last.grants.contains(grant))
                .collect(),
            sources: before.zip(now).filter(|(before, now)| before != now),
        }
    }
}
