//! One thing a script may touch, in one text form everywhere: policy file, flag, prompt, audit, message.
//!
//! A grant says *what*, never *how much* (those are the limits of a run) and never *who* (that is a policy).
//! `covers` compares values and does not access the file system: paths are made absolute and free of `..` when a grant
//! is created, so that `read:./data` and `read:/w/data/../data/x` cannot mean more than they say.

use std::fmt;
use std::net::Ipv6Addr;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// One thing a script may touch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grant {
    /// `read:PATH`: a file tree may be read.
    Read(PathBuf),
    /// `write:PATH`: a file tree may be read and changed. `write:skill` means the skill's own folder.
    Write(PathBuf),
    /// `net:HOST[:PORT]`: connections to a host; `*` and `*.example.com` are wildcards.
    Net(String, Option<u16>),
    /// `env:NAME`: a variable of the caller's environment.
    Env(String),
    /// `run:COMMAND`: a command may be started.
    Run(String),
    /// `interpreter:NAME`: scripts of this interpreter may run.
    Interpreter(String),
    /// `native`: an interpreter of this machine, confined, instead of the wasm one.
    Native,
}

/// Why a text is not a grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a grant: {why}", crate::files::show(text))]
pub struct GrantError {
    text: String,
    why: String,
}

const KINDS: [&str; 7] = [
    "read",
    "write",
    "net",
    "env",
    "run",
    "interpreter",
    "native",
];

impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let fail = |why: String| GrantError {
            text: text.into(),
            why,
        };
        if let Some(c) = text.chars().find(|c| c.is_control()) {
            return Err(fail(format!("it contains the control character {:?}", c)));
        }
        if text == "native" {
            return Ok(Self::Native);
        }
        let (kind, value) = text.split_once(':').unwrap_or((text, ""));
        if !KINDS.contains(&kind) {
            let nearest = crate::suggest::nearest(kind, KINDS).map(|kind| match kind {
                "native" => ", did you mean `native`?".to_owned(),
                kind => format!(", did you mean `{kind}:`?"),
            });
            return Err(fail(format!(
                "it starts with none of `read: write: net: env: run: interpreter: native`{}",
                nearest.unwrap_or_default()
            )));
        }
        if value.is_empty() {
            return Err(fail(format!("nothing follows `{kind}:`")));
        }
        match kind {
            "read" => Ok(Self::Read(plain_path(value).map_err(fail)?)),
            "write" if value == Self::SKILL => Ok(Self::Write(value.into())),
            "write" => Ok(Self::Write(plain_path(value).map_err(fail)?)),
            "net" => {
                let (host, port) = parse_host(value).map_err(fail)?;
                Ok(Self::Net(host, port))
            }
            "env" if is_env_name(value) => Ok(Self::Env(value.into())),
            "env" => Err(fail(
                "a variable's name may contain only letters, digits and `_`".into(),
            )),
            "run" if value.contains('/') => Err(fail("name the command, not its path".into())),
            "run" if is_command(value) => Ok(Self::Run(value.into())),
            "run" => Err(fail(
                "a command is one word of letters, digits and `._+-`, without arguments".into(),
            )),
            "interpreter" => Ok(Self::Interpreter(value.into())),
            _ => Err(fail("`native` takes no value".into())),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read:{}", path.display()),
            Self::Write(path) => write!(f, "write:{}", path.display()),
            Self::Net(host, None) => write!(f, "net:{host}"),
            Self::Net(host, Some(port)) => write!(f, "net:{host}:{port}"),
            Self::Env(name) => write!(f, "env:{name}"),
            Self::Run(command) => write!(f, "run:{command}"),
            Self::Interpreter(name) => write!(f, "interpreter:{name}"),
            Self::Native => write!(f, "native"),
        }
    }
}

impl Grant {
    /// Whether it is `net:*`, the only network grant that native scripts can use: nothing on this
    /// machine can restrict them to single hosts.
    pub fn is_whole_network(&self) -> bool {
        matches!(self, Self::Net(host, None) if host == "*")
    }

    /// Stands for the skill's own folder in `write:skill`. A parsed path never equals it: a relative one begins with a
    /// dot.
    pub const SKILL: &str = "skill";

    /// Whether `self` grants everything that `wanted` does.
    pub fn covers(&self, wanted: &Grant) -> bool {
        match (self, wanted) {
            (Self::Read(have), Self::Read(want))
            | (Self::Write(have), Self::Write(want) | Self::Read(want)) => want.starts_with(have),
            (Self::Net(have, port), Self::Net(want, wanted_port)) => {
                host_covers(have, want) && (port.is_none() || port == wanted_port)
            }
            (have, want) => have == want,
        }
    }

    /// The same grant with a relative path made absolute against `base`.
    pub fn resolved(self, base: &Path) -> Self {
        match self {
            Self::Read(path) => Self::Read(lexical(&base.join(path))),
            Self::Write(path) if path.as_os_str() == Self::SKILL => Self::Write(path),
            Self::Write(path) => Self::Write(lexical(&base.join(path))),
            other => other,
        }
    }
}

fn plain_path(value: &str) -> Result<PathBuf, String> {
    if value.starts_with('~') {
        return Err("`~` is not expanded; write the whole path, or `./~`".into());
    }
    let path = lexical(Path::new(value));
    match path.components().next() {
        Some(Component::Normal(_)) => Ok(Path::new(".").join(path)),
        None => Ok(PathBuf::from(".")),
        _ => Ok(path),
    }
}

/// Turns `a/./b/../c` into `a/c`; a leading `..` stays for [`Grant::resolved`].
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match plain.components().next_back() {
                Some(Component::Normal(_)) => {
                    plain.pop();
                }
                Some(Component::RootDir) => {}
                _ => plain.push(".."),
            },
            other => plain.push(other),
        }
    }
    plain
}

fn parse_host(value: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = match value.rsplit_once(':') {
        Some((host, port))
            if !host.ends_with(':') && (!host.contains(':') || host.ends_with(']')) =>
        {
            let port = port.parse().ok().filter(|p| *p != 0);
            (
                host,
                Some(port.ok_or("the port is a number from 1 to 65535")?),
            )
        }
        _ => (value, None),
    };
    // A name may end in one dot. The wildcard may not: `*.` is not `*`.
    let below = host.strip_prefix("*.");
    let name = below.unwrap_or(host);
    let name = name.strip_suffix('.').unwrap_or(name);
    let address = name.strip_prefix('[').map(|rest| rest.strip_suffix(']'));
    let address = address.map(|inner| inner.is_some_and(|inner| inner.parse::<Ipv6Addr>().is_ok()));
    if address == Some(false) {
        return Err("brackets may contain only an IPv6 address, as in `[::1]:80`".into());
    }
    let plain = name == "*"
        || address == Some(true)
        || name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    let gap = name.split('.').any(str::is_empty);
    if gap || !plain || (name == "*" && below.is_some()) {
        return Err("a host is a name, an address, `*`, or `*.` followed by a name".into());
    }
    let wildcard = below.map_or("", |_| "*.");
    Ok((format!("{wildcard}{name}").to_ascii_lowercase(), port))
}

/// `*.example.com` covers `a.example.com` and not `example.com` or `badexample.com`.
fn host_covers(have: &str, want: &str) -> bool {
    have == "*"
        || have == want
        || have
            .strip_prefix('*')
            .is_some_and(|suffix| want.len() > suffix.len() && want.ends_with(suffix))
}

fn is_command(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._+-".contains(&b);
    !name.starts_with(['-', '.']) && name.bytes().all(plain)
}

fn is_env_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grant(text: &str) -> Grant {
        text.parse().unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn every_kind_is_printed_as_it_was_parsed() {
        for text in [
            "read:/data",
            "write:/out",
            "write:skill",
            "net:api.github.com",
            "net:api.github.com:443",
            "net:*.example.com",
            "net:*",
            "net:[::1]:80",
            "env:GITHUB_TOKEN",
            "run:git",
            "interpreter:ruby",
            "native",
        ] {
            assert_eq!(grant(text).to_string(), text);
        }
    }

    #[test]
    fn a_misspelt_kind_is_named_with_the_nearest() {
        let error = "raed:/x".parse::<Grant>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`raed:/x` is not a grant: it starts with none of `read: write: net: env: run: interpreter: native`, did you mean `read:`?"
        );
        for bad in [
            "",
            "read",
            "read:",
            "env:A-B",
            "env:1A",
            "net:a b",
            "net:x:0",
            "net:x:70000",
            "net:*.*",
            "net:.",
            "net:..:80",
            "net:*.",
            "net:*..",
            "net:*...:443",
            "net:a..",
            "net:a..b",
            "net:.a",
            "run:/bin/sh",
            "run:git status",
            "run:*",
            "run:-c",
            "net:[::1",
            "net:[a b]",
            "net:[::1]x",
            "read:~/x",
            "env:A\n",
        ] {
            assert!(bad.parse::<Grant>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_error_escapes_control_characters() {
        let error = "env:\u{1b}[2J".parse::<Grant>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`env:\\u{1b}[2J` is not a grant: it contains the control character '\\u{1b}'"
        );
    }

    #[test]
    fn a_path_covers_itself_and_everything_below_it_and_nothing_else() {
        let have = grant("read:/srv/data/");
        for (want, covered) in [
            ("read:/srv/data", true),
            ("read:/srv/data/a/b", true),
            ("read:/srv/data/./a", true),
            ("read:/srv/data/../secret", false),
            ("read:/srv/database", false),
            ("read:/srv", false),
            ("write:/srv/data", false),
        ] {
            assert_eq!(have.covers(&grant(want)), covered, "{want}");
        }
        assert!(grant("write:/w").covers(&grant("read:/w/x")));
    }

    #[test]
    fn a_wildcard_host_covers_subdomains_only() {
        let have = grant("net:*.example.com");
        for (want, covered) in [
            ("net:a.example.com", true),
            ("net:a.b.example.com:443", true),
            ("net:A.EXAMPLE.COM", true),
            ("net:a.example.com.:443", true),
            ("net:example.com", false),
            ("net:badexample.com", false),
            ("net:example.com.evil.org", false),
        ] {
            assert_eq!(have.covers(&grant(want)), covered, "{want}");
        }
        assert!(!grant("net:a:443").covers(&grant("net:a:80")));
        assert!(!grant("net:a:443").covers(&grant("net:a")));
    }

    #[test]
    fn a_relative_path_is_resolved_against_its_base() {
        assert_eq!(
            grant("read:./data").resolved(Path::new("/w")),
            grant("read:/w/data")
        );
        assert_eq!(
            grant("read:../x").resolved(Path::new("/w/y")),
            grant("read:/w/x")
        );
        assert_eq!(
            grant("write:skill").resolved(Path::new("/w")),
            grant("write:skill")
        );
        // Only that word is the skill's own folder.
        for (text, means) in [
            ("write:./skill", "write:/w/skill"),
            ("write:skill/", "write:/w/skill"),
            ("write:x/../skill", "write:/w/skill"),
            ("read:skill", "read:/w/skill"),
        ] {
            assert_eq!(grant(text).resolved(Path::new("/w")).to_string(), means);
        }
    }

    fn any_grant() -> impl Strategy<Value = Grant> {
        let name = "[A-Za-z0-9._ -]{0,6}";
        let path = prop::collection::vec(prop_oneof![Just("..".to_owned()), name.boxed()], 0..5)
            .prop_map(|parts| Path::new("/").join(parts.join("/")));
        let host = "(\\*\\.|)[a-z0-9-]{1,5}(\\.[a-z]{1,3}){0,2}|\\*";
        prop_oneof![
            path.clone().prop_map(|path| Grant::Read(lexical(&path))),
            path.prop_map(|path| Grant::Write(lexical(&path))),
            (host, prop::option::of(1..=u16::MAX)).prop_map(|(host, port)| Grant::Net(host, port)),
            "[A-Za-z_][A-Za-z0-9_]{0,6}".prop_map(Grant::Env),
            "[a-z0-9][a-z0-9._+-]{0,5}".prop_map(Grant::Run),
            "[a-z0-9]{1,6}".prop_map(Grant::Interpreter),
            Just(Grant::Native),
        ]
    }

    proptest! {
        #[test]
        fn a_printed_grant_parses_to_the_same_grant(grant in any_grant()) {
            let again: Grant = grant.to_string().parse().map_err(|e| TestCaseError::fail(format!("{e}")))?;
            prop_assert_eq!(again, grant);
        }

        #[test]
        fn no_text_makes_the_parser_panic_and_printing_is_stable(text in "(read:|write:|net:|env:|run:|)(.|\n){0,20}") {
            if let Ok(grant) = text.parse::<Grant>() {
                let printed = grant.to_string();
                prop_assert_eq!(printed.parse::<Grant>().map(|grant| grant.to_string()), Ok(printed));
            }
        }

        #[test]
        fn covering_is_reflexive_and_transitive(a in any_grant(), b in any_grant(), c in any_grant()) {
            prop_assert!(a.covers(&a));
            if a.covers(&b) && b.covers(&c) {
                prop_assert!(a.covers(&c));
            }
        }

        /// Compares with what the file system would do: where `..` really leads, for directories that are not links.
        #[test]
        fn a_path_is_covered_only_if_walking_it_ends_below(parts in prop::collection::vec("\\.\\.|\\.|a|ab|b", 0..8)) {
            let text = format!("read:/a/{}", parts.join("/"));
            // From `/a` down; `..` at the root stays there, as in the kernel.
            let mut all = vec!["a"];
            for part in &parts {
                match part.as_str() {
                    "." => {}
                    ".." => { all.pop(); }
                    name => all.push(name),
                }
            }
            let below = all.first() == Some(&"a");
            if let Ok(wanted) = text.parse::<Grant>() {
                prop_assert_eq!(grant("read:/a").covers(&wanted), below, "{}", text);
                prop_assert_eq!(grant("read:/a/").covers(&wanted), below, "{}", text);
            }
        }
    }
}
