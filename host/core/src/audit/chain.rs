//! The hash chain over the lines, and the head, which records its newest link.
//!
//! Every line contains its sequence number and the SHA-256 of the line before it. The head is a small
//! file of its own, because the log alone cannot show that its last lines are missing, and because the
//! chain must continue after a log was moved away or truncated. The next line follows the head, not the
//! last line: if the last line was changed in place, the change is detected and not confirmed.
//!
//! Before lines are appended, the head records their hashes as *pending*. Lines after the newest one are therefore
//! ours only if they are the pending ones, in their order: their writer was killed before it could update the head. Any
//! other line is *foreign*: another program added it, and the chain continues without it.
//!
//! A head has room for one pending line. While several lines are appended at once, it is longer and lists them all. The
//! hash of the last one alone would not do: a killed writer may have appended only some of them, and then nothing would
//! distinguish those from forged ones. When the lines are written, the head is shortened again, so at rest it is what it
//! was before lines were appended together.

use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::str::FromStr;

/// The SHA-256 of a line of the audit log, without its newline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LineHash([u8; 32]);

impl LineHash {
    pub(super) fn of(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }

    /// The first eight bytes.
    pub(super) fn prefix(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// The hexadecimal digits.
    pub(super) fn digits(self) -> [u8; 64] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [0; 64];
        for (two, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            two[0] = DIGITS[usize::from(byte >> 4)];
            two[1] = DIGITS[usize::from(byte & 15)];
        }
        digits
    }

    pub(super) fn from_hasher(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.digits()).unwrap_or_default())
    }
}

impl fmt::Debug for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for LineHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text is not the hash of a line.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not the hash of a line: write 64 hexadecimal digits, as `skillrun audit verify` prints them", crate::files::show(.0))]
pub struct LineHashError(String);

impl FromStr for LineHash {
    type Err = LineHashError;

    fn from_str(text: &str) -> Result<Self, LineHashError> {
        let digits = text.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(LineHashError(text.chars().take(100).collect()));
        }
        for (byte, two) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
            let two = std::str::from_utf8(two).unwrap_or_default();
            *byte = u8::from_str_radix(two, 16).map_err(|_| LineHashError(text.to_owned()))?;
        }
        Ok(Self(hash))
    }
}

/// A line as a link of the chain: its number and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) hash: LineHash,
}

/// The position in the chain that a line claims. Lines from before the log had a chain have no `seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) seq: Option<u64>,
    pub(super) previous: Option<LineHash>,
    /// Why a new head was created before this line, if it was.
    pub(super) new_head: Option<NewHead>,
}

/// Why a writer created a new head for a log that has lines. The line `new_head` records it in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NewHead {
    /// The file was missing or empty.
    Missing,
    /// The file contained something else.
    Unreadable,
    /// An older version wrote it, which did not record pending lines.
    Older,
    /// An older version wrote the log, which had no chain.
    Unchained,
    /// A reason that this version does not know.
    #[serde(other)]
    Unknown,
}

impl NewHead {
    /// Whether this is an update from an older version, and not a loss.
    pub(super) fn is_update(self) -> bool {
        matches!(self, Self::Older | Self::Unchained)
    }

    /// The text for people in the line.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Missing => "the head was missing",
            Self::Unreadable => "the head could not be read",
            Self::Older => "the head was from an older version",
            Self::Unchained => "the log was from an older version, without a head",
            Self::Unknown => "the head was replaced",
        }
    }
}

impl Position {
    /// Parses the position of a line; `None` if this is not a line of the log.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Fields<'a> {
            seq: Option<u64>,
            #[serde(borrow)]
            previous: Option<std::borrow::Cow<'a, str>>,
            head: Option<NewHead>,
        }
        let fields: Fields<'_> = serde_json::from_slice(line).ok()?;
        let previous = fields.previous.map(|text| text.parse()).transpose().ok()?;
        Some(Self {
            seq: fields.seq,
            previous,
            new_head: fields.head,
        })
    }

    /// Whether this is the position directly after `link`.
    pub(super) fn follows(&self, link: &Link) -> bool {
        self.seq == link.seq.checked_add(1) && self.previous == Some(link.hash)
    }
}

/// The newest line and the file it is in, as recorded next to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// The newest line; number 0 if there is none yet.
    pub(super) newest: Link,
    /// The number of the first line of the file.
    pub(super) first: u64,
    /// The size of the file up to the end of the newest line.
    pub(super) length: u64,
    /// The lines that are about to be appended.
    pub(super) pending: Pending,
}

/// The lines that were about to be appended when the head was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pending {
    /// At most [`MAX_PENDING`], in their order.
    Lines(Vec<PendingLine>),
    /// The head is from an older version, which did not record pending lines. A writer of that version may have been
    /// killed. Accepting its line would accept anything that another program appends.
    NotRecorded,
}

impl Pending {
    pub(super) const NONE: Self = Self::Lines(vec![]);

    pub(super) fn lines(&self) -> &[PendingLine] {
        match self {
            Self::Lines(lines) => lines,
            Self::NotRecorded => &[],
        }
    }
}

/// A line that is about to be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingLine {
    pub(super) hash: LineHash,
    /// Its length without the newline.
    pub(super) bytes: u64,
}

impl PendingLine {
    pub(super) fn of(line: &[u8]) -> Self {
        let hash = LineHash::of(line);
        let bytes = line.len() as u64;
        Self { hash, bytes }
    }

    /// Whether this may be the beginning of the pending line.
    fn is_cut_to(self, line: &[u8]) -> bool {
        // A line that was cut short lacks its last brace, so text that parses was not cut short.
        let is_cut = || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err();
        (line.len() as u64) < self.bytes && !line.contains(&b'\n') && is_cut()
    }
}

/// Counts how many of the last lines of a log are the pending ones, in their order. Only the last may be cut short.
#[derive(Debug)]
pub(super) struct PendingMatch {
    pending: Vec<PendingLine>,
    matched: usize,
    is_cut: bool,
}

impl PendingMatch {
    pub(super) fn new(pending: &[PendingLine]) -> Self {
        Self {
            pending: pending.to_vec(),
            matched: 0,
            is_cut: false,
        }
    }

    /// Takes the next line; `None` is one that is too long.
    pub(super) fn line(&mut self, line: Option<&[u8]>, hash: LineHash) {
        let next = match self.is_cut {
            true => 0,
            false => self.matched,
        };
        (self.matched, self.is_cut) = (0, false);
        let Some(line) = line else { return };
        // The line continues the matching ones, or is itself the first.
        for at in [next, 0] {
            let Some(pending) = self.pending.get(at) else {
                continue;
            };
            self.is_cut = pending.hash != hash && pending.is_cut_to(line);
            if self.is_cut || pending.hash == hash {
                self.matched = at + 1;
                return;
            }
        }
    }

    /// How many of the last lines are pending ones, including one that was cut short.
    pub(super) fn count(&self) -> usize {
        self.matched
    }

    /// How many of the last lines are pending ones, without one that was cut short.
    pub(super) fn whole(&self) -> usize {
        self.matched - usize::from(self.is_cut)
    }
}

/// The content of the head file.
#[derive(Debug, Clone)]
pub(super) enum StoredHead {
    Valid(Head),
    /// The file is missing or empty: its first writer was killed, or is about to write.
    Absent,
    Unreadable,
}

impl StoredHead {
    pub(super) fn pending(&self) -> &[PendingLine] {
        match self {
            Self::Valid(head) => head.pending.lines(),
            Self::Absent | Self::Unreadable => &[],
        }
    }
}

/// The first word of a head that may be followed by further pending lines.
const MAGIC_3: &str = "skillrun-audit-head-3";
/// The first word of a head.
const MAGIC: &str = "skillrun-audit-head-2";
/// The first word of a head without a pending line.
const MAGIC_1: &str = "skillrun-audit-head-1";
/// The size of a head at rest.
pub(super) const HEAD_BYTES: usize = HEAD_1_BYTES + PENDING_BYTES;
const HEAD_1_BYTES: usize = MAGIC_1.len() + 1 + 20 + 1 + 64 + 1 + 20 + 1 + 20 + 1;
/// A pending line, with the character before it.
const PENDING_BYTES: usize = 1 + 64 + 1 + 20;
/// Lines that are appended at once. More would save little, and the head stays within one page of memory: a killed
/// process then leaves it whole, the new one or the old one.
pub(super) const MAX_PENDING: usize = 32;
/// The size of the longest head.
const MAX_HEAD_BYTES: usize = HEAD_BYTES + (MAX_PENDING - 1) * PENDING_BYTES + 1;
const _: () = assert!(MAX_HEAD_BYTES <= 4096);

impl Head {
    /// The head of an empty log.
    pub(super) fn empty() -> Self {
        let hash = LineHash([0; 32]);
        Self {
            newest: Link { seq: 0, hash },
            first: 1,
            length: 0,
            pending: Pending::NONE,
        }
    }

    /// The value of `previous` in the next line.
    pub(super) fn previous(&self) -> Option<LineHash> {
        (self.newest.seq > 0).then_some(self.newest.hash)
    }

    /// Reads the head from its file, at most `length` bytes of it.
    pub(super) fn read(file: &File, length: u64) -> io::Result<StoredHead> {
        // One byte more than the maximum, to detect a longer file.
        let mut bytes = [0; MAX_HEAD_BYTES + 1];
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let length = length.min(bytes.len());
        let mut read = 0;
        while read < length {
            match file.read_at(&mut bytes[read..length], read as u64)? {
                0 => break,
                n => read += n,
            }
        }
        Ok(match Self::parse(&bytes[..read]) {
            Some(head) => StoredHead::Valid(head),
            None if read == 0 => StoredHead::Absent,
            None => StoredHead::Unreadable,
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let is_long = bytes.starts_with(MAGIC_3.as_bytes());
        let (record, further) = match is_long {
            true => bytes.split_at_checked(HEAD_BYTES)?,
            false => (bytes, &[][..]),
        };
        let text = std::str::from_utf8(record).ok()?;
        let mut words = text.strip_suffix('\n')?.split(' ');
        let mut word = || words.next();
        let is_old = match (word()?, text.len()) {
            (MAGIC | MAGIC_3, HEAD_BYTES) => false,
            (MAGIC_1, HEAD_1_BYTES) => true,
            _ => return None,
        };
        let mut head = Self {
            newest: Link {
                seq: word()?.parse().ok()?,
                hash: word()?.parse().ok()?,
            },
            first: word()?.parse().ok()?,
            length: word()?.parse().ok()?,
            pending: Pending::NotRecorded,
        };
        if !is_old {
            let hash = word()?.parse().ok()?;
            let bytes = word()?.parse().ok()?;
            head.pending = match (hash, bytes) {
                (NO_LINE, 0) => Pending::NONE,
                _ => Pending::Lines(vec![PendingLine { hash, bytes }]),
            };
        }
        // Each number has exactly one spelling.
        let form = match is_long {
            true => Form::Long,
            false => Form::AtRest,
        };
        if head.text(form).get(..text.len()) != Some(text) {
            return None;
        }
        if let Pending::Lines(lines) = &mut head.pending
            && !lines.is_empty()
        {
            lines.extend(further_lines(further));
        }
        Some(head)
    }

    /// The bytes of the file. A form at rest has room for one pending line.
    pub(super) fn text(&self, form: Form) -> String {
        let Link { seq, hash } = self.newest;
        let (first, length) = (self.first, self.length);
        let pending = self.pending.lines();
        let magic = match (form, &self.pending) {
            (Form::Long, _) => MAGIC_3,
            (Form::AtRest, Pending::Lines(_)) => MAGIC,
            (Form::AtRest, Pending::NotRecorded) => MAGIC_1,
        };
        let mut text = format!("{magic} {seq:020} {hash} {first:020} {length:020}");
        if magic != MAGIC_1 {
            let none = PendingLine {
                hash: NO_LINE,
                bytes: 0,
            };
            text += &format!(" {}", pending.first().unwrap_or(&none));
        }
        text.push('\n');
        if form == Form::Long && !pending.is_empty() {
            for line in &pending[1..] {
                text += &format!("{line}\n");
            }
            // Whatever follows is of an earlier head.
            text.push('\n');
        }
        text
    }
}

/// How a head is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// With room for one pending line, and nothing after it.
    AtRest,
    /// With any number of pending lines. Anything may follow it in the file.
    Long,
}

/// The pending lines after the first one. A writer that was not able to write all of them has not appended any.
fn further_lines(text: &[u8]) -> impl Iterator<Item = PendingLine> {
    let lines = text.chunks(PENDING_BYTES).take(MAX_PENDING - 1);
    lines.map_while(|line| {
        let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let (hash, bytes) = text.split_once(' ')?;
        Some(PendingLine {
            hash: hash.parse().ok()?,
            bytes: bytes.parse().ok()?,
        })
    })
}

/// Means that there is no pending line.
const NO_LINE: LineHash = LineHash([0; 32]);

impl fmt::Display for PendingLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:020}", self.hash, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(pending: Pending) -> Head {
        Head {
            newest: Link {
                seq: u64::MAX,
                hash: LineHash::of(b"x"),
            },
            first: 7,
            length: 123_456,
            pending,
        }
    }

    #[test]
    fn a_head_parses_as_it_was_written_and_nothing_else_parses() {
        let pending = Pending::Lines(vec![PendingLine::of(b"y")]);
        for (pending, length) in [
            (Pending::NONE, HEAD_BYTES),
            (pending, HEAD_BYTES),
            (Pending::NotRecorded, HEAD_1_BYTES),
        ] {
            let head = head(pending);
            let text = head.text(Form::AtRest);
            assert_eq!(text.len(), length);
            assert_eq!(Head::parse(text.as_bytes()).as_ref(), Some(&head));
            for end in 0..text.len() {
                assert_eq!(Head::parse(&text.as_bytes()[..end]), None);
            }
            assert_eq!(Head::parse(format!("{text} ").as_bytes()), None);
            assert_eq!(Head::parse(text.replace(" 0", " +").as_bytes()), None);
        }
    }

    #[test]
    fn a_long_head_parses_whatever_an_earlier_one_left_after_it() {
        let lines: Vec<PendingLine> = (0..MAX_PENDING)
            .map(|n| PendingLine::of(n.to_string().as_bytes()))
            .collect();
        let longest = head(Pending::Lines(lines.clone())).text(Form::Long);
        assert_eq!(longest.len(), MAX_HEAD_BYTES);
        for count in 0..=MAX_PENDING {
            let head = head(Pending::Lines(lines[..count].to_vec()));
            let text = head.text(Form::Long);
            let over = format!("{text}{}", &longest[text.len()..]);
            for text in [&text, &over] {
                assert_eq!(Head::parse(text.as_bytes()).as_ref(), Some(&head));
            }
        }
        // Written in part: the lines that are whole.
        for end in HEAD_BYTES..longest.len() {
            let parsed = Head::parse(&longest.as_bytes()[..end]).unwrap();
            let whole = 1 + (end - HEAD_BYTES) / PENDING_BYTES;
            assert_eq!(parsed.pending.lines(), &lines[..whole]);
        }
        assert_eq!(Head::parse(&longest.as_bytes()[..HEAD_BYTES - 1]), None);
    }

    /// How many of the last lines match, with and without one that was cut short.
    fn matching(pending: &[&[u8]], lines: &[&[u8]]) -> (usize, usize) {
        let pending: Vec<_> = pending.iter().map(|line| PendingLine::of(line)).collect();
        let mut matching = PendingMatch::new(&pending);
        for line in lines {
            matching.line(Some(line), LineHash::of(line));
        }
        (matching.count(), matching.whole())
    }

    #[test]
    fn only_the_pending_line_and_its_beginnings_match() {
        let line = b"{\"seq\":1}".as_slice();
        assert_eq!(matching(&[line], &[line]), (1, 1));
        assert_eq!(matching(&[line], &[&line[..5]]), (1, 0));
        assert_eq!(matching(&[line], &[b"{\"seq\":2}"]), (0, 0));
        assert_eq!(matching(&[line], &[b"{\n}"]), (0, 0));
        assert_eq!(matching(&[], &[line]), (0, 0));
        assert_eq!(Pending::NotRecorded.lines(), []);
    }

    #[test]
    fn pending_lines_match_in_their_order_and_only_the_last_may_be_cut() {
        let all = [b"{\"seq\":1}".as_slice(), b"{\"seq\":2}", b"{\"seq\":3}"];
        let [one, two, three] = all;
        assert_eq!(matching(&all, &[b"{}", one, two]), (2, 2));
        assert_eq!(matching(&all, &[one, two, three]), (3, 3));
        assert_eq!(matching(&all, &[one, &two[..4]]), (2, 1));
        for others in [
            [one, three].as_slice(),
            &[two],
            &[one, two, b"{}"],
            &[&one[..4], two],
            &[one, two, three, b"{}"],
        ] {
            assert_eq!(matching(&all, others), (0, 0), "{others:?}");
        }
    }

    #[test]
    fn a_hash_parses_as_it_is_printed() {
        let hash = LineHash::of(b"line");
        assert_eq!(hash.to_string().parse::<LineHash>().unwrap(), hash);
        let invalid = ["", "abc", &"g".repeat(64), &"é".repeat(32)];
        for text in invalid {
            assert!(text.parse::<LineHash>().is_err(), "{text}");
        }
    }
}
