//! Who said yes or no.

use serde::Serialize;
use std::fmt;

/// Maximum characters of an id and of a channel. They come from another system and end up in every record.
const MAX_CHARS: usize = 256;

/// Who answered a question or typed a request, and through which channel. It is recorded with the answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Approver {
    id: String,
    channel: String,
}

impl Approver {
    /// `id` identifies a person or a program within `channel`: a login name at the terminal, an account in a chat. Both
    /// are cut after 256 characters.
    pub fn new(id: &str, channel: &str) -> Self {
        let cut = |text: &str| text.chars().take(MAX_CHARS).collect();
        Self {
            id: cut(id),
            channel: cut(channel),
        }
    }

    /// Who it is.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where the answer was given.
    pub fn channel(&self) -> &str {
        &self.channel
    }
}

impl fmt::Display for Approver {
    /// For people: control characters and invisible characters are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, channel) = (
            crate::files::show(&self.id),
            crate::files::show(&self.channel),
        );
        write!(f, "{id} ({channel})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approver_is_bounded_and_printed_on_one_line() {
        let long = Approver::new(&"é".repeat(300), &"c".repeat(300));
        assert_eq!(long.id().chars().count(), 256);
        assert_eq!(long.channel().len(), 256);
        let odd = Approver::new("a\n\u{1b}[2J", "chat");
        assert_eq!(odd.to_string(), "a\\n\\u{1b}[2J (chat)");
        assert_eq!(odd.id(), "a\n\u{1b}[2J");
    }
}
