//! The import `transpile`, which a guest calls with any name and any bytes.
//!
//! An answer is code whose mappings name lines that exist, or a message without control characters.
//! There is never more fuel left than before. An error that ends the guest is allowed; a panic is not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun::fuzzing::TypeScript;
use std::sync::LazyLock;

static TYPESCRIPT: LazyLock<TypeScript> = LazyLock::new(|| {
    let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/target/fuzz-cache");
    TypeScript::new(cache.as_ref()).expect("the transpiler is part of the library")
});
const MEMORY: u64 = 64 << 20;
const FUEL: u64 = 50_000_000;

fuzz_target!(|input: (&str, &[u8])| {
    let (name, source) = input;
    let Some((answer, left)) = TYPESCRIPT.transpile(name, source, MEMORY, FUEL) else {
        return;
    };
    assert!(left <= FUEL);
    match answer {
        Ok((code, lines)) => {
            let (made, given) = (code.split('\n').count(), lines_of(source));
            for (line, original) in lines {
                assert!(
                    (line as usize) < made && (original as usize) < given,
                    "{line} {original}"
                );
            }
        }
        Err(why) => {
            assert!(!why.is_empty());
            assert!(
                !why.chars().any(|c| c.is_control() && !"\n\t".contains(c)),
                "{why:?}"
            );
        }
    }
});

/// JavaScript has four ends of a line, and CRLF is one.
fn lines_of(source: &[u8]) -> usize {
    let text = String::from_utf8_lossy(source).replace("\r\n", "\n");
    text.split(['\n', '\r', '\u{2028}', '\u{2029}']).count()
}
