//! Who may use a worker after a run: `workers` of a policy.
//!
//! A program that speaks as a worker does prints its process id, so the tests know which worker had a run. They are about the
//! host, which chooses the worker.

use crate::env::TestEnv;
use crate::library::{block_on, host, permitted, skill};
use crate::workers::{Walled, hostile, output};
use skillrun::running::Run;
use skillrun::{Decision, Policy, Request, RunError};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

tests! {
    a_worker_is_used_again_for_its_tenant_by_default,
    tenants_that_share_workers_use_one_after_the_other,
    each_run_has_a_worker_of_its_own_if_the_policy_says_so,
    a_fresh_worker_is_ready_for_each_run_and_ended_after_it,
    a_worker_that_ran_under_a_stricter_policy_is_not_shared,
    two_runs_at_the_same_time_never_have_one_worker,
    a_ceiling_and_a_section_choose_the_mode,
    a_process_without_workers_runs_one_script_alone,
    a_command_that_runs_one_script_complies_with_every_mode,
    a_misspelt_mode_is_an_error,
}

/// The variable with which this binary is started as a host without workers. Its value is a list of modes, one for each run.
pub(crate) const ROLE: &str = "SKILLRUN_TEST_WORKER_MODES";

const MODES: [&str; 3] = ["per-run", "per-tenant", "shared"];

fn parse(text: &str) -> Policy {
    Policy::parse(text, Path::new("/")).unwrap()
}

fn mode(mode: &str) -> Policy {
    parse(&format!("workers = \"{mode}\"\n"))
}

/// Starts a run of a tenant.
fn start(walled: &Walled, tenant: &str, policy: &Policy) -> Run {
    let request = Request {
        tenant: tenant.to_owned(),
        ..walled.request()
    };
    walled.host.start(permitted(&walled.host, policy, request))
}

/// The process that had a run of a tenant.
async fn worker_of(walled: &Walled, tenant: &str, policy: &Policy) -> String {
    let outcome = start(walled, tenant, policy).wait().await.unwrap();
    assert_eq!(outcome.stderr, "");
    outcome.stdout
}

fn a_worker_is_used_again_for_its_tenant_by_default() {
    let walled = hostile("names itself");
    block_on(async {
        let none = Policy::default();
        let acme = worker_of(&walled, "acme", &none).await;
        let globex = worker_of(&walled, "globex", &none).await;
        assert_ne!(acme, globex);
        for policy in [none, mode("per-tenant")] {
            assert_eq!(worker_of(&walled, "acme", &policy).await, acme);
            assert_eq!(worker_of(&walled, "globex", &policy).await, globex);
        }
    });
}

fn tenants_that_share_workers_use_one_after_the_other() {
    let walled = hostile("names itself");
    block_on(async {
        let shared = worker_of(&walled, "acme", &mode("shared")).await;
        for tenant in ["globex", "acme", "initech"] {
            assert_eq!(worker_of(&walled, tenant, &mode("shared")).await, shared);
        }
    });
}

fn each_run_has_a_worker_of_its_own_if_the_policy_says_so() {
    let walled = hostile("names itself");
    block_on(async {
        let mut seen = BTreeSet::new();
        for tenant in ["acme", "acme", "globex", "acme"] {
            let worker = worker_of(&walled, tenant, &mode("per-run")).await;
            assert!(seen.insert(worker), "{seen:?}");
        }
        // Nor is one used that had other runs before.
        for other in ["per-tenant", "shared"] {
            let worker = worker_of(&walled, "acme", &mode(other)).await;
            assert!(seen.insert(worker), "{seen:?}");
            let worker = worker_of(&walled, "acme", &mode("per-run")).await;
            assert!(seen.insert(worker), "{seen:?}");
        }
    });
}

/// The same with a real worker: after a run, there is a spare one, and the one that had the run is gone.
fn a_fresh_worker_is_ready_for_each_run_and_ended_after_it() {
    let walled = Walled::new("print('ran')\n");
    let (mut seen, mut ready) = (BTreeSet::new(), 0);
    block_on(async {
        // On a busy machine a spare worker may fail to start. The next run asks for another one.
        for _ in 0..20 {
            let outcome = start(&walled, "acme", &mode("per-run")).wait().await;
            assert_eq!(outcome.unwrap().stdout, "ran\n");
            let begin = Instant::now();
            while ready < 4 && begin.elapsed() < Duration::from_secs(5) {
                let there = walled.processes();
                if there.len() == 2 && there.is_disjoint(&seen) {
                    // It has the next run, so it must end.
                    seen.extend(there);
                    ready += 1;
                    break;
                }
                std::thread::yield_now();
            }
        }
    });
    assert_eq!(ready, 4);
}

fn a_worker_that_ran_under_a_stricter_policy_is_not_shared() {
    let walled = hostile("names itself");
    block_on(async {
        let own = worker_of(&walled, "acme", &mode("per-tenant")).await;
        let shared = worker_of(&walled, "globex", &mode("shared")).await;
        assert_ne!(own, shared);
        // The other way round: what others may have prepared is not used by a tenant that does not share.
        assert_eq!(worker_of(&walled, "acme", &mode("shared")).await, shared);
        assert_eq!(worker_of(&walled, "acme", &mode("per-tenant")).await, own);
        let globex = worker_of(&walled, "globex", &mode("per-tenant")).await;
        assert!(![own, shared].contains(&globex));
    });
}

fn two_runs_at_the_same_time_never_have_one_worker() {
    for name in MODES {
        let walled = hostile("waits");
        block_on(async {
            let policy = mode(name);
            let mut runs = ["acme", "globex", "acme"].map(|tenant| start(&walled, tenant, &policy));
            let mut workers = BTreeSet::new();
            for run in &mut runs {
                workers.insert(output(run).await);
            }
            assert_eq!(workers.len(), 3, "{name}: {workers:?}");
            fs::write(walled.env.path("go"), "").unwrap();
            for run in runs {
                let outcome = run.wait().await.unwrap();
                assert!(workers.remove(&outcome.stdout), "{name}: {outcome:?}");
            }
        });
    }
}

fn a_ceiling_and_a_section_choose_the_mode() {
    let walled = hostile("names itself");
    let section = |text: &str| parse(&format!("[skill.\"{}\"]\n{text}", walled.env.text("skill")));
    let same = [
        mode("shared"),
        mode("shared").bounded_by(parse("")),
        mode("shared").bounded_by(mode("shared")),
        section("workers = \"shared\"\n"),
    ];
    let stricter = [
        mode("shared").bounded_by(mode("per-run")),
        mode("shared").bounded_by(section("workers = \"per-run\"\n")),
        mode("per-run").bounded_by(mode("shared")),
        section("workers = \"per-run\"\n").bounded_by(mode("per-tenant")),
    ];
    block_on(async {
        let shared = worker_of(&walled, "acme", &mode("shared")).await;
        for policy in same {
            assert_eq!(worker_of(&walled, "globex", &policy).await, shared);
        }
        let mut seen = BTreeSet::from([shared]);
        for policy in stricter {
            for _ in 0..2 {
                let worker = worker_of(&walled, "globex", &policy).await;
                assert!(seen.insert(worker), "{policy:?}");
            }
        }
        let allow = format!("allow = [\"write:{}\"]\n", walled.env.text("workspace"));
        let per_tenant = mode("shared").bounded_by(parse(&format!("enforce = true\n{allow}")));
        let own = worker_of(&walled, "globex", &per_tenant).await;
        assert!(seen.insert(own.clone()));
        assert_eq!(worker_of(&walled, "globex", &per_tenant).await, own);
    });
}

/// A process whose hosts have no workers: decides on a script under each mode in turn, and runs it. After `together`, all
/// decisions come first.
pub(crate) fn host_process() -> ExitCode {
    let env = TestEnv::with_script("print('ran')\n");
    let role = std::env::var(ROLE).unwrap();
    let mut modes: Vec<&str> = role.split(' ').collect();
    let is_together = modes[0] == "together";
    if is_together {
        modes.remove(0);
    }
    let mut permits = Vec::new();
    for name in modes {
        // Hosts of one process share it.
        let host = host(&env);
        let request = Request::typed(&skill(&env), "main.py");
        match host.blocking().decide(&mode(name), request).unwrap() {
            Decision::Permitted(permit) => permits.push((host, permit)),
            Decision::Refused(refusal) => println!("decided: {refusal}"),
            other => panic!("{other:?}"),
        }
        if !is_together {
            run_all(std::mem::take(&mut permits));
        }
    }
    run_all(permits);
    ExitCode::SUCCESS
}

fn run_all(permits: Vec<(skillrun::Host, skillrun::Permit)>) {
    for (host, permit) in permits {
        match block_on(host.run(permit)) {
            Ok(outcome) => print!("{}", outcome.stdout),
            Err(RunError::Refused(refusal)) => println!("run: {refusal}"),
            Err(error) => panic!("{error}"),
        }
    }
}

fn a_process_without_workers_runs_one_script_alone() {
    let hint = "\nhint: run scripts in worker processes (`Workers::Processes`)";
    let second = format!(
        "the policy demands a process of its own for `scripts/main.py`, and another script has run in this one\
         {hint}, or set workers = \"per-tenant\" in skillrun.toml\n"
    );
    let after = format!(
        "`scripts/main.py` cannot run in this process: the policy demanded it for another script alone{hint}\n"
    );
    let decided = "decided: refused:";
    let run = "run: refused: `scripts/main.py` of skill `skill` did not run:";
    for (role, expected) in [
        ("per-tenant shared per-tenant", "ran\nran\nran\n".to_owned()),
        ("per-run per-run", format!("ran\n{decided} {second}")),
        ("shared per-run", format!("ran\n{decided} {second}")),
        (
            "per-run shared per-tenant",
            format!("ran\n{decided} {after}{decided} {after}"),
        ),
        ("together per-run per-run", format!("ran\n{run} {second}")),
        ("together per-run shared", format!("ran\n{run} {after}")),
        (
            "together shared per-run shared",
            format!("ran\n{run} {second}ran\n"),
        ),
    ] {
        let env = TestEnv::new();
        let mut process = env.program(std::env::current_exe().unwrap().to_str().unwrap());
        let end = env.end_of(process.env(ROLE, role));
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            (expected.as_str(), "", 0),
            "{role}"
        );
    }
}

fn a_command_that_runs_one_script_complies_with_every_mode() {
    let env = TestEnv::with_script("print('ran')\n");
    for name in MODES {
        env.write("own.toml", format!("workers = \"{name}\"\n"));
        let end = env.run(&["--policy", "own.toml"]);
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            ("ran\n", "", 0)
        );
    }
}

fn a_misspelt_mode_is_an_error() {
    let env = TestEnv::with_script("print('ran')\n");
    env.write("own.toml", "workers = \"per-rum\"\n");
    let end = env.run(&["--policy", "own.toml"]);
    let why = "policy `own.toml`: line 1, column 11: `per-rum` is not a value of `workers`; did you mean `per-run`?\n";
    assert_eq!((end.stdout.as_str(), end.code), ("", 126), "{}", end.stderr);
    assert!(end.stderr.ends_with(why), "{}", end.stderr);
}
