//! Where markers begin and end, in text that comes in pieces.
//!
//! One machine finds the end of a marker and its words, so that both agree on what is quoted. It looks at each
//! character once; whatever it does not take as a marker comes out as it went in.

use super::MarkerKind;

/// A marker is written by a model for one command; what is longer is text. It bounds what is held back.
const MAX_MARKER: usize = 64 * 1024;
/// What a shell would take as its own, where it stands by itself. There is none here: passed on as an
/// argument it would do something that nobody meant.
const OPERATORS: [&str; 13] = [
    "|", "||", "|&", "&", "&&", ";", "<", "<<", ">", ">>", "&>", "2>", "2>&1",
];

/// What was found, in the order of the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    Text(String),
    Marker(Closed),
}

/// A whole marker.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) kind: MarkerKind,
    /// As it was written.
    pub(super) source: String,
    pub(super) words: Vec<String>,
    /// The first word that only a shell would understand.
    pub(super) operator: Option<String>,
}

/// Finds markers.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Text,
    /// `!` or `%`, which may begin a marker.
    Sigil(char),
    Marker(Box<Open>),
}

/// A marker that is not closed yet.
#[derive(Debug)]
struct Open {
    closed: Closed,
    word: Option<Word>,
    quote: Quote,
    /// Braces that are open within it.
    depth: usize,
}

#[derive(Debug, Default)]
struct Word {
    text: String,
    quoted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    /// After `\\` outside quotes.
    Escape,
    Single,
    Double,
    /// After `\\` within double quotes.
    DoubleEscape,
}

impl Scanner {
    /// Takes the next piece of the text.
    pub(super) fn push(&mut self, piece: &str) -> Vec<Scanned> {
        let mut found = Found::default();
        for c in piece.chars() {
            self.state = match std::mem::take(&mut self.state) {
                State::Text => plain(c, &mut found),
                State::Sigil(sigil) if c == '{' => State::Marker(Box::new(Open::new(sigil))),
                State::Sigil(sigil) => {
                    found.text.push(sigil);
                    plain(c, &mut found)
                }
                State::Marker(open) => within(open, c, &mut found),
            };
        }
        found.end()
    }

    /// What was held back when the text ended: it is no marker.
    pub(super) fn finish(&mut self) -> Vec<Scanned> {
        let mut found = Found::default();
        match std::mem::take(&mut self.state) {
            State::Text => {}
            State::Sigil(sigil) => found.text.push(sigil),
            State::Marker(open) => found.text.push_str(&open.closed.source),
        }
        found.end()
    }
}

#[derive(Default)]
struct Found {
    all: Vec<Scanned>,
    text: String,
}

impl Found {
    fn marker(&mut self, marker: Closed) {
        self.flush();
        self.all.push(Scanned::Marker(marker));
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.all.push(Scanned::Text(std::mem::take(&mut self.text)));
        }
    }

    fn end(mut self) -> Vec<Scanned> {
        self.flush();
        self.all
    }
}

/// Outside markers.
fn plain(c: char, found: &mut Found) -> State {
    match c {
        '!' | '%' => State::Sigil(c),
        other => {
            found.text.push(other);
            State::Text
        }
    }
}

/// Within a marker.
fn within(mut open: Box<Open>, c: char, found: &mut Found) -> State {
    let ends = open.take(c);
    if ends {
        open.end_word();
        let closed = open.closed;
        match closed.words.is_empty() {
            // Nothing to run: `!{}` is an empty object in some language.
            true => found.text.push_str(&closed.source),
            false => found.marker(closed),
        }
        return State::Text;
    }
    if open.closed.source.len() > MAX_MARKER {
        found.text.push_str(&open.closed.source);
        return State::Text;
    }
    State::Marker(open)
}

impl Open {
    fn new(sigil: char) -> Self {
        let kind = match sigil {
            '%' => MarkerKind::Effect,
            _ => MarkerKind::Capture,
        };
        let closed = Closed {
            kind,
            source: format!("{sigil}{{"),
            words: Vec::new(),
            operator: None,
        };
        Self {
            closed,
            word: None,
            quote: Quote::None,
            depth: 0,
        }
    }

    /// Takes one character; returns whether it was the one that closes the marker.
    fn take(&mut self, c: char) -> bool {
        let first = self.closed.source == "!{";
        self.closed.source.push(c);
        if first && c == '!' {
            self.closed.kind = MarkerKind::Effect;
            return false;
        }
        self.quote = match (self.quote, c) {
            (Quote::None, '\\') => Quote::Escape,
            (Quote::None, '\'') => self.quoted(Quote::Single),
            (Quote::None, '"') => self.quoted(Quote::Double),
            (Quote::None, '}') if self.depth == 0 => return true,
            (Quote::None, c) if c.is_ascii_whitespace() => {
                self.end_word();
                Quote::None
            }
            (Quote::None, c) => {
                match c {
                    '{' => self.depth += 1,
                    '}' => self.depth -= 1,
                    _ => {}
                }
                self.word().text.push(c);
                Quote::None
            }
            // A line that goes on.
            (Quote::Escape, '\n') => Quote::None,
            (Quote::Escape, c) => {
                self.quoted(Quote::None);
                self.word().text.push(c);
                Quote::None
            }
            (Quote::Single, '\'') | (Quote::Double, '"') => Quote::None,
            (Quote::Double, '\\') => Quote::DoubleEscape,
            (Quote::DoubleEscape, '\n') => Quote::Double,
            (Quote::DoubleEscape, c) => {
                if !matches!(c, '"' | '\\' | '$' | '`') {
                    self.word().text.push('\\');
                }
                self.word().text.push(c);
                Quote::Double
            }
            (quote @ (Quote::Single | Quote::Double), c) => {
                self.word().text.push(c);
                quote
            }
        };
        false
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn quoted(&mut self, quote: Quote) -> Quote {
        self.word().quoted = true;
        quote
    }

    fn end_word(&mut self) {
        let Some(Word { text, quoted }) = self.word.take() else {
            return;
        };
        if !quoted && OPERATORS.contains(&text.as_str()) {
            self.closed.operator.get_or_insert_with(|| text.clone());
        }
        self.closed.words.push(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Vec<Scanned> {
        let mut scanner = Scanner::default();
        let mut all: Vec<Scanned> = Vec::new();
        let found: Vec<Vec<Scanned>> = pieces.into_iter().map(|p| scanner.push(p)).collect();
        for one in found.into_iter().flatten().chain(scanner.finish()) {
            match (all.last_mut(), one) {
                (Some(Scanned::Text(before)), Scanned::Text(text)) => before.push_str(&text),
                (_, one) => all.push(one),
            }
        }
        all
    }

    fn words(marker: &str) -> Vec<String> {
        match scan([marker]).as_slice() {
            [Scanned::Marker(closed)] => closed.words.clone(),
            other => panic!("{marker} is {other:?}"),
        }
    }

    fn source(scanned: &[Scanned]) -> String {
        let each = scanned.iter().map(|one| match one {
            Scanned::Text(text) => text.as_str(),
            Scanned::Marker(closed) => closed.source.as_str(),
        });
        each.collect()
    }

    #[test]
    fn the_three_forms_are_told_apart() {
        for (text, kind) in [
            ("%{say hi}", MarkerKind::Effect),
            ("!{! say hi}", MarkerKind::Effect),
            ("!{!say hi}", MarkerKind::Effect),
            ("!{say hi}", MarkerKind::Capture),
        ] {
            let [Scanned::Marker(closed)] = &scan([text])[..] else {
                panic!("{text}");
            };
            assert_eq!(
                (closed.kind, closed.words.join(" ")),
                (kind, "say hi".into())
            );
        }
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (marker, expected) in [
            ("!{a  b\tc\nd}", vec!["a", "b", "c", "d"]),
            ("!{say \"a b\" 'c d'}", vec!["say", "a b", "c d"]),
            ("!{say a\" b \"c''}", vec!["say", "a b c"]),
            ("!{say \"\" ''}", vec!["say", "", ""]),
            ("!{say a\\ b \\\"x \\\\}", vec!["say", "a b", "\"x", "\\"]),
            (r#"!{say "\"q\" \\ \$ \n"}"#, vec!["say", r#""q" \ $ \n"#]),
            ("!{say a\\\nb \"c\\\nd\"}", vec!["say", "ab", "cd"]),
            ("!{say '}' \"}\" \\} {}}", vec!["say", "}", "}", "}", "{}"]),
            (
                "!{{baseDir}/scripts/x.py {\"a\":{}}}",
                vec!["{baseDir}/scripts/x.py", "{a:{}}"],
            ),
            (
                "!{say $HOME `id` $(id) *}",
                vec!["say", "$HOME", "`id`", "$(id)", "*"],
            ),
        ] {
            assert_eq!(words(marker), expected, "{marker}");
        }
    }

    #[test]
    fn what_only_a_shell_would_understand_is_noticed_unless_it_is_quoted() {
        let operator = |text: &str| match scan([text]).as_slice() {
            [Scanned::Marker(closed)] => closed.operator.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(operator("!{git log | head}").as_deref(), Some("|"));
        assert_eq!(operator("!{a && b; c}").as_deref(), Some("&&"));
        assert_eq!(operator("!{a '|' \"&&\" \\; x&y a;b}"), None);
    }

    #[test]
    fn what_is_no_marker_passes_as_it_came() {
        for text in [
            "",
            "!",
            "%",
            "100 %",
            "!!",
            "a ! {b}",
            "!{}",
            "%{ \n }",
            "!{!}",
            "{x} $ {y} ${z}",
            "!{never closed",
            "!{say 'it}",
            "!{a {b}",
            "!{a \\}",
            "50%%{",
        ] {
            let expected: Vec<Scanned> = match text {
                "" => vec![],
                text => vec![Scanned::Text(text.into())],
            };
            assert_eq!(scan([text]), expected, "{text}");
        }
        let long = format!("!{{say {}", "x".repeat(MAX_MARKER));
        let text = format!("{long}}} %{{say hi}}");
        let [Scanned::Text(before), Scanned::Marker(after)] = &scan([text.as_str()])[..] else {
            panic!("a marker beyond the limit");
        };
        assert_eq!((before.len(), after.words.len()), (long.len() + 2, 2));
    }

    #[test]
    fn text_is_passed_on_as_soon_as_it_cannot_be_a_marker() {
        let mut scanner = Scanner::default();
        let text = |text: &str| vec![Scanned::Text(text.into())];
        assert_eq!(scanner.push("Hello"), text("Hello"));
        assert_eq!(scanner.push(" wor!"), text(" wor"));
        assert_eq!(scanner.push("ld"), text("!ld"));
        assert_eq!(scanner.push("%"), []);
        assert_eq!(scanner.push("{say"), []);
        assert_eq!(scanner.finish(), text("%{say"));
    }

    /// Texts made of what matters to the machine.
    fn texts() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            6 => "[a-z é😀\n]{1,4}",
            2 => "[!%{}'\"\\\\|;& ]{1,3}",
            1 => Just("!{".to_owned()),
            1 => Just("%{".to_owned()),
            1 => Just("!{! say \"}\" x}".to_owned()),
            1 => any::<String>(),
        ];
        prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn nothing_vanishes_and_pieces_make_no_difference(text in texts(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
            let whole = scan([text.as_str()]);
            prop_assert_eq!(source(&whole), text.clone());
            let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| *cut.get(&ends)).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]);
            prop_assert_eq!(scan(pieces), whole);
        }

        #[test]
        fn text_without_the_beginning_of_a_marker_passes(text in "[^!%]{0,40}") {
            prop_assert_eq!(source(&scan([text.as_str()])), text.clone());
            prop_assert!(!scan([text.as_str()]).iter().any(|one| matches!(one, Scanned::Marker(_))));
        }

        #[test]
        fn quoted_words_come_out_as_they_were(args in prop::collection::vec(any::<String>(), 0..6)) {
            let single = args.iter().map(|arg| format!(" '{}'", arg.replace('\'', "'\\''")));
            let marker = format!("!{{x{}}}", single.collect::<String>());
            let mut expected = vec!["x".to_owned()];
            expected.extend(args);
            if marker.len() < MAX_MARKER {
                prop_assert_eq!(words(&marker), expected);
            }
        }
    }
}
