//! Decodes text from bytes that arrive in pieces.

/// Decodes UTF-8 from pieces that may split characters; invalid bytes are replaced.
#[derive(Debug, Default)]
pub struct Utf8Decoder {
    rest: Vec<u8>,
}

impl Utf8Decoder {
    /// Adds bytes; returns the text up to the last whole character.
    pub fn decode(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.rest.len());
        let mut chunks = self.rest.utf8_chunks().peekable();
        let mut kept = Vec::new();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            match chunk.invalid() {
                [] => {}
                // Up to three bytes at the very end may be the start of a character.
                cut if chunks.peek().is_none() && is_unfinished(cut) => kept = cut.to_vec(),
                _ => text.push(char::REPLACEMENT_CHARACTER),
            }
        }
        self.rest = kept;
        text
    }

    /// Returns a replacement character if the last character is incomplete.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }
}

fn is_unfinished(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::Utf8Decoder;

    fn decode(pieces: &[&[u8]]) -> String {
        let mut decoder = Utf8Decoder::default();
        let mut all: String = pieces.iter().map(|piece| decoder.decode(piece)).collect();
        all.push_str(&decoder.finish());
        all
    }

    #[test]
    fn a_split_character_is_joined() {
        let (a, b) = "né".as_bytes().split_at(2);
        assert_eq!(decode(&[a, b]), "né");
        assert_eq!(decode(&[b"\xf0", b"\x9f", b"\x98", b"\x80!"]), "😀!");
    }

    #[test]
    fn invalid_bytes_are_replaced_and_nothing_is_lost() {
        assert_eq!(decode(&[b"a\xffb", b"\xfec"]), "a\u{fffd}b\u{fffd}c");
        assert_eq!(decode(&[b"end\xe2\x82"]), "end\u{fffd}");
    }
}
