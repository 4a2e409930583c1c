//! Markers in what a model writes: `%{cmd}` and `!{! cmd}` run for their effect and leave the text, `!{cmd}` is
//! replaced by what it prints.
//!
//! An [`Expander`] takes the text in pieces of any size and gives it back with the markers taken out, each with the
//! request it stands for. It runs nothing: a front end has [`Host::decide`](crate::Host::decide) decide as for any other
//! request of an agent, runs what is permitted, and asks the marker what to put in its place. What a command printed is
//! never looked at for markers.
//!
//! There is no shell: words are split and unquoted as one does it, and handed over as they are.

mod resolve;
mod scan;

use crate::outcome::Outcome;
use crate::ran::Ran;
use crate::request::Request;
use crate::skill::Skill;
use crate::utf8::Utf8Decoder;
use scan::{Scanned, Scanner};
use serde::Serialize;
use std::sync::Arc;

/// Markers of one text that are taken as such; a model that writes more is out of hand.
const MAX_MARKERS: u64 = 1000;

/// Finds the markers in a text that comes in pieces.
///
/// ```
/// use skillrun::{Expander, Piece};
/// let mut expander = Expander::new(vec![]);
/// let mut text = String::new();
/// let mut pieces = expander.push(b"It is !{da");
/// pieces.extend(expander.push(b"te +%Y}."));
/// pieces.extend(expander.finish());
/// for piece in pieces {
///     match piece {
///         Piece::Text(part) => text.push_str(&part),
///         Piece::Marker(marker) => assert_eq!(marker.words, ["date", "+%Y"]), // decide, run, then marker.text(&ran)
///     }
/// }
/// assert_eq!(text, "It is .");
/// ```
#[derive(Debug)]
pub struct Expander {
    skills: Vec<Arc<Skill>>,
    decoder: Utf8Decoder,
    scanner: Scanner,
    count: u64,
}

/// A part of the text.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a marker is rare beside text, and moved once"
)]
pub enum Piece {
    /// Text to pass on.
    Text(String),
    /// A marker that is closed.
    Marker(Marker),
}

/// What a marker is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerKind {
    /// Its output takes its place.
    Capture,
    /// It leaves nothing in the text.
    Effect,
}

/// A marker, and what it asks for.
#[derive(Debug, Clone)]
pub struct Marker {
    /// Its number in the text, from 1.
    pub number: u64,
    /// What it is for.
    pub kind: MarkerKind,
    /// As it was written.
    pub source: String,
    /// The command and its arguments.
    pub words: Vec<String>,
    /// What is to run, of an agent and with no grants; workspace, session and grants are the front end's to add.
    pub request: Request,
}

/// What became of a marker, for whoever follows the text.
#[derive(Debug, Serialize)]
pub struct MarkerEvent<'a> {
    /// Its number in the text, from 1.
    pub marker: u64,
    /// What it is for.
    pub kind: MarkerKind,
    /// As it was written.
    pub source: &'a str,
    /// The command and its arguments.
    pub command: &'a [String],
    /// All that came of the run, if it ran.
    #[serde(flatten)]
    pub outcome: Option<&'a Outcome>,
    /// Why it did not, otherwise.
    #[serde(flatten)]
    pub not_run: Option<NotRun<'a>>,
}

/// Why a marker did not run.
#[derive(Debug, Serialize)]
pub struct NotRun<'a> {
    /// `refused`, `not_found`, `invalid` or `host_error`.
    pub status: &'static str,
    /// Always `false`.
    pub success: bool,
    /// What was wrong; never what would allow it.
    pub reason: &'a str,
}

impl Expander {
    /// For a text whose markers may name scripts of these skills.
    pub fn new(skills: Vec<Arc<Skill>>) -> Self {
        Self {
            skills,
            decoder: Utf8Decoder::default(),
            scanner: Scanner::default(),
            count: 0,
        }
    }

    /// Takes the next bytes of the text; gives back what can be passed on and what is to run, in order.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        let text = self.decoder.decode(bytes);
        let scanned = self.scanner.push(&text);
        self.pieces(scanned)
    }

    /// The rest, when the text has ended: a marker that was never closed is text.
    pub fn finish(&mut self) -> Vec<Piece> {
        let text = self.decoder.finish();
        let mut scanned = self.scanner.push(&text);
        scanned.extend(self.scanner.finish());
        self.pieces(scanned)
    }

    fn pieces(&mut self, scanned: Vec<Scanned>) -> Vec<Piece> {
        let each = scanned.into_iter().map(|one| match one {
            Scanned::Text(text) => Piece::Text(text),
            Scanned::Marker(closed) => {
                self.count += 1;
                let subject = match self.count > MAX_MARKERS {
                    true => resolve::too_many(&closed, MAX_MARKERS),
                    false => resolve::subject(&self.skills, &closed),
                };
                let (subject, args) = subject;
                Piece::Marker(Marker {
                    number: self.count,
                    kind: closed.kind,
                    source: closed.source,
                    words: closed.words,
                    request: Request {
                        args,
                        ..Request::of(subject)
                    },
                })
            }
        });
        each.collect()
    }
}

impl Marker {
    /// What takes its place in the text: what a command printed, without the line ends at its end, as a shell
    /// does it.
    pub fn text<'a>(&self, ran: &'a Ran) -> &'a str {
        match (self.kind, ran) {
            (MarkerKind::Capture, Ran::Ended(outcome)) => outcome.stdout.trim_end_matches('\n'),
            _ => "",
        }
    }

    /// What became of it.
    pub fn event<'a>(&'a self, ran: &'a Ran) -> MarkerEvent<'a> {
        let not_run = |status, reason| NotRun {
            status,
            success: false,
            reason,
        };
        let (outcome, not_run) = match ran {
            Ran::Ended(outcome) => (Some(outcome.as_ref()), None),
            Ran::Refused(refusal) => {
                let status = match refusal.exit_code() {
                    127 => "not_found",
                    125 => "invalid",
                    _ => "refused",
                };
                (None, Some(not_run(status, refusal.message.as_str())))
            }
            Ran::Failed(why) => (None, Some(not_run("host_error", why.as_str()))),
        };
        MarkerEvent {
            marker: self.number,
            kind: self.kind,
            source: &self.source,
            command: &self.words,
            outcome,
            not_run,
        }
    }
}
