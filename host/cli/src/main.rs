//! The command line `skillrun`.
//!
//! Data goes to stdout, everything else to stderr. Each command has a file. [`args`] holds what was typed; the command's
//! file turns it into requests to the library.

mod agent;
mod approvals;
mod approver;
mod args;
mod ask;
mod audit;
mod check;
mod complete;
mod denied;
mod doctor;
mod expand;
mod failure;
mod find;
mod interrupt;
mod list;
mod load;
mod output;
mod own_file;
mod paths;
mod policy;
mod prompt;
mod run;
mod runtimes;
mod show;
mod text;
mod usage;

use args::{Args, Command};
use failure::{Failure, report};
use skillrun::walk::{Links, WalkError, walk};
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Lints are checked with all features; nothing is built then.
#[cfg(not(clippy))]
const _: () = assert!(
    !skillrun::runtime::HAS_HOLE,
    "the feature `hole` of `skillrun` is for a test of the library alone"
);

fn main() -> ExitCode {
    skillrun::runtime::serve_if_worker();
    match complete::complete() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return usage::report(&error, &[]),
    }
    raise_open_file_limit();
    let words: Vec<OsString> = std::env::args_os().collect();
    let args = match Args::parse_words(words.clone()) {
        Ok(args) => args,
        Err(error) => return usage::report(&error, &words),
    };
    let json = args.command.json();
    match execute(args.command) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => report(&failure, json),
    }
}

fn execute(command: Command) -> Result<u8, Failure> {
    catch_file_size_signal()?;
    if command.runs_scripts() {
        check_temporary_directory()?;
    }
    match command {
        Command::Run(run) => run::run(*run),
        Command::List(list) => list::list(&list),
        Command::Show(show) => show::show(&show),
        Command::Load(load) => load::load(&load),
        Command::Expand(expand) => expand::expand(&expand),
        Command::Policy(policy) => policy::policy(&policy),
        Command::Approvals(approvals) => approvals::approvals(&approvals),
        Command::Check(check) => check::check(&check),
        Command::Prompt(prompt) => prompt::prompt(&prompt),
        Command::Runtimes(runtimes) => runtimes::runtimes(&runtimes),
        Command::Audit(args) => audit::audit(args),
        Command::Doctor(doctor) => doctor::doctor(&doctor),
        Command::Completions { shell } => {
            std::io::stdout().write_all(&complete::registration(shell)?)?;
            Ok(0)
        }
    }
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail with EFBIG. By default SIGXFSZ kills the process, and the
/// end of the run would not be recorded.
///
/// The handler does nothing. If we ignored the signal instead, the programs that we start would inherit that.
fn catch_file_size_signal() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let _inside = runtime.enter();
    let number = rustix::process::Signal::XFSZ.as_raw();
    // tokio keeps a handler for the life of the process, even when nothing receives the signal.
    signal(SignalKind::from_raw(number)).map(drop)
}

/// Checks TMPDIR, in which every run has its scratch directory. Without this check, an error of the sandbox would not
/// mention TMPDIR.
fn check_temporary_directory() -> Result<(), Failure> {
    let Some(path) = std::env::var_os("TMPDIR").map(std::path::PathBuf::from) else {
        return Ok(());
    };
    let why = match path.metadata() {
        _ if !path.is_absolute() => "is not an absolute path".to_owned(),
        Ok(meta) if meta.is_dir() => match walk(&path, Links::System) {
            Err(error @ WalkError::Link { .. }) => error.to_string(),
            _ => return Ok(()),
        },
        Ok(_) => "is not a directory".to_owned(),
        Err(error) => format!("cannot be used: {}", failure::plain(&error)),
    };
    let path = path.display();
    Err(Failure::host(format!("TMPDIR `{path}` {why}"))
        .hint("set TMPDIR to an existing directory, or unset it to use /tmp"))
}

/// Raises the soft limit of open files to the hard limit. Every loaded skill and every file that a script opens takes a
/// descriptor; the usual soft limit of 1024 is for programs that use `select`.
fn raise_open_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If that fails, we continue with the limit we have.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    );
}
