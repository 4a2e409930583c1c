//! The tests of `skillrun` seen from outside: the built binary and the library as others use them.
//!
//! A case is a folder in `cases/` or `attacks/`; what needs more than a folder is a function in one
//! of the modules below. `README.md` says how to add either. Each trial has a directory of its own;
//! they share nothing but the compiled interpreter.

#![expect(
    clippy::unwrap_used,
    reason = "a trial that cannot go on fails by panicking, and the panic names the line"
)]

/// Makes `trials()` of the functions it is given: a function that is not listed is unused, and the
/// compiler says so.
macro_rules! trials {
    ($($name:ident),* $(,)?) => {
        pub(crate) fn trials() -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(stringify!($name), || {
                $name();
                Ok(())
            })),*]
        }
    };
}

mod approval;
mod approval_changes;
mod attack_corpus;
mod audit;
mod audit_chain;
mod audit_show;
mod bad_input;
mod bad_request;
mod believed;
mod cache;
mod check;
mod command_line;
mod concurrency;
mod containment;
mod corpus_attacks;
mod costs;
mod decisions;
mod engine;
mod expand;
mod expand_commands;
mod folder;
mod javascript;
mod killed;
mod library;
mod limits;
mod links;
mod load;
mod native;
mod node;
mod place;
mod protected;
mod requirements;
mod sections;
mod setup;
mod state;
mod stuck;
mod terminal;
mod threat_model;
mod trust;
mod words;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Ok(role) = std::env::var(native::ROLE) {
        return native::host(&role);
    }
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = Vec::new();
    for (kind, of_kind) in [
        // These compile the interpreter anew, so they go first.
        ("cache", cache::trials()),
        ("approval", approval::trials()),
        ("approval", approval_changes::trials()),
        ("audit", audit::trials()),
        ("audit", audit_chain::trials()),
        ("audit", killed::trials()),
        ("audit", audit_show::trials()),
        ("bad input", bad_input::trials()),
        ("bad input", bad_request::trials()),
        ("believed", believed::trials()),
        ("check", check::trials()),
        ("command line", command_line::trials()),
        ("concurrency", concurrency::trials()),
        ("containment", containment::trials()),
        ("corpus", corpus_attacks::trials()),
        ("costs", costs::trials()),
        ("decision", decisions::trials()),
        ("engine", engine::trials()),
        ("expand", expand::trials()),
        ("expand", expand_commands::trials()),
        ("javascript", javascript::trials()),
        ("library", library::trials()),
        ("limits", limits::trials()),
        ("links", links::trials()),
        ("load", load::trials()),
        ("native", native::trials()),
        ("node", node::trials()),
        ("protected", protected::trials()),
        ("requirement", requirements::trials()),
        ("sections", sections::trials()),
        ("state", state::trials()),
        ("stuck", stuck::trials()),
        ("terminal", terminal::trials()),
        ("trust", trust::trials()),
        ("case", folder::cases()),
        ("attack", folder::attacks()),
    ] {
        // A trial that is ignored has a reason in place of its kind.
        trials.extend(of_kind.into_iter().map(|trial| match trial.kind() {
            "" => trial.with_kind(kind),
            _ => trial,
        }));
    }
    let names = trials.iter().map(|trial| trial.name().to_owned());
    let names = names.collect();
    trials.extend(threat_model::trials(names));
    if !arguments.list {
        place::prepare_runtimes();
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
