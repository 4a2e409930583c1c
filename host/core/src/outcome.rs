//! The result of a run.
//!
//! What a script did is a value, however badly it ended; a failure of the host is an
//! [`Error`](crate::Error). The JSON keys are part of the contract: the order of the fields is the
//! order of the keys.

use crate::limits::Limit;
use serde::{Serialize, Serializer};
use std::fmt;

/// Marks where output was truncated.
pub const TRUNCATION_MARKER: &str = "[... output truncated ...]";

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Identifies the run in the audit log.
    pub run_id: String,
    /// The skill's name.
    pub skill: String,
    /// The script, relative to the skill.
    pub script: String,
    /// The script's real, absolute path; in a skill that was given as bytes, it begins with `memory:/`.
    pub script_path: String,
    /// What executed it: `python`, `javascript` or `native`.
    pub runtime: String,
    /// How it ended.
    pub status: Status,
    /// The script's exit code; 124 after a timeout or out of fuel, 130 if cancelled, 134 if the interpreter failed, 137 if
    /// out of memory, `-N` after signal N.
    pub exit_code: i32,
    /// The signal's name, if one ended the script.
    pub signal: Option<String>,
    /// The signal's number, if one ended the script.
    pub signal_number: Option<i32>,
    /// Standard output; invalid UTF-8 is replaced.
    pub stdout: String,
    /// Standard error; invalid UTF-8 is replaced.
    pub stderr: String,
    /// Whether output beyond the limit was dropped.
    pub stdout_truncated: bool,
    /// Whether error output beyond the limit was dropped.
    pub stderr_truncated: bool,
    /// Bytes the script wrote to standard output, dropped ones included.
    pub stdout_bytes: u64,
    /// Bytes the script wrote to standard error, dropped ones included.
    pub stderr_bytes: u64,
    /// Wall-clock time of the run.
    pub execution_time_ms: f64,
    /// Whether the script exited with 0.
    pub success: bool,
    /// Whether the time limit ended it.
    pub timeout: bool,
    /// Whether a signal ended it.
    pub signaled: bool,
    /// What it used.
    pub usage: Usage,
    /// What it was denied, in the order of the first attempts.
    pub denied: Vec<Denial>,
    /// Whether it was denied more than is listed.
    pub denied_truncated: bool,
    /// The files that it created, changed or removed in writable directories, by path.
    pub artifacts: Vec<Artifact>,
    /// Whether there may be artefacts that are not listed.
    pub artifacts_truncated: bool,
    /// How it was isolated.
    pub isolation: Isolation,
    /// What an operator should know, such as limits that were hit.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// The limits that the run hit, each once.
    #[serde(skip)]
    pub limits_hit: Vec<Limit>,
    /// The bytes of the streams that are not UTF-8.
    #[serde(skip)]
    pub(crate) raw: Raw,
}

/// The bytes of output that is not UTF-8. All other output is in the outcome once, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) stdout: Option<Vec<u8>>,
    pub(crate) stderr: Option<Vec<u8>>,
}

impl Outcome {
    /// The bytes of [`Self::stdout`], before invalid UTF-8 was replaced.
    pub fn stdout_raw(&self) -> &[u8] {
        self.raw.stdout.as_deref().unwrap_or(self.stdout.as_bytes())
    }

    /// The bytes of [`Self::stderr`], before invalid UTF-8 was replaced.
    pub fn stderr_raw(&self) -> &[u8] {
        self.raw.stderr.as_deref().unwrap_or(self.stderr.as_bytes())
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The script ended by itself.
    Exited,
    /// A signal ended it.
    Signaled,
    /// The time limit ended it.
    TimedOut,
    /// The fuel limit ended it.
    OutOfFuel,
    /// It could not continue within its memory limit.
    OutOfMemory,
    /// The interpreter itself failed inside the sandbox.
    Trapped,
    /// The caller stopped it.
    Cancelled,
}

impl Status {
    /// The word used in JSON and in the audit log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Signaled => "signaled",
            Self::TimedOut => "timed_out",
            Self::OutOfFuel => "out_of_fuel",
            Self::OutOfMemory => "out_of_memory",
            Self::Trapped => "trapped",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The name of a signal, as C programs spell it.
pub(crate) fn signal_name(number: i32) -> String {
    let names = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let index = usize::try_from(number - 1).ok();
    match index.and_then(|index| names.get(index)) {
        Some(name) => format!("SIG{name}"),
        None => format!("signal {number}"),
    }
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Fuel consumed, if the runtime counts it.
    pub fuel: Option<u64>,
    /// The largest size of the script's memory.
    pub peak_memory_bytes: u64,
    /// CPU time.
    pub cpu_time_ms: f64,
}

/// Something that a run attempted and was not granted.
///
/// A report for people, and no more: in the wasm tier, the interpreter reports network and processes itself, and a script
/// may make it report anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// The missing grant, such as `write:/etc/hosts`. Control characters are escaped.
    pub grant: String,
    /// How often it was denied.
    pub count: u64,
    /// What would allow it, if granting [`Self::grant`] is not enough or not possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<DenialHint>,
}

/// What would allow something that a run was denied. A front end has its own words for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DenialHint {
    /// Nothing: no grant, request or policy allows it.
    Never,
    /// The grant `write:skill`.
    WriteSkill,
    /// A grant for the directory that the path leads to, and that path in the script.
    GrantTarget,
    /// To run the script natively.
    RunNatively,
    /// To run the script natively, with the grant `net:*`.
    RunNativelyWithNetwork,
}

impl fmt::Display for DenialHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "no grant allows it",
            Self::WriteSkill => "grant `write:skill`",
            Self::GrantTarget => {
                "it leads out of a granted directory; grant its target, and name that directly"
            }
            Self::RunNatively => "run it natively and grant `native`",
            Self::RunNativelyWithNetwork => "run it natively and grant `native` and `net:*`",
        })
    }
}

impl Serialize for DenialHint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A file that a run created, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// Its path, relative to the workspace if it is there, or else absolute.
    pub path: String,
    /// What happened to it.
    pub change: Change,
    /// Its size; `None` if it was removed.
    pub bytes: Option<u64>,
    /// The SHA-256 of its content; `None` if it was removed, could not be read, or was beyond what is hashed for one run.
    pub sha256: Option<String>,
}

/// What a run did with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It did not exist before.
    Created,
    /// It was written or replaced.
    Changed,
    /// It does not exist any more.
    Removed,
}

/// How a run was isolated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Isolation {
    /// `wasm` or `native`.
    pub tier: &'static str,
    /// The layers in force for this run.
    pub layers: Vec<&'static str>,
    /// How each limit was enforced.
    pub limits: LimitEnforcement,
}

/// How each limit was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LimitEnforcement {
    /// The time limit.
    pub time: Enforcement,
    /// The memory limit.
    pub memory: Enforcement,
    /// The disk limits.
    pub disk: Enforcement,
    /// The limit on processes.
    pub processes: Enforcement,
}

/// How a limit was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// It cannot be exceeded.
    Hard,
    /// Usage is sampled at intervals, so the limit can be exceeded for some milliseconds.
    Polled,
    /// Nothing enforces it here.
    Absent,
}

impl Enforcement {
    /// The word used in JSON and in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Polled => "polled",
            Self::Absent => "absent",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_keys_are_those_of_the_contract_in_order() {
        let outcome = Outcome {
            run_id: "r".into(),
            skill: "pdf".into(),
            script: "scripts/extract.py".into(),
            script_path: "/s/pdf/scripts/extract.py".into(),
            runtime: "python".into(),
            status: Status::TimedOut,
            exit_code: 124,
            signal: None,
            signal_number: None,
            stdout: "out".into(),
            stderr: String::new(),
            stdout_truncated: false,
            stderr_truncated: false,
            stdout_bytes: 3,
            stderr_bytes: 0,
            execution_time_ms: 2.5,
            success: false,
            timeout: true,
            signaled: false,
            usage: Usage {
                fuel: Some(7),
                peak_memory_bytes: 8,
                cpu_time_ms: 1.5,
            },
            denied: vec![
                Denial {
                    grant: "net:api.github.com:443".into(),
                    count: 1,
                    hint: None,
                },
                Denial {
                    grant: "run:git".into(),
                    count: 2,
                    hint: Some(DenialHint::RunNatively),
                },
            ],
            denied_truncated: false,
            artifacts: vec![
                Artifact {
                    path: "out/report.csv".into(),
                    change: Change::Created,
                    bytes: Some(812),
                    sha256: Some("ab".into()),
                },
                Artifact {
                    path: "old.csv".into(),
                    change: Change::Removed,
                    bytes: None,
                    sha256: None,
                },
            ],
            artifacts_truncated: false,
            isolation: Isolation {
                tier: "wasm",
                layers: vec!["wasm"],
                limits: LimitEnforcement {
                    time: Enforcement::Hard,
                    memory: Enforcement::Hard,
                    disk: Enforcement::Polled,
                    processes: Enforcement::Absent,
                },
            },
            warnings: vec!["not in the JSON".into()],
            limits_hit: vec![Limit::Time],
            raw: Raw {
                stdout: Some(vec![0xff]),
                stderr: None,
            },
        };
        assert_eq!(outcome.stdout_raw(), [0xff]);
        assert_eq!(outcome.stderr_raw(), outcome.stderr.as_bytes());
        let json = serde_json::to_string(&outcome).unwrap_or_default();
        assert_eq!(
            json,
            concat!(
                r#"{"run_id":"r","skill":"pdf","script":"scripts/extract.py","script_path":"/s/pdf/scripts/extract.py","#,
                r#""runtime":"python","status":"timed_out","exit_code":124,"signal":null,"signal_number":null,"#,
                r#""stdout":"out","stderr":"","stdout_truncated":false,"stderr_truncated":false,"stdout_bytes":3,"#,
                r#""stderr_bytes":0,"execution_time_ms":2.5,"success":false,"timeout":true,"signaled":false,"#,
                r#""usage":{"fuel":7,"peak_memory_bytes":8,"cpu_time_ms":1.5},"#,
                r#""denied":[{"grant":"net:api.github.com:443","count":1},"#,
                r#"{"grant":"run:git","count":2,"hint":"run it natively and grant `native`"}],"denied_truncated":false,"#,
                r#""artifacts":[{"path":"out/report.csv","change":"created","bytes":812,"sha256":"ab"},"#,
                r#"{"path":"old.csv","change":"removed","bytes":null,"sha256":null}],"artifacts_truncated":false,"#,
                r#""isolation":{"tier":"wasm","#,
                r#""layers":["wasm"],"limits":{"time":"hard","memory":"hard","disk":"polled","processes":"absent"}}}"#,
            )
        );
    }
}
