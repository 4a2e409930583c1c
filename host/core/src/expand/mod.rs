//! Markers in a model's output: `%{cmd}` and `!{! cmd}` run for their effect and are removed from the text, `!{cmd}` is
//! replaced by the command's output.
//!
//! An [`Expander`] takes the text in pieces of any size and returns it without the markers. Each marker comes with its
//! request. The expander runs nothing: a front end passes the request to [`Host::decide`](crate::Host::decide), as any
//! other request of an agent, runs what is permitted, and asks the marker for its replacement. The output of a command
//! is never scanned for markers.
//!
//! There is no shell: arguments are split and unquoted as a shell does it, but nothing in them is expanded.

mod resolve;
mod scan;

use crate::outcome::Outcome;
use crate::ran::Ran;
use crate::refusal::Check;
use crate::request::Request;
use crate::skill::Skill;
use crate::utf8::Utf8Decoder;
use scan::{Scanned, Scanner};
use serde::Serialize;
use std::sync::Arc;

/// Markers per text. A model that writes more is out of control, so the rest are refused.
const MAX_MARKERS: u64 = 1000;

/// Finds the markers in a text that arrives in pieces.
///
/// ```
/// use skillrun::expand::{Expander, Piece};
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
    /// A complete marker.
    Marker(Marker),
}

/// What a marker is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerKind {
    /// Its output replaces it.
    Capture,
    /// It is removed from the text.
    Effect,
}

/// A marker and its request.
#[derive(Debug, Clone)]
pub struct Marker {
    /// Its number in the text, from 1.
    pub number: u64,
    /// What it is for.
    pub kind: MarkerKind,
    /// The marker as written.
    pub source: String,
    /// The command and its arguments.
    pub words: Vec<String>,
    /// The request, made by an agent and without grants. The front end adds workspace, session and grants.
    pub request: Request,
    /// Whether it names the skill by the `name` in `SKILL.md`, and the skill was neither loaded by that name nor has a
    /// folder of that name. A front end should warn: a skill can claim any name in its `SKILL.md`.
    pub by_front_matter: bool,
}

/// The result of a marker, for consumers of the event stream.
#[derive(Debug, Serialize)]
pub struct MarkerEvent<'a> {
    /// Its number in the text, from 1.
    pub marker: u64,
    /// What it is for.
    pub kind: MarkerKind,
    /// The marker as written.
    pub source: &'a str,
    /// The command and its arguments.
    pub command: &'a [String],
    /// The outcome, if it ran.
    #[serde(flatten)]
    pub outcome: Option<&'a Outcome>,
    /// Otherwise, why it did not run.
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
    /// The reason, without the hint: what would allow it is for the operator.
    pub reason: &'a str,
}

impl Expander {
    /// An expander for a text whose markers may name scripts of these skills.
    pub fn new(skills: Vec<Arc<Skill>>) -> Self {
        Self {
            skills,
            decoder: Utf8Decoder::default(),
            scanner: Scanner::default(),
            count: 0,
        }
    }

    /// Takes the next bytes of the text. Returns the text that can be passed on and the markers to run, in order. Reads no
    /// files, unless the scripts of its skills were not [found](Skill::scripts) yet.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        let text = self.decoder.decode(bytes);
        let scanned = self.scanner.push(&text);
        self.pieces(scanned)
    }

    /// Returns the rest at the end of the text. A marker that was never closed is text.
    pub fn finish(&mut self) -> Vec<Piece> {
        let text = self.decoder.finish();
        let mut scanned = self.scanner.push(&text);
        scanned.extend(self.scanner.finish());
        self.pieces(scanned)
    }

    fn pieces(&mut self, scanned: Vec<Scanned>) -> Vec<Piece> {
        let pieces = scanned.into_iter().map(|one| match one {
            Scanned::Text(text) => Piece::Text(text),
            Scanned::Marker(closed) => {
                self.count += 1;
                let resolved = match self.count > MAX_MARKERS {
                    true => resolve::too_many(&closed, MAX_MARKERS),
                    false => resolve::resolve(&self.skills, &closed),
                };
                Piece::Marker(Marker {
                    number: self.count,
                    kind: closed.kind,
                    source: closed.source,
                    words: closed.words,
                    request: Request {
                        args: resolved.args,
                        ..Request::of(resolved.target)
                    },
                    by_front_matter: resolved.by_front_matter,
                })
            }
        });
        pieces.collect()
    }
}

impl Marker {
    /// The text that replaces the marker: the command's output without trailing newlines, as in a shell's `$(…)`.
    pub fn text<'a>(&self, ran: &'a Ran) -> &'a str {
        match (self.kind, ran) {
            (MarkerKind::Capture, Ran::Ended(outcome)) => outcome.stdout.trim_end_matches('\n'),
            _ => "",
        }
    }

    /// The event for its result.
    pub fn event<'a>(&'a self, ran: &'a Ran) -> MarkerEvent<'a> {
        let not_run = |status, reason| NotRun {
            status,
            success: false,
            reason,
        };
        let (outcome, not_run) = match ran {
            Ran::Ended(outcome) => (Some(outcome.as_ref()), None),
            Ran::Refused(refusal) => {
                let status = match refusal.check {
                    Check::Script | Check::Runtime => "not_found",
                    Check::Request => "invalid",
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
