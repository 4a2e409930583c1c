//! How much a run may use.
//!
//! Every limit has a value, also if none was set. The defaults suit a script that an agent waits for. Time, memory,
//! output and processes have ranges, which keep a typing error from disabling these limits.

use std::ops::RangeInclusive;
use std::time::Duration;

const MIB: u64 = 1024 * 1024;

/// How much time, fuel, memory, output and disk one run may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time from the first instruction to the last.
    pub time: Duration,
    /// Total fuel (about one unit per wasm instruction), or `None` for as much as the time allows.
    pub fuel: Option<u64>,
    /// Memory of the script, the interpreter included.
    pub memory: u64,
    /// Bytes kept of each output stream.
    pub output: u64,
    /// Bytes of arguments, and bytes of input.
    pub arguments: u64,
    /// Bytes in the private scratch directory.
    pub scratch: u64,
    /// Bytes by which a script may grow the directories it was granted for writing.
    pub disk: u64,
    /// Files and directories open at the same time.
    pub open_files: u32,
    /// Processes and threads at the same time, in the native tier; a WASI interpreter has none.
    pub processes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // As long as an agent waits before it assumes that the tool hangs.
            time: Duration::from_secs(30),
            fuel: None,
            // Twice what the heaviest pure-Python script of the surveyed skills needed.
            memory: 256 * MIB,
            // More than any model reads; a script with more output writes a file.
            output: 10 * MIB,
            arguments: 10 * MIB,
            scratch: 64 * MIB,
            // A script that converts media or packs archives fits; one that fills a disk does not.
            disk: 1024 * MIB,
            open_files: 256,
            // Pipelines and a few workers; a runtime like Node's takes a dozen threads for itself.
            processes: 32,
        }
    }
}

impl Limits {
    /// The range of the time limit.
    pub const TIME: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
    /// The range of the memory limit. An interpreter alone takes about 40 MiB; wasm can address 4 GiB.
    pub const MEMORY: RangeInclusive<u64> = 64 * MIB..=4096 * MIB;
    /// The range of the output limit.
    pub const OUTPUT: RangeInclusive<u64> = 1024..=1024 * MIB;
    /// The range of the limit on processes.
    pub const PROCESSES: RangeInclusive<u32> = 1..=4096;

    /// Checks each limit against its range.
    pub fn check(&self) -> Result<(), LimitError> {
        if !Self::TIME.contains(&self.time) {
            return Err(LimitError::out_of_range(
                "time",
                show_duration(self.time),
                "1s",
                "600s",
            ));
        }
        if !Self::MEMORY.contains(&self.memory) {
            return Err(LimitError::out_of_range(
                "memory",
                show_bytes(self.memory),
                "64MiB",
                "4GiB",
            ));
        }
        if !Self::OUTPUT.contains(&self.output) {
            return Err(LimitError::out_of_range(
                "output",
                show_bytes(self.output),
                "1KiB",
                "1GiB",
            ));
        }
        if !Self::PROCESSES.contains(&self.processes) {
            return Err(LimitError::out_of_range(
                "processes",
                self.processes.to_string(),
                "1",
                "4096",
            ));
        }
        if self.fuel == Some(0) {
            return Err(LimitError("fuel `0` is out of range: at least 1".into()));
        }
        Ok(())
    }
}

/// A limit that a run can hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::time`].
    Time,
    /// [`Limits::fuel`].
    Fuel,
    /// [`Limits::memory`].
    Memory,
    /// [`Limits::output`].
    Output,
    /// [`Limits::scratch`].
    Scratch,
    /// [`Limits::disk`].
    Disk,
    /// [`Limits::open_files`].
    OpenFiles,
}

impl Limit {
    /// The key that sets it in a policy.
    pub fn key(self) -> &'static str {
        match self {
            Self::Time => "limits.time",
            Self::Fuel => "limits.fuel",
            Self::Memory => "limits.memory",
            Self::Output => "limits.output",
            Self::Scratch => "limits.scratch",
            Self::Disk => "limits.disk",
            Self::OpenFiles => "limits.open_files",
        }
    }
}

/// Why a text or a value is not a valid limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LimitError(String);

impl LimitError {
    fn out_of_range(what: &str, got: String, min: &str, max: &str) -> Self {
        Self(format!("{what} `{got}` is out of range: {min} to {max}"))
    }
}

/// Reads `30s`, `1.5m`, `500ms` or a bare number of seconds.
pub fn parse_duration(text: &str) -> Result<Duration, LimitError> {
    let bad = || {
        LimitError(format!(
            "`{text}` is not a duration: write `30s`, `500ms`, `2m`"
        ))
    };
    let (number, unit) = split_unit(text).ok_or_else(bad)?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(bad()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| bad())
}

/// Reads `256MiB`, `1.5GiB`, `10MB` or a bare number of bytes.
pub fn parse_bytes(text: &str) -> Result<u64, LimitError> {
    let bad = || {
        LimitError(format!(
            "`{text}` is not a size: write `256MiB`, `1GiB`, `10MB`"
        ))
    };
    let (number, unit) = split_unit(text).ok_or_else(bad)?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        _ => return Err(bad()),
    };
    let bytes = number * factor;
    // Beyond 2^53, a float no longer represents every integer, and no machine has that many bytes.
    if bytes > (1u64 << 53) as f64 {
        return Err(bad());
    }
    Ok(bytes as u64)
}

fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

/// Prints a duration the way [`parse_duration`] reads it.
pub fn show_duration(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{}s", time.as_secs())
    } else {
        format!("{}ms", time.as_millis())
    }
}

/// Prints a size the way [`parse_bytes`] reads it.
pub fn show_bytes(bytes: u64) -> String {
    for (unit, size) in [("GiB", 1024 * MIB), ("MiB", MIB), ("KiB", 1024)] {
        if bytes >= size && bytes.is_multiple_of(size) {
            return format!("{}{unit}", bytes / size);
        }
    }
    format!("{bytes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_and_without_units() {
        let read = |text| parse_duration(text).map(|d| d.as_millis());
        assert_eq!(read("30s"), Ok(30_000));
        assert_eq!(read("30"), Ok(30_000));
        assert_eq!(read("1.5m"), Ok(90_000));
        assert_eq!(read(" 500 ms "), Ok(500));
        for bad in [
            "",
            "s",
            "1y",
            "-1s",
            "1e3s",
            "nan",
            "inf",
            "1.2.3s",
            "99999999999999999999s",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_read_with_and_without_units() {
        assert_eq!(parse_bytes("256MiB"), Ok(256 * MIB));
        assert_eq!(parse_bytes("1.5GiB"), Ok(1536 * MIB));
        assert_eq!(parse_bytes("10MB"), Ok(10_000_000));
        assert_eq!(parse_bytes("7"), Ok(7));
        for bad in ["", "MiB", "1PiB", "-1", "99999999GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn printed_values_parse_to_the_same_values() {
        for bytes in [1, 1024, 1536, 64 * MIB, 1024 * MIB, 12_345_678] {
            assert_eq!(parse_bytes(&show_bytes(bytes)), Ok(bytes));
        }
        for ms in [1, 500, 1000, 90_000] {
            let time = Duration::from_millis(ms);
            assert_eq!(parse_duration(&show_duration(time)), Ok(time));
        }
    }

    #[test]
    fn a_limit_out_of_range_is_named_with_its_range() {
        let limits = Limits {
            time: Duration::from_secs(601),
            ..Limits::default()
        };
        let message = limits.check().map_err(|e| e.to_string());
        assert_eq!(
            message,
            Err("time `601s` is out of range: 1s to 600s".into())
        );
        assert_eq!(Limits::default().check(), Ok(()));
    }
}
