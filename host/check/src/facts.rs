//! Facts that are read from a source, in any language.

use std::collections::{BTreeMap, HashSet};

/// Facts kept of each kind. A source repeats itself; only different ones count.
const MAX_FACTS: usize = 200;

/// Something a source imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Imported {
    pub(super) name: String,
    pub(super) line: usize,
    /// Whether the source handles its absence.
    pub(super) optional: bool,
}

/// What a source imports and uses.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) imports: Vec<Imported>,
    /// Hosts in URLs, with the port of the scheme, and the line of each.
    pub(super) hosts: BTreeMap<(String, Option<u16>), usize>,
    /// The line where the network is used, if it is.
    pub(super) network: Option<usize>,
    /// Commands that are started. An empty name is a command that is computed.
    pub(super) commands: BTreeMap<String, usize>,
    /// Environment variables that are read.
    pub(super) env: BTreeMap<String, usize>,
    /// Environment variables that the source sets itself, so that it needs no grant for them.
    pub(super) set: Vec<String>,
    /// Whether the source changes the module search path.
    pub(super) changes_search_path: bool,
    /// The identifiers in a JavaScript source.
    pub(super) identifiers: HashSet<String>,
    /// How often a variable was looked up. Each lookup is a pass over the source.
    pub(super) lookups: usize,
}

impl Facts {
    pub(super) fn import(&mut self, name: &str, line: usize, optional: bool) {
        if name.is_empty() || name.len() > 256 {
            return;
        }
        let full = self.imports.len() >= MAX_FACTS;
        match self.imports.iter_mut().find(|known| known.name == name) {
            // One import that is not optional makes it required.
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
        // A path stands for its file name; anything with a variable in it is unknown.
        let name = name.rsplit('/').next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        let known = !name.is_empty() && name.len() <= 64 && name.chars().all(plain);
        let name = if known { name } else { "" };
        if self.commands.len() < MAX_FACTS {
            self.commands.entry(name.to_owned()).or_insert(line);
        }
    }

    pub(super) fn env(&mut self, name: &str, line: usize) {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let fits = !name.is_empty() && name.len() <= 128 && name.chars().all(plain);
        if fits && !name.starts_with(|c: char| c.is_ascii_digit()) && self.env.len() < MAX_FACTS {
            self.env.entry(name.to_owned()).or_insert(line);
        }
    }

    /// Adds the hosts of the URLs in a text. A [`PLACEHOLDER`] stands for an inserted value.
    pub(super) fn urls(&mut self, text: &str, line: usize) {
        for (scheme, port) in [("https://", 443), ("http://", 80)] {
            for (at, _) in text.match_indices(scheme) {
                if let Some(host) = host(&text[at + scheme.len()..], port)
                    && self.hosts.len() < MAX_FACTS
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

/// The program in a command line, without the variable assignments before it.
pub(super) fn first_word(text: &str) -> String {
    let set = |word: &&str| {
        word.split_once('=')
            .is_some_and(|(name, _)| !name.contains('/'))
    };
    let word = text.split_whitespace().find(|word| !set(word));
    word.unwrap_or_default().to_owned()
}

/// Stands for a value that the program inserts into a text.
pub(super) const PLACEHOLDER: char = '\u{1}';

/// The host and port at the start of `rest`. A name whose first labels are inserted values becomes a wildcard.
fn host(rest: &str, port: u16) -> Option<(String, Option<u16>)> {
    let end = rest.find(|c: char| {
        !(c.is_ascii_alphanumeric()
            || "-._:@%".contains(c)
            || c == PLACEHOLDER
            || "{}$".contains(c))
    });
    let authority = &rest[..end.unwrap_or(rest.len())];
    let authority = authority.rsplit('@').next()?;
    let (name, port) = match authority.split_once(':') {
        Some((name, digits)) => (name, digits.parse().ok()),
        None => (authority, Some(port)),
    };
    let open = |c: char| c == PLACEHOLDER || "{}$%".contains(c);
    let name = match name.rfind(open) {
        None => name.to_owned(),
        Some(at) => {
            let tail = name[at..].trim_start_matches(open);
            // `{x}.example.com` is always a subdomain; `{x}` or `{x}.com` can be anything.
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

/// Hosts whose URLs identify formats and are never connected to, and hosts that are reserved for examples.
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
