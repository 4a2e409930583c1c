//! Reads lines one by one in bounded memory, whatever the file contains.

use super::chain::LineHash;
use sha2::{Digest as _, Sha256};
use std::io::{self, BufRead, BufReader, Read, Take};

/// Longer lines are neither written nor loaded. A thousand grants with long paths take a few hundred KiB.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;

/// One line of a file.
pub(super) struct Line<'a> {
    /// The bytes without the newline; `None` if it is longer than [`MAX_LINE_BYTES`].
    pub(super) bytes: Option<&'a [u8]>,
    pub(super) hash: LineHash,
    /// Whether it ends with a newline.
    pub(super) ended: bool,
}

/// The lines of a file.
pub(super) struct Lines<R> {
    reader: BufReader<Take<R>>,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// The lines of the next `length` bytes.
    pub(super) fn new(reader: R, length: u64) -> Self {
        Self {
            reader: BufReader::with_capacity(1 << 16, reader.take(length)),
            line: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let limit = MAX_LINE_BYTES as u64 + 1;
        if self.read(limit)? == 0 {
            return Ok(None);
        }
        if self.line.len() as u64 == limit && self.line.last() != Some(&b'\n') {
            return self.hash_long_line().map(Some);
        }
        let ended = self.line.pop_if(|byte| *byte == b'\n').is_some();
        let bytes = self.line.as_slice();
        Ok(Some(Line {
            bytes: Some(bytes),
            hash: LineHash::of(bytes),
            ended,
        }))
    }

    /// Hashes a line that is too long, piece by piece.
    fn hash_long_line(&mut self) -> io::Result<Line<'_>> {
        let mut hasher = Sha256::new();
        let mut ended = false;
        while !self.line.is_empty() {
            hasher.update(&self.line);
            self.line.clear();
            self.read(1 << 16)?;
            ended = self.line.pop_if(|byte| *byte == b'\n').is_some();
            if ended {
                hasher.update(&self.line);
                break;
            }
        }
        Ok(Line {
            bytes: None,
            hash: LineHash::from_hasher(hasher),
            ended,
        })
    }

    fn read(&mut self, limit: u64) -> io::Result<usize> {
        let mut piece = self.reader.by_ref().take(limit);
        piece.read_until(b'\n', &mut self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<(Option<Vec<u8>>, LineHash, bool)> {
        let mut lines = Lines::new(bytes, bytes.len() as u64);
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.bytes.map(<[u8]>::to_vec), line.hash, line.ended));
        }
        all
    }

    #[test]
    fn lines_are_split_at_newlines_only() {
        let line = |text: &[u8], ended| (Some(text.to_vec()), LineHash::of(text), ended);
        assert_eq!(all(b""), []);
        assert_eq!(all(b"\n"), [line(b"", true)]);
        assert_eq!(
            all(b"a\r\n\xffb"),
            [line(b"a\r", true), line(b"\xffb", false)]
        );
    }

    #[test]
    fn a_line_beyond_the_limit_is_hashed_and_not_kept() {
        for (length, kept) in [
            (MAX_LINE_BYTES, true),
            (MAX_LINE_BYTES + 1, false),
            (2 * MAX_LINE_BYTES, false),
        ] {
            for end in ["", "\n", "\nnext\n"] {
                let text = vec![b'x'; length];
                let lines = all(&[&text, end.as_bytes()].concat());
                assert_eq!(lines[0].0.is_some(), kept, "{length} {end:?}");
                assert_eq!(lines[0].1, LineHash::of(&text));
                assert_eq!(lines[0].2, !end.is_empty());
                assert_eq!(lines.len(), 1 + usize::from(end.len() > 1));
            }
        }
    }
}
