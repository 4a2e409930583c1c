//! The chain over the lines, and the head that remembers its newest link.
//!
//! Every line holds its running number and the SHA-256 of the line before it. The head stands in a
//! small file of its own, because the log alone cannot tell that its last lines are gone, and because
//! a log that was moved away or emptied must be gone on with. It is the head, not the last line, that
//! the next line follows: a last line that was changed in place is found, not confirmed.
//!
//! Before a line is appended, the head holds the line's hash as *pending*. So a line beyond the newest one is ours only
//! if the head announced it: its writer was killed before it could say that the line is there. Any other line was added
//! by somebody else, and the chain goes on without it.

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

    /// Its first eight bytes.
    pub(super) fn start(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    pub(super) fn of_stream(hasher: Sha256) -> Self {
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

/// A text that is not the hash of a line.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not the hash of a line: write its 64 hexadecimal digits, as `skillrun audit verify` prints them", crate::files::show(.0))]
pub struct NoLineHash(String);

impl FromStr for LineHash {
    type Err = NoLineHash;

    fn from_str(text: &str) -> Result<Self, NoLineHash> {
        let digits = text.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(NoLineHash(text.chars().take(100).collect()));
        }
        for (byte, two) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
            let two = std::str::from_utf8(two).unwrap_or_default();
            *byte = u8::from_str_radix(two, 16).map_err(|_| NoLineHash(text.to_owned()))?;
        }
        Ok(Self(hash))
    }
}

/// A line's place in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) hash: LineHash,
}

/// What of a line places it in the chain. A line of a log that was begun before there was a chain has
/// no `seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) seq: Option<u64>,
    pub(super) previous: Option<LineHash>,
}

impl Place {
    /// The place that a line says it has; `None` if it is no line of the log.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Said<'a> {
            seq: Option<u64>,
            #[serde(borrow)]
            previous: Option<std::borrow::Cow<'a, str>>,
        }
        let said: Said<'_> = serde_json::from_slice(line).ok()?;
        let previous = said.previous.map(|text| text.parse()).transpose().ok()?;
        Some(Self {
            seq: said.seq,
            previous,
        })
    }

    /// Whether this is the place after `link`.
    pub(super) fn follows(&self, link: &Link) -> bool {
        self.seq == link.seq.checked_add(1) && self.previous == Some(link.hash)
    }
}

/// The newest line, and the file it is in, as remembered beside the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// The newest line; number 0 if there is none yet.
    pub(super) newest: Link,
    /// The number of the first line of the file.
    pub(super) first: u64,
    /// The bytes of the file up to the end of the newest line.
    pub(super) length: u64,
    /// The line that is about to be appended.
    pub(super) pending: Pending,
}

/// A line that the head announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    /// There is none.
    None,
    /// Its hash, and its bytes without the newline.
    Line(LineHash, u64),
    /// Nobody knows: the head is from before lines were announced.
    Unknown,
}

impl Pending {
    /// Whether this line was announced, in whole or cut short.
    pub(super) fn announces(self, line: &[u8], hash: LineHash) -> bool {
        match self {
            Self::None => false,
            Self::Line(pending, bytes) => {
                // A line that was cut short has lost its last brace. Whatever parses is not one.
                let is_cut = || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err();
                let is_short = (line.len() as u64) < bytes && !line.contains(&b'\n');
                pending == hash || (is_short && is_cut())
            }
            Self::Unknown => true,
        }
    }
}

/// What a head begins with.
const MARK: &str = "skillrun-audit-head-2";
/// What a head began with before lines were announced.
const MARK_1: &str = "skillrun-audit-head-1";
/// A head has one size, so that writing it in place leaves nothing of the one before.
const HEAD_BYTES: usize = HEAD_1_BYTES + 1 + 64 + 1 + 20;
const HEAD_1_BYTES: usize = MARK_1.len() + 1 + 20 + 1 + 64 + 1 + 20 + 1 + 20 + 1;

impl Head {
    /// Before the first line.
    pub(super) fn start() -> Self {
        let hash = LineHash([0; 32]);
        Self {
            newest: Link { seq: 0, hash },
            first: 1,
            length: 0,
            pending: Pending::None,
        }
    }

    /// What the next line holds as `previous`.
    pub(super) fn previous(&self) -> Option<LineHash> {
        (self.newest.seq > 0).then_some(self.newest.hash)
    }

    /// Reads the head; `Ok(None)` if the file is empty or holds no head.
    pub(super) fn read(file: &File) -> io::Result<Option<Self>> {
        // One byte more than there may be.
        let mut bytes = [0; HEAD_BYTES + 1];
        let mut read = 0;
        while let n @ 1.. = file.read_at(&mut bytes[read..], read as u64)? {
            read += n;
        }
        Ok(std::str::from_utf8(&bytes[..read])
            .ok()
            .and_then(Self::parse))
    }

    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        file.write_all_at(self.to_string().as_bytes(), 0)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_suffix('\n')?.split(' ');
        let mut word = || words.next();
        let is_old = match (word()?, text.len()) {
            (MARK, HEAD_BYTES) => false,
            (MARK_1, HEAD_1_BYTES) => true,
            _ => return None,
        };
        let mut head = Self {
            newest: Link {
                seq: word()?.parse().ok()?,
                hash: word()?.parse().ok()?,
            },
            first: word()?.parse().ok()?,
            length: word()?.parse().ok()?,
            pending: Pending::Unknown,
        };
        if !is_old {
            head.pending = match (word()?.parse().ok()?, word()?.parse().ok()?) {
                (NO_LINE, 0) => Pending::None,
                (hash, bytes) => Pending::Line(hash, bytes),
            };
        }
        // The numbers have one spelling.
        (head.to_string() == text).then_some(head)
    }
}

/// Stands for the hash of no line.
const NO_LINE: LineHash = LineHash([0; 32]);

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Link { seq, hash } = self.newest;
        let (first, length) = (self.first, self.length);
        let (mark, pending) = match self.pending {
            Pending::None => (MARK, Some((NO_LINE, 0))),
            Pending::Line(hash, bytes) => (MARK, Some((hash, bytes))),
            Pending::Unknown => (MARK_1, None),
        };
        write!(f, "{mark} {seq:020} {hash} {first:020} {length:020}")?;
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
    fn a_head_reads_as_it_was_written_and_nothing_else_does() {
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
            (Pending::Unknown, HEAD_1_BYTES),
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
    fn only_the_line_that_was_announced_and_its_beginnings_are() {
        let line = b"{\"seq\":1}";
        let pending = Pending::Line(LineHash::of(line), line.len() as u64);
        let announces = |text: &[u8]| pending.announces(text, LineHash::of(text));
        assert!(announces(line) && announces(&line[..5]));
        assert!(!announces(b"{\"seq\":2}") && !announces(b"{\n}"));
        assert!(!Pending::None.announces(line, LineHash::of(line)));
        assert!(Pending::Unknown.announces(line, LineHash::of(line)));
    }

    #[test]
    fn a_hash_is_read_as_it_is_printed() {
        let hash = LineHash::of(b"line");
        assert_eq!(hash.to_string().parse::<LineHash>().unwrap(), hash);
        let wrong = ["", "abc", &"g".repeat(64), &"é".repeat(32)];
        for text in wrong {
            assert!(text.parse::<LineHash>().is_err(), "{text}");
        }
    }
}
