//! Reads JavaScript and TypeScript: imports, URLs, commands and environment variables.
//!
//! A lexer, not a parser, like the one for Python: it distinguishes strings, templates, comments and regular
//! expressions from code. oxc parses the whole language, but it is a guest here, so that no content of a skill is
//! parsed outside a sandbox, and starting a guest for each file is not worth it.

mod lexer;

use super::facts::{Facts, PLACEHOLDER, first_word, is_one_of};
use lexer::{Source, Token};

/// Tokens in which an `import` must name its module.
const MAX_CLAUSE: usize = 500;
/// Functions that start programs, and lookups of variables that name one.
const MAX_STARTERS: usize = 50;

/// The facts of a JavaScript or TypeScript source.
pub(super) fn facts(source: &str) -> Facts {
    let source = Source::read(source);
    let names = source.0.iter().filter_map(|(token, _)| match token {
        Token::Name(name) => Some(name.clone()),
        _ => None,
    });
    let mut facts = Facts {
        identifiers: names.collect(),
        ..Facts::default()
    };
    imports(&source, &mut facts);
    let uses = |module: &str| {
        let plain = |name: &str| name.strip_prefix("node:").unwrap_or(name) == module;
        facts.imports.iter().any(|import| plain(&import.name))
    };
    let starts = uses("child_process");
    let network = |name: &str| {
        let plain = name.strip_prefix("node:").unwrap_or(name);
        is_one_of(plain, NETWORK)
    };
    let importing = facts.imports.iter().find(|import| network(&import.name));
    facts.network = importing.map(|import| import.line);
    let mut starters: Vec<String> = STARTERS.map(str::to_owned).to_vec();
    for at in 0..source.0.len() {
        match &source.0[at].0 {
            Token::Text(text) => facts.urls(text, source.line_number(at)),
            Token::Name(name)
                if name == "fetch" && !source.is_member(at) && source.is(at + 1, '(') =>
            {
                facts.network.get_or_insert(source.line_number(at));
            }
            Token::Name(name) if name == "env" => env(&source, at, &mut facts),
            Token::Name(name) if starts && name == "promisify" => {
                // `const run = promisify(exec)`
                let named = (0..at).rev().take(5).find(|at| source.is(*at, '='));
                let variable = named.and_then(|at| source.name(at.checked_sub(1)?));
                if starters.len() < MAX_STARTERS {
                    starters.extend(variable.map(str::to_owned));
                }
            }
            Token::Name(name) if starts && starters.contains(name) && source.is(at + 1, '(') => {
                command(&source, at, &mut facts);
            }
            _ => {}
        }
    }
    facts
}

const NETWORK: &str = "\
    http https http2 net tls dgram axios node-fetch got undici ws superagent cross-fetch openai";
/// Functions of `child_process`.
const STARTERS: [&str; 7] = [
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "fork",
];

fn imports(source: &Source, facts: &mut Facts) {
    // For each open brace, whether it belongs to a `try`.
    let mut open: Vec<bool> = Vec::new();
    let mut tries = 0usize;
    for at in 0..source.0.len() {
        let line_number = source.line_number(at);
        let optional = tries > 0;
        match &source.0[at].0 {
            Token::Other('{') => {
                let tried = at > 0 && source.name(at - 1) == Some("try");
                open.push(tried);
                tries += usize::from(tried);
            }
            Token::Other('}') => {
                tries -= usize::from(open.pop() == Some(true));
            }
            Token::Name(word) if word == "require" && source.is(at + 1, '(') => {
                let plain =
                    !source.is_member(at) || source.name(at.wrapping_sub(2)) == Some("module");
                if let (true, Some(name)) = (plain, source.text(at + 2)) {
                    add(facts, name, line_number, optional);
                }
            }
            Token::Name(word) if word == "import" && !source.is_member(at) => {
                if let Some(name) = source.text(at + 1) {
                    add(facts, name, line_number, false);
                } else if source.is(at + 1, '(') {
                    if let Some(name) = source.text(at + 2) {
                        add(facts, name, line_number, optional);
                    }
                } else if !types_only(source, at + 1)
                    && let Some(name) = clause(source, at + 1)
                {
                    add(facts, name, line_number, false);
                }
            }
            Token::Name(word) if word == "export" && !source.is_member(at) => {
                let lists = source.is(at + 1, '{') || source.is(at + 1, '*');
                if let (true, Some(name)) = (lists, clause(source, at + 1)) {
                    add(facts, name, line_number, false);
                }
            }
            _ => {}
        }
    }
}

fn add(facts: &mut Facts, name: &str, line_number: usize, optional: bool) {
    // A computed name is not known.
    if !name.contains(PLACEHOLDER) {
        facts.import(name, line_number, optional);
    }
}

/// Whether this is `import type { X } from 'y'`, which is removed.
fn types_only(source: &Source, at: usize) -> bool {
    let next = source.name(at + 1);
    source.name(at) == Some("type") && next != Some("from") && !source.is(at + 1, ',')
}

/// The module that an import or export clause names after `from`.
fn clause(source: &Source, start: usize) -> Option<&str> {
    for at in start..(start + MAX_CLAUSE).min(source.0.len()) {
        match &source.0[at].0 {
            Token::Name(word) if word == "from" => {
                if let Some(name) = source.text(at + 1) {
                    return Some(name);
                }
            }
            Token::Name(_) | Token::Other('{' | '}' | '*' | ',') => {}
            // A string in a clause is a name that is not an identifier: `{ "a-b" as x }`.
            Token::Text(_) => {}
            Token::Other(_) => return None,
        }
    }
    None
}

/// `process.env.X`, `process.env["X"]`, `const { X } = process.env`, and the forms of Deno and Bun.
fn env(source: &Source, at: usize, facts: &mut Facts) {
    let line_number = source.line_number(at);
    let on = source.name(at.wrapping_sub(2)).unwrap_or_default();
    if !source.is_member(at) || !["process", "Bun", "Deno"].contains(&on) {
        return;
    }
    if source.is(at + 1, '.') {
        match source.name(at + 2) {
            Some("get") if on == "Deno" => {
                if let Some(name) = source.text(at + 4) {
                    facts.env(name, line_number);
                }
            }
            Some(name) => {
                let sets = source.is(at + 3, '=') && !source.is(at + 4, '=');
                match sets {
                    true => facts.set.push(name.to_owned()),
                    false => facts.env(name, line_number),
                }
            }
            None => {}
        }
        return;
    }
    // `process.env?.X` and `process.env["X"]`
    if source.is(at + 1, '?') && source.is(at + 2, '.') {
        if let Some(name) = source.name(at + 3) {
            facts.env(name, line_number);
        }
        return;
    }
    if source.is(at + 1, '[') {
        if let Some(name) = source.text(at + 2) {
            facts.env(name, line_number);
        }
        return;
    }
    let Some(close) = at
        .checked_sub(4)
        .filter(|close| source.is(*close, '}') && source.is(close + 1, '='))
    else {
        return;
    };
    for at in (0..close).rev().take(200) {
        if source.is(at, '{') {
            break;
        }
        let first = source.is(at.wrapping_sub(1), '{') || source.is(at.wrapping_sub(1), ',');
        if let (true, Some(name)) = (first, source.name(at)) {
            facts.env(name, line_number);
        }
    }
}

fn command(source: &Source, at: usize, facts: &mut Facts) {
    let on = source.name(at.wrapping_sub(2)).unwrap_or_default();
    let modules = ["child_process", "childProcess", "cp", "proc", "child"];
    let defined = source.name(at.wrapping_sub(1)) == Some("function");
    if defined || (source.is_member(at) && !modules.contains(&on)) {
        return;
    }
    let line_number = source.line_number(at);
    let (first, member) = (source.name(at + 2), source.name(at + 4));
    match (source.text(at + 2), first, member) {
        (Some(text), ..) => facts.command(&first_word(text), line_number),
        (_, Some("process"), Some("execPath")) => facts.command("node", line_number),
        (_, Some(variable), _) if facts.lookups < MAX_STARTERS => {
            facts.lookups += 1;
            let assigned = (0..source.0.len()).find_map(|at| {
                let here = source.name(at) == Some(variable) && source.is(at + 1, '=');
                source.text(at + 2).filter(|_| here)
            });
            facts.command(&first_word(assigned.unwrap_or_default()), line_number);
        }
        _ => facts.command("", line_number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(source: &str) -> Vec<String> {
        let facts = facts(source);
        let optional = |import: &crate::facts::Imported| {
            format!("{}{}", import.name, if import.optional { "?" } else { "" })
        };
        facts.imports.iter().map(optional).collect()
    }

    #[test]
    fn imports_are_found_in_every_form_and_not_in_strings_or_comments() {
        let source = "#!/usr/bin/env node\nimport a from 'a';\nimport 'b'\nimport { c, \"x-y\" as d } from \"c\"\nimport type { T } from 't'\nexport * from './e.js'\nexport { f } from '../f'\nexport const q = from('no')\nconst g = require('node:g')\nconst h = await import('h')\n// import 'i'\n/* require('j') */\nconst k = `import 'k' ${require('l')}`\nconst r = /require('m')/.test('x') / 2\nconst s = \"require('n')\"\ntry { require('o') } catch {}\nimport meta from 'p'; import.meta.url\nrequire(name)\nconst u = import(`./${v}`)\nx.require('w')\n";
        assert_eq!(
            imported(source),
            [
                "a", "b", "c", "./e.js", "../f", "node:g", "h", "l", "o?", "p"
            ]
        );
    }

    #[test]
    fn variables_are_found_in_every_form() {
        let facts = facts(
            "const a = process.env.A; process.env.B = '1'; const c = process.env['C'];\nconst { D, E: e = 'x' } = process.env;\nconst f = process.env?.F ?? `${process.env.G}`\n// process.env.H\nDeno.env.get('I'); if (process.env.J == '1') {}\n",
        );
        let names: Vec<_> = facts.env.keys().map(String::as_str).collect();
        assert_eq!(names, ["A", "C", "D", "E", "F", "G", "I", "J"]);
    }

    #[test]
    fn commands_are_found_where_processes_are_started() {
        let facts = facts(
            "import { execSync, spawn } from 'node:child_process'\nexecSync('git log | head')\nspawn('ffmpeg', [])\n/x/.exec('no')\nre.exec('no')\nconst run = promisify(exec)\nawait run(`npm ${x}`)\nconst tool = 'jq'\nspawn(tool)\ncp.exec(make())\nspawn(process.execPath, [])\n",
        );
        let names: Vec<_> = facts.commands.keys().map(String::as_str).collect();
        assert_eq!(names, ["", "ffmpeg", "git", "jq", "node", "npm"]);
        assert!(super::facts("re.exec('ls')").commands.is_empty());
    }

    #[test]
    fn hosts_come_from_urls_in_code() {
        let facts = facts(
            "// https://no.example.dev\nconst base = 'https://api.github.com'\nawait fetch(`${base}/x`)\nfetch(`http://${host}:80/`)\nfetch(`https://${org}.acme.dev/x`)\n",
        );
        let hosts: Vec<_> = facts.hosts.keys().map(|(host, _)| host.as_str()).collect();
        assert_eq!(hosts, ["*.acme.dev", "api.github.com"]);
        assert_eq!(facts.network, Some(3));
    }

    #[test]
    fn broken_sources_are_read_to_their_end() {
        for source in [
            "`${",
            "`${`${`${`${`${`",
            "'",
            "/",
            "/*",
            "import",
            "import {",
            "export",
            "require(",
            "\\",
            "{{{",
        ] {
            let _ = facts(source);
        }
        let _ = facts(&"`${".repeat(5000));
    }
}
