//! How many system calls a warm run makes besides those of its script, and how often a run of a native script sets up a sandbox.
//!
//! The number decides how a host scales, and it grows unnoticed. Not counted: `futex`, because how often threads wake each
//! other depends on how busy the machine is, and what a guest's thread calls while the guest runs.

use crate::env::TestEnv;
use crate::library::{block_on, host_of, skill};
use libtest_mimic::Trial;
use skillrun::{Decision, Policy, Request};
use std::collections::HashSet;
use std::process::ExitCode;

/// The variable with which this binary is started as a host that runs one script this many times.
pub(crate) const ROLE: &str = "SKILLRUN_TEST_WARM_RUNS";

/// What the traced process prints after each run.
const END_OF_RUN: &str = "end of run";
/// The promise of `docs/benchmarks.md`.
const MAX_CALLS: usize = 25;
/// How many runs are traced.
const RUNS: usize = 48;
/// Of this many runs in a row, those with the fewest calls count: on a busy machine, files are closed and opened again between
/// runs, and a thread that waited too long is replaced. Not a single run, because what it frees may be freed during the next.
const IN_A_ROW: usize = 8;

pub(crate) fn tests() -> Vec<Trial> {
    let name = "a_warm_run_makes_at_most_25_system_calls_besides_those_of_its_script";
    let test = Trial::test(name, || {
        a_warm_run_makes_at_most_25_system_calls_besides_those_of_its_script();
        Ok(())
    });
    let sandbox = Trial::test(
        "a_native_script_runs_in_the_sandbox_that_was_probed",
        || {
            a_native_script_runs_in_the_sandbox_that_was_probed();
            Ok(())
        },
    );
    vec![
        crate::folder::needs(test, "strace"),
        crate::folder::needs(sandbox, "strace namespaces"),
    ]
}

fn a_native_script_runs_in_the_sandbox_that_was_probed() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", crate::env::SKILL_MD);
    env.write("skill/scripts/main.sh", "echo hello\n");
    let mut tracer = env.program("strace");
    tracer.env("PATH", "/usr/bin:/bin");
    tracer.args(["-f", "-qq", "-o", "trace", "-e", "trace=clone,execve"]);
    let binary = env!("CARGO_BIN_EXE_skillrun");
    let end = env.end_of(tracer.args([binary, "run", "./skill", "main.sh"]));
    assert_eq!((end.code, end.stdout.as_str()), (0, "hello\n"), "{end:?}");
    let trace = env.read("trace");
    let count = |call: &str, word: &str| {
        let lines = trace.lines();
        lines
            .filter(|line| line.contains(call) && line.contains(word))
            .count()
    };
    let counted = (
        count("execve(", "\"skillrun-supervisor\""),
        count("clone(", "CLONE_NEWNET"),
    );
    assert_eq!(counted, (1, 1), "{trace}");
}

/// The host of the traced process, in the environment that the current directory is.
pub(crate) fn host_process() -> ExitCode {
    let runs: usize = std::env::var(ROLE).unwrap().parse().unwrap();
    let env = TestEnv::with_script("print('hello')\n");
    let (host, skill) = (host_of(&env, Some(2)), skill(&env));
    let policy = Policy::default();
    block_on(async {
        for _ in 0..runs {
            let decided = host.decide(&policy, Request::typed(&skill, "main.py"));
            let Decision::Permitted(permit) = decided.await.unwrap() else {
                panic!("it is not permitted");
            };
            assert_eq!(host.run(permit).await.unwrap().stdout, "hello\n");
            println!("{END_OF_RUN}");
        }
    });
    ExitCode::SUCCESS
}

fn a_warm_run_makes_at_most_25_system_calls_besides_those_of_its_script() {
    let calls = calls_of_runs();
    assert_eq!(calls.len(), RUNS);
    let in_a_row = calls.windows(IN_A_ROW);
    let fewest: usize = in_a_row.map(|runs| runs.iter().sum()).min().unwrap();
    // If there were hardly any, nothing was counted.
    let expected = 10 * IN_A_ROW..=MAX_CALLS * IN_A_ROW;
    assert!(expected.contains(&fewest), "{calls:?}");
}

/// The system calls of each run of a process.
fn calls_of_runs() -> Vec<usize> {
    let env = TestEnv::new();
    let mut tracer = env.program("strace");
    tracer
        .env("PATH", "/usr/bin:/bin")
        .env(ROLE, RUNS.to_string());
    tracer.args(["-f", "-qq", "-o", "trace", "-e", "trace=!futex"]);
    let end = env.end_of(tracer.arg(std::env::current_exe().unwrap()));
    assert_eq!(end.code, 0, "{end:?}");
    let trace = env.read("trace");
    let mut runs = Vec::new();
    let mut calls = 0;
    let mut guests = HashSet::new();
    for line in trace.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        let call = call.trim_start();
        // A guest's thread reads its clock before and after the guest runs.
        if call.starts_with("clock_gettime(CLOCK_THREAD_CPUTIME_ID") {
            if !guests.remove(thread) {
                guests.insert(thread);
            }
            calls += 1;
        } else if call.starts_with("write(1, ") {
            runs.push(std::mem::take(&mut calls));
            // A guest that runs for long reads its clock in between, too.
            guests.clear();
        } else if !guests.contains(thread) && !call.starts_with(['<', '+', '-']) {
            calls += 1;
        }
    }
    runs
}
