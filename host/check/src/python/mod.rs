//! Reads Python: imports, URLs, commands and environment variables.
//!
//! It is a lexer, not a parser: it distinguishes strings, comments, brackets and indentation, and recognises short
//! sequences of tokens. What a program computes is unknown, and is reported as such.

mod lexer;

use super::facts::{Facts, first_word, is_one_of};
use lexer::{Line, Token, lines};

/// Modules that use the network.
const NETWORK: &str = "\
    urllib.request http.client requests httpx aiohttp urllib3 websocket websockets smtplib imaplib \
    poplib ftplib xmlrpc paramiko boto3 openai anthropic feedparser tweepy slack_sdk google \
    telnetlib";

/// Variables that are looked up because they may name a command.
const MAX_LOOKUPS: usize = 50;

/// The facts of a Python source.
pub(super) fn facts(source: &str) -> Facts {
    let lines = lines(source);
    let mut facts = Facts::default();
    imports(&lines, &mut facts);
    for line in &lines {
        uses(line, &lines, &mut facts);
    }
    let network = |name: &str| {
        let root = name.split('.').next().unwrap_or_default();
        is_one_of(name, NETWORK) || is_one_of(root, NETWORK)
    };
    let importing = facts.imports.iter().find(|import| network(&import.name));
    facts.network = importing.map(|import| import.line);
    facts
}

/// A `try` that has not ended yet.
struct Try {
    indent: usize,
    first: usize,
    end: Option<usize>,
    caught: bool,
}

fn imports(lines: &[Line], facts: &mut Facts) {
    let mut all: Vec<(String, usize, bool)> = Vec::new();
    let mut open: Vec<Try> = Vec::new();
    let mut types_only: Option<usize> = None;
    for line in lines {
        if types_only.is_some_and(|indent| line.indent <= indent) {
            types_only = None;
        }
        let first = line.name(0).unwrap_or_default();
        let continues = matches!(first, "except" | "else" | "finally");
        while open
            .last()
            .is_some_and(|t| t.indent > line.indent || (t.indent == line.indent && !continues))
        {
            open.pop();
        }
        if let Some(block) = open.last_mut().filter(|t| t.indent == line.indent) {
            let end = *block.end.get_or_insert(all.len());
            if first == "except" && !block.caught && catches_import(line) {
                block.caught = true;
                for import in &mut all[block.first..end] {
                    import.2 = true;
                }
            }
        }
        if first == "try" && line.is(1, ':') {
            open.push(Try {
                indent: line.indent,
                first: all.len(),
                end: None,
                caught: false,
            });
        }
        let checks_types = (0..line.tokens.len()).any(|at| line.name(at) == Some("TYPE_CHECKING"));
        if first == "if" && checks_types && line.name(1) != Some("not") {
            types_only = Some(line.indent);
        }
        if types_only.is_none() {
            statements(line, &mut all);
        }
    }
    for (name, line_number, optional) in all {
        facts.import(&name, line_number, optional);
    }
}

fn catches_import(line: &Line) -> bool {
    let names = [
        "ImportError",
        "ModuleNotFoundError",
        "Exception",
        "BaseException",
    ];
    line.is(1, ':')
        || (1..line.tokens.len()).any(|at| line.name(at).is_some_and(|n| names.contains(&n)))
}

/// The imports of one logical line.
fn statements(line: &Line, all: &mut Vec<(String, usize, bool)>) {
    let compound = line.name(0).is_some_and(|word| {
        [
            "try", "except", "else", "finally", "if", "elif", "for", "while", "with", "def",
            "class", "async",
        ]
        .contains(&word)
    });
    let (mut depth, mut start) = (0usize, true);
    for at in 0..line.tokens.len() {
        let was_start = std::mem::replace(&mut start, false);
        match &line.tokens[at].0 {
            Token::Other('(' | '[' | '{') => depth += 1,
            Token::Other(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Token::Other(';') if depth == 0 => start = true,
            Token::Other(':') if depth == 0 && compound => start = true,
            Token::Name(word) if was_start && word == "import" => import(line, at + 1, all),
            Token::Name(word) if was_start && word == "from" => from(line, at + 1, all),
            Token::Name(word) if word == "import_module" || word == "__import__" => {
                if let (true, Some(name)) = (line.is(at + 1, '('), line.text(at + 2)) {
                    all.push((name.to_owned(), line.line_number(at), false));
                }
            }
            _ => {}
        }
    }
}

fn import(line: &Line, mut at: usize, all: &mut Vec<(String, usize, bool)>) {
    loop {
        let (name, next) = dotted(line, at);
        if name.is_empty() {
            return;
        }
        all.push((name, line.line_number(at), false));
        at = next;
        if line.name(at) == Some("as") {
            at += 2;
        }
        if !line.is(at, ',') {
            return;
        }
        at += 1;
    }
}

fn from(line: &Line, mut at: usize, all: &mut Vec<(String, usize, bool)>) {
    let line_number = line.line_number(at);
    let mut dots = String::new();
    while line.is(at, '.') {
        dots.push('.');
        at += 1;
    }
    let (name, next) = if line.name(at) == Some("import") {
        (String::new(), at)
    } else {
        dotted(line, at)
    };
    if line.name(next) != Some("import") {
        return;
    }
    if !name.is_empty() {
        all.push((format!("{dots}{name}"), line_number, false));
        // `from urllib import request` is `import urllib.request`.
        if dots.is_empty() && ["urllib", "http"].contains(&name.as_str()) {
            let names = (next + 1..line.tokens.len()).filter_map(|at| line.name(at));
            all.extend(
                names
                    .filter(|part| ["request", "client", "server"].contains(part))
                    .map(|part| (format!("{name}.{part}"), line_number, false)),
            );
        }
        return;
    }
    for at in next + 1..line.tokens.len() {
        let named = line
            .name(at)
            .filter(|_| line.name(at.wrapping_sub(1)) != Some("as"));
        if let Some(name) = named.filter(|name| *name != "as") {
            all.push((format!("{dots}{name}"), line_number, false));
        }
    }
}

fn dotted(line: &Line, mut at: usize) -> (String, usize) {
    let mut name = String::new();
    while let Some(part) = line.name(at) {
        name.push_str(part);
        at += 1;
        if !line.is(at, '.') {
            break;
        }
        name.push('.');
        at += 1;
    }
    (name, at)
}

/// URLs, commands and environment variables of one logical line.
fn uses(line: &Line, lines: &[Line], facts: &mut Facts) {
    // A line that consists of a string is a comment.
    let comment = line
        .tokens
        .iter()
        .all(|(token, _)| matches!(token, Token::Text(_)));
    if comment {
        return;
    }
    for (at, (token, line_number)) in line.tokens.iter().enumerate() {
        let name = match token {
            Token::Text(text) => {
                facts.urls(text, *line_number);
                let (after, next) = (line.name(at + 1), line.name(at + 2));
                let tests = after == Some("in") || (after == Some("not") && next == Some("in"));
                let rest = at + 1..(at + 6).min(line.tokens.len());
                if tests && rest.into_iter().any(|at| line.name(at) == Some("environ")) {
                    facts.env(text, *line_number);
                }
                continue;
            }
            Token::Name(name) => name.as_str(),
            Token::Other(_) => continue,
        };
        match name {
            "environ" if line.is(at + 1, '[') => {
                let sets = line.is(at + 3, ']') && line.is(at + 4, '=') && !line.is(at + 5, '=');
                match line.text(at + 2) {
                    Some(text) if sets => facts.set.push(text.to_owned()),
                    Some(text) => facts.env(text, *line_number),
                    None => {}
                }
            }
            "environ" if line.is(at + 1, '.') && line.is(at + 3, '(') => {
                let reads = matches!(line.name(at + 2), Some("get" | "pop"));
                if let (true, Some(text)) = (reads, line.text(at + 4)) {
                    facts.env(text, *line_number);
                }
            }
            "getenv" if line.is(at + 1, '(') => {
                if let Some(text) = line.text(at + 2) {
                    facts.env(text, *line_number);
                }
            }
            "path" if at >= 2 && line.name(at - 2) == Some("sys") => {
                facts.changes_search_path = true
            }
            _ => command(line, at, name, lines, facts),
        }
    }
}

/// Whether a function starts a program, given the module it is called on.
fn starts_program(line: &Line, at: usize, name: &str) -> bool {
    let on = |module: &str| at >= 2 && line.is(at - 1, '.') && line.name(at - 2) == Some(module);
    match name {
        "Popen"
        | "check_call"
        | "check_output"
        | "getoutput"
        | "getstatusoutput"
        | "create_subprocess_exec"
        | "create_subprocess_shell" => true,
        "run" | "call" => on("subprocess") || on("sp"),
        "system" | "popen" | "execv" | "execvp" | "execl" | "execlp" | "spawnlp" | "spawnvp" => {
            on("os")
        }
        _ => false,
    }
}

fn command(line: &Line, at: usize, name: &str, lines: &[Line], facts: &mut Facts) {
    if !line.is(at + 1, '(')
        || !starts_program(line, at, name)
        || line.name(at.wrapping_sub(1)) == Some("def")
    {
        return;
    }
    let line_number = line.line_number(at);
    match program(line, at + 2) {
        Program::Named(word) => facts.command(&word, line_number),
        Program::Variable(variable) if facts.lookups < MAX_LOOKUPS => {
            facts.lookups += 1;
            // `command = ["git", …]` elsewhere in the file.
            let assigned = lines.iter().find_map(|line| {
                let here = line.name(0) == Some(variable.as_str()) && line.is(1, '=');
                match here.then(|| program(line, 2)) {
                    Some(Program::Named(word)) => Some(word),
                    _ => None,
                }
            });
            facts.command(&assigned.unwrap_or_default(), line_number);
        }
        _ => facts.command("", line_number),
    }
}

enum Program {
    Named(String),
    Variable(String),
    Unknown,
}

/// The program that an argument names: a string, the first string of a list, or this interpreter.
fn program(line: &Line, at: usize) -> Program {
    let at = if line.is(at, '[') || line.is(at, '(') {
        at + 1
    } else {
        at
    };
    if let Some(text) = line.text(at) {
        return Program::Named(first_word(text));
    }
    match (line.name(at), line.name(at + 2)) {
        (Some("sys"), Some("executable")) => Program::Named("python3".into()),
        (Some("shlex"), Some("split")) => line
            .text(at + 4)
            .map_or(Program::Unknown, |text| Program::Named(first_word(text))),
        (Some(name), _) if !line.is(at + 1, '.') && !line.is(at + 1, '(') => {
            Program::Variable(name.to_owned())
        }
        _ => Program::Unknown,
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
    fn imports_are_found_in_code_but_not_in_strings_or_comments() {
        let source = "\"\"\"import a\n\nimport b\n\"\"\"\nimport os, sys as s; import json\nfrom x.y import (\n  z,\n)\n# import c\ntext = 'import d'\ntext = '''\nimport e\n'''\nif True: import f\nfrom . import sibling\nfrom ..up import g\nimportlib.import_module('h')\nx = {'a':\n import_of_no_kind}\nfrom urllib import request\n";
        assert_eq!(
            imported(source),
            [
                "os",
                "sys",
                "json",
                "x.y",
                "f",
                ".sibling",
                "..up",
                "h",
                "urllib",
                "urllib.request"
            ]
        );
    }

    #[test]
    fn an_import_in_a_try_is_optional_and_one_for_types_is_ignored() {
        let source = "try:\n    import yaml\nexcept ImportError:\n    import simple\ntry: import b\nexcept: pass\ntry:\n    import c\nexcept ValueError:\n    pass\nif TYPE_CHECKING:\n    import d\nimport e\ntry:\n    x()\nexcept ImportError:\n    pass\ndef f():\n    try:\n        import g\n    except (KeyError, ModuleNotFoundError) as e:\n        pass\nimport b\n";
        assert_eq!(imported(source), ["yaml?", "simple", "b", "c", "e", "g?"]);
    }

    #[test]
    fn variables_that_are_read_are_found_but_not_those_that_are_set() {
        let facts = facts(
            "import os\na = os.environ['A']\nb = os.environ.get('B', '')\nc = os.getenv(\"C\")\nos.environ['D'] = '1'\nif 'E' in os.environ: pass\nx = f\"{os.environ['F']} {y}\"\n# os.getenv('G')\ns = \"os.getenv('H')\"\nif 'I' not in os.environ:\n  pass\n",
        );
        let names: Vec<_> = facts.env.keys().map(String::as_str).collect();
        assert_eq!(names, ["A", "B", "C", "E", "F", "I"]);
    }

    #[test]
    fn commands_are_found_and_computed_ones_are_unnamed() {
        let facts = facts(
            "import subprocess, os\nsubprocess.run(['git', 'log'])\nos.system('ls -l | wc')\ncmd = ['ffmpeg', '-i']\nsubprocess.Popen(cmd)\nsubprocess.check_output([sys.executable, '-m', 'x'])\nasyncio.run(main())\nsubprocess.call(make())\ndef run(x): pass\nsubprocess.run('FOO=1 /usr/bin/make all', shell=True)\n",
        );
        let names: Vec<_> = facts.commands.keys().map(String::as_str).collect();
        assert_eq!(names, ["", "ffmpeg", "git", "ls", "make", "python3"]);
    }

    #[test]
    fn hosts_come_from_urls_in_code() {
        let facts = facts(
            "\"\"\"See https://docs.python.org/3\"\"\"\nimport requests\nA = 'https://api.github.com/x'\nB = f'https://{region}.api.acme.io:8443/{x}'\nC = f'https://{host}/x'\nD = 'http://www.w3.org/2000/svg'\nE = ('https://a.'\n     'b.dev/')\n",
        );
        let hosts: Vec<_> = facts
            .hosts
            .keys()
            .map(|(host, port)| format!("{host}:{}", port.unwrap_or(0)))
            .collect();
        assert_eq!(
            hosts,
            ["*.api.acme.io:8443", "a.b.dev:443", "api.github.com:443"]
        );
        assert_eq!(facts.network, Some(2));
    }

    #[test]
    fn broken_sources_are_read_to_their_end() {
        for source in [
            "'''",
            "f'{",
            "f'{f\"{f'{f\"{",
            "(((",
            "\\",
            "from",
            "import",
            "import a,",
            "f'{'",
            "try:",
            "\u{feff}import a",
            "from . import",
        ] {
            let _ = facts(source);
        }
        let deep = format!("x = {}", "f'{".repeat(5000));
        let _ = facts(&deep);
    }
}
