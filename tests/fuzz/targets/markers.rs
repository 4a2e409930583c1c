//! Markers in a model's output.
//!
//! Nothing is lost: text and markers together equal the input. It makes no difference how the input is split. A script
//! that a marker resolves to is one that the skill has.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun::{Expander, Skill, Target};
use skillrun::expand::Piece;
use std::sync::{Arc, LazyLock};

static SKILL: LazyLock<Arc<Skill>> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/word-count");
    Arc::new(Skill::load(path).expect("an example of this repository"))
});

fuzz_target!(|input: (Vec<u8>, &[u8])| {
    let (cuts, text) = input;
    let whole = expand([text]);
    let source: String = whole.iter().map(|(source, _)| source.as_str()).collect();
    assert_eq!(source, String::from_utf8_lossy(text));

    let mut rest = text;
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, after) = rest.split_at((cut as usize).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    assert_eq!(expand(pieces), whole);
});

/// Each text and each marker as it was written, with the words and the request of a marker.
fn expand<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, Option<String>)> {
    let mut expander = Expander::new(vec![Arc::clone(&SKILL)]);
    let mut found = Vec::new();
    for piece in pieces {
        found.extend(expander.push(piece));
    }
    found.extend(expander.finish());
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    let mut number = 0;
    for one in found {
        match one {
            Piece::Text(text) => match all.last_mut() {
                Some((before, None)) => before.push_str(&text),
                _ => all.push((text, None)),
            },
            Piece::Marker(marker) => {
                number += 1;
                assert_eq!(marker.number, number);
                assert!(!marker.words.is_empty());
                let target = match &marker.request.target {
                    Target::Script { skill, script } => {
                        assert!(
                            marker.words.concat().contains(script.as_str()),
                            "{marker:?}"
                        );
                        format!("{} {script}", skill.name())
                    }
                    Target::Command(name) => {
                        assert_eq!(*name, marker.words[0]);
                        name.clone()
                    }
                    other => format!("{other:?}"),
                };
                assert!(marker.request.grants.is_empty() && marker.request.env.is_empty());
                let (kind, words, args) = (marker.kind, &marker.words, &marker.request.args);
                all.push((
                    marker.source.clone(),
                    Some(format!("{kind:?} {words:?} {target} {args:?}")),
                ));
            }
        }
    }
    all
}
