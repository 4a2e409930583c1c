//! Checks whether a log is as it was written.
//!
//! It detects lines that were changed, removed, inserted, appended, moved or cut short, also at the end,
//! unless the head next to the log was rewritten with them. It cannot detect lines that were never
//! written, nor a chain that was rewritten from some line on by someone who can write both the log and
//! its head. A hash stored elsewhere and passed as `after` detects the latter.
//!
//! The loss of a head is a finding as long as the line that records it is in the log, because lines may have been
//! removed from the end before it. Only a person can accept that, by storing a newer hash elsewhere and passing it as
//! `after`; then it is a note. An update from a version without such a head is always a note.
//!
//! A log from before there was a chain is accepted as it is up to its first line with a number, which
//! follows the last line without one. Nothing protects the lines before that last one.

use super::chain::{LineHash, Link, NewHead, Pending, PendingMatch, Position, StoredHead};
use super::event::line_prefix;
use super::foreign_lines::ForeignLines;
use super::lines::{Line, MAX_LINE_BYTES};
use super::read::{AuditFiles, Opened};
use super::report::{AuditFinding, AuditFindingKind, Verification, VerifiedFile};
use crate::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Findings that are kept; the rest are only counted. A file that is not a log would have one per line.
const MAX_FINDINGS: usize = 100;

impl AuditFiles {
    /// Reads all lines and reports problems. With `after`, a line with this hash must exist, or must have been the
    /// line before the first one; lines before it may be missing.
    pub fn verify(&self, after: Option<LineHash>) -> Result<Verification, Error> {
        let opened = self.open()?;
        let done = walk(&opened, after, &ForeignLines::default())?;
        if done.is_valid() {
            return Ok(done);
        }
        let foreign = ForeignLines::of(&opened)?;
        match foreign.is_empty() {
            true => Ok(done),
            false => walk(&opened, after, &foreign),
        }
    }
}

/// Reads all lines forwards; the chain skips `foreign` ones.
fn walk(
    opened: &Opened,
    after: Option<LineHash>,
    foreign: &ForeignLines,
) -> Result<Verification, Error> {
    let mut verifier = Verifier::new(after, &opened.head, foreign);
    verifier.done.files = opened
        .paths()
        .map(|path| VerifiedFile {
            path: path.to_owned(),
            lines: 0,
        })
        .collect();
    let mut file = 0;
    opened.each_line(|path, line| {
        while verifier.done.files[file].path != path {
            file += 1;
        }
        verifier.done.files[file].lines += 1;
        let number = verifier.done.files[file].lines;
        verifier.line(At { file, line: number }, line);
        ControlFlow::Continue(())
    })?;
    Ok(verifier.end(opened.head_path.as_deref()))
}

/// The location of a line: its file and its number there.
#[derive(Debug, Clone, Copy)]
struct At {
    file: usize,
    line: u64,
}

/// A line that is not in the chain, unless the next one follows it.
struct Unconfirmed {
    link: Link,
    at: At,
    /// Whether it begins like the line with its number: its writer may have been killed.
    is_cut: bool,
}

/// The state after some lines.
struct Verifier<'a> {
    done: Verification,
    foreign: &'a ForeignLines,
    /// How many of the last lines read are the pending ones.
    pending: PendingMatch,
    after: Option<LineHash>,
    after_found: bool,
    head: &'a StoredHead,
    head_found: bool,
    newest: Option<(Link, At)>,
    chained: bool,
    unconfirmed: Option<Unconfirmed>,
    /// Whether the last line ends with a newline.
    ended: bool,
    /// Where the head was lost, after the line with the hash `after`.
    lost_heads: Vec<AuditFinding>,
}

impl<'a> Verifier<'a> {
    fn new(after: Option<LineHash>, head: &'a StoredHead, foreign: &'a ForeignLines) -> Self {
        Self {
            done: Verification::default(),
            foreign,
            pending: PendingMatch::new(head.pending()),
            after,
            after_found: false,
            head,
            head_found: matches!(head, StoredHead::Valid(head) if head.newest.seq == 0),
            newest: None,
            chained: false,
            unconfirmed: None,
            ended: true,
            lost_heads: Vec::new(),
        }
    }

    fn line(&mut self, at: At, line: &Line<'_>) {
        let number = self.done.lines;
        self.done.lines += 1;
        self.ended = line.ended;
        self.pending.line(line.bytes, line.hash);
        let Some(bytes) = line.bytes else {
            let why = format!(
                "is longer than {}",
                crate::limits::show_bytes(MAX_LINE_BYTES as u64)
            );
            self.report(at, AuditFindingKind::TooLong, why);
            return self.unconfirmed_line(at, line.hash, false);
        };
        match Position::of(bytes) {
            Some(position) => match position.seq {
                Some(seq) if self.is_foreign(number, seq) => {
                    let why = "is not in the chain: another program added it, or the head lost it in a power failure";
                    self.report(at, AuditFindingKind::Foreign, why);
                }
                Some(seq) => self.chained_line(at, seq, &position, line.hash),
                None if !self.chained && position.previous.is_none() => {
                    self.unchained_line(at, line.hash)
                }
                None => {
                    self.report(
                        at,
                        AuditFindingKind::Foreign,
                        "is not in the chain: it has no `seq`",
                    );
                    self.unconfirmed_line(at, line.hash, false);
                }
            },
            None => {
                let prefix = line_prefix(self.last_number().saturating_add(1));
                let prefix = prefix.as_bytes();
                let is_cut =
                    !bytes.is_empty() && (bytes.starts_with(prefix) || prefix.starts_with(bytes));
                if !is_cut && !self.chained && self.done.unchained > 0 {
                    self.note(
                        at,
                        AuditFindingKind::CutShort,
                        "cannot be parsed; it is from before the log had a chain",
                    );
                    return self.unchained_line(at, line.hash);
                }
                if !is_cut {
                    self.report(at, AuditFindingKind::Foreign, "is not a line of the log");
                }
                self.unconfirmed_line(at, line.hash, is_cut);
            }
        }
    }

    /// Whether a line whose number could be the next one is foreign. A line with an older number is out of place
    /// instead.
    fn is_foreign(&self, line: u64, seq: u64) -> bool {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let last = self.newest.map_or(0, |(link, _)| link.seq);
        seq > last && self.foreign.contains(line)
    }

    /// The number of the last line, in the chain or not.
    fn last_number(&self) -> u64 {
        let newest = self.newest.map_or(0, |(link, _)| link.seq);
        self.unconfirmed
            .as_ref()
            .map_or(newest, |line| line.link.seq)
    }

    fn unchained_line(&mut self, at: At, hash: LineHash) {
        self.done.unchained += 1;
        let seq = self.last_number().saturating_add(1);
        self.newest = Some((Link { seq, hash }, at));
    }

    fn unconfirmed_line(&mut self, at: At, hash: LineHash, is_cut: bool) {
        let seq = self.last_number().saturating_add(1);
        self.note_cut_while_written();
        self.unconfirmed = Some(Unconfirmed {
            link: Link { seq, hash },
            at,
            is_cut,
        });
    }

    fn note_cut_while_written(&mut self) {
        if let Some(line) = self.unconfirmed.take_if(|line| line.is_cut) {
            let why =
                "was cut short when it was written: its writer was killed, or the disk was full";
            self.note(line.at, AuditFindingKind::CutShort, why);
        }
    }

    fn report_cut_later(&mut self) {
        if let Some(line) = self.unconfirmed.take_if(|line| line.is_cut) {
            self.report(
                line.at,
                AuditFindingKind::CutShort,
                "was cut short after it was written",
            );
        }
    }

    fn chained_line(&mut self, at: At, seq: u64, position: &Position, hash: LineHash) {
        let begins = self.newest.is_none() && self.unconfirmed.is_none();
        let follows_newest = match &self.newest {
            Some((newest, _)) => position.follows(newest),
            None => seq == 1 && position.previous.is_none(),
        };
        let unconfirmed = self.unconfirmed.as_ref().map(|line| line.link);
        if follows_newest {
            if let Some(line) = self.unconfirmed.take_if(|line| line.is_cut) {
                self.report(
                    line.at,
                    AuditFindingKind::Foreign,
                    "is not a line of the log",
                );
            }
        } else if unconfirmed.is_some_and(|link| position.follows(&link)) {
            self.note_cut_while_written();
        } else if unconfirmed.is_some_and(|link| link.seq.checked_add(1) == Some(seq)) {
            // The problem is the line before: it replaced the one that this line follows.
            self.report_cut_later();
        } else if begins && position.previous.is_some() && position.previous == self.after {
            self.after_found = true;
        } else if !self.report_misplaced(at, seq) {
            return self.unconfirmed_line(at, hash, false);
        }
        self.unconfirmed = None;
        self.chained = true;
        let link = Link { seq, hash };
        self.newest = Some((link, at));
        if let Some(why) = position.new_head {
            self.new_head(at, why);
        }
        if self.after == Some(hash) {
            self.after_found = true;
            let free = MAX_FINDINGS.saturating_sub(self.done.notes.len());
            self.done.notes.extend(self.lost_heads.drain(..).take(free));
        }
        self.head_found |= matches!(self.head, StoredHead::Valid(head) if head.newest == link);
    }

    /// Reports that a new head was created before this line.
    fn new_head(&mut self, at: At, why: NewHead) {
        let reason = why.reason();
        if why.is_update() {
            return self.note(at, AuditFindingKind::Head, reason);
        }
        let why = format!("{reason}: lines before this one may have been removed or replaced");
        let finding = self.finding(at, AuditFindingKind::Head, why);
        self.lost_heads.push(finding);
    }

    /// Reports a line that does not follow the one before it. Returns whether the next one may follow it.
    fn report_misplaced(&mut self, at: At, seq: u64) -> bool {
        let (last, before) = match self.newest {
            Some((newest, before)) => (newest.seq, Some(before)),
            None => (0, None),
        };
        if seq <= last {
            let why = format!("`seq` {seq} is out of place after `seq` {last}");
            self.report(at, AuditFindingKind::OutOfPlace, why);
            return false;
        }
        if seq > last + 1 {
            let why = format!("{} missing before it", numbers(last + 1, seq - 1));
            self.report(at, AuditFindingKind::Missing, why);
            return true;
        }
        let why = match before {
            Some(before) => {
                let before = self.name(before, at.file);
                format!(
                    "does not follow {before}: `previous` is not the hash of that line, so one of the two was changed"
                )
            }
            None => "was changed: it is the first line and must have no `previous`".to_owned(),
        };
        self.report(at, AuditFindingKind::Changed, why);
        true
    }

    fn end(mut self, head_path: Option<&Path>) -> Verification {
        for finding in std::mem::take(&mut self.lost_heads) {
            self.add(finding);
        }
        let none = PathBuf::new();
        let last_file = self.done.files.last().map(|file| file.path.clone());
        let last_file = last_file
            .or(head_path.map(ToOwned::to_owned))
            .unwrap_or(none);
        let expects_head = head_path.is_some();
        let head_path = head_path.unwrap_or(&last_file).to_owned();
        match self.head {
            StoredHead::Valid(head) => {
                self.end_at(head.newest, &head_path);
                if head.pending == Pending::NotRecorded {
                    let why = "is from an older version; the next line of the log replaces it";
                    self.note_of(&head_path, AuditFindingKind::Head, why);
                }
            }
            StoredHead::Absent => {
                self.note_cut_while_written();
                let why = "has no head next to it: lines removed from the end cannot be detected";
                // Copies have no head, and neither has a log that an older version wrote.
                let may_lack = !expects_head || self.done.unchained == self.done.lines;
                match self.done.lines {
                    0 => {}
                    _ if may_lack => self.note_of(&last_file, AuditFindingKind::Head, why),
                    _ => self.report_of(&last_file, AuditFindingKind::Head, why),
                }
            }
            StoredHead::Unreadable => {
                self.note_cut_while_written();
                self.report_of(
                    &head_path,
                    AuditFindingKind::Head,
                    "is not the head of an audit log",
                );
            }
        }
        if let Some(after) = self.after.filter(|_| !self.after_found) {
            let why =
                format!("no line has the hash {after}: it was rewritten, or is in another file");
            self.report_of(&last_file, AuditFindingKind::HashNotFound, why);
        }
        if self.done.unchained > 0 {
            let count = self.done.unchained;
            let why = match count {
                1 => "1 line is from before the log had a chain".to_owned(),
                _ => format!(
                    "{count} lines are from before the log had a chain; only the last of them is in it"
                ),
            };
            let first = self.done.files[0].path.clone();
            self.note_of(&first, AuditFindingKind::Unchained, why);
        }
        self.done.newest = self.newest.map(|(link, _)| link.seq);
        self.done.newest_hash = self.newest.map(|(link, _)| link.hash);
        self.done
    }

    /// Compares the end of the log with the head.
    fn end_at(&mut self, head: Link, head_path: &Path) {
        let newest = self.newest.map_or(0, |(link, _)| link.seq);
        let unconfirmed = self.unconfirmed.as_ref().map(|line| line.link);
        if head.seq > newest {
            match unconfirmed {
                Some(link) if link == head => self.note_cut_while_written(),
                // The problem with that line was already reported, unless it was cut.
                Some(link) if link.seq == head.seq => self.report_cut_later(),
                _ => {
                    self.note_cut_while_written();
                    let why = format!(
                        "{} missing at the end of the log",
                        numbers(newest + 1, head.seq)
                    );
                    self.report_of(head_path, AuditFindingKind::Missing, why);
                }
            }
            return;
        }
        let has_unconfirmed = self.unconfirmed.is_some();
        match self.pending.count() {
            1.. => self.note_cut_while_written(),
            0 => {
                if let Some(line) = self.unconfirmed.take_if(|line| line.is_cut) {
                    self.report(
                        line.at,
                        AuditFindingKind::Foreign,
                        "is not a line of the log",
                    );
                }
            }
        }
        let Some((link, at)) = self.newest else {
            return;
        };
        let newer = link.seq - head.seq;
        if newer == 0 && link.hash != head.hash {
            let why = format!("was changed: `{}` records another hash", name(head_path));
            self.report(at, AuditFindingKind::Changed, why);
        } else if newer == 0 && !self.ended && !has_unconfirmed {
            self.report(at, AuditFindingKind::CutShort, "has no newline at its end");
        } else if newer > 0 && self.head_found && newer == self.pending.whole() as u64 {
            let head = name(head_path);
            let why = match newer {
                1 => format!("is newer than the line in `{head}`: its writer was killed"),
                _ => format!(
                    "is the last of {newer} lines that are newer than the line in `{head}`: their writer was killed"
                ),
            };
            self.note(at, AuditFindingKind::Head, why);
        } else if newer > 0 {
            let why = format!(
                "records `seq` {} as the newest, but the newest is `seq` {}",
                head.seq, link.seq
            );
            self.report_of(head_path, AuditFindingKind::Head, why);
        }
    }

    /// How a message about a line of the file `seen_from` names another line.
    fn name(&self, at: At, seen_from: usize) -> String {
        let line = at.line;
        if at.file == seen_from {
            format!("line {line}")
        } else {
            format!("line {line} of `{}`", name(&self.done.files[at.file].path))
        }
    }

    fn report(&mut self, at: At, kind: AuditFindingKind, message: impl Into<String>) {
        let finding = self.finding(at, kind, message.into());
        self.add(finding);
    }

    fn report_of(&mut self, file: &Path, kind: AuditFindingKind, message: impl Into<String>) {
        self.add(of_file(file, kind, message.into()));
    }

    fn add(&mut self, finding: AuditFinding) {
        match self.done.findings.len() {
            MAX_FINDINGS.. => self.done.more_findings += 1,
            _ => self.done.findings.push(finding),
        }
    }

    fn note(&mut self, at: At, kind: AuditFindingKind, message: impl Into<String>) {
        let finding = self.finding(at, kind, message.into());
        self.add_note(finding);
    }

    fn note_of(&mut self, file: &Path, kind: AuditFindingKind, message: impl Into<String>) {
        self.add_note(of_file(file, kind, message.into()));
    }

    fn add_note(&mut self, note: AuditFinding) {
        if self.done.notes.len() < MAX_FINDINGS {
            self.done.notes.push(note);
        }
    }

    fn finding(&self, at: At, kind: AuditFindingKind, message: String) -> AuditFinding {
        AuditFinding {
            line: Some(at.line),
            ..of_file(&self.done.files[at.file].path, kind, message)
        }
    }
}

fn of_file(file: &Path, kind: AuditFindingKind, message: String) -> AuditFinding {
    let file = file.to_owned();
    AuditFinding {
        file,
        line: None,
        kind,
        message,
    }
}

/// The name of a file, for a message that already names its directory.
fn name(path: &Path) -> String {
    crate::files::show(&path.file_name().unwrap_or_default().to_string_lossy())
}

fn numbers(first: u64, last: u64) -> String {
    if first == last {
        format!("`seq` {first} is")
    } else {
        format!("`seq` {first} to {last} are")
    }
}
