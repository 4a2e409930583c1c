//! A policy as a value: what a policy file can contain, key by key.
//!
//! Everything here is plain data, which a program fills in as it likes, until `build` makes a policy of it.

use super::error::PolicyError;
use super::{ApprovalMode, NativeMode, WorkerMode};
use crate::grant::Grant;
use crate::limits::{Limits, show_bytes};
use crate::tier::Tier;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything that a policy file can contain. [`Policy::new`](super::Policy::new) makes a policy of it.
///
/// ```
/// use skillrun::policy::{ApprovalMode, Definition, LimitRules, Rules, SkillRules};
/// use skillrun::{Grant, Policy};
/// use std::time::Duration;
///
/// let policy = Policy::new(
///     Definition {
///         rules: Rules {
///             approval: Some(ApprovalMode::Always),
///             allow: Some(vec![Grant::Read("data".into())]),
///             limits: LimitRules { time: Some(Duration::from_secs(10)), ..LimitRules::default() },
///             ..Rules::default()
///         },
///         skills: [("deploy".into(), SkillRules { inherit: false, ..SkillRules::default() })].into(),
///         ..Definition::default()
///     },
///     "/srv/agent".as_ref(),
/// )?;
/// let text = "approval = \"always\"\nallow = [\"read:/srv/agent/data\"]\n\n\
///             [limits]\ntime = \"10s\"\n\n[skill.deploy]\ninherit = false\n";
/// assert_eq!(policy.to_toml()?, text);
/// assert_eq!(Policy::parse(text, "/srv/agent".as_ref())?, policy);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// Whether this policy is a maximum: flags and other policies can only narrow it.
    pub enforce: bool,
    /// The rules for every skill.
    pub rules: Rules,
    /// `[skill.KEY]`: the rules for one skill, by the name of its folder or, with a `/` in it, by the path of its folder.
    pub skills: BTreeMap<String, SkillRules>,
}

/// Rules for every skill, or for one. What is `None` is not set: the rules for every skill apply, or else the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// The interpreters that scripts may use; by default [`Policy::INTERPRETERS`](super::Policy::INTERPRETERS).
    pub interpreters: Option<Vec<String>>,
    /// When a person is asked.
    pub approval: Option<ApprovalMode>,
    /// What happens to scripts that need an interpreter of this machine.
    pub native: Option<NativeMode>,
    /// Whose runs may use the same process in the wasm tier.
    pub workers: Option<WorkerMode>,
    /// What scripts may touch; by default nothing.
    pub allow: Option<Vec<Grant>>,
    /// How much runs may use at most.
    pub limits: LimitRules,
}

/// Rules for one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRules {
    /// The content that the skill must have, in the form of [`Skill::digest`](crate::Skill::digest).
    pub digest: Option<String>,
    /// Whether the grants for every skill apply too; by default they do.
    pub inherit: bool,
    /// Where its scripts run if a request does not choose. Python and JavaScript need the grant `native` to run natively.
    pub runtime: Option<Tier>,
    /// Its rules.
    pub rules: Rules,
}

impl Default for SkillRules {
    fn default() -> Self {
        Self {
            digest: None,
            inherit: true,
            runtime: None,
            rules: Rules::default(),
        }
    }
}

/// The most that runs may use. What is `None` is not set. The fields are those of [`Limits`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitRules {
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Total fuel, in the wasm tier.
    pub fuel: Option<u64>,
    /// Memory.
    pub memory: Option<u64>,
    /// Bytes kept of each output stream.
    pub output: Option<u64>,
    /// Bytes in the scratch directory.
    pub scratch: Option<u64>,
    /// Bytes by which a script may grow the directories it was granted for writing.
    pub disk: Option<u64>,
    /// Files and directories open at the same time.
    pub open_files: Option<u32>,
    /// Processes and threads of a native script.
    pub processes: Option<u32>,
}

impl LimitRules {
    /// The largest size that every program reads exactly from a policy file, 8 PiB.
    const MAX_BYTES: u64 = 1 << 53;
    /// The largest integer of TOML.
    const MAX_FUEL: u64 = i64::MAX.cast_unsigned();

    pub(super) fn applied_to(&self, limits: Limits) -> Limits {
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

    /// The limits of a policy that sets none.
    pub(super) fn defaults() -> Self {
        Self::all_of(&Limits::default())
    }

    /// The rules that set each of these limits.
    pub(super) fn all_of(limits: &Limits) -> Self {
        Self {
            time: Some(limits.time),
            fuel: limits.fuel,
            memory: Some(limits.memory),
            output: Some(limits.output),
            scratch: Some(limits.scratch),
            disk: Some(limits.disk),
            open_files: Some(limits.open_files),
            processes: Some(limits.processes),
        }
    }

    /// These limits, and those of `other` where these set none.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self {
            time: self.time.or(other.time),
            fuel: self.fuel.or(other.fuel),
            memory: self.memory.or(other.memory),
            output: self.output.or(other.output),
            scratch: self.scratch.or(other.scratch),
            disk: self.disk.or(other.disk),
            open_files: self.open_files.or(other.open_files),
            processes: self.processes.or(other.processes),
        }
    }

    /// The lower of each limit.
    pub(super) fn min(&self, other: &Self) -> Self {
        fn min<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            time: min(self.time, other.time),
            fuel: min(self.fuel, other.fuel),
            memory: min(self.memory, other.memory),
            output: min(self.output, other.output),
            scratch: min(self.scratch, other.scratch),
            disk: min(self.disk, other.disk),
            open_files: min(self.open_files, other.open_files),
            processes: min(self.processes, other.processes),
        }
    }

    /// The limit of this name, to compare it with that of other policies.
    pub(super) fn value(&self, name: &str) -> Option<u128> {
        match name {
            "time" => self.time.map(|time| time.as_nanos()),
            "fuel" => self.fuel.map(u128::from),
            "memory" => self.memory.map(u128::from),
            "output" => self.output.map(u128::from),
            "scratch" => self.scratch.map(u128::from),
            "disk" => self.disk.map(u128::from),
            "open_files" => self.open_files.map(u128::from),
            "processes" => self.processes.map(u128::from),
            _ => None,
        }
    }

    /// Checks each limit against its range.
    pub(super) fn check(&self) -> Result<(), PolicyError> {
        let limits = self.applied_to(Limits::default());
        let checked = limits.check();
        checked.map_err(|error| PolicyError::new(error.to_string()))?;
        for (name, bytes) in [("scratch", limits.scratch), ("disk", limits.disk)] {
            if bytes > Self::MAX_BYTES {
                let (bytes, max) = (show_bytes(bytes), show_bytes(Self::MAX_BYTES));
                let why = format!("{name} `{bytes}` is out of range: at most {max}");
                return Err(PolicyError::new(why));
            }
        }
        match self.fuel.filter(|fuel| *fuel > Self::MAX_FUEL) {
            None => Ok(()),
            Some(fuel) => {
                let max = Self::MAX_FUEL;
                let why = format!("fuel `{fuel}` is out of range: at most {max}");
                Err(PolicyError::new(why))
            }
        }
    }
}
