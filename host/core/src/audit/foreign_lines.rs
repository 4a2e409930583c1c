//! Finds the foreign lines of a log: those that are not part of the chain.
//!
//! A line that another program appended may contain the correct number and the correct hash of the line before it. The
//! next writer continues from the line that the head records, so two lines then follow the same one. Read forwards, the
//! first of them looks valid. Only following the chain backwards from the head shows which of them is ours.
//!
//! This runs only after a problem was found, because it needs memory for each line.

use super::chain::{Head, LineHash, PendingMatch, Position, StoredHead};
use super::read::Opened;
use crate::error::Error;
use std::ops::{ControlFlow, Range};

/// Lines that are examined: 128 MiB of memory, and about 3 GB of log. In a longer log problems are still found, but may
/// be reported for the wrong line.
const MAX_LINES: usize = 8 << 20;

/// For each line, counted from 0 over all files, whether it is foreign. Empty if none is.
#[derive(Debug, Default)]
pub(super) struct ForeignLines(Vec<bool>);

impl ForeignLines {
    pub(super) fn of(opened: &Opened) -> Result<Self, Error> {
        let StoredHead::Valid(head) = &opened.head else {
            return Ok(Self::default());
        };
        let mut lines: Vec<Step> = Vec::new();
        let mut pending = PendingMatch::new(head.pending.lines());
        opened.each_line(|_, line| {
            let position = line.bytes.and_then(Position::of);
            lines.push(Step {
                hash: line.hash.prefix(),
                previous: position
                    .and_then(|position| position.previous)
                    .map(LineHash::prefix),
            });
            pending.line(line.bytes, line.hash);
            match lines.len() < MAX_LINES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        if lines.len() == MAX_LINES {
            return Ok(Self::default());
        }
        Ok(Self::walk_back(&lines, head, pending.count()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, line: usize) -> bool {
        self.0.get(line).is_some_and(|foreign| *foreign)
    }

    /// Follows the chain backwards from the head. Lines that it skips are foreign if the line before them is found.
    fn walk_back(lines: &[Step], head: &Head, pending: usize) -> Self {
        let mut foreign = Vec::new();
        let mut end = lines.len();
        let mut wanted = Some(head.newest.hash.prefix());
        if head.newest.seq == 0 {
            // The chain has no line yet.
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
        // A line that was moved is skipped first and missing later; that is another finding.
        let is_moved = |range: &Range<usize>| {
            wanted.is_some_and(|wanted| lines[range.clone()].iter().any(|line| line.hash == wanted))
        };
        // The lines that a killed writer left after the newest one are ours.
        let is_pending = |range: &Range<usize>| range.len() == pending && range.end == lines.len();
        foreign.retain(|range| !is_moved(range) && !is_pending(range));
        if foreign.is_empty() {
            return Self::default();
        }
        // One flag per line, so that a lookup takes the same time however many ranges there are.
        let mut each = vec![false; lines.len()];
        for range in foreign {
            each[range].fill(true);
        }
        Self(each)
    }
}

/// What the walk back needs of a line: the first bytes of the two hashes. It is infeasible to find a second line with
/// the same bytes, and a collision would only move a finding.
struct Step {
    hash: u64,
    previous: Option<u64>,
}
