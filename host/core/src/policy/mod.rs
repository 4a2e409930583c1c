//! What the operator allows, read strictly from `skillrun.toml`.
//!
//! The empty policy grants nothing beyond the default interpreters and limits. A skill can never
//! widen its own policy: the file's place is the caller's choice, and nothing below a skill is read
//! as policy. An unknown key is an error, because a misspelt restriction would otherwise be none.

mod file;

use crate::grant::Grant;
use crate::limits::Limits;
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
    rules: Rules,
    skills: BTreeMap<String, Rules>,
    /// What a person granted for this time.
    typed: Vec<Grant>,
}

/// Rules that hold for every skill, or for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rules {
    /// Whether the grants that hold for every skill do not hold for this one.
    alone: bool,
    interpreters: Option<Vec<String>>,
    approval: Option<Approval>,
    native: Option<Native>,
    allow: Vec<Grant>,
    limits: Limited,
}

/// Limits that a file names; the others keep what they were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Limited {
    time: Option<std::time::Duration>,
    fuel: Option<u64>,
    memory: Option<u64>,
    output: Option<u64>,
    scratch: Option<u64>,
    disk: Option<u64>,
    open_files: Option<u32>,
    /// Processes and threads of a native script.
    processes: Option<u32>,
}

impl Limited {
    fn applied_to(&self, limits: Limits) -> Limits {
        let Self {
            time,
            fuel,
            memory,
            output,
            scratch,
            disk,
            open_files,
            processes,
        } = self;
        Limits {
            time: time.unwrap_or(limits.time),
            fuel: fuel.or(limits.fuel),
            memory: memory.unwrap_or(limits.memory),
            output: output.unwrap_or(limits.output),
            arguments: limits.arguments,
            scratch: scratch.unwrap_or(limits.scratch),
            disk: disk.unwrap_or(limits.disk),
            open_files: open_files.unwrap_or(limits.open_files),
            processes: processes.unwrap_or(limits.processes),
        }
    }
}

/// Why a policy could not be read.
#[derive(Debug, thiserror::Error)]
#[error("policy `{}`: {why}", path.display())]
pub struct PolicyError {
    path: PathBuf,
    why: String,
}

/// When a person is asked. Typing a command is the person's own yes, so only agent-facing front
/// ends ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
        file::parse(text, base)
    }

    /// The file it was read from.
    pub fn source(&self) -> Option<&Path> {
        self.source.as_deref()
    }

    /// When a person is asked before a skill's script runs.
    pub fn approval(&self, skill: &str) -> Approval {
        self.of(skill, |rules| rules.approval).unwrap_or_default()
    }

    /// What happens to a skill's scripts that need an interpreter of this machine.
    pub fn native(&self, skill: &str) -> Native {
        self.of(skill, |rules| rules.native).unwrap_or_default()
    }

    /// What the skill's own section says, or else what holds for all.
    fn of<T>(&self, skill: &str, says: impl Fn(&Rules) -> Option<T>) -> Option<T> {
        let own = self.skills.get(skill).and_then(&says);
        own.or_else(|| says(&self.rules))
    }

    /// This policy with further grants, for what a person typed.
    #[must_use]
    pub fn and_allow(mut self, grants: impl IntoIterator<Item = Grant>) -> Self {
        self.typed.extend(grants);
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
        let own = self.skills.get(skill);
        let alone = own.is_some_and(|rules| rules.alone);
        let all = self.rules.allow.iter().filter(move |_| !alone);
        let own = own.map(|rules| rules.allow.as_slice());
        all.chain(own.unwrap_or_default()).chain(&self.typed)
    }

    /// The grants that a person typed.
    pub(crate) fn typed(&self) -> &[Grant] {
        &self.typed
    }

    /// Whether a skill holds a grant that covers `wanted`.
    pub fn allows(&self, skill: &str, wanted: &Grant) -> bool {
        self.grants(skill).any(|grant| grant.covers(wanted))
    }

    /// The interpreters that a skill's scripts may use, grants included.
    pub fn interpreters(&self, skill: &str) -> Vec<String> {
        let listed = self.of(skill, |rules| rules.interpreters.clone());
        let mut all = listed.unwrap_or_else(|| Self::INTERPRETERS.map(str::to_owned).to_vec());
        all.extend(self.grants(skill).filter_map(|grant| match grant {
            Grant::Interpreter(name) => Some(name.clone()),
            _ => None,
        }));
        all
    }

    /// The most that a skill's runs may use, and what they get if they do not ask.
    pub fn limits(&self, skill: &str) -> Limits {
        let limits = self.rules.limits.applied_to(Limits::default());
        match self.skills.get(skill) {
            Some(own) => own.limits.applied_to(limits),
            None => limits,
        }
    }
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
    fn a_section_can_narrow_and_widen_everything() {
        let policy = policy(
            "native = \"namespaces\"\nallow = [\"net:*\"]\n\
             [skill.a]\ninherit = false\nallow = [\"read:x\"]\napproval = \"always\"\nnative = \"refuse\"\n\
             [skill.b]\ninherit = true\napproval = \"never\"\n",
        );
        let shown = |skill| {
            policy
                .grants(skill)
                .map(Grant::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown("a"), ["read:/base/x"]);
        assert_eq!(shown("b"), ["net:*"]);
        assert_eq!(policy.approval("a"), Approval::Always);
        assert_eq!(policy.approval("b"), Approval::Never);
        assert_eq!(policy.approval("c"), Approval::FirstRun);
        assert_eq!(policy.native("a"), Native::Refuse);
        assert_eq!(policy.native("c"), Native::Namespaces);
        let typed = policy.clone().and_allow(["env:X".parse().unwrap()]);
        assert!(typed.allows("a", &"env:X".parse().unwrap()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_the_nearest_right_word() {
        for (text, why) in [
            (
                "\n  alow = []",
                "line 2, column 3: `alow` is not a key; did you mean `allow`?",
            ),
            (
                "x = 1",
                "line 1, column 1: `x` is not a key; there are interpreters, approval, native, allow, limits, skill",
            ),
            (
                "[limits]\ntimeout = \"1s\"",
                "line 2, column 1: `timeout` is not a limit; there are time, fuel, memory, output, scratch, disk, open_files, processes",
            ),
            (
                "[skill.x]\nlimit.time = \"1s\"",
                "line 2, column 1: `limit` is not a key of a skill; did you mean `limits`?",
            ),
            (
                "allow = [\n  \"native\",\n  \"raed:/x\",\n]",
                "line 3, column 3: `raed:/x` is not a grant: it starts with none of \
                 `read: write: net: env: run: interpreter: native`, did you mean `read:`?",
            ),
            (
                "allow = [\"interpreter:rubby\"]",
                "line 1, column 10: `rubby` is not an interpreter; did you mean `ruby`?",
            ),
            (
                "interpreters = [\"pyton3\"]",
                "line 1, column 17: `pyton3` is not an interpreter; did you mean `python3`?",
            ),
            (
                "[limits]\ntime = \"0s\"",
                "line 2, column 8: time `0s` is out of range: 1s to 600s",
            ),
            (
                "[skill.x.limits]\nmemory = \"1MiB\"",
                "line 2, column 10: memory `1MiB` is out of range: 64MiB to 4GiB",
            ),
            (
                "[limits]\nmemory = \"1 parsec\"",
                "line 2, column 10: `1 parsec` is not a size: write `256MiB`, `1GiB`, `10MB`",
            ),
            (
                "[limits]\nfuel = -1",
                "line 2, column 8: expected a whole number",
            ),
            (
                "approval = \"firstrun\"",
                "line 1, column 12: `firstrun` is not a value of `approval`; did you mean `first-run`?",
            ),
            (
                "approval = 1",
                "line 1, column 12: expected one of never, first-run, always in quotes",
            ),
            (
                "allow = \"native\"",
                "line 1, column 9: `allow` is not a list",
            ),
            ("skill = 1", "line 1, column 9: `skill` is not a table"),
            (
                "[skill.\"\"]\nallow = []",
                "line 1, column 8: `` is not the name of a skill's folder",
            ),
            (
                "[skill.\"a/b\"]\nallow = []",
                "line 1, column 8: `a/b` is not the name of a skill's folder",
            ),
            (
                "[skill.x]\ninherit = \"no\"",
                "line 2, column 11: `inherit` is `true` or `false`",
            ),
            (
                "a = ",
                "line 1, column 5: string values must be quoted, expected literal string",
            ),
        ] {
            let error = Policy::parse(text, Path::new("/")).unwrap_err();
            assert_eq!(error, why, "{text}");
        }
    }
}
