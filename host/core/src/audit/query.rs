//! Filters for the lines of a log.

use jiff::Timestamp;
use jiff::civil::Date;
use std::path::Path;
use std::str::FromStr;

/// Selects lines of the audit log: those that match every filter that is set.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// The name of the skill.
    pub skill: Option<String>,
    /// The script: its path in the skill, its file name or its stem.
    pub script: Option<String>,
    /// How the run ended.
    pub status: Option<String>,
    /// The event.
    pub event: Option<String>,
    /// The start of the run's id.
    pub run: Option<String>,
    /// The tenant.
    pub tenant: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The earliest time.
    pub since: Option<AuditTime>,
    /// The time before which the event happened.
    pub until: Option<AuditTime>,
}

impl AuditFilter {
    /// Whether the time of a line is in the range. Each line is compared, because the clock may have jumped between
    /// two lines.
    pub(super) fn in_time(&self, time: &str) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        let Ok(time) = time.parse::<Timestamp>() else {
            return false;
        };
        self.since.is_none_or(|since| time >= since.0)
            && self.until.is_none_or(|until| time < until.0)
    }
}

/// Whether a filter names this script.
pub(super) fn is_script(name: &str, script: &str) -> bool {
    let path = Path::new(script);
    let is = |part: Option<&std::ffi::OsStr>| part.is_some_and(|part| part == name);
    script == name || is(path.file_name()) || is(path.file_stem())
}

/// The start or the end of a time range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditTime(Timestamp);

/// The text is not a time.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{}` is not a time: write `2026-01-31T12:00:00Z`, a date like `2026-01-31` (its beginning in UTC), or how long ago: `90s`, `15m`, `2h`, `3d`, `1w`",
    crate::files::show(.0)
)]
pub struct AuditTimeError(String);

impl FromStr for AuditTime {
    type Err = AuditTimeError;

    fn from_str(text: &str) -> Result<Self, AuditTimeError> {
        Self::parse(text, Timestamp::now())
            .ok_or_else(|| AuditTimeError(text.chars().take(100).collect()))
    }
}

impl AuditTime {
    fn parse(text: &str, now: Timestamp) -> Option<Self> {
        if let Ok(time) = text.parse::<Timestamp>() {
            return Some(Self(time));
        }
        // Jiff also accepts longer texts as a date and ignores the rest; nothing may be ignored here.
        if text.len() == 10
            && let Ok(date) = text.parse::<Date>()
        {
            let start = date.to_datetime(jiff::civil::Time::midnight());
            let zone = jiff::tz::TimeZone::UTC;
            return Some(Self(zone.to_timestamp(start).ok()?));
        }
        let unit = text.chars().last()?;
        let seconds: i64 = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 7 * 86_400,
            _ => return None,
        };
        let number = text.strip_suffix(unit)?;
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let ago = number.parse::<i64>().ok()?.checked_mul(seconds)?;
        // Before the earliest time means from the beginning.
        let then = now.as_second().saturating_sub(ago);
        let time = Timestamp::new(then, now.subsec_nanosecond());
        Some(Self(time.unwrap_or(Timestamp::MIN)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<String> {
        let now = "2026-03-01T12:00:00.5Z".parse().unwrap();
        AuditTime::parse(text, now).map(|time| time.0.to_string())
    }

    #[test]
    fn times_dates_and_spans_are_parsed() {
        for (text, wanted) in [
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
            ("2026-01-31T12:00:00.25+02:00", "2026-01-31T10:00:00.25Z"),
            ("2026-01-31", "2026-01-31T00:00:00Z"),
            ("90s", "2026-03-01T11:58:30.5Z"),
            ("15m", "2026-03-01T11:45:00.5Z"),
            ("2h", "2026-03-01T10:00:00.5Z"),
            ("3d", "2026-02-26T12:00:00.5Z"),
            ("1w", "2026-02-22T12:00:00.5Z"),
            ("99999999999w", "-009999-01-02T01:59:59Z"),
        ] {
            assert_eq!(at(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_times() {
        for text in [
            "",
            "h",
            "-2h",
            "+2h",
            "2 h",
            "2y",
            "1.5h",
            "yesterday",
            "2026-13-01",
            "2026-01-31T12:00",
            "99999999999999999999s",
            "ü",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
        let error = "2\u{1b}y".parse::<AuditTime>().unwrap_err().to_string();
        assert!(
            error.starts_with("`2\\u{1b}y` is not a time: write "),
            "{error}"
        );
    }
}
