//! The checks on a command of this machine: the policy names it, and it is installed.

use super::{Check, CheckedCommand, CommandScript, Refusal, hex};
use crate::files::{self, plain, show};
use crate::grant::Grant;
use crate::policy::EffectiveRules;
use crate::programs::{self, PATH};
use crate::request::Tier;
use sha2::{Digest as _, Sha256};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Bytes of a command that is a script, as of a script in a skill.
const MAX_SCRIPT: u64 = 10 * 1024 * 1024;
/// Bytes of a first line that the kernel looks at.
const FIRST_LINE: usize = 256;

/// The grant that a command needs. Whether it is installed is nobody's business before that.
pub(super) fn check_granted(rules: &EffectiveRules<'_>, name: &str) -> Result<Grant, Refusal> {
    let wanted: Grant = format!("run:{name}").parse().map_err(|_| {
        let message = format!("`{}` is not the name of a command", show(name));
        Refusal::new(Check::Request, message).hint("a command is named without a path")
    })?;
    match rules.allows(&wanted) {
        true => Ok(wanted),
        false => Err(
            Refusal::new(Check::Grants, format!("`{wanted}` is not granted")).hint(format!(
                "add \"{wanted}\" to `allow` in skillrun.toml, or pass --allow {wanted}"
            )),
        ),
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
        let folders = PATH.replace(':', ", ");
        Refusal::new(Check::Runtime, message).hint(format!("it is looked for in {folders}"))
    };
    let program = programs::find(&[name]).ok_or_else(missing)?;
    let fail = |why: &str| {
        let message = format!("the command `{name}`: {why}");
        Refusal::new(Check::Runtime, message)
    };
    let failed = |error: io::Error| fail(&plain(&error));
    let file = File::open(&program).map_err(failed)?;
    // What was found may have been replaced before it was opened.
    let real = files::real_path(&file).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file()
        || meta.permissions().mode() & 0o111 == 0
        || !skillrun_confine::is_shown(&real)
    {
        return Err(missing());
    }
    // The handle stays on this file, but nothing keeps its bytes from whoever may write it.
    let own = rustix::process::geteuid().as_raw();
    let is_anothers = meta.uid() != own && meta.uid() != 0;
    if is_anothers || meta.permissions().mode() & 0o022 != 0 {
        let real = show(&real.display().to_string());
        let message = format!("the command `{name}`: other users may change `{real}`");
        return Err(Refusal::new(Check::Permission, message)
            .hint("it must belong to root or to you, and be writable by its owner alone"));
    }
    let script = script(&file, meta.len()).map_err(|why| fail(&why))?;
    let hash = match &script {
        // The bytes that are hashed are those that will run: the file is read once.
        Some(script) => hex(&Sha256::digest(&script.source)),
        None => hash(&file).map_err(failed)?,
    };
    if let Some(script) = &script
        && !skillrun_confine::is_shown(&script.interpreter)
    {
        let interpreter = show(&script.interpreter.display().to_string());
        return Err(fail(&format!(
            "its interpreter `{interpreter}` is not there"
        )));
    }
    let command = CheckedCommand {
        name: name.to_owned(),
        program,
        file,
        script,
    };
    Ok((command, hash))
}

/// Reads a command whose first line names an interpreter.
fn script(mut file: &File, size: u64) -> Result<Option<CommandScript>, String> {
    let failed = |error: io::Error| plain(&error);
    let mut start = [0; 2];
    file.rewind().map_err(failed)?;
    if file.read(&mut start).map_err(failed)? < 2 || &start != b"#!" {
        return Ok(None);
    }
    if size > MAX_SCRIPT {
        return Err(format!("a script of more than {MAX_SCRIPT} bytes"));
    }
    let mut source = start.to_vec();
    file.take(MAX_SCRIPT + 1)
        .read_to_end(&mut source)
        .map_err(failed)?;
    if source.len() as u64 > MAX_SCRIPT {
        return Err(format!("a script of more than {MAX_SCRIPT} bytes"));
    }
    let (interpreter, argument) =
        first_line(&source).ok_or("its first line names no interpreter by an absolute path")?;
    Ok(Some(CommandScript {
        interpreter: Path::new(OsStr::from_bytes(interpreter)).to_owned(),
        argument: argument.map(|argument| OsStr::from_bytes(argument).to_owned()),
        source,
    }))
}

/// The interpreter and its one argument, as the kernel reads them.
fn first_line(source: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let line = source.strip_prefix(b"#!")?;
    let end = line
        .iter()
        .take(FIRST_LINE)
        .position(|byte| matches!(byte, b'\n' | b'\0'));
    let line = line[..end.unwrap_or(line.len().min(FIRST_LINE))].trim_ascii();
    let split = line.iter().position(blank).unwrap_or(line.len());
    let (interpreter, rest) = line.split_at(split);
    let rest = rest.trim_ascii();
    interpreter
        .starts_with(b"/")
        .then_some((interpreter, Some(rest).filter(|rest| !rest.is_empty())))
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
    fn a_first_line_is_read_as_the_kernel_reads_it() {
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
        ] {
            assert_eq!(first_line(source), expected);
        }
    }
}
