//! Prints a policy as the text of a policy file.
//!
//! The text means the same wherever it is stored: grants and sections have absolute paths. What a file cannot contain
//! is an error, so that a policy is never written as something narrower or wider.

use super::definition::{LimitRules, Rules};
use super::error::PolicyError;
use super::section::{Section, Selector};
use super::{ApprovalMode, NativeMode, Policy, WorkerMode};
use crate::files::show;
use crate::grant::Grant;
use crate::limits::show_bytes;
use crate::skill::Language;
use crate::tier::Tier;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

impl Policy {
    /// Prints it as the text of a policy file. Parsed with the same `base` as this policy, it is the same policy.
    ///
    /// Grants that a person typed and ceilings are not part of it. It fails for paths that are not UTF-8 or contain control characters
    /// and for interpreters of runtimes that the host adds: a file cannot name them.
    pub fn to_toml(&self) -> Result<String, PolicyError> {
        let mut skill = BTreeMap::new();
        for section in &self.sections {
            let text = SectionText {
                digest: section.rules.digest.as_deref(),
                inherit: (!section.rules.inherit).then_some(false),
                runtime: section.rules.runtime.map(Tier::word),
                rules: RulesText::new(&section.rules.rules)?,
            };
            skill.insert(key(section)?, text);
        }
        let text = FileText {
            enforce: self.enforce.then_some(true),
            rules: RulesText::new(&self.rules)?,
            skill,
        };
        toml::to_string(&text).map_err(|error| PolicyError::new(error.to_string()))
    }
}

/// A policy file, in the order of its keys: tables come last.
#[derive(Serialize)]
struct FileText<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    enforce: Option<bool>,
    #[serde(flatten)]
    rules: RulesText<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    skill: BTreeMap<String, SectionText<'a>>,
}

#[derive(Serialize)]
struct SectionText<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inherit: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<&'static str>,
    #[serde(flatten)]
    rules: RulesText<'a>,
}

#[derive(Serialize)]
struct RulesText<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    interpreters: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<LimitsText>,
}

impl<'a> RulesText<'a> {
    fn new(rules: &'a Rules) -> Result<Self, PolicyError> {
        let Rules {
            interpreters,
            approval,
            native,
            workers,
            allow,
            limits,
        } = rules;
        for name in interpreters.iter().flatten() {
            check_known(name)?;
        }
        let allow = allow.as_ref().map(|allow| allow.iter().map(grant));
        Ok(Self {
            interpreters: interpreters.as_deref(),
            approval: approval.map(ApprovalMode::word),
            native: native.map(NativeMode::word),
            workers: workers.map(WorkerMode::word),
            allow: allow.map(Iterator::collect).transpose()?,
            limits: (*limits != LimitRules::default()).then(|| LimitsText::new(limits)),
        })
    }
}

#[derive(Serialize)]
struct LimitsText {
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fuel: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scratch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_files: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<u32>,
}

impl LimitsText {
    fn new(limits: &LimitRules) -> Self {
        Self {
            time: limits.time.map(duration),
            fuel: limits.fuel,
            memory: limits.memory.map(show_bytes),
            output: limits.output.map(show_bytes),
            scratch: limits.scratch.map(show_bytes),
            disk: limits.disk.map(show_bytes),
            open_files: limits.open_files,
            processes: limits.processes,
        }
    }
}

/// A duration without any loss. A person would not write nanoseconds, but code may compute them.
fn duration(time: Duration) -> String {
    let (seconds, nanos) = (time.as_secs(), time.subsec_nanos());
    match nanos {
        0 => format!("{seconds}s"),
        _ if nanos.is_multiple_of(1_000_000) => format!("{}ms", time.as_millis()),
        _ => format!("{seconds}.{nanos:09}s"),
    }
}

fn grant(grant: &Grant) -> Result<String, PolicyError> {
    let of_path = |word: &str, path: &Path| match utf8(path)? {
        text if text.contains(char::is_control) => Err(cannot_contain(path)),
        text => Ok(format!("{word}:{text}")),
    };
    match grant {
        Grant::Read(path) => of_path("read", path),
        Grant::Write(path) => of_path("write", path),
        Grant::Interpreter(name) => {
            check_known(name)?;
            Ok(grant.to_string())
        }
        other => Ok(other.to_string()),
    }
}

/// The key of a section, with an absolute path.
fn key(section: &Section) -> Result<String, PolicyError> {
    match &section.selector {
        Selector::Name(name) => Ok(name.clone()),
        Selector::Path(path) => Ok(utf8(path)?.to_owned()),
        Selector::BelowHome(path) => Ok(format!("~/{}", utf8(path)?)),
    }
}

fn utf8(path: &Path) -> Result<&str, PolicyError> {
    path.to_str().ok_or_else(|| cannot_contain(path))
}

fn cannot_contain(path: &Path) -> PolicyError {
    let path = show(&path.display().to_string());
    let why = format!("a policy file cannot contain the path `{path}`");
    PolicyError::new(why).with_hint("it is not UTF-8, or it contains a control character")
}

fn check_known(interpreter: &str) -> Result<(), PolicyError> {
    let mut known = Language::ALL.into_iter().map(Language::interpreter);
    match known.any(|name| name == interpreter) {
        true => Ok(()),
        false => {
            let why = format!("a policy file cannot contain the interpreter `{interpreter}`");
            Err(PolicyError::new(why))
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Definition, SkillRules};
    use super::*;
    use proptest::prelude::*;

    const BASE: &str = "/base/\u{e4}b";

    fn any_grant() -> impl Strategy<Value = Grant> {
        let path =
            "(/|\\./|\\.\\./|)[a-z .\"'\\\\~\u{e4}/]{1,12}".prop_map(std::path::PathBuf::from);
        let host = "(\\*\\.|)[a-z0-9-]{1,5}(\\.[a-z]{1,3}){0,2}|\\*";
        prop_oneof![
            path.clone().prop_map(Grant::Read),
            path.prop_map(Grant::Write),
            Just(Grant::Write(Grant::SKILL.into())),
            (host, prop::option::of(1..=u16::MAX)).prop_map(|(host, port)| Grant::Net(host, port)),
            "[A-Za-z_][A-Za-z0-9_]{0,6}".prop_map(Grant::Env),
            "[a-z0-9][a-z0-9._+-]{0,5}".prop_map(Grant::Run),
            any_interpreter().prop_map(Grant::Interpreter),
            Just(Grant::Native),
        ]
    }

    fn any_interpreter() -> impl Strategy<Value = String> {
        let all = Language::ALL.map(|language| language.interpreter().to_owned());
        prop::sample::select(all.to_vec())
    }

    fn any_limits() -> impl Strategy<Value = LimitRules> {
        let bytes = || prop::option::of(0..=1u64 << 53);
        let in_range = |range: std::ops::RangeInclusive<u64>| prop::option::of(range);
        let time = (
            1..600u64,
            prop_oneof![Just(0), Just(500_000_000), 0..1_000_000_000u32],
        )
            .prop_map(|(seconds, nanos)| Duration::new(seconds, nanos));
        (
            prop::option::of(time),
            in_range(1..=i64::MAX.cast_unsigned()),
            in_range(crate::Limits::MEMORY),
            in_range(crate::Limits::OUTPUT),
            (bytes(), bytes()),
            prop::option::of(any::<u32>()),
            prop::option::of(crate::Limits::PROCESSES),
        )
            .prop_map(
                |(time, fuel, memory, output, (scratch, disk), open_files, processes)| LimitRules {
                    time,
                    fuel,
                    memory,
                    output,
                    scratch,
                    disk,
                    open_files,
                    processes,
                },
            )
    }

    fn any_rules() -> impl Strategy<Value = Rules> {
        (
            prop::option::of(prop::collection::vec(any_interpreter(), 0..3)),
            prop::option::of(prop::sample::select(ApprovalMode::ALL.to_vec())),
            prop::option::of(prop::sample::select(NativeMode::ALL.to_vec())),
            prop::option::of(prop::sample::select(WorkerMode::ALL.to_vec())),
            prop::option::of(prop::collection::vec(any_grant(), 0..4)),
            any_limits(),
        )
            .prop_map(
                |(interpreters, approval, native, workers, allow, limits)| Rules {
                    interpreters,
                    approval,
                    native,
                    workers,
                    allow,
                    limits,
                },
            )
    }

    fn any_section() -> impl Strategy<Value = SkillRules> {
        let digest = prop::option::of("sha256:[0-9a-f]{64}");
        let runtime = prop::option::of(prop::sample::select(Tier::ALL.to_vec()));
        (digest, any::<bool>(), runtime, any_rules()).prop_map(
            |(digest, inherit, runtime, rules)| SkillRules {
                digest,
                inherit,
                runtime,
                rules,
            },
        )
    }

    pub(in crate::policy) fn any_definition() -> impl Strategy<Value = Definition> {
        let key = "(\\./|~/|/|\\.\\./|)[a-z.\"'\u{e4}\u{7f}\n\t #=]{1,8}(/[a-z]{1,3}){0,2}";
        let skills = prop::collection::btree_map(key, any_section(), 0..4);
        (any::<bool>(), any_rules(), skills).prop_map(|(enforce, rules, skills)| Definition {
            enforce,
            rules,
            skills,
        })
    }

    proptest! {
        #[test]
        fn a_written_policy_parses_to_the_same_policy(definition in any_definition()) {
            let base = Path::new(BASE);
            // Some keys are not the name of a skill, and some select the same one.
            if let Ok(policy) = Policy::new(definition, base) {
                let text = policy.to_toml().map_err(|e| TestCaseError::fail(format!("{e}")))?;
                let again = Policy::parse(&text, base);
                prop_assert_eq!(again.as_ref(), Ok(&policy), "{}", text);
                prop_assert_eq!(again.unwrap().to_toml(), Ok(text));
            }
        }
    }

    #[test]
    fn the_empty_policy_is_an_empty_file() {
        assert_eq!(Policy::default().to_toml().as_deref(), Ok(""));
        // Granting nothing is not the same as saying nothing.
        let none = Rules {
            allow: Some(vec![]),
            interpreters: Some(vec![]),
            ..Rules::default()
        };
        let none = Definition {
            rules: none,
            ..Definition::default()
        };
        let policy = Policy::new(none, Path::new("/")).unwrap();
        assert_eq!(
            policy.to_toml().as_deref(),
            Ok("interpreters = []\nallow = []\n")
        );
    }

    #[test]
    fn a_written_policy_means_the_same_in_another_directory() {
        let text = "allow = [\"read:./data\", \"write:skill\"]\n[skill.\"./mine\"]\ninherit = false\n\
                    [skill.\"~/theirs\"]\n[skill.named]\n";
        let policy = Policy::parse(text, Path::new("/a")).unwrap();
        let written = policy.to_toml().unwrap();
        let shown = "allow = [\"read:/a/data\", \"write:skill\"]\n\n[skill.\"/a/mine\"]\ninherit = false\n\n\
                     [skill.named]\n\n[skill.\"~/theirs\"]\n";
        assert_eq!(written, shown);
        let moved = Policy::parse(&written, Path::new("/b")).unwrap();
        // Only the bare name belongs to the directory of the policy.
        assert_eq!(moved.with_skill_dirs(policy.skill_dirs.clone()), policy);
    }

    #[test]
    fn what_a_file_cannot_contain_is_not_written() {
        use std::os::unix::ffi::OsStrExt as _;
        let bytes = Path::new(std::ffi::OsStr::from_bytes(b"/\xff"));
        for (grant, why) in [
            (Grant::Read(bytes.into()), "the path `/\u{fffd}`"),
            (Grant::Write("/a\nb".into()), "the path `/a\\nb`"),
            (Grant::Interpreter("lua".into()), "the interpreter `lua`"),
        ] {
            let rules = Rules {
                allow: Some(vec![grant]),
                ..Rules::default()
            };
            let definition = Definition {
                rules,
                ..Definition::default()
            };
            let policy = Policy::new(definition, Path::new("/")).unwrap();
            let error = policy.to_toml().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("a policy file cannot contain {why}")
            );
        }
    }

    #[test]
    fn a_definition_is_checked_as_a_file_is() {
        let rules = |rules: Rules| Definition {
            rules,
            ..Definition::default()
        };
        let skill = |key: &str, rules: SkillRules| Definition {
            skills: [(key.to_owned(), rules)].into(),
            ..Definition::default()
        };
        let allow = |grant| {
            rules(Rules {
                allow: Some(vec![grant]),
                ..Rules::default()
            })
        };
        let limits = |limits| Rules {
            limits,
            ..Rules::default()
        };
        for (definition, why) in [
            (
                allow(Grant::Env("A B".into())),
                "`env:A B` is not a valid grant",
            ),
            (
                allow(Grant::Read("".into())),
                "`read:` is not a valid grant",
            ),
            (
                rules(Rules {
                    interpreters: Some(vec!["a b".into()]),
                    ..Rules::default()
                }),
                "`a b` is not the name of an interpreter",
            ),
            (
                rules(limits(LimitRules {
                    disk: Some(u64::MAX),
                    ..LimitRules::default()
                })),
                "disk `18446744073709551615` is out of range: at most 8388608GiB",
            ),
            (
                skill(
                    "deploy",
                    SkillRules {
                        rules: limits(LimitRules {
                            time: Some(Duration::ZERO),
                            ..LimitRules::default()
                        }),
                        ..SkillRules::default()
                    },
                ),
                "[skill.deploy]: time `0s` is out of range: 1s to 600s",
            ),
            (
                skill("~", SkillRules::default()),
                "`~` is neither the name nor the path of a skill's folder",
            ),
        ] {
            let error = Policy::new(definition, Path::new("/")).unwrap_err();
            assert_eq!(error.to_string(), why);
        }
        let relative = Policy::new(Definition::default(), Path::new("here"));
        assert_eq!(
            relative.unwrap_err().to_string(),
            "the directory `here` of a policy must be an absolute path"
        );
        let twice = "[skill.\"./a\"]\n[skill.\"/a\"]\n";
        assert_eq!(
            Policy::parse(twice, Path::new("/"))
                .unwrap_err()
                .to_string(),
            "line 2, column 8: `/a` selects the same skill as another section"
        );
    }
}
