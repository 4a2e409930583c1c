//! Every run and every refusal is in the log, and every approval is stored whole or not at all, wherever the process is
//! killed.
//!
//! The n-th system call of a kind kills the process, for every n up to the last: before the log is
//! opened, between the line and its head, before the script starts, and so on. Every script that ran has its line,
//! and the log verifies after each of these deaths.
//!
//! strace counts the calls of each thread separately, so the thread that makes most of them dies first. To reach what
//! the others do after the script, a second test begins to count when the script has run.

use crate::env::{End, TestEnv};
use libtest_mimic::Trial;
use serde_json::Value;
use skillrun::audit::{AuditFiles, AuditFindingKind};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Stdio};

/// The system calls with which a run reads, writes and locks, and the one with which its process ends.
const RUN: [&str; 12] = [
    "openat",
    "openat2",
    "flock",
    "fstat",
    "statx",
    "pread64",
    "write",
    "pwrite64",
    "close",
    "mkdir",
    "rmdir",
    "exit_group",
];

/// The system calls of SQLite.
const STORE: [&str; 7] = [
    "fdatasync",
    "pwrite64",
    "fcntl",
    "unlink",
    "openat",
    "newfstatat",
    "close",
];

pub(crate) fn tests() -> Vec<Trial> {
    let tests = [
        Trial::test(
            "every_run_is_in_the_log_wherever_the_process_was_killed",
            || {
                every_run_is_in_the_log_wherever_the_process_was_killed();
                Ok(())
            },
        ),
        Trial::test(
            "every_run_is_in_the_log_wherever_the_process_was_killed_after_the_script",
            || {
                every_run_is_in_the_log_wherever_the_process_was_killed_after_the_script();
                Ok(())
            },
        ),
        Trial::test(
            "every_refusal_is_in_the_log_wherever_the_process_was_killed",
            || {
                every_refusal_is_in_the_log_wherever_the_process_was_killed();
                Ok(())
            },
        ),
    ];
    let approval = Trial::test(
        "an_approval_is_stored_whole_or_not_at_all_wherever_the_process_was_killed",
        || {
            an_approval_is_stored_whole_or_not_at_all_wherever_the_process_was_killed();
            Ok(())
        },
    );
    let can_trace = TestEnv::new()
        .program("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .env("PATH", "/usr/bin:/bin")
        .status();
    let tests = tests.into_iter().chain([approval]);
    let is_traceable = can_trace.is_ok_and(|status| status.success());
    let ignored = |test: Trial| {
        let can_run = is_traceable && (can_attach() || !test.name().ends_with("after_the_script"));
        match can_run {
            true => test,
            false => test.with_kind("needs strace").with_ignored_flag(true),
        }
    };
    tests.map(ignored).collect()
}

/// Whether this user may trace a process that is not a child of the tracer.
fn can_attach() -> bool {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let is_restricted = scope.is_ok_and(|scope| scope.trim() != "0");
    !is_restricted || rustix::process::geteuid().is_root()
}

/// Runs the command again and again, killed one system call later each time, until it survives for each kind of
/// call; `check` gets the last argument of the run and its end. Returns how many runs were killed.
fn killed_everywhere(
    env: &TestEnv,
    calls: &[&str],
    words: impl Fn(&str) -> Vec<String>,
    mut check: impl FnMut(&str, &End),
) -> usize {
    let mut killed = 0;
    for call in calls {
        for n in 1.. {
            let name = format!("{call}-{n}");
            let mut command = env.program("strace");
            command.env("PATH", "/usr/bin:/bin");
            command.args(["-f", "-qq", "-o", "/dev/null"]);
            command.args(["-e", &format!("trace={call}")]);
            command.args(["-e", &format!("inject={call}:signal=KILL:when={n}")]);
            command
                .arg(env!("CARGO_BIN_EXE_skillrun"))
                .args(words(&name));
            let end = env.end_of(&mut command);
            check(&name, &end);
            verify(env, &name);
            if end.code != 128 + 9 {
                break;
            }
            killed += 1;
        }
    }
    killed
}

/// These arguments, with the name of the step as the script's argument.
fn with_name(words: &[&str]) -> impl Fn(&str) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    move |name| [&words[..], &["--".to_owned(), name.to_owned()]].concat()
}

/// The log is as it was written, except for what a killed writer may leave.
fn verify(env: &TestEnv, name: &str) {
    let log = AuditFiles::of(env.path("state/skillrun/audit.jsonl"));
    let done = log.verify(None).unwrap();
    assert!(done.is_valid(), "{name}: {:?}", done.findings);
    let left = |kind| matches!(kind, AuditFindingKind::CutShort | AuditFindingKind::Head);
    assert!(
        done.notes.iter().all(|note| left(note.kind)),
        "{name}: {:?}",
        done.notes
    );
}

/// The events of the run with this argument.
fn events(env: &TestEnv, name: &str) -> Vec<String> {
    let lines = env.audit().into_iter();
    let its = lines.filter(|line| line["arguments"] == name);
    its.filter_map(|line| Some(line["event"].as_str()?.to_owned()))
        .collect()
}

/// A script that creates a file in its workspace, says so, and waits for its input to end.
fn env_of_run() -> TestEnv {
    let env = TestEnv::with_script(
        "import sys\nopen(sys.argv[1], 'w').close()\nprint('ran', flush=True)\nsys.stdin.read()\n",
    );
    std::fs::create_dir(env.path("workspace")).unwrap();
    env
}

fn run_of(name: &str) -> Vec<String> {
    with_name(&["run", "./skill", "main.py", "-w", "workspace"])(name)
}

fn every_run_is_in_the_log_wherever_the_process_was_killed() {
    let env = env_of_run();
    let mut whole = 0;
    let mut deaths = BTreeSet::new();
    let killed = killed_everywhere(&env, &RUN, run_of, |name, end| {
        let ran = Path::new(&env.path("workspace")).join(name).exists();
        let events = events(&env, name);
        match end.code {
            0 => {
                assert!(ran, "{name}");
                assert_eq!(events, ["started", "finished"], "{name}");
                whole += 1;
            }
            137 => drop(deaths.insert((ran, events.join(" ")))),
            _ => panic!("{name}: {end:?}"),
        }
    });
    assert_eq!(whole, RUN.len());
    assert!(killed > 50, "{killed}");
    // It died before and after its first line, and no script ran before that.
    let is_known = |(ran, events): &(bool, String)| match ran {
        true => events.starts_with("started"),
        false => ["", "started"].contains(&events.as_str()),
    };
    assert!(deaths.iter().all(is_known), "{deaths:?}");
    for events in ["", "started"] {
        assert!(deaths.contains(&(false, events.to_owned())), "{deaths:?}");
    }
}

fn every_run_is_in_the_log_wherever_the_process_was_killed_after_the_script() {
    let env = env_of_run();
    let mut whole = 0;
    let mut deaths = BTreeSet::new();
    for call in RUN {
        for n in 1.. {
            let name = format!("{call}-{n}");
            let mut run = env.command(&run_of(&name));
            let mut run = run
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdout = BufReader::new(run.stdout.take().unwrap());
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            assert_eq!(line, "ran\n", "{name}");
            let mut tracer = traced(&env, run.id(), call, n);
            drop(run.stdin.take());
            let status = run.wait().unwrap();
            tracer.wait().unwrap();
            verify(&env, &name);
            let events = events(&env, &name).join(" ");
            if status.success() {
                assert_eq!(events, "started finished", "{name}");
                whole += 1;
                break;
            }
            assert_eq!(status.signal(), Some(9), "{name}");
            deaths.insert(events);
        }
    }
    assert_eq!(whole, RUN.len());
    // It died before and after its last line.
    assert_eq!(
        deaths,
        ["started", "started finished"].map(str::to_owned).into()
    );
}

/// Kills a process at the n-th call of a kind that one of its threads makes from now on.
fn traced(env: &TestEnv, process: u32, call: &str, n: usize) -> Child {
    let mut tracer = env.program("strace");
    tracer.env("PATH", "/usr/bin:/bin");
    tracer.args(["-f", "-o", "/dev/null", "-p", &process.to_string()]);
    tracer.args(["-e", &format!("trace={call}")]);
    tracer.args(["-e", &format!("inject={call}:signal=KILL:when={n}")]);
    let mut tracer = tracer.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(tracer.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("attached"), "{line}");
    // It must not find its pipe closed.
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    tracer
}

fn every_refusal_is_in_the_log_wherever_the_process_was_killed() {
    let env = TestEnv::with_script("");
    let words = with_name(&["run", "./skill", "../x.py"]);
    let (mut reported, mut silent) = (0, 0);
    killed_everywhere(&env, &RUN, words, |name, end| {
        if end.stderr.contains("refused: ") {
            assert_eq!(events(&env, name), ["refused"], "{name}");
            reported += 1;
        } else {
            assert_eq!(end.code, 137, "{name}: {end:?}");
            silent += 1;
        }
    });
    assert!(reported >= RUN.len() && silent > 10, "{reported} {silent}");
}

fn an_approval_is_stored_whole_or_not_at_all_wherever_the_process_was_killed() {
    let env = TestEnv::with_script("open('ran', 'w').close()\n");
    env.write(
        "skill/SKILL.md",
        "---\nname: skill\ndescription: A skill.\n---\nscripts/main.py\n",
    );
    std::fs::create_dir(env.path("workspace")).unwrap();
    let answers =
        "[{\"skill\": \"skill\", \"script\": \"scripts/main.py\", \"answer\": \"yes_once\"}]";
    env.write("answers.json", answers);
    let words = |_: &str| {
        let words = [
            "load",
            "./skill",
            "-w",
            "workspace",
            "--answers",
            "answers.json",
        ];
        words.map(str::to_owned).to_vec()
    };
    let (mut stored, mut absent) = (0, 0);
    let killed = killed_everywhere(&env, &STORE, words, |name, end| {
        let listed = env.end(&["approvals", "list", "--json"]);
        assert_eq!(listed.code, 0, "{name}: {}", listed.stderr);
        let all: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
        assert!(all.len() <= 1, "{name}: {all:?}");
        let ran = env.path("workspace/ran").exists();
        if ran {
            assert_eq!(all.len(), 1, "{name}: it ran without a yes");
            std::fs::remove_file(env.path("workspace/ran")).unwrap();
        }
        assert!(ran || end.code != 0, "{name}: {end:?}");
        match all.len() {
            0 => absent += 1,
            _ => stored += 1,
        }
        env.end(&["approvals", "revoke", "--all"]);
        // Half of them start without a file.
        if is_odd(name) {
            let _ = std::fs::remove_file(env.path("state/skillrun/approvals.db"));
        }
    });
    assert!(
        stored > STORE.len() && absent > 20,
        "{stored} {absent} {killed}"
    );
}

fn is_odd(name: &str) -> bool {
    name.ends_with(['1', '3', '5', '7', '9'])
}
