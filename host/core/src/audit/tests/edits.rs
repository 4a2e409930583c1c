//! Random edits of the files are found, or at least stop nothing.

use super::{LOG, test_log};
use crate::audit::chain::{Form, Head, LineHash, Link, Pending};
use proptest::prelude::*;
use std::fs;

/// An edit of the log by a program that cannot write the head.
#[derive(Debug, Clone)]
enum Edit {
    Replace(usize, u8),
    Insert(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
    Swap(usize, usize),
    Truncate(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let offset = 0..5000usize;
    let byte = prop_oneof![any::<u8>(), Just(b'\n'), Just(b'"'), Just(b'1')];
    prop_oneof![
        (offset.clone(), byte.clone()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        (offset.clone(), byte).prop_map(|(at, byte)| Edit::Insert(at, byte)),
        (offset.clone(), 1..600usize).prop_map(|(at, n)| Edit::Remove(at, n)),
        (offset.clone(), 1..600usize).prop_map(|(at, n)| Edit::Repeat(at, n)),
        (0..8usize, 0..8usize).prop_map(|(a, b)| Edit::Swap(a, b)),
        offset.prop_map(Edit::Truncate),
    ]
}

fn apply(edit: &Edit, bytes: &mut Vec<u8>) {
    let length = bytes.len();
    let within = |at: usize| at % length.max(1);
    if length == 0 {
        return;
    }
    match *edit {
        Edit::Replace(at, byte) => bytes[within(at)] = byte,
        Edit::Insert(at, byte) => bytes.insert(within(at), byte),
        Edit::Remove(at, n) => drop(bytes.drain(within(at)..(within(at) + n).min(length))),
        Edit::Repeat(at, n) => {
            let piece = bytes[within(at)..(within(at) + n).min(length)].to_vec();
            bytes.splice(within(at)..within(at), piece);
        }
        Edit::Swap(a, b) => {
            let mut lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            let count = lines.len();
            lines.swap(a % count, b % count);
            *bytes = lines.concat();
        }
        Edit::Truncate(at) => bytes.truncate(within(at)),
    }
}

proptest! {
    #[test]
    fn any_edit_of_a_log_is_found_before_and_after_a_further_line(
        edits in proptest::collection::vec(edit(), 1..4),
    ) {
        let test = test_log();
        test.add(8);
        let whole = fs::read(test.path(LOG)).unwrap();
        let mut changed = whole.clone();
        for edit in &edits {
            apply(edit, &mut changed);
        }
        fs::write(test.path(LOG), &changed).unwrap();
        prop_assert_eq!(test.verify().is_valid(), changed == whole);
        test.add(1);
        // The next writer adds the last newline, which a killed one may have left out.
        let repaired = changed == whole || whole.strip_suffix(b"\n") == Some(&changed);
        prop_assert_eq!(test.verify().is_valid(), repaired);
    }

    #[test]
    fn no_content_of_head_or_log_stops_the_next_line_or_a_verification(
        log in proptest::collection::vec(any::<u8>(), 0..600),
        head in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            any::<(u64, u64, u64)>().prop_map(|(seq, first, length)| {
                let newest = Link { seq, hash: LineHash::of(b"") };
                let pending = Pending::NONE;
                Head { newest, first, length, pending }.text(Form::AtRest).into_bytes()
            }),
        ],
    ) {
        let test = test_log();
        fs::write(test.path(LOG), log).unwrap();
        fs::write(test.path("audit.head"), head).unwrap();
        test.verify();
        test.add(2);
        test.verify();
        let text = fs::read(test.path(LOG)).unwrap();
        prop_assert_eq!(&text[text.len() - 2..], [b'}', b'\n']);
    }
}
