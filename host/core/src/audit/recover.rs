//! Finds the head that the next line of a log follows, whatever happened to the log and its head since the last one.
//!
//! A killed writer leaves some of the lines that it was about to append after the newest one; the last of them may be cut
//! short. The head records these lines as pending, so the next writer adds them to the chain and continues. Any other line
//! after the newest one is foreign: the chain skips it, and `audit verify` reports it from then on. Foreign lines stop
//! nothing, because otherwise any process that can append a line could stop every run.
//!
//! If a log has lines but no usable head, the chain continues from its last line: runs must not stop. The first line
//! after that is `new_head`, so that the loss of the head stays in the chain and `audit verify` reports it. A log
//! without lines and without a head is a new one.

use super::chain::{Head, Link, NewHead, Pending, PendingMatch, Position, StoredHead};
use super::files::{open_read, parts_of};
use super::lines::Lines;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// The head that the next line follows: the stored one, updated to the current length of the file. Also returns why a
/// new head has to be created, if it has to.
pub(super) fn current_head(
    path: &Path,
    log: &File,
    length: u64,
    stored: StoredHead,
) -> io::Result<(Head, Option<NewHead>)> {
    let known = match stored {
        StoredHead::Valid(head) => head,
        StoredHead::Absent => return recover(path, log, length, NewHead::Missing),
        StoredHead::Unreadable => return recover(path, log, length, NewHead::Unreadable),
    };
    let older = (known.pending == Pending::NotRecorded).then_some(NewHead::Older);
    let mut head = match known {
        known if known.length == length => return Ok((known, older)),
        known if known.length < length && ends_at(log, known.length)? => {
            match pending_lines(log, &known, length)? {
                Some(newest) => Head {
                    newest,
                    length,
                    ..known
                },
                // Foreign lines: the chain continues without them.
                None => Head { length, ..known },
            }
        }
        // Truncated or moved away: the chain continues, and the gap stays visible.
        known => Head { length, ..known },
    };
    end_line(log, &mut head)?;
    Ok((head, older))
}

/// Appends the newline that the writer of the last line could not write.
fn end_line(mut log: &File, head: &mut Head) -> io::Result<()> {
    if !ends_at(log, head.length)? {
        log.write_all(b"\n")?;
        head.length += 1;
    }
    Ok(())
}

/// Creates a head for a log that has lost it, or that is older than heads. The reason is `None` for a new log.
fn recover(
    path: &Path,
    log: &File,
    length: u64,
    why: NewHead,
) -> io::Result<(Head, Option<NewHead>)> {
    if length > 0 {
        let (mut head, chained) = read_head(log, length)?;
        end_line(log, &mut head)?;
        // A log with a chain had a head once.
        let why = match (chained, why) {
            (false, NewHead::Missing) => NewHead::Unchained,
            (_, why) => why,
        };
        return Ok((head, Some(why)));
    }
    // The log may have been rotated before the head was lost.
    let Some(part) = parts_of(path)?.pop() else {
        let unreadable = matches!(why, NewHead::Unreadable).then_some(why);
        return Ok((Head::empty(), unreadable));
    };
    let part = open_read(&part)?;
    let length = part.metadata()?.len();
    let (head, _) = read_head(&part, length)?;
    Ok((Head { length: 0, ..head }, Some(why)))
}

/// Whether a line ends at this offset.
fn ends_at(log: &File, offset: u64) -> io::Result<bool> {
    let Some(before) = offset.checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    log.read_exact_at(&mut byte, before)?;
    Ok(byte == *b"\n")
}

/// The last of the lines after the newest one, if all of them are pending ones.
fn pending_lines(mut log: &File, head: &Head, length: u64) -> io::Result<Option<Link>> {
    log.seek(io::SeekFrom::Start(head.length))?;
    let mut lines = Lines::new(log, length - head.length);
    let mut matching = PendingMatch::new(head.pending.lines());
    let (mut count, mut newest) = (0, head.newest);
    while let Some(line) = lines.next()? {
        matching.line(line.bytes, line.hash);
        count += 1;
        if matching.count() != count {
            return Ok(None);
        }
        newest = Link {
            seq: newest.seq.saturating_add(1),
            hash: line.hash,
        };
    }
    Ok((count > 0).then_some(newest))
}

/// Reads all lines of a file to find its head. Also returns whether any line has a number.
fn read_head(mut log: &File, length: u64) -> io::Result<(Head, bool)> {
    log.seek(io::SeekFrom::Start(0))?;
    let mut lines = Lines::new(log, length);
    let mut head = Head::empty();
    let (mut first, mut chained) = (true, false);
    while let Some(line) = lines.next()? {
        let mut seq = head.newest.seq.saturating_add(1);
        let position = line.bytes.and_then(Position::of);
        let claimed = position.and_then(|position| position.seq);
        chained |= claimed.is_some();
        if std::mem::take(&mut first) {
            seq = claimed.unwrap_or(1);
            head.first = seq;
        }
        head.newest = Link {
            seq,
            hash: line.hash,
        };
    }
    Ok((Head { length, ..head }, chained))
}
