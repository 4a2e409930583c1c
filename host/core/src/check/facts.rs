//! What reading a source tells, whatever its language.

use std::collections::{BTreeMap, HashSet};

/// A source says the same thing many times; this many different ones are kept of each kind.
const MOST: usize = 200;

/// Something a source imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Imported {
    pub(super) name: String,
    pub(super) line: usize,
    /// The source goes on without it.
    pub(super) optional: bool,
}

/// What reading a source tells.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) imports: Vec<Imported>,
    /// Hosts in addresses, with the port that their scheme has, and where they stand.
    pub(super) hosts: BTreeMap<(String, Option<u16>), usize>,
    /// Where the network is used, if it is.
    pub(super) network: Option<usize>,
    /// Commands that are started; an empty name is one that cannot be told.
    pub(super) commands: BTreeMap<String, usize>,
    /// Variables that are read.
    pub(super) env: BTreeMap<String, usize>,
    /// Variables that are set, and so not wanted.
    pub(super) set: Vec<String>,
    /// The source changes where modules are looked for.
    pub(super) moves_path: bool,
    /// The names in a JavaScript source.
    pub(super) words: HashSet<String>,
    /// How often a variable was looked up; each takes a walk over the source.
    pub(super) lookups: usize,
}

impl Facts {
    pub(super) fn import(&mut self, name: &str, line: usize, optional: bool) {
        if name.is_empty() || name.len() > 256 {
            return;
        }
        let full = self.imports.len() >= MOST;
        match self.imports.iter_mut().find(|known| known.name == name) {
            // What is needed once is needed.
            Some(known) => known.optional &= optional,
            None if full => {}
            None => self.imports.push(Imported {
                name: name.to_owned(),
                line,
                optional,
            }),
        }
    }

    pub(super) fn command(&mut self, name: &str, line: usize) {
        // A path names its last part, and a variable nothing.
        let name = name.rsplit('/').next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        let known = !name.is_empty() && name.len() <= 64 && name.chars().all(plain);
        let name = if known { name } else { "" };
        if self.commands.len() < MOST {
            self.commands.entry(name.to_owned()).or_insert(line);
        }
    }

    pub(super) fn env(&mut self, name: &str, line: usize) {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let fits = !name.is_empty() && name.len() <= 128 && name.chars().all(plain);
        if fits && !name.starts_with(|c: char| c.is_ascii_digit()) && self.env.len() < MOST {
            self.env.entry(name.to_owned()).or_insert(line);
        }
    }

    /// Takes the hosts of the addresses in a text; `HOLE` in it stands for what is filled in later.
    pub(super) fn urls(&mut self, text: &str, line: usize) {
        for (scheme, port) in [("https://", 443), ("http://", 80)] {
            for (at, _) in text.match_indices(scheme) {
                if let Some(host) = host(&text[at + scheme.len()..], port)
                    && self.hosts.len() < MOST
                {
                    self.hosts.entry(host).or_insert(line);
                }
            }
        }
    }
}

/// Whether a word is in a list of words.
pub(super) fn is_one_of(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// The program in a command line, without the variables set for it.
pub(super) fn first_word(text: &str) -> String {
    let set = |word: &&str| {
        word.split_once('=')
            .is_some_and(|(name, _)| !name.contains('/'))
    };
    let word = text.split_whitespace().find(|word| !set(word));
    word.unwrap_or_default().to_owned()
}

/// Stands in a text for what the program puts there.
pub(super) const HOLE: char = '\u{1}';

/// The host and port at the start of `rest`; a name whose first parts are filled in is a wildcard.
fn host(rest: &str, port: u16) -> Option<(String, Option<u16>)> {
    let end = rest.find(|c: char| {
        !(c.is_ascii_alphanumeric() || "-._:@%".contains(c) || c == HOLE || "{}$".contains(c))
    });
    let authority = &rest[..end.unwrap_or(rest.len())];
    let authority = authority.rsplit('@').next()?;
    let (name, port) = match authority.split_once(':') {
        Some((name, digits)) => (name, digits.parse().ok()),
        None => (authority, Some(port)),
    };
    let open = |c: char| c == HOLE || "{}$%".contains(c);
    let name = match name.rfind(open) {
        None => name.to_owned(),
        Some(at) => {
            let tail = name[at..].trim_start_matches(open);
            // `{x}.example.com` can only be below that name; `{x}` or `{x}.com` can be anything.
            if !tail.starts_with('.') || tail.matches('.').count() < 2 {
                return None;
            }
            format!("*{tail}")
        }
    };
    let name = name.trim_matches('.').to_ascii_lowercase();
    let real = name.contains('.') || name == "localhost";
    (real && !is_namespace(&name) && name.len() <= 253).then_some((name, port))
}

/// Hosts whose addresses are names of formats, and are not connected to; and those that stand for others.
fn is_namespace(host: &str) -> bool {
    [
        "www.w3.org",
        "purl.org",
        "json-schema.org",
        "schema.org",
        "xmlns.com",
        "ns.adobe.com",
    ]
    .contains(&host)
        || host.starts_with("schemas.")
        || ["example.com", "example.org", "example.net"]
            .iter()
            .any(|reserved| host == *reserved || host.ends_with(&format!(".{reserved}")))
}
