//! Collects what a run was denied.
//!
//! Whether something is denied is decided elsewhere. This only counts, for the caller: a script that catches the error
//! would otherwise leave people without any trace of it. Names come from the script, so their number and length are
//! limited, and control characters are escaped. Nothing may decide by what is collected here.
//!
//! Whether a denied path exists is not looked up: outcomes reach agents, and must not tell them what is on the machine.

use crate::files::show;
use crate::grant::Grant;
use crate::outcome::{Denial, DenialHint};
use crate::plan::is_never_granted;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// Different grants in one outcome. A script that is denied more walks a tree or guesses names.
const MAX_DENIALS: usize = 64;
/// Characters of a grant; longer ones are cut.
const MAX_CHARS: usize = 512;

/// What one run was denied so far.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    collected: Mutex<Collected>,
    /// Receives each grant when it is denied for the first time: at most [`MAX_DENIALS`].
    sink: Option<UnboundedSender<Denial>>,
}

#[derive(Debug, Default)]
struct Collected {
    listed: Vec<Denial>,
    /// Whether there were more than fit.
    more: bool,
}

impl Denials {
    /// `sink` receives each grant when it is denied for the first time.
    pub(crate) fn new(sink: Option<UnboundedSender<Denial>>) -> Self {
        Self {
            collected: Mutex::default(),
            sink,
        }
    }

    /// Counts one denial. `hint` replaces the advice to grant `grant`.
    pub(crate) fn count(&self, grant: &str, hint: Option<DenialHint>) {
        self.add(grant, 1, hint);
    }

    /// Counts `times` denials of one grant; zero is ignored.
    pub(crate) fn count_times(&self, grant: &str, times: u64) {
        if times > 0 {
            self.add(grant, times, None);
        }
    }

    fn add(&self, grant: &str, times: u64, hint: Option<DenialHint>) {
        let grant = shown(grant);
        let mut collected = self.lock();
        let mut listed = collected.listed.iter_mut();
        if let Some(known) = listed.find(|known| known.grant == grant) {
            known.count = known.count.saturating_add(times);
        } else if collected.listed.len() < MAX_DENIALS {
            let denial = Denial {
                grant,
                count: times,
                hint,
            };
            // Its reader may be gone.
            let _ = self.sink.as_ref().map(|sink| sink.send(denial.clone()));
            collected.listed.push(denial);
        } else {
            collected.more = true;
        }
    }

    /// Replaces the list by one that was counted elsewhere.
    pub(crate) fn replace(&self, denied: Vec<Denial>, more: bool) {
        let mut collected = self.lock();
        collected.more = more || denied.len() > MAX_DENIALS;
        collected.listed = denied.into_iter().take(MAX_DENIALS).collect();
        for denial in &mut collected.listed {
            denial.grant = shown(&denial.grant);
        }
    }

    /// Counts a file that could not be opened or changed.
    pub(crate) fn count_path(&self, access: Access, path: &str, hint: Option<DenialHint>) {
        let hint = hint.or_else(|| is_never_granted(path.as_ref()).then_some(DenialHint::Never));
        self.count(&format!("{}:{path}", access.word()), hint);
    }

    /// Takes the list, and whether there was more.
    pub(crate) fn take(&self) -> (Vec<Denial>, bool) {
        let Collected { listed, more } = std::mem::take(&mut *self.lock());
        (listed, more)
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        let collected = self.collected.lock();
        collected.unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a script wanted to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

impl Access {
    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A grant as it is listed: in its normal form if it is one, and short.
fn shown(text: &str) -> String {
    // Cut first, because a name may be megabytes long, and again, because escapes are longer than what they stand for.
    let cut = |text: &str| {
        let end = text.char_indices().nth(MAX_CHARS);
        end.map(|(end, _)| text[..end].to_owned())
    };
    let (whole, text) = match cut(text) {
        Some(begin) => (false, show(&begin)),
        None => match text.parse::<Grant>() {
            Ok(grant) => (true, show(&grant.to_string())),
            Err(_) => (true, show(text)),
        },
    };
    match cut(&text) {
        Some(begin) => begin + "…",
        None if whole => text,
        None => text + "…",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(denials: &Denials) -> Vec<(String, u64)> {
        let listed = denials.take().0.into_iter();
        listed.map(|denial| (denial.grant, denial.count)).collect()
    }

    #[test]
    fn each_grant_is_listed_once_with_its_count() {
        let denials = Denials::default();
        for grant in [
            "run:git",
            "net:API.example.com:443",
            "run:git",
            "net:api.example.com:443",
        ] {
            denials.count(grant, None);
        }
        denials.count_path(Access::Write, "/etc/../etc/hosts", None);
        let expected = [
            ("run:git", 2),
            ("net:api.example.com:443", 2),
            ("write:/etc/hosts", 1),
        ];
        assert_eq!(
            listed(&denials),
            expected.map(|(grant, count)| (grant.to_owned(), count))
        );
    }

    #[test]
    fn names_are_escaped_and_cut() {
        let denials = Denials::default();
        denials.count("run:a\u{1b}[2J\u{202e}\n", None);
        denials.count(&format!("run:{}", "x".repeat(1 << 20)), None);
        denials.count(&format!("run:{}", "\u{e000}".repeat(500)), None);
        let expected = [
            "run:a\\u{1b}[2J\\u{202e}\\n".to_owned(),
            format!("run:{}…", "x".repeat(MAX_CHARS - 4)),
            format!("run:{}\\u{{e…", "\\u{e000}".repeat(63)),
        ];
        assert_eq!(listed(&denials), expected.map(|grant| (grant, 1)));
    }

    #[test]
    fn the_list_is_limited_and_says_so() {
        let denials = Denials::default();
        for number in 0..MAX_DENIALS {
            denials.count(&format!("run:p{number}"), None);
        }
        denials.count("run:p0", None);
        assert_eq!(denials.lock().listed[0].count, 2);
        denials.count("run:other", None);
        let (listed, more) = denials.take();
        assert_eq!((listed.len(), more), (MAX_DENIALS, true));
    }

    #[test]
    fn files_of_the_kernel_cannot_be_granted() {
        let denials = Denials::default();
        for path in ["/proc/self/environ", "/dev/null", "/", "/devices"] {
            denials.count_path(Access::Read, path, None);
        }
        let hints: Vec<_> = denials.take().0.into_iter().map(|d| d.hint).collect();
        assert_eq!(
            hints,
            [
                Some(DenialHint::Never),
                Some(DenialHint::Never),
                Some(DenialHint::Never),
                None
            ]
        );
    }
}
