//! The command line: words in, text or JSON out.
//!
//! Data go to stdout, everything else to stderr. One file per command; what was typed is a type of
//! its own ([`args`]) and becomes what it means in the command's file.

mod agent;
mod approvals;
mod args;
mod ask;
mod audit;
mod check;
mod doctor;
mod expand;
mod failure;
mod interrupt;
mod list;
mod load;
mod output;
mod own_file;
mod places;
mod policy;
mod prompt;
mod run;
mod runtimes;
mod show;

use args::{Args, Command};
use clap::{CommandFactory as _, Parser as _};
use failure::report;
use std::process::ExitCode;

fn main() -> ExitCode {
    more_files();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return failure::usage(&error),
    };
    let json = args.command.json();
    let done = match args.command {
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
            clap_complete::generate(
                shell,
                &mut Args::command(),
                "skillrun",
                &mut std::io::stdout(),
            );
            Ok(0)
        }
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => report(&failure, json),
    }
}

/// Every loaded skill and every open file of a script holds a file of ours; the usual soft limit of
/// 1024 is for programs that use `select`.
fn more_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If it is refused, what there is must do.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    );
}
