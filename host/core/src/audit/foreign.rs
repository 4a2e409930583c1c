//! Which lines the chain goes around.
//!
//! A line that somebody else appended may hold the right number and the right hash of the line before it. The next
//! writer goes on from the line that the head remembers, so there are two lines that follow the same one. Read
//! forwards, the first of them looks right. Only the way back from the head tells which of them is ours.
//!
//! This is looked at only where something is wrong already: it takes memory for each line.

use super::chain::{Head, LineHash, Place};
use super::read::{Opened, Remembered};
use crate::error::Error;
use std::ops::{ControlFlow, Range};

/// Lines that are looked at: 128 MiB of memory, and about 3 GB of log. In a longer log what is wrong is still found,
/// but may be said of the wrong line.
const MOST: usize = 8 << 20;

/// Numbers of lines, counted from 0 over all files, that are not on the way back from the head.
#[derive(Debug, Default)]
pub(super) struct Foreign(Vec<Range<usize>>);

impl Foreign {
    pub(super) fn of(opened: &Opened) -> Result<Self, Error> {
        let Remembered::Head(head) = opened.head else {
            return Ok(Self::default());
        };
        let mut lines: Vec<Step> = Vec::new();
        let mut announced = false;
        opened.each_line(|_, line| {
            let place = line.bytes.and_then(Place::of);
            lines.push(Step {
                hash: line.hash.start(),
                previous: place.and_then(|place| place.previous).map(LineHash::start),
            });
            announced = line
                .bytes
                .is_some_and(|bytes| head.pending.announces(bytes, line.hash));
            match lines.len() < MOST {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        if lines.len() == MOST {
            return Ok(Self::default());
        }
        Ok(Self::between(&lines, &head, announced))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, line: usize) -> bool {
        self.0.iter().any(|range| range.contains(&line))
    }

    /// Goes back from the head. Lines that are passed over are foreign if what comes before them is found.
    fn between(lines: &[Step], head: &Head, last_is_announced: bool) -> Self {
        let mut foreign = Vec::new();
        let mut end = lines.len();
        let mut wanted = Some(head.newest.hash.start());
        if head.newest.seq == 0 {
            // There is no line yet.
            foreign.push(0..end);
            wanted = None;
        }
        for (at, line) in lines.iter().enumerate().rev() {
            if wanted != Some(line.hash) {
                continue;
            }
            if at + 1 < end {
                foreign.push(at + 1..end);
            }
            end = at;
            wanted = line.previous;
            if wanted.is_none() {
                break;
            }
        }
        // A line that was moved is passed over first and missed later; that is another finding.
        let is_moved = |range: &Range<usize>| {
            wanted.is_some_and(|wanted| lines[range.clone()].iter().any(|line| line.hash == wanted))
        };
        // The line that a killed writer left beyond the head's is ours.
        let is_left = |range: &Range<usize>| {
            last_is_announced && range.len() == 1 && range.end == lines.len()
        };
        foreign.retain(|range| !is_moved(range) && !is_left(range));
        Self(foreign)
    }
}

/// What of a line is needed for the way back: the starts of the two hashes. Nobody finds a second line for one, and
/// who did would only move a finding.
struct Step {
    hash: u64,
    previous: Option<u64>,
}
