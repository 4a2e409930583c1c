//! Finds where markers begin and end, in text that arrives in pieces.
//!
//! One state machine finds both the end of a marker and its arguments, so that both agree on what is quoted. It reads
//! each character once. Everything that is not a marker comes out unchanged.

use super::MarkerKind;

/// Bytes of a marker; a longer one is text. A model writes a marker for one command, and the limit bounds how much text
/// is held back.
const MAX_MARKER: usize = 64 * 1024;
/// Tokens that a shell would treat as operators. There is no shell here: passed on as an argument, such a token would
/// do something that the model did not mean.
const OPERATORS: [&str; 13] = [
    "|", "||", "|&", "&", "&&", ";", "<", "<<", ">", ">>", "&>", "2>", "2>&1",
];

/// A piece of the scanned text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    Text(String),
    Marker(ParsedMarker),
}

/// A complete marker.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParsedMarker {
    pub(super) kind: MarkerKind,
    /// The marker as written.
    pub(super) source: String,
    pub(super) words: Vec<String>,
    /// The first unquoted shell operator.
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
    Marker(Box<OpenMarker>),
}

/// A marker that is not closed yet.
#[derive(Debug)]
struct OpenMarker {
    closed: ParsedMarker,
    argument: Option<Argument>,
    quote: Quote,
    /// Open braces inside it.
    depth: usize,
}

/// The argument that is being read.
#[derive(Debug, Default)]
struct Argument {
    text: String,
    quoted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    /// After `\` outside quotes.
    Escape,
    Single,
    Double,
    /// After `\` inside double quotes.
    DoubleEscape,
}

impl Scanner {
    /// Takes the next piece of the text.
    pub(super) fn push(&mut self, piece: &str) -> Vec<Scanned> {
        let mut found = Found::default();
        for c in piece.chars() {
            self.state = match std::mem::take(&mut self.state) {
                State::Text => plain(c, &mut found),
                State::Sigil(sigil) if c == '{' => State::Marker(Box::new(OpenMarker::new(sigil))),
                State::Sigil(sigil) => {
                    found.text.push(sigil);
                    plain(c, &mut found)
                }
                State::Marker(open) => inside(open, c, &mut found),
            };
        }
        found.end()
    }

    /// Returns what is still held back at the end of the text. It is not a marker.
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
    fn marker(&mut self, marker: ParsedMarker) {
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

/// Handles a character outside markers.
fn plain(c: char, found: &mut Found) -> State {
    match c {
        '!' | '%' => State::Sigil(c),
        other => {
            found.text.push(other);
            State::Text
        }
    }
}

/// Handles a character inside a marker.
fn inside(mut open: Box<OpenMarker>, c: char, found: &mut Found) -> State {
    let is_closed = open.take(c);
    if is_closed {
        open.end_argument();
        let closed = open.closed;
        match closed.words.is_empty() {
            // Nothing to run: in some languages `!{}` is the negation of an empty object.
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

impl OpenMarker {
    fn new(sigil: char) -> Self {
        let kind = match sigil {
            '%' => MarkerKind::Effect,
            _ => MarkerKind::Capture,
        };
        let closed = ParsedMarker {
            kind,
            source: format!("{sigil}{{"),
            words: Vec::new(),
            operator: None,
        };
        Self {
            closed,
            argument: None,
            quote: Quote::None,
            depth: 0,
        }
    }

    /// Takes one character. Returns whether it closes the marker.
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
                self.end_argument();
                Quote::None
            }
            (Quote::None, c) => {
                match c {
                    '{' => self.depth += 1,
                    '}' => self.depth -= 1,
                    _ => {}
                }
                self.argument().text.push(c);
                Quote::None
            }
            // A line continuation.
            (Quote::Escape, '\n') => Quote::None,
            (Quote::Escape, c) => {
                self.quoted(Quote::None);
                self.argument().text.push(c);
                Quote::None
            }
            (Quote::Single, '\'') | (Quote::Double, '"') => Quote::None,
            (Quote::Double, '\\') => Quote::DoubleEscape,
            (Quote::DoubleEscape, '\n') => Quote::Double,
            (Quote::DoubleEscape, c) => {
                if !matches!(c, '"' | '\\' | '$' | '`') {
                    self.argument().text.push('\\');
                }
                self.argument().text.push(c);
                Quote::Double
            }
            (quote @ (Quote::Single | Quote::Double), c) => {
                self.argument().text.push(c);
                quote
            }
        };
        false
    }

    fn argument(&mut self) -> &mut Argument {
        self.argument.get_or_insert_default()
    }

    fn quoted(&mut self, quote: Quote) -> Quote {
        self.argument().quoted = true;
        quote
    }

    fn end_argument(&mut self) {
        let Some(Argument { text, quoted }) = self.argument.take() else {
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
    fn each_form_of_a_marker_has_its_kind() {
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
    fn arguments_are_split_as_a_shell_splits_them() {
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
    fn an_unquoted_shell_operator_is_reported() {
        let operator = |text: &str| match scan([text]).as_slice() {
            [Scanned::Marker(closed)] => closed.operator.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(operator("!{git log | head}").as_deref(), Some("|"));
        assert_eq!(operator("!{a && b; c}").as_deref(), Some("&&"));
        assert_eq!(operator("!{a '|' \"&&\" \\; x&y a;b}"), None);
    }

    #[test]
    fn text_that_is_not_a_marker_passes_unchanged() {
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

    /// Texts made of the characters that matter to the state machine.
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
        fn no_text_is_lost_and_the_size_of_pieces_does_not_matter(text in texts(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
            let whole = scan([text.as_str()]);
            prop_assert_eq!(source(&whole), text.clone());
            let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| *cut.get(&ends)).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]);
            prop_assert_eq!(scan(pieces), whole);
        }

        #[test]
        fn text_without_a_sigil_passes(text in "[^!%]{0,40}") {
            prop_assert_eq!(source(&scan([text.as_str()])), text.clone());
            prop_assert!(!scan([text.as_str()]).iter().any(|one| matches!(one, Scanned::Marker(_))));
        }

        #[test]
        fn quoted_arguments_come_out_unchanged(args in prop::collection::vec(any::<String>(), 0..6)) {
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
