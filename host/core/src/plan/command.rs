//! The checks on a command of this machine: the policy grants it, and it is installed.

use super::request::not_granted;
use super::script::{MAX_SCRIPT_BYTES, add_to_interpreters};
use super::{CheckedCommand, CommandScript};
use crate::files::{self, plain, show};
use crate::grant::Grant;
use crate::ownership::{Ownership, other_writer};
use crate::policy::EffectiveRules;
use crate::programs::{self, PATH};
use crate::refusal::{Check, Refusal};
use crate::skill::Language;
use crate::text::hex;
use crate::tier::Tier;
use sha2::{Digest as _, Sha256};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// How much of a file the kernel reads to find its interpreter, `#!` included.
const MAX_SHEBANG_BYTES: usize = 256;

/// The most interpreters of interpreters that the kernel follows (`exec_binprm` in `fs/exec.c`).
const MAX_INTERPRETERS: usize = 5;

/// The grant that a command needs. Before it is granted, nothing reveals whether the command is installed.
pub(super) fn check_granted(rules: &EffectiveRules<'_>, name: &str) -> Result<Grant, Refusal> {
    let wanted: Grant = format!("run:{name}").parse().map_err(|_| {
        let message = format!("`{}` is not the name of a command", show(name));
        Refusal::new(Check::Request, message).hint("name a command without a path")
    })?;
    if let Some(policy_rules) = rules.forbids(&wanted) {
        let message = format!("`{wanted}` is not granted{}", policy_rules.by());
        return Err(not_granted(policy_rules, message, &wanted));
    }
    check_interpreter(rules, name, name)?;
    Ok(wanted)
}

/// Refuses a command whose program is an interpreter that an enforcing policy does not list. `program` is the name of the
/// command, or that of its file after resolving links.
pub(super) fn check_interpreter(
    rules: &EffectiveRules<'_>,
    name: &str,
    program: &str,
) -> Result<(), Refusal> {
    let Some(interpreter) = Language::of_interpreter(program).map(Language::interpreter) else {
        return Ok(());
    };
    match rules.forbids_interpreter_as_command(interpreter) {
        None => Ok(()),
        Some(policy_rules) => {
            let message = format!(
                "the command `{name}` is the interpreter `{interpreter}`, which is not allowed{}",
                policy_rules.by()
            );
            let hint = policy_rules.hint(&add_to_interpreters(interpreter));
            Err(Refusal::new(Check::Interpreter, message).hint(hint))
        }
    }
}

/// Finds the command, opens it once, and hashes it through that handle.
pub(super) fn find(name: &str, tier: Tier) -> Result<(CheckedCommand, String), Refusal> {
    if tier == Tier::Wasm {
        let message = format!("no wasm runtime for the command `{name}`");
        return Err(Refusal::new(Check::Runtime, message));
    }
    let missing = || {
        let message = format!("the command `{name}` is not installed");
        let directories = PATH.replace(':', ", ");
        Refusal::new(Check::Runtime, message).hint(format!("searched in {directories}"))
    };
    let program = programs::find(&[name]).ok_or_else(missing)?;
    let fail = |why: &str| {
        let message = format!("the command `{name}`: {why}");
        Refusal::new(Check::Runtime, message)
    };
    let failed = |error: io::Error| fail(&plain(&error));
    let file = File::open(&program).map_err(failed)?;
    // The file may have been replaced between the search and the open.
    let real = files::real_path(&file).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file()
        || meta.permissions().mode() & 0o111 == 0
        || !skillrun_confine::is_shown(&real)
    {
        return Err(missing());
    }
    // The handle stays on this file, but any user who may write the file can still change its bytes.
    if other_writer(&Ownership::of(&file).map_err(failed)?).is_some() {
        return Err(changeable(name, &show(&real.display().to_string())));
    }
    let script = script(&file, meta.len()).map_err(|why| fail(&why))?;
    let hash = match &script {
        // The file is read once, so the bytes that are hashed are the bytes that will run.
        Some(script) => hex(&Sha256::digest(&script.source)),
        None => hash(&file).map_err(failed)?,
    };
    if let Some(script) = &script {
        check_interpreters(name, &script.interpreter, script.argument.as_deref())?;
    }
    let command = CheckedCommand {
        name: name.to_owned(),
        program,
        real,
        file,
        script,
    };
    Ok((command, hash))
}

/// Checks every program that the first line of a script starts: the interpreter, the program that `env` would find, and
/// the interpreters of those that are scripts themselves.
fn check_interpreters(
    name: &str,
    interpreter: &Path,
    argument: Option<&OsStr>,
) -> Result<(), Refusal> {
    let fail = |why: &str| {
        let message = format!("the command `{name}`: {why}");
        Refusal::new(Check::Runtime, message)
    };
    let failed = |error: io::Error| fail(&plain(&error));
    let mut next = Some((interpreter.to_owned(), argument.map(OsStr::to_owned)));
    for _ in 0..MAX_INTERPRETERS {
        let Some((path, argument)) = next.take() else {
            return Ok(());
        };
        let shown = show(&path.display().to_string());
        let unavailable = || fail(&format!("its interpreter `{shown}` is not available"));
        let real = path.canonicalize().map_err(|_| unavailable())?;
        if !skillrun_confine::is_shown(&real) || !real.is_file() {
            return Err(unavailable());
        }
        let file = File::open(&real).map_err(failed)?;
        if other_writer(&Ownership::of(&file).map_err(failed)?).is_some() {
            return Err(changeable(name, &shown));
        }
        if [&path, &real].iter().any(|path| path.ends_with("env")) {
            let program = argument.as_deref().and_then(env_program);
            let program = program.ok_or_else(|| {
                fail("its first line uses `env` in a way that skillrun does not check")
                    .hint("write `#!/usr/bin/env NAME` or `#!/usr/bin/env -S NAME ARGUMENTS`")
            })?;
            let found = programs::find(&[&program]).ok_or_else(|| {
                let program = show(&program);
                fail(&format!("its interpreter `{program}` is not available"))
            })?;
            next = Some((found, None));
            continue;
        }
        let mut start = Vec::new();
        let read = file.take(MAX_SHEBANG_BYTES as u64).read_to_end(&mut start);
        read.map_err(failed)?;
        next = shebang(&start).map(|(interpreter, argument)| {
            let owned = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
            (owned(interpreter).into(), argument.map(owned))
        });
    }
    match next {
        None => Ok(()),
        Some(_) => Err(fail(
            "its interpreter is a script, and so is that one's, too many times",
        )),
    }
}

/// The name of the program that `env` starts, from the one argument that the kernel passes to it. `None` for everything
/// that is more than a name, or `-S` with variables, a name and arguments: options, quotes and other PATHs.
fn env_program(argument: &OsStr) -> Option<String> {
    let argument = argument.to_str()?;
    // `env -S` also splits at other control characters than tabs.
    if argument.chars().any(|c| c.is_control() && c != '\t') {
        return None;
    }
    let split = ["-S", "--split-string="];
    let words = match split.iter().find_map(|split| argument.strip_prefix(split)) {
        Some(words) if words.contains(['\\', '\'', '"', '$', '#']) => return None,
        Some(words) => words,
        None if argument.contains([' ', '\t', '=']) => return None,
        None => argument,
    };
    let is_variable = |word: &&str| word.contains('=') && !word.starts_with("PATH=");
    let name = words
        .split_ascii_whitespace()
        .find(|word| !is_variable(word))?;
    let is_name = !name.starts_with('-') && !name.contains(['/', '=']) && name != "env";
    is_name.then(|| name.to_owned())
}

/// The refusal of a command if other users can change it, or an interpreter that it starts.
fn changeable(name: &str, file: &str) -> Refusal {
    let message = format!("the command `{name}`: other users can change `{file}`");
    Refusal::new(Check::Permission, message)
        .hint("it must belong to root or to you, and only its owner may have write permission")
}

/// Reads a command whose first line names an interpreter.
fn script(mut file: &File, size: u64) -> Result<Option<CommandScript>, String> {
    let failed = |error: io::Error| plain(&error);
    let mut start = [0; 2];
    file.rewind().map_err(failed)?;
    if file.read(&mut start).map_err(failed)? < 2 || &start != b"#!" {
        return Ok(None);
    }
    if size > MAX_SCRIPT_BYTES {
        return Err(format!(
            "the script is larger than {MAX_SCRIPT_BYTES} bytes"
        ));
    }
    let mut source = start.to_vec();
    file.take(MAX_SCRIPT_BYTES + 1)
        .read_to_end(&mut source)
        .map_err(failed)?;
    if source.len() as u64 > MAX_SCRIPT_BYTES {
        return Err(format!(
            "the script is larger than {MAX_SCRIPT_BYTES} bytes"
        ));
    }
    let (interpreter, argument) = shebang(&source)
        .ok_or("its first line does not name an interpreter by an absolute path")?;
    Ok(Some(CommandScript {
        interpreter: Path::new(OsStr::from_bytes(interpreter)).to_owned(),
        argument: argument.map(|argument| OsStr::from_bytes(argument).to_owned()),
        source,
    }))
}

/// The interpreter and its one argument, as the kernel parses them (`load_script` in `fs/binfmt_script.c`).
fn shebang(source: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let read = &source[..source.len().min(MAX_SHEBANG_BYTES)];
    let mut line = read.strip_prefix(b"#!")?;
    let newline = line.iter().position(|byte| *byte == b'\n');
    line = &line[..newline.unwrap_or(line.len())];
    line = &line[line.iter().position(|byte| !is_blank(byte))?..];
    let separator = line
        .iter()
        .position(|byte| is_blank(byte) || *byte == b'\0');
    if newline.is_none() && read.len() == MAX_SHEBANG_BYTES {
        // Without a separator, the path may be longer than what was read.
        separator?;
        // The kernel replaces the last byte that it read by a NUL.
        line = &line[..line.len() - 1];
    }
    let (interpreter, rest) = line.split_at(separator.unwrap_or(line.len()));
    let first = rest.iter().position(|byte| !is_blank(byte));
    let last = rest.iter().rposition(|byte| !is_blank(byte));
    let argument = match (first, last) {
        // A NUL after the interpreter ends the line.
        (Some(first), Some(last)) if first > 0 => {
            rest[first..=last].split(|byte| *byte == b'\0').next()
        }
        _ => None,
    };
    interpreter
        .starts_with(b"/")
        .then_some((interpreter, argument))
}

fn hash(mut file: &File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut part = vec![0; 256 * 1024];
    file.rewind()?;
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&part[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shebang_is_parsed_as_the_kernel_parses_it() {
        let none = None::<&[u8]>;
        for (source, expected) in [
            (&b"#!/bin/sh\necho"[..], Some((&b"/bin/sh"[..], none))),
            (
                b"#! /usr/bin/env python3 -x \n",
                Some((b"/usr/bin/env", Some(&b"python3 -x"[..]))),
            ),
            (b"#!/bin/sh", Some((b"/bin/sh", none))),
            (b"#!/bin/sh\t-e", Some((b"/bin/sh", Some(b"-e")))),
            (b"#!bash\n", None),
            (b"#!\n", None),
            (b"\x7fELF", None),
            // Only spaces and tabs are separators.
            (b"#!/bin/sh\r\n", Some((b"/bin/sh\r", none))),
            (b"#!/bin/sh -e\x0b\n", Some((b"/bin/sh", Some(b"-e\x0b")))),
            (b"#!/bin/sh\0 -e\n", Some((b"/bin/sh", none))),
            (b"#!/bin/sh -e\0x\n", Some((b"/bin/sh", Some(b"-e")))),
        ] {
            assert_eq!(shebang(source), expected);
        }
    }

    #[test]
    fn the_program_that_env_starts_is_found_in_its_argument() {
        for (argument, program) in [
            ("python3", Some("python3")),
            ("-S python3 -u", Some("python3")),
            ("-Snode --flag=1", Some("node")),
            ("--split-string=sh -e", Some("sh")),
            ("-S LANG=C A=b perl -w", Some("perl")),
            ("-S PATH=/tmp python3", None),
            ("-S -i python3", None),
            ("-i", None),
            ("-vS python3", None),
            ("python3 -u", None),
            ("PATH=/tmp", None),
            ("-S", None),
            ("-S env python3", None),
            ("-S 'python3'", None),
            ("-S ${NAME}", None),
            ("-S py\\_thon", None),
            ("-S A=1\u{b}sh python3", None),
            ("-S\tpython3", Some("python3")),
            ("/tmp/python3", None),
            ("./python3", None),
        ] {
            let found = env_program(OsStr::new(argument));
            assert_eq!(found.as_deref(), program, "{argument}");
        }
    }

    #[test]
    fn an_interpreter_path_that_the_kernel_would_cut_is_not_accepted() {
        let long = |length: usize| [b"#!/", &[b'a'; 256][..length - 3]].concat();
        // The kernel reads 256 bytes. A file with 255 of them ends there.
        let path = long(255);
        assert_eq!(shebang(&path), Some((&path[2..], None)));
        assert_eq!(shebang(&long(256)), None);
        let with = |length: usize, end: &[u8]| [long(length), end.to_vec()].concat();
        for end in [b"\n", b" ", b"\t"] {
            let line = with(255, end);
            assert_eq!(shebang(&line), Some((&path[2..], None)));
            assert_eq!(shebang(&with(256, end)), None);
        }
        // An argument is cut: the last byte that the kernel reads becomes a NUL.
        let line = with(250, b" -abcdefg\n");
        assert_eq!(shebang(&line), Some((&line[2..250], Some(&b"-abc"[..]))));
    }
}
