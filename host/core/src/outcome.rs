//! The result of a run.
//!
//! What a script did is a value, however badly it ended; a failure of the host is an
//! [`Error`](crate::Error). The JSON keys are part of the contract: the order of the fields is the
//! order of the keys.

use serde::Serialize;

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
    /// The script's real, absolute path.
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
    /// How it was isolated.
    pub isolation: Isolation,
    /// What an operator should know, such as limits that were hit.
    #[serde(skip)]
    pub warnings: Vec<String>,
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
        };
        let json = serde_json::to_string(&outcome).unwrap_or_default();
        assert_eq!(
            json,
            concat!(
                r#"{"run_id":"r","skill":"pdf","script":"scripts/extract.py","script_path":"/s/pdf/scripts/extract.py","#,
                r#""runtime":"python","status":"timed_out","exit_code":124,"signal":null,"signal_number":null,"#,
                r#""stdout":"out","stderr":"","stdout_truncated":false,"stderr_truncated":false,"stdout_bytes":3,"#,
                r#""stderr_bytes":0,"execution_time_ms":2.5,"success":false,"timeout":true,"signaled":false,"#,
                r#""usage":{"fuel":7,"peak_memory_bytes":8,"cpu_time_ms":1.5},"isolation":{"tier":"wasm","#,
                r#""layers":["wasm"],"limits":{"time":"hard","memory":"hard","disk":"polled","processes":"absent"}}}"#,
            )
        );
    }
}
