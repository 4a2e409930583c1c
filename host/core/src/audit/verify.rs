//! Whether a log is as it was written.
//!
//! What is found: a line that was changed, removed, inserted, appended, moved or cut short, at the end
//! too, as long as the head beside the log was not rewritten with it. What cannot be found: lines that were
//! never written, and a chain that somebody who may write both the log and its head made anew from
//! some line on. Against the latter helps a hash noted elsewhere: it is asked for as `after`.
//!
//! A log that was begun before there was a chain is accepted as it is up to its first line with a
//! number; that one follows the last line without. Nothing protects the lines before that last one.

use super::chain::{LineHash, Link, Place};
use super::event::beginning;
use super::foreign::Foreign;
use super::lines::{LONGEST, Line};
use super::read::{AuditFiles, Opened, Remembered};
use super::report::{AuditFinding, AuditWrong, Verification, VerifiedFile};
use crate::error::Error;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Findings that are kept; the rest are counted. A file of another kind would have one per line.
const MOST: usize = 100;

impl AuditFiles {
    /// Reads all lines and says what is wrong with them. With `after`, a line with this hash must be
    /// there, or have been there before the first one; what came before it may be gone.
    pub fn verify(&self, after: Option<LineHash>) -> Result<Verification, Error> {
        let opened = self.open()?;
        let done = walk(&opened, after, &Foreign::default())?;
        if done.holds() {
            return Ok(done);
        }
        let foreign = Foreign::of(&opened)?;
        match foreign.is_empty() {
            true => Ok(done),
            false => walk(&opened, after, &foreign),
        }
    }
}

/// Reads all lines forwards; `foreign` ones are not what the next line follows.
fn walk(
    opened: &Opened,
    after: Option<LineHash>,
    foreign: &Foreign,
) -> Result<Verification, Error> {
    let mut walk = Walk::new(after, opened.head, foreign);
    walk.done.files = opened
        .paths()
        .map(|path| VerifiedFile {
            path: path.to_owned(),
            lines: 0,
        })
        .collect();
    let mut file = 0;
    opened.each_line(|path, line| {
        while walk.done.files[file].path != path {
            file += 1;
        }
        walk.done.files[file].lines += 1;
        let number = walk.done.files[file].lines;
        walk.line(At { file, line: number }, line);
        ControlFlow::Continue(())
    })?;
    Ok(walk.end(opened.head_path.as_deref()))
}

/// A line in a file.
#[derive(Debug, Clone, Copy)]
struct At {
    file: usize,
    line: u64,
}

/// A line that is not in the chain, unless the next one follows it.
struct Doubt {
    link: Link,
    at: At,
    /// It begins as the line with its number would: its writer may have been killed.
    cut: bool,
}

/// The state after some lines.
struct Walk<'a> {
    done: Verification,
    foreign: &'a Foreign,
    /// Whether the head announced the last line.
    announced: bool,
    after: Option<LineHash>,
    after_found: bool,
    head: Remembered,
    head_found: bool,
    newest: Option<(Link, At)>,
    chained: bool,
    doubt: Option<Doubt>,
    /// Whether a newline ends the last line.
    ended: bool,
}

impl<'a> Walk<'a> {
    fn new(after: Option<LineHash>, head: Remembered, foreign: &'a Foreign) -> Self {
        Self {
            done: Verification::default(),
            foreign,
            announced: false,
            after,
            after_found: false,
            head,
            head_found: matches!(head, Remembered::Head(head) if head.newest.seq == 0),
            newest: None,
            chained: false,
            doubt: None,
            ended: true,
        }
    }

    fn line(&mut self, at: At, line: &Line<'_>) {
        let number = self.done.lines;
        self.done.lines += 1;
        self.ended = line.ended;
        self.announced = match (self.head, line.bytes) {
            (Remembered::Head(head), Some(bytes)) => head.pending.announces(bytes, line.hash),
            _ => false,
        };
        let Some(bytes) = line.bytes else {
            let why = format!(
                "is longer than {}",
                crate::limits::show_bytes(LONGEST as u64)
            );
            self.find(at, AuditWrong::TooLong, why);
            return self.doubt(at, line.hash, false);
        };
        match Place::of(bytes) {
            Some(place) => match place.seq {
                Some(seq) if self.is_foreign(number, seq) => {
                    let why = "is not in the chain: somebody else added it, or the head lost it in a power failure";
                    self.find(at, AuditWrong::Foreign, why);
                }
                Some(seq) => self.chained(at, seq, &place, line.hash),
                None if !self.chained && place.previous.is_none() => self.unchained(at, line.hash),
                None => {
                    self.find(
                        at,
                        AuditWrong::Foreign,
                        "is not in the chain: it has no `seq`",
                    );
                    self.doubt(at, line.hash, false);
                }
            },
            None => {
                let begun = beginning(self.base().saturating_add(1));
                let begun = begun.as_bytes();
                let cut =
                    !bytes.is_empty() && (bytes.starts_with(begun) || begun.starts_with(bytes));
                if !cut && !self.chained && self.done.unchained > 0 {
                    self.note(
                        at,
                        AuditWrong::CutShort,
                        "cannot be read; it is from before there was a chain",
                    );
                    return self.unchained(at, line.hash);
                }
                if !cut {
                    self.find(at, AuditWrong::Foreign, "is not a line of the log");
                }
                self.doubt(at, line.hash, cut);
            }
        }
    }

    /// Whether a line with a number that could be the next one is not what the next one follows. One with an older
    /// number is out of place.
    fn is_foreign(&self, line: u64, seq: u64) -> bool {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let last = self.newest.map_or(0, |(link, _)| link.seq);
        seq > last && self.foreign.contains(line)
    }

    /// The number of the last line, in the chain or not.
    fn base(&self) -> u64 {
        let newest = self.newest.map_or(0, |(link, _)| link.seq);
        self.doubt.as_ref().map_or(newest, |doubt| doubt.link.seq)
    }

    fn unchained(&mut self, at: At, hash: LineHash) {
        self.done.unchained += 1;
        let seq = self.base().saturating_add(1);
        self.newest = Some((Link { seq, hash }, at));
    }

    fn doubt(&mut self, at: At, hash: LineHash, cut: bool) {
        let seq = self.base().saturating_add(1);
        self.cut_when_written();
        self.doubt = Some(Doubt {
            link: Link { seq, hash },
            at,
            cut,
        });
    }

    fn cut_when_written(&mut self) {
        if let Some(doubt) = self.doubt.take_if(|doubt| doubt.cut) {
            let why =
                "was cut short when it was written: its writer was killed, or the disk was full";
            self.note(doubt.at, AuditWrong::CutShort, why);
        }
    }

    fn cut_later(&mut self) {
        if let Some(doubt) = self.doubt.take_if(|doubt| doubt.cut) {
            self.find(
                doubt.at,
                AuditWrong::CutShort,
                "was cut short after it was written",
            );
        }
    }

    fn chained(&mut self, at: At, seq: u64, place: &Place, hash: LineHash) {
        let begins = self.newest.is_none() && self.doubt.is_none();
        let follows_newest = match &self.newest {
            Some((newest, _)) => place.follows(newest),
            None => seq == 1 && place.previous.is_none(),
        };
        let doubted = self.doubt.as_ref().map(|doubt| doubt.link);
        if follows_newest {
            if let Some(doubt) = self.doubt.take_if(|doubt| doubt.cut) {
                self.find(doubt.at, AuditWrong::Foreign, "is not a line of the log");
            }
        } else if doubted.is_some_and(|link| place.follows(&link)) {
            self.cut_when_written();
        } else if doubted.is_some_and(|link| link.seq.checked_add(1) == Some(seq)) {
            // What is wrong is the line before, in the place of the one that this one follows.
            self.cut_later();
        } else if begins && place.previous.is_some() && place.previous == self.after {
            self.after_found = true;
        } else if !self.misplaced(at, seq) {
            return self.doubt(at, hash, false);
        }
        self.doubt = None;
        self.chained = true;
        let link = Link { seq, hash };
        self.newest = Some((link, at));
        self.after_found |= self.after == Some(hash);
        self.head_found |= matches!(self.head, Remembered::Head(head) if head.newest == link);
    }

    /// Says what is wrong with a line that follows nothing; whether the next one may follow it.
    fn misplaced(&mut self, at: At, seq: u64) -> bool {
        let (last, before) = match self.newest {
            Some((newest, before)) => (newest.seq, Some(before)),
            None => (0, None),
        };
        if seq <= last {
            let why = format!("number {seq} is out of place after number {last}");
            self.find(at, AuditWrong::OutOfPlace, why);
            return false;
        }
        if seq > last + 1 {
            let why = format!("{} missing before it", numbers(last + 1, seq - 1));
            self.find(at, AuditWrong::Missing, why);
            return true;
        }
        let why = match before {
            Some(before) => {
                let before = self.name(before, at.file);
                format!(
                    "does not follow {before}: `previous` is not the hash of that line, so one of the two was changed"
                )
            }
            None => "was changed: it is the first line and must follow none".to_owned(),
        };
        self.find(at, AuditWrong::Changed, why);
        true
    }

    fn end(mut self, head_path: Option<&Path>) -> Verification {
        let none = PathBuf::new();
        let last_file = self.done.files.last().map(|file| file.path.clone());
        let last_file = last_file
            .or(head_path.map(ToOwned::to_owned))
            .unwrap_or(none);
        let beside = head_path.unwrap_or(&last_file).to_owned();
        match self.head {
            Remembered::Head(head) => self.end_at(head.newest, &beside),
            Remembered::Absent => {
                self.cut_when_written();
                if self.done.lines > 0 {
                    let why =
                        "has no head beside it: lines removed from its end would not be found";
                    self.note_of(&last_file, AuditWrong::Head, why);
                }
            }
            Remembered::Unreadable => {
                self.cut_when_written();
                self.find_of(&beside, AuditWrong::Head, "is not the head of an audit log");
            }
        }
        if let Some(after) = self.after.filter(|_| !self.after_found) {
            let why =
                format!("no line has the hash {after}: it was rewritten, or is in another file");
            self.find_of(&last_file, AuditWrong::HashNotFound, why);
        }
        if self.done.unchained > 0 {
            let count = self.done.unchained;
            let why = match count {
                1 => "1 line was written before there was a chain".to_owned(),
                _ => format!(
                    "{count} lines were written before there was a chain; only the last of them is in it"
                ),
            };
            let first = self.done.files[0].path.clone();
            self.note_of(&first, AuditWrong::Unchained, why);
        }
        self.done.newest = self.newest.map(|(link, _)| link.seq);
        self.done.newest_hash = self.newest.map(|(link, _)| link.hash);
        self.done
    }

    /// Compares the end of the log with what the head remembers.
    fn end_at(&mut self, head: Link, beside: &Path) {
        let newest = self.newest.map_or(0, |(link, _)| link.seq);
        let doubted = self.doubt.as_ref().map(|doubt| doubt.link);
        if head.seq > newest {
            match doubted {
                Some(link) if link == head => self.cut_when_written(),
                // What is wrong with that line has been said, unless it was cut.
                Some(link) if link.seq == head.seq => self.cut_later(),
                _ => {
                    self.cut_when_written();
                    let why = format!(
                        "{} missing at the end of the log",
                        numbers(newest + 1, head.seq)
                    );
                    self.find_of(beside, AuditWrong::Missing, why);
                }
            }
            return;
        }
        let has_doubt = self.doubt.is_some();
        match self.announced {
            true => self.cut_when_written(),
            false => {
                if let Some(doubt) = self.doubt.take_if(|doubt| doubt.cut) {
                    self.find(doubt.at, AuditWrong::Foreign, "is not a line of the log");
                }
            }
        }
        let Some((link, at)) = self.newest else {
            return;
        };
        let newer = link.seq - head.seq;
        if newer == 0 && link.hash != head.hash {
            let why = format!("was changed: `{}` remembers another hash", name(beside));
            self.find(at, AuditWrong::Changed, why);
        } else if newer == 0 && !self.ended && !has_doubt {
            self.find(at, AuditWrong::CutShort, "lacks the newline at its end");
        } else if newer == 1 && self.head_found && self.announced {
            let why = format!(
                "is newer than `{}` remembers: its writer was killed",
                name(beside)
            );
            self.note(at, AuditWrong::Head, why);
        } else if newer > 0 {
            let why = format!(
                "remembers number {} as the newest, which is number {}",
                head.seq, link.seq
            );
            self.find_of(beside, AuditWrong::Head, why);
        }
    }

    /// A line for a message about a line of the file `seen_from`.
    fn name(&self, at: At, seen_from: usize) -> String {
        let line = at.line;
        if at.file == seen_from {
            format!("line {line}")
        } else {
            format!("line {line} of `{}`", name(&self.done.files[at.file].path))
        }
    }

    fn find(&mut self, at: At, kind: AuditWrong, message: impl Into<String>) {
        let finding = self.finding(at, kind, message.into());
        self.add(finding);
    }

    fn find_of(&mut self, file: &Path, kind: AuditWrong, message: impl Into<String>) {
        self.add(of_file(file, kind, message.into()));
    }

    fn add(&mut self, finding: AuditFinding) {
        match self.done.findings.len() {
            MOST.. => self.done.more_findings += 1,
            _ => self.done.findings.push(finding),
        }
    }

    fn note(&mut self, at: At, kind: AuditWrong, message: impl Into<String>) {
        let finding = self.finding(at, kind, message.into());
        if self.done.notes.len() < MOST {
            self.done.notes.push(finding);
        }
    }

    fn note_of(&mut self, file: &Path, kind: AuditWrong, message: impl Into<String>) {
        self.done.notes.push(of_file(file, kind, message.into()));
    }

    fn finding(&self, at: At, kind: AuditWrong, message: String) -> AuditFinding {
        AuditFinding {
            line: Some(at.line),
            ..of_file(&self.done.files[at.file].path, kind, message)
        }
    }
}

fn of_file(file: &Path, kind: AuditWrong, message: String) -> AuditFinding {
    let file = file.to_owned();
    AuditFinding {
        file,
        line: None,
        kind,
        message,
    }
}

/// The name of a file for a message that names its folder already.
fn name(path: &Path) -> String {
    crate::files::show(&path.file_name().unwrap_or_default().to_string_lossy())
}

fn numbers(first: u64, last: u64) -> String {
    if first == last {
        format!("number {first} is")
    } else {
        format!("numbers {first} to {last} are")
    }
}
