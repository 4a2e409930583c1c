//! The tests of `skillrun` from outside: the built binary, and the library as other crates use it.
//!
//! A case is a folder in `cases/` or `attacks/`; a test that needs more than a folder is a function in one
//! of the modules below. `README.md` says how to add either. Each test has its own directory;
//! they share only the compiled interpreter.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue panics, and the panic names the line"
)]

/// Defines `tests()`, which returns the listed functions as tests. The compiler reports a function that is not
/// listed as unused.
///
/// With `in workers too`, `tests_in_workers()` returns the same tests with hosts that run guests in worker processes.
macro_rules! tests {
    (in workers too: $($name:ident),* $(,)?) => {
        tests! { $($name),* }

        pub(crate) fn tests_in_workers() -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(concat!(stringify!($name), "_in_workers"), || {
                crate::library::in_workers($name);
                Ok(())
            })),*]
        }
    };
    ($($name:ident),* $(,)?) => {
        pub(crate) fn tests() -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(stringify!($name), || {
                $name();
                Ok(())
            })),*]
        }
    };
}

mod approval;
mod approval_changes;
mod approval_shared;
mod artifacts;
mod attack_corpus;
mod audit;
mod audit_chain;
mod audit_show;
mod bad_input;
mod bad_request;
mod cache;
mod ceiling;
mod check;
mod command_line;
mod concurrency;
mod containment;
mod corpus_attacks;
mod costs;
mod decisions;
mod denials;
mod embedding;
mod engine;
mod env;
mod expand;
mod expand_commands;
mod folder;
mod handles;
mod hints;
mod javascript;
mod killed;
mod library;
mod limits;
mod linked_skills;
mod links;
mod load;
mod memory;
mod modules;
mod native;
mod node;
mod protected;
mod requirements;
mod runtimes;
mod sections;
mod setup;
mod state;
mod stuck;
mod system_calls;
mod tenants;
mod terminal;
mod threat_model;
mod trust;
mod trusted_files;
mod usage;
mod watchdog;
mod words;
mod worker_modes;
mod workers;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// Lets the programs that tests start receive SIGHUP although these tests were started with `nohup`. A signal that is
/// handled here is set back to its default in a new program; one that is ignored stays ignored.
fn default_hangup() -> Option<tokio::signal::unix::Signal> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .ok()?;
    let _context = runtime.enter();
    let kind = tokio::signal::unix::SignalKind::hangup();
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    let ignored = u64::from_str_radix(mask.trim(), 16).ok()? & 1 != 0;
    ignored
        .then(|| tokio::signal::unix::signal(kind).ok())
        .flatten()
}

fn main() -> ExitCode {
    skillrun::runtime::serve_if_worker();
    if let Ok(role) = std::env::var(native::ROLE) {
        return native::host(&role);
    }
    if std::env::var_os(ceiling::ROLE).is_some() {
        return ceiling::host_process();
    }
    if std::env::var_os(memory::ROLE).is_some() {
        return memory::host_process();
    }
    if std::env::var_os(worker_modes::ROLE).is_some() {
        return worker_modes::host_process();
    }
    if std::env::var_os(system_calls::ROLE).is_some() {
        return system_calls::host_process();
    }
    let _hangup = default_hangup();
    let arguments = Arguments::from_args();
    let mut tests: Vec<Trial> = Vec::new();
    for (kind, of_kind) in [
        // These compile the interpreter again, so they run first.
        ("cache", cache::tests()),
        ("approval", approval::tests()),
        ("approval", approval_changes::tests()),
        ("approval", approval_shared::tests()),
        ("artefacts", artifacts::tests()),
        ("audit", audit::tests()),
        ("audit", audit_chain::tests()),
        ("audit", killed::tests()),
        ("audit", audit_show::tests()),
        ("bad input", bad_input::tests()),
        ("bad input", bad_request::tests()),
        ("ceiling", ceiling::tests()),
        ("check", check::tests()),
        ("command line", command_line::tests()),
        ("concurrency", concurrency::tests()),
        ("workers", workers::tests()),
        ("workers", worker_modes::tests()),
        ("workers", concurrency::tests_in_workers()),
        ("workers", handles::tests_in_workers()),
        ("workers", workers::tests_without_namespaces()),
        ("containment", containment::tests()),
        ("corpus", corpus_attacks::tests()),
        ("costs", costs::tests()),
        ("costs", system_calls::tests()),
        ("decision", decisions::tests()),
        ("denials", denials::tests()),
        ("engine", engine::tests()),
        ("expand", expand::tests()),
        ("expand", expand_commands::tests()),
        ("hints", hints::tests()),
        ("javascript", javascript::tests()),
        ("library", library::tests()),
        ("library", embedding::tests()),
        ("library", handles::tests()),
        ("library", tenants::tests()),
        ("modules", modules::tests()),
        ("runtimes", runtimes::tests()),
        ("limits", limits::tests()),
        ("links", linked_skills::tests()),
        ("links", links::tests()),
        ("load", load::tests()),
        ("memory", memory::tests()),
        ("native", native::tests()),
        ("node", node::tests()),
        ("protected", protected::tests()),
        ("requirement", requirements::tests()),
        ("sections", sections::tests()),
        ("state", state::tests()),
        ("stuck", stuck::tests()),
        ("terminal", terminal::tests()),
        ("trust", trust::tests()),
        ("trusted files", trusted_files::tests()),
        ("usage", usage::tests()),
        ("case", folder::cases()),
        ("attack", folder::attacks()),
    ] {
        // An ignored test has its reason as its kind.
        tests.extend(of_kind.into_iter().map(|test| match test.kind() {
            "" => test.with_kind(kind),
            _ => test,
        }));
    }
    let names = tests.iter().map(|test| test.name().to_owned());
    let names = names.collect();
    tests.extend(threat_model::tests(names));
    if !arguments.list {
        env::prepare_runtimes();
    }
    libtest_mimic::run(&arguments, tests).exit_code()
}
