//! The text of grants.
//!
//! A printed grant parses to the same grant. Covering is reflexive and transitive. A resolved path is absolute and has
//! no `..`, so that comparing its components is enough. An error has no control characters.

#![no_main]

use libfuzzer_sys::fuzz_target;
use skillrun::Grant;
use std::path::{Component, Path};

fuzz_target!(|texts: [&str; 3]| {
    let mut grants: Vec<Grant> = Vec::new();
    for text in texts {
        match text.parse::<Grant>() {
            Ok(grant) => grants.push(grant),
            Err(why) => assert!(!why.to_string().chars().any(char::is_control), "{why:?}"),
        }
    }
    for grant in &grants {
        let printed = grant.to_string();
        assert_eq!(printed.parse::<Grant>().as_ref(), Ok(grant), "{printed}");
        assert!(!printed.chars().any(char::is_control));
        assert!(grant.covers(grant));
        let resolved = grant.clone().resolved(Path::new("/base/of"));
        assert_eq!(
            resolved.to_string().parse::<Grant>().as_ref(),
            Ok(&resolved),
            "{printed}"
        );
        match &resolved {
            Grant::Write(path) if path.as_os_str() == Grant::SKILL => {
                assert_eq!(printed, "write:skill")
            }
            Grant::Read(path) | Grant::Write(path) => {
                assert!(path.is_absolute(), "{resolved}");
                let climbs = |part| matches!(part, Component::ParentDir | Component::CurDir);
                assert!(!path.components().any(climbs), "{resolved}");
            }
            other => assert_eq!(other, grant),
        }
        // A grant covers only its own kind, except that writing includes reading.
        for other in &grants {
            let (have, want) = (kind(grant), kind(other));
            if grant.covers(other) {
                assert!(
                    have == want || (have, want) == ("write", "read"),
                    "{grant} {other}"
                );
            }
        }
    }
    if let [a, b, c] = &grants[..]
        && a.covers(b)
        && b.covers(c)
    {
        assert!(a.covers(c), "{a} {b} {c}");
    }
});

fn kind(grant: &Grant) -> &'static str {
    match grant {
        Grant::Read(_) => "read",
        Grant::Write(_) => "write",
        Grant::Net(..) => "net",
        Grant::Env(_) => "env",
        Grant::Run(_) => "run",
        Grant::Interpreter(_) => "interpreter",
        Grant::Native => "native",
    }
}
