//! What the operator allows, read strictly from `skillrun.toml`.
//!
//! The empty policy grants nothing beyond the default interpreters and limits. A skill can never
//! widen its own policy: the file's place is the caller's choice, and nothing below a skill is read
//! as policy. An unknown key is an error, because a misspelt restriction would otherwise be none.

use crate::grant::Grant;
use crate::limits::{self, Limits};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name under which policies are found.
pub(crate) const FILE_NAME: &str = "skillrun.toml";
/// A policy is written by hand; a larger one is not a policy.
const MAX_BYTES: u64 = 1024 * 1024;

/// What the operator allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    source: Option<PathBuf>,
    approval: Approval,
    native: Native,
    rules: Rules,
    skills: BTreeMap<String, Rules>,
}

/// Rules that hold for every skill, or for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rules {
    interpreters: Option<Vec<String>>,
    allow: Vec<Grant>,
    limits: Limited,
}

/// Limits that a file names; the others keep their default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limited {
    #[serde(default, deserialize_with = "duration")]
    time: Option<std::time::Duration>,
    fuel: Option<u64>,
    #[serde(default, deserialize_with = "bytes")]
    memory: Option<u64>,
    #[serde(default, deserialize_with = "bytes")]
    output: Option<u64>,
    #[serde(default, deserialize_with = "bytes")]
    scratch: Option<u64>,
    #[serde(default, deserialize_with = "bytes")]
    disk: Option<u64>,
    open_files: Option<u32>,
    /// Processes and threads of a native script.
    processes: Option<u32>,
}

/// Why a policy could not be read.
#[derive(Debug, thiserror::Error)]
#[error("policy `{}`: {why}", path.display())]
pub struct PolicyError {
    path: PathBuf,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    interpreters: Option<Vec<String>>,
    #[serde(default)]
    approval: Approval,
    #[serde(default)]
    native: Native,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    limits: Limited,
    #[serde(default)]
    skill: BTreeMap<String, Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    interpreters: Option<Vec<String>>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    limits: Limited,
}

/// When a person is asked. Typing a command is the person's own yes, so only agent-facing front
/// ends ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// Nobody is asked.
    Never,
    /// Before a script runs for the first time, and after it changed.
    #[default]
    FirstRun,
    /// Before each run.
    Always,
}

/// What happens to scripts that need an interpreter of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Native {
    /// They do not run.
    Refuse,
    /// They run confined, as firmly as this machine can.
    #[default]
    Confined,
    /// They run in namespaces of their own, or not at all.
    Namespaces,
}

impl Policy {
    /// Interpreters allowed where nothing else is said.
    pub const INTERPRETERS: [&str; 3] = ["python3", "bash", "node"];

    /// Reads a policy file.
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        let fail = |why: String| PolicyError {
            path: path.to_owned(),
            why,
        };
        let io = |error: std::io::Error| fail(crate::files::plain(&error));
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let name = path
            .file_name()
            .ok_or_else(|| fail("is not a file".into()))?;
        let base = folder.canonicalize().map_err(io)?;
        let dir =
            cap_std::fs::Dir::open_ambient_dir(&base, cap_std::ambient_authority()).map_err(io)?;
        let bytes = crate::files::read(&dir, Path::new(name), MAX_BYTES)
            .map_err(|error| fail(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| fail("is not UTF-8 text".into()))?;
        let mut policy = Self::parse(&text, &base).map_err(fail)?;
        policy.source = Some(base.join(name));
        Ok(policy)
    }

    /// Reads a policy's text; relative paths in it are below `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let File {
            interpreters,
            approval,
            native,
            allow,
            limits,
            skill,
        } = file;
        let rules = Rules {
            interpreters,
            allow: grants(&allow, base)?,
            limits,
        };
        let mut skills = BTreeMap::new();
        for (name, section) in skill {
            let Section {
                interpreters,
                allow,
                limits,
            } = section;
            skills.insert(
                name,
                Rules {
                    interpreters,
                    allow: grants(&allow, base)?,
                    limits,
                },
            );
        }
        let policy = Self {
            source: None,
            approval,
            native,
            rules,
            skills,
        };
        for name in policy.skills.keys().map(String::as_str).chain([""]) {
            policy
                .limits(name)
                .check()
                .map_err(|error| error.to_string())?;
        }
        Ok(policy)
    }

    /// The file it was read from.
    pub fn source(&self) -> Option<&Path> {
        self.source.as_deref()
    }

    /// When a person is asked.
    pub fn approval(&self) -> Approval {
        self.approval
    }

    /// What happens to scripts that need an interpreter of this machine.
    pub fn native(&self) -> Native {
        self.native
    }

    /// This policy with further grants, for what a person typed.
    #[must_use]
    pub fn and_allow(mut self, grants: impl IntoIterator<Item = Grant>) -> Self {
        self.rules.allow.extend(grants);
        self
    }

    /// This policy with these limits as the most that may be asked for, for what a person typed.
    #[must_use]
    pub fn and_limits(mut self, limits: &Limits) -> Self {
        let Limits {
            time,
            fuel,
            memory,
            output,
            arguments: _,
            scratch,
            disk,
            open_files,
            processes,
        } = limits.clone();
        let limited = Limited {
            time: Some(time),
            fuel,
            memory: Some(memory),
            output: Some(output),
            scratch: Some(scratch),
            disk: Some(disk),
            open_files: Some(open_files),
            processes: Some(processes),
        };
        self.skills
            .values_mut()
            .for_each(|rules| rules.limits = Limited::default());
        self.rules.limits = limited;
        self
    }

    /// The grants that a skill holds.
    pub fn grants<'a>(&'a self, skill: &str) -> impl Iterator<Item = &'a Grant> {
        let own = self
            .skills
            .get(skill)
            .map(|rules| rules.allow.as_slice())
            .unwrap_or_default();
        self.rules.allow.iter().chain(own)
    }

    /// Whether a skill holds a grant that covers `wanted`.
    pub fn allows(&self, skill: &str, wanted: &Grant) -> bool {
        self.grants(skill).any(|grant| grant.covers(wanted))
    }

    /// The interpreters that a skill's scripts may use, grants included.
    pub fn interpreters(&self, skill: &str) -> Vec<String> {
        let own = self
            .skills
            .get(skill)
            .and_then(|rules| rules.interpreters.clone());
        let listed = own.or_else(|| self.rules.interpreters.clone());
        let mut all = listed.unwrap_or_else(|| Self::INTERPRETERS.map(str::to_owned).to_vec());
        all.extend(self.grants(skill).filter_map(|grant| match grant {
            Grant::Interpreter(name) => Some(name.clone()),
            _ => None,
        }));
        all
    }

    /// The most that a skill's runs may use, and what they get if they do not ask.
    pub fn limits(&self, skill: &str) -> Limits {
        let mut limits = Limits::default();
        let own = self.skills.get(skill).map(|rules| &rules.limits);
        for limited in [Some(&self.rules.limits), own].into_iter().flatten() {
            let Limited {
                time,
                fuel,
                memory,
                output,
                scratch,
                disk,
                open_files,
                processes,
            } = limited;
            limits.time = time.unwrap_or(limits.time);
            limits.fuel = fuel.or(limits.fuel);
            limits.memory = memory.unwrap_or(limits.memory);
            limits.output = output.unwrap_or(limits.output);
            limits.scratch = scratch.unwrap_or(limits.scratch);
            limits.disk = disk.unwrap_or(limits.disk);
            limits.open_files = open_files.unwrap_or(limits.open_files);
            limits.processes = processes.unwrap_or(limits.processes);
        }
        limits
    }
}

fn grants(texts: &[String], base: &Path) -> Result<Vec<Grant>, String> {
    let parse = |text: &String| text.parse::<Grant>().map(|grant| grant.resolved(base));
    texts
        .iter()
        .map(parse)
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

fn duration<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Option<std::time::Duration>, D::Error> {
    let text = String::deserialize(from)?;
    limits::parse_duration(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

fn bytes<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(from)?;
    limits::parse_bytes(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Policy {
        Policy::parse(text, Path::new("/base")).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn the_empty_policy_grants_nothing() {
        let empty = policy("");
        assert_eq!(empty.grants("any").count(), 0);
        assert_eq!(empty.interpreters("any"), ["python3", "bash", "node"]);
        assert_eq!(empty.limits("any"), Limits::default());
    }

    #[test]
    fn a_section_holds_for_its_skill_alone() {
        let policy = policy(
            "interpreters = [\"python3\"]\nallow = [\"read:./data\"]\n[limits]\ntime = \"10s\"\n\
             [skill.deploy]\nallow = [\"net:*.example.com\", \"interpreter:ruby\"]\nlimits.time = \"60s\"\n",
        );
        let wanted = "net:a.example.com".parse().unwrap();
        assert!(policy.allows("deploy", &wanted));
        assert!(!policy.allows("other", &wanted));
        assert!(policy.allows("other", &"read:/base/data/x".parse().unwrap()));
        assert_eq!(policy.interpreters("deploy"), ["python3", "ruby"]);
        assert_eq!(policy.interpreters("other"), ["python3"]);
        assert_eq!(policy.limits("deploy").time.as_secs(), 60);
        assert_eq!(policy.limits("other").time.as_secs(), 10);
    }

    #[test]
    fn a_misspelt_key_grant_or_limit_is_an_error() {
        for (text, why) in [
            ("alow = []", "unknown field `alow`"),
            ("[limits]\ntimeout = \"1s\"", "unknown field `timeout`"),
            ("[skill.x]\nnative = true", "unknown field `native`"),
            ("allow = [\"raed:/x\"]", "did you mean `read:`?"),
            ("[limits]\ntime = \"0s\"", "out of range"),
            ("[limits]\nmemory = \"1MiB\"", "out of range"),
            ("approval = \"sometimes\"", "unknown variant `sometimes`"),
        ] {
            let error = Policy::parse(text, Path::new("/")).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
