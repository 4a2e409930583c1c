//! The hash chain over the lines, and the head, which records its newest link.
//!
//! Every line contains its sequence number and the SHA-256 of the line before it. The head is a small
//! file of its own, because the log alone cannot show that its last lines are missing, and because the
//! chain must continue after a log was moved away or truncated. The next line follows the head, not the
//! last line: if the last line was changed in place, the change is detected and not confirmed.
//!
//! Before a line is appended, the head records the line's hash as *pending*. A line after the newest one is therefore
//! ours only if it is the pending line: its writer was killed before it could update the head. Any other line is
//! *foreign*: another program added it, and the chain continues without it.

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

    pub(super) fn from_hasher(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// The newest line; number 0 if there is none yet.
    pub(super) newest: Link,
    /// The number of the first line of the file.
    pub(super) first: u64,
    /// The size of the file up to the end of the newest line.
    pub(super) length: u64,
    /// The line that is about to be appended.
    pub(super) pending: Pending,
}

/// The line that was about to be appended when the head was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    /// No line.
    None,
    /// Its hash, and its length without the newline.
    Line(LineHash, u64),
    /// The head is from an older version, which did not record pending lines.
    NotRecorded,
}

impl Pending {
    /// Whether this is the pending line, complete or cut short.
    pub(super) fn matches(self, line: &[u8], hash: LineHash) -> bool {
        match self {
            // A writer of an older version may have been killed. Accepting its line would accept anything that
            // another program appends.
            Self::None | Self::NotRecorded => false,
            Self::Line(pending, bytes) => {
                // A line that was cut short lacks its last brace, so text that parses was not cut short.
                let is_cut = || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err();
                let is_short = (line.len() as u64) < bytes && !line.contains(&b'\n');
                pending == hash || (is_short && is_cut())
            }
        }
    }
}

/// The content of the head file.
#[derive(Debug, Clone, Copy)]
pub(super) enum StoredHead {
    Valid(Head),
    /// The file is missing or empty: its first writer was killed, or is about to write.
    Absent,
    Unreadable,
}

/// The first word of a head.
const MAGIC: &str = "skillrun-audit-head-2";
/// The first word of a head without a pending line.
const MAGIC_1: &str = "skillrun-audit-head-1";
/// Every head has the same size, so that writing it in place leaves nothing of the one before.
const HEAD_BYTES: usize = HEAD_1_BYTES + 1 + 64 + 1 + 20;
const HEAD_1_BYTES: usize = MAGIC_1.len() + 1 + 20 + 1 + 64 + 1 + 20 + 1 + 20 + 1;

impl Head {
    /// The head of an empty log.
    pub(super) fn empty() -> Self {
        let hash = LineHash([0; 32]);
        Self {
            newest: Link { seq: 0, hash },
            first: 1,
            length: 0,
            pending: Pending::None,
        }
    }

    /// The value of `previous` in the next line.
    pub(super) fn previous(&self) -> Option<LineHash> {
        (self.newest.seq > 0).then_some(self.newest.hash)
    }

    /// Reads the head from its file.
    pub(super) fn read(file: &File) -> io::Result<StoredHead> {
        // One byte more than the maximum, to detect a longer file.
        let mut bytes = [0; HEAD_BYTES + 1];
        let mut read = 0;
        while let n @ 1.. = file.read_at(&mut bytes[read..], read as u64)? {
            read += n;
        }
        let text = std::str::from_utf8(&bytes[..read]);
        Ok(match text.ok().and_then(Self::parse) {
            Some(head) => StoredHead::Valid(head),
            None if read == 0 => StoredHead::Absent,
            None => StoredHead::Unreadable,
        })
    }

    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        file.write_all_at(self.to_string().as_bytes(), 0)?;
        // A longer file, to which another program appended, would stay unreadable.
        match file.metadata()?.len() > HEAD_BYTES as u64 {
            true => file.set_len(HEAD_BYTES as u64),
            false => Ok(()),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        let mut word = || words.next();
        let is_old = match (word()?, text.len()) {
            (MAGIC, HEAD_BYTES) => false,
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
            head.pending = match (word()?.parse().ok()?, word()?.parse().ok()?) {
                (NO_LINE, 0) => Pending::None,
                (hash, bytes) => Pending::Line(hash, bytes),
            };
        }
        // Each number has exactly one spelling.
        (head.to_string() == text).then_some(head)
    }
}

/// Means that there is no pending line.
const NO_LINE: LineHash = LineHash([0; 32]);

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Link { seq, hash } = self.newest;
        let (first, length) = (self.first, self.length);
        let (magic, pending) = match self.pending {
            Pending::None => (MAGIC, Some((NO_LINE, 0))),
            Pending::Line(hash, bytes) => (MAGIC, Some((hash, bytes))),
            Pending::NotRecorded => (MAGIC_1, None),
        };
        write!(f, "{magic} {seq:020} {hash} {first:020} {length:020}")?;
        if let Some((hash, bytes)) = pending {
            write!(f, " {hash} {bytes:020}")?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_parses_as_it_was_written_and_nothing_else_parses() {
        let head = Head {
            newest: Link {
                seq: u64::MAX,
                hash: LineHash::of(b"x"),
            },
            first: 7,
            length: 123_456,
            pending: Pending::None,
        };
        let pending = Pending::Line(LineHash::of(b"y"), 1);
        for (pending, length) in [
            (Pending::None, HEAD_BYTES),
            (pending, HEAD_BYTES),
            (Pending::NotRecorded, HEAD_1_BYTES),
        ] {
            let head = Head { pending, ..head };
            let text = head.to_string();
            assert_eq!(text.len(), length);
            assert_eq!(Head::parse(&text), Some(head));
            for end in 0..text.len() {
                assert_eq!(Head::parse(&text[..end]), None);
            }
            assert_eq!(Head::parse(&format!("{text} ")), None);
            assert_eq!(Head::parse(&text.replace(" 0", " +")), None);
        }
    }

    #[test]
    fn only_the_pending_line_and_its_beginnings_match() {
        let line = b"{\"seq\":1}";
        let pending = Pending::Line(LineHash::of(line), line.len() as u64);
        let matches = |text: &[u8]| pending.matches(text, LineHash::of(text));
        assert!(matches(line) && matches(&line[..5]));
        assert!(!matches(b"{\"seq\":2}") && !matches(b"{\n}"));
        assert!(!Pending::None.matches(line, LineHash::of(line)));
        assert!(!Pending::NotRecorded.matches(line, LineHash::of(line)));
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
