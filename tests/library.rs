//! The library as a server embeds it: decisions separate from runs, and what it refuses.

use crate::env::{SKILL_MD, TestEnv, shared_cache};
use crate::setup;
use skillrun::runtime::Workers;
use skillrun::{
    Approvals, AuditLog, Check, Decision, Error, Host, Limits, Live, Permit, Policy, Refusal,
    Request, RunError, Settings, Skill, Status,
};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

tests! {
    a_script_replaced_by_a_link_out_of_the_skill_after_the_decision_runs_as_decided,
    a_script_replaced_by_a_link_within_the_skill_after_the_decision_runs_as_decided,
    a_script_rewritten_after_the_decision_runs_as_decided,
    a_script_removed_after_the_decision_runs_as_decided,
    a_nul_byte_in_an_argument_is_refused,
    a_nul_byte_in_a_script_name_is_not_found,
    a_nul_byte_in_a_variable_is_refused,
    arguments_and_input_beyond_their_limit_are_refused,
    a_limit_beyond_the_policy_is_refused,
    a_grant_that_the_policy_lacks_is_refused,
    a_limit_out_of_range_is_refused,
    an_audit_sink_that_fails_stops_everything,
    a_request_is_recorded_with_the_name_of_its_tenant,
    a_skill_that_changes_after_its_digest_was_compared_does_not_run,
    an_embedder_sets_the_directories_in_which_bare_names_apply,
    a_run_that_is_stopped_while_its_interpreter_is_compiled_is_cancelled,
    no_message_of_the_library_names_a_flag,
}

/// A host that writes its log into the test environment.
pub(crate) fn host(env: &TestEnv) -> Host {
    host_of(env, None)
}

thread_local! {
    static IN_WORKERS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the hosts of this test run guests in worker processes.
pub(crate) fn is_in_workers() -> bool {
    IN_WORKERS.get()
}

/// Runs a test whose hosts run guests in worker processes.
pub(crate) fn in_workers(test: fn()) {
    IN_WORKERS.set(true);
    test();
    // The thread may run another test.
    IN_WORKERS.set(false);
}

/// The same with `slots` slots.
pub(crate) fn host_of(env: &TestEnv, slots: Option<u32>) -> Host {
    match is_in_workers() {
        true => host_in(
            env,
            slots,
            Workers::Processes(env!("CARGO_BIN_EXE_skillrun").into()),
        ),
        false => host_in(env, slots, Workers::InProcess),
    }
}

/// The same with these workers.
pub(crate) fn host_in(env: &TestEnv, slots: Option<u32>, workers: Workers) -> Host {
    Host::new(settings(env, slots, workers))
}

/// The settings of such a host.
pub(crate) fn settings(env: &TestEnv, slots: Option<u32>, workers: Workers) -> Settings {
    Settings {
        cache: shared_cache().join("skillrun"),
        audit: AuditLog::file(env.path("state/skillrun/audit.jsonl")),
        approvals: Approvals::file(env.path("state/skillrun/approvals.db")),
        protected: vec![],
        slots,
        workers,
    }
}

pub(crate) fn skill(env: &TestEnv) -> Arc<Skill> {
    Arc::new(Skill::load(env.path("skill")).unwrap())
}

pub(crate) fn permitted(host: &Host, policy: &Policy, request: Request) -> Permit {
    match host.blocking().decide(policy, request).unwrap() {
        Decision::Permitted(permit) => permit,
        other => panic!("{other:?}"),
    }
}

fn refused(env: &TestEnv, policy: &Policy, request: Request) -> Refusal {
    match host(env).blocking().decide(policy, request).unwrap() {
        Decision::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Decides on a script that prints `decided`, applies the steps, runs it, and returns what it printed.
fn run_after(steps: &str) -> (String, TestEnv) {
    let env = TestEnv::with_script("print('decided')\n");
    env.write("skill/scripts/other.py", "print('other')\n");
    env.write("outside.py", "print('outside')\n");
    let host = host(&env);
    let permit = permitted(
        &host,
        &Policy::default(),
        Request::typed(&skill(&env), "main.py"),
    );
    let decided = permit.plan().script_hash().to_owned();
    setup::prepare(env.root(), steps).unwrap();
    let printed = match block_on(host.run(permit)) {
        Ok(outcome) => outcome.stdout,
        Err(error) => format!("refused: {error}"),
    };
    for line in env.audit() {
        assert_eq!(line["script_hash"], decided);
    }
    (printed, env)
}

/// The bytes that were decided on ran, whatever the file contains now.
fn decided_ran(printed: &str) {
    assert_eq!(printed, "decided\n");
}

fn a_script_replaced_by_a_link_out_of_the_skill_after_the_decision_runs_as_decided() {
    let (printed, env) =
        run_after("remove skill/scripts/main.py\nsymlink ../../outside.py skill/scripts/main.py");
    decided_ran(&printed);
    // The twin: a new decision refuses the link.
    let refusal = refused(
        &env,
        &Policy::default(),
        Request::typed(&skill(&env), "main.py"),
    );
    assert_eq!(refusal.check, Check::Path);
}

fn a_script_replaced_by_a_link_within_the_skill_after_the_decision_runs_as_decided() {
    let (printed, env) =
        run_after("remove skill/scripts/main.py\nsymlink other.py skill/scripts/main.py");
    decided_ran(&printed);
    assert_eq!(env.run(&[]).stdout, "other\n");
}

fn a_script_rewritten_after_the_decision_runs_as_decided() {
    let (printed, env) = run_after("copy skill/scripts/other.py skill/scripts/main.py");
    decided_ran(&printed);
    assert_eq!(env.run(&[]).stdout, "other\n");
}

fn a_script_removed_after_the_decision_runs_as_decided() {
    let (printed, _) = run_after("remove skill/scripts/main.py");
    decided_ran(&printed);
}

fn a_nul_byte_in_an_argument_is_refused() {
    let env = TestEnv::with_script("");
    let args = vec!["fine".to_owned(), "a\0b".to_owned()];
    let request = Request {
        args,
        ..Request::typed(&skill(&env), "main.py")
    };
    let refusal = refused(&env, &Policy::default(), request);
    assert_eq!(refusal.to_string(), "error: argument 2 contains a NUL byte");
    assert_eq!(refusal.check, Check::Request);
}

fn a_nul_byte_in_a_script_name_is_not_found() {
    let env = TestEnv::with_script("");
    let request = Request::typed(&skill(&env), "main.py\0.txt");
    let refusal = refused(&env, &Policy::default(), request);
    assert_eq!(
        refusal.message,
        "script `main.py\\u{0}.txt` not found in skill `skill`"
    );
    assert_eq!(refusal.check, Check::Script);
}

fn a_nul_byte_in_a_variable_is_refused() {
    let env = TestEnv::with_script("");
    let policy = Policy::default().and_allow(["env:NAME".parse().unwrap()]);
    let request = |value: &str| Request {
        env: vec![("NAME".into(), value.into())],
        ..Request::typed(&skill(&env), "main.py")
    };
    let refusal = refused(&env, &policy, request("a\0b"));
    assert_eq!(
        refusal.message,
        "the variable `NAME` has an invalid name or a NUL byte in its value"
    );
    permitted(&host(&env), &policy, request("ab"));
}

fn arguments_and_input_beyond_their_limit_are_refused() {
    let env = TestEnv::with_script("");
    let most = 10 << 20;
    let asks = |args: Vec<String>, letters: Option<usize>| Request {
        args,
        input: letters.map(|n| serde_json::Value::String("x".repeat(n))),
        ..Request::typed(&skill(&env), "main.py")
    };
    let hint = "\nhint: pass large data as a file in the workspace";
    for (request, message) in [
        (
            asks(vec!["x".repeat(most)], None),
            "arguments too large: a command line of 10485761 bytes, at most 10MiB",
        ),
        (
            asks(vec![], Some(most - 1)),
            "arguments too large: an input of 10485761 bytes, at most 10MiB",
        ),
    ] {
        let refusal = refused(&env, &Policy::default(), request);
        assert_eq!(refusal.to_string(), format!("error: {message}{hint}"));
        assert_eq!(refusal.check, Check::Request);
    }
    let host = host(&env);
    permitted(
        &host,
        &Policy::default(),
        asks(vec!["x".repeat(most - 1)], None),
    );
    permitted(&host, &Policy::default(), asks(vec![], Some(most - 2)));
}

fn a_limit_beyond_the_policy_is_refused() {
    let env = TestEnv::with_script("");
    let policy = Policy::parse("[limits]\ntime = \"10s\"\n", Path::new("/")).unwrap();
    let asks = |seconds| Request {
        limits: Some(Limits {
            time: Duration::from_secs(seconds),
            ..Limits::default()
        }),
        ..Request::typed(&skill(&env), "main.py")
    };
    let refusal = refused(&env, &policy, asks(11));
    assert_eq!(
        refusal.to_string(),
        "refused: time `11s` exceeds the maximum of `10s` that `limits.time` in the policy sets\n\
         hint: write time = \"11s\" under [limits] in skillrun.toml"
    );
    assert_eq!(refusal.check, Check::Limits);
    permitted(&host(&env), &policy, asks(10));
}

fn a_grant_that_the_policy_lacks_is_refused() {
    let env = TestEnv::with_script("");
    env.write("data/a.txt", "");
    let grant: skillrun::Grant = format!("read:{}", env.text("data")).parse().unwrap();
    let request = || Request {
        grants: vec![grant.clone()],
        ..Request::typed(&skill(&env), "main.py")
    };
    let refusal = refused(&env, &Policy::default(), request());
    assert_eq!(
        refusal.to_string(),
        format!(
            "refused: `{grant}` is not granted to skill `skill`\n\
             hint: add \"{grant}\" to `allow` in skillrun.toml, or grant `{grant}`"
        )
    );
    let policy = Policy::default().and_allow([grant.clone()]);
    permitted(&host(&env), &policy, request());
}

fn a_limit_out_of_range_is_refused() {
    let env = TestEnv::with_script("");
    let request = Request {
        limits: Some(Limits {
            time: Duration::ZERO,
            ..Limits::default()
        }),
        ..Request::typed(&skill(&env), "main.py")
    };
    let refusal = refused(&env, &Policy::default(), request);
    assert_eq!(refusal.message, "time `0s` is out of range: 1s to 600s");
    assert_eq!(refusal.check, Check::Request);
}

fn an_audit_sink_that_fails_stops_everything() {
    let env = TestEnv::with_script("open('ran', 'w')\n");
    env.write("workspace/a", "");
    let full = AuditLog::sink(|_| Err(std::io::ErrorKind::StorageFull.into()));
    let host = Host::new(Settings {
        cache: shared_cache().join("skillrun"),
        audit: full,
        approvals: Approvals::file(env.path("state/skillrun/approvals.db")),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    });
    let request = Request {
        workspace: Some(env.path("workspace").into()),
        ..Request::typed(&skill(&env), "main.py")
    };
    let permit = permitted(&host, &Policy::default(), request);
    let error = block_on(host.run(permit)).unwrap_err();
    assert!(
        matches!(error, RunError::Host(Error::Audit { .. })),
        "{error}"
    );
    assert!(!env.path("workspace/ran").exists());
}

fn a_request_is_recorded_with_the_name_of_its_tenant() {
    let env = TestEnv::with_script("");
    env.write("other/SKILL.md", SKILL_MD);
    let host = host(&env);
    let request = Request {
        tenant: "tenant-7".into(),
        session: "session-9".into(),
        ..Request::typed(&skill(&env), "main.py")
    };
    let permit = permitted(&host, &Policy::default(), request);
    let run_id = permit.plan().run_id().to_owned();
    let outcome = block_on(host.run(permit)).unwrap();
    assert_eq!(outcome.run_id, run_id);
    for line in env.audit() {
        assert_eq!(line["run_id"], run_id);
        assert_eq!(
            (&line["tenant"], &line["session"]),
            (&"tenant-7".into(), &"session-9".into())
        );
    }
}

fn a_skill_that_changes_after_its_digest_was_compared_does_not_run() {
    let env = TestEnv::with_script("print('it ran')\n");
    let (host, skill) = (host(&env), skill(&env));
    let text = format!(
        "[skill.\"./skill\"]\napproval = \"never\"\ndigest = \"{}\"\n",
        skill.digest().unwrap()
    );
    let policy = Policy::parse(&text, env.root()).unwrap();
    let permit = || permitted(&host, &policy, Request::new(&skill, "main.py"));
    let (late, twin) = (permit(), permit());
    assert_eq!(block_on(host.run(twin)).unwrap().stdout, "it ran\n");
    // Not the script itself, but a file that it could import.
    env.write("skill/scripts/sitecustomize.py", "print('evil')\n");
    match block_on(host.run(late)) {
        Err(RunError::Refused(refusal)) => assert_eq!(
            refusal.message,
            "`scripts/main.py` of skill `skill` did not run: its skill changed after it was checked"
        ),
        other => panic!("{other:?}"),
    }
    let log = env.audit();
    assert_eq!(log.last().unwrap()["event"], "refused");
}

fn an_embedder_sets_the_directories_in_which_bare_names_apply() {
    let env = TestEnv::with_script("");
    let text = "[skill.skill]\napproval = \"never\"\n";
    let policy = Policy::parse(text, env.root()).unwrap();
    let refusal = refused(&env, &policy, Request::new(&skill(&env), "main.py"));
    assert_eq!(refusal.check, Check::Policy);
    let own = policy.with_skill_dirs([env.root().to_owned()]);
    permitted(&host(&env), &own, Request::new(&skill(&env), "main.py"));
}

fn a_run_that_is_stopped_while_its_interpreter_is_compiled_is_cancelled() {
    let env = TestEnv::new();
    env.write("skill/SKILL.md", SKILL_MD);
    env.write("skill/scripts/main.js", "console.log('ran')\n");
    let host = Host::new(Settings {
        cache: env.path("cache"),
        audit: AuditLog::file(env.path("state/skillrun/audit.jsonl")),
        approvals: Approvals::file(env.path("state/skillrun/approvals.db")),
        protected: vec![],
        slots: None,
        workers: Default::default(),
    });
    let request = Request::typed(&skill(&env), "main.js");
    let permit = permitted(&host, &Policy::default(), request);
    assert_eq!(
        host.blocking().unprepared_for(&permit).unwrap(),
        Some("javascript")
    );
    let live = Live {
        // Pending when the slot is taken.
        stop: Some(Box::pin(tokio::task::yield_now())),
        ..Live::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let outcome = runtime.block_on(host.run_live(permit, live)).unwrap();
    // Does not wait for the compiler.
    runtime.shutdown_background();
    assert_eq!(
        (outcome.status, outcome.exit_code),
        (Status::Cancelled, 130)
    );
    assert_eq!(outcome.stdout, "");
}

/// An embedder has other words for what a person can change. `Refusal::remedy` and its like are for front ends.
fn no_message_of_the_library_names_a_flag() {
    // Flags of interpreters and of `env`.
    let others = ["--preserve-symlinks-main", "--split-string="];
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src")];
    let (mut read, mut named) = (0, Vec::new());
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
            let lines = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            for line in lines {
                read += 1;
                let line = others
                    .iter()
                    .fold(line.to_owned(), |line, other| line.replace(other, ""));
                let mut after = line.split("--").skip(1);
                if after.any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase())) {
                    named.push(format!("{}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    assert!(named.is_empty(), "{}", named.join("\n"));
    // If no source was found, anything would pass.
    assert!(read > 10_000, "only {read} lines were read");
}
