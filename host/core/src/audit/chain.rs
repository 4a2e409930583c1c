//! The chain over the lines, and the head that remembers its newest link.
//!
//! Every line holds its running number and the SHA-256 of the line before it. The head stands in a
//! small file of its own, because the log alone cannot tell that its last lines are gone, and because
//! a log that was moved away or emptied must be gone on with. It is the head, not the last line, that
//! the next line follows: a last line that was changed in place is found, not confirmed.

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
}

/// What a head begins with.
const MARK: &str = "skillrun-audit-head-1";
/// A head has one size, so that writing it in place leaves nothing of the one before.
const HEAD_BYTES: usize = MARK.len() + 1 + 20 + 1 + 64 + 1 + 20 + 1 + 20 + 1;

impl Head {
    /// Before the first line.
    pub(super) fn start() -> Self {
        let hash = LineHash([0; 32]);
        Self {
            newest: Link { seq: 0, hash },
            first: 1,
            length: 0,
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
        if text.len() != HEAD_BYTES || word()? != MARK {
            return None;
        }
        let head = Self {
            newest: Link {
                seq: word()?.parse().ok()?,
                hash: word()?.parse().ok()?,
            },
            first: word()?.parse().ok()?,
            length: word()?.parse().ok()?,
        };
        // The numbers have one spelling.
        (head.to_string() == text).then_some(head)
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Link { seq, hash } = self.newest;
        let (first, length) = (self.first, self.length);
        writeln!(f, "{MARK} {seq:020} {hash} {first:020} {length:020}")
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
        };
        let text = head.to_string();
        assert_eq!(text.len(), HEAD_BYTES);
        assert_eq!(Head::parse(&text), Some(head));
        for end in 0..text.len() {
            assert_eq!(Head::parse(&text[..end]), None);
        }
        assert_eq!(Head::parse(&format!("{text} ")), None);
        assert_eq!(Head::parse(&text.replace(" 0", " +")), None);
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
