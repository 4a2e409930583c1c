//! The audit log: it records every run and every refusal, or nothing runs.

use crate::env::TestEnv;
use crate::setup;
use serde_json::{Value, json};

tests! {
    a_run_leaves_a_started_and_a_finished_line_with_every_field,
    a_refusal_is_recorded_with_its_reason,
    a_refused_workspace_is_recorded_by_every_command,
    arguments_are_recorded_up_to_256_characters,
    a_timeout_is_recorded_as_a_warning,
    grants_are_recorded,
    many_processes_write_whole_lines,
    the_log_is_for_its_owner_alone,
    a_log_that_is_a_directory_stops_everything,
    a_log_whose_parent_is_a_file_stops_everything,
    a_log_that_is_a_fifo_stops_everything,
    a_log_that_may_not_be_written_stops_everything,
    a_log_that_cannot_grow_stops_everything,
    a_log_that_is_a_link_to_a_device_stops_everything,
    a_log_that_other_users_may_write_stops_everything,
    a_log_with_a_second_hard_link_stops_everything,
    a_log_whose_head_is_a_directory_stops_everything,
    a_log_locked_by_another_process_stops_everything,
    a_removed_log_is_started_again,
}

const RUNS: &str = "open('ran', 'w')\n";

/// The keys of a line, in their order.
fn keys(line: &Value) -> Vec<&str> {
    line.as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn a_run_leaves_a_started_and_a_finished_line_with_every_field() {
    let env = TestEnv::with_script("import sys\nprint('out')\nsys.exit(3)\n");
    env.run(&["--", "a", "b c"]);
    let log = env.audit();
    let [started, finished] = log.as_slice() else {
        panic!("{log:?}")
    };
    let start = [
        "v",
        "seq",
        "time",
        "event",
        "level",
        "run_id",
        "tenant",
        "session",
        "skill",
        "script",
        "script_path",
        "script_hash",
        "arguments",
        "grants",
    ];
    let ending = [
        "exit_code",
        "status",
        "signal",
        "duration_ms",
        "isolation",
        "stdout_bytes",
        "stderr_bytes",
        "stdout_truncated",
        "stderr_truncated",
        "denied",
        "warnings",
    ];
    assert_eq!(
        keys(started),
        [start.as_slice(), &["approver", "previous"]].concat()
    );
    assert_eq!(
        keys(finished),
        [start.as_slice(), &ending, &["previous"]].concat()
    );
    assert_eq!(started["event"], "started");
    for (key, value) in [
        ("event", json!("finished")),
        ("level", json!("info")),
        ("run_id", started["run_id"].clone()),
        ("skill", json!("skill")),
        ("script", json!("scripts/main.py")),
        ("script_path", json!(env.text("skill/scripts/main.py"))),
        ("arguments", json!("a b c")),
        ("exit_code", json!(3)),
        ("status", json!("exited")),
        ("signal", json!(null)),
        ("stdout_bytes", json!(4)),
        ("stdout_truncated", json!(false)),
        ("warnings", json!([])),
    ] {
        assert_eq!(finished[key], value, "{key}");
    }
    assert_eq!(finished["isolation"]["tier"], "wasm");
    assert_eq!(finished["script_hash"].as_str().unwrap().len(), 64);
    assert!(finished["duration_ms"].as_f64().unwrap() > 0.0);
    // RFC 3339 in UTC: 2026-01-31T12:00:00…Z
    let time = finished["time"].as_str().unwrap();
    assert!(time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
}

/// The directory of the log is one of ours, so no workspace may be in it.
fn a_refused_workspace_is_recorded_by_every_command() {
    let env = TestEnv::with_script(RUNS);
    env.run(&[]);
    std::fs::create_dir(env.path("state/skillrun/sub")).unwrap();
    let commands: [&[&str]; 3] = [
        &["run", "./skill", "main.py"],
        &["load", "./skill", "-y"],
        &["expand", "--skill", "./skill"],
    ];
    for (words, command) in commands.into_iter().zip(["run", "load", "expand"]) {
        let before = env.audit().len();
        let end = env.end(&[words, &["-w", "state/skillrun/sub"]].concat());
        assert_eq!(end.code, 126, "{command}: {}", end.stderr);
        let lines = env.audit();
        assert_eq!(lines.len(), before + 1, "{command}");
        assert_eq!(lines[before]["event"], "refused", "{command}");
    }
}

fn a_refusal_is_recorded_with_its_reason() {
    let env = TestEnv::with_script(RUNS);
    env.end(&["run", "./skill", "../outside.py", "--", "word"]);
    let log = env.audit();
    let [line] = log.as_slice() else {
        panic!("{log:?}")
    };
    assert_eq!(line["event"], "refused");
    assert_eq!(line["level"], "warning");
    assert_eq!(line["skill"], "skill");
    assert_eq!(line["script"], "../outside.py");
    assert_eq!(line["arguments"], "word");
    assert_eq!(
        line["reason"],
        "script `../outside.py` leads out of skill `skill`"
    );
}

fn arguments_are_recorded_up_to_256_characters() {
    let env = TestEnv::with_script("");
    env.run(&["--", &"ü".repeat(200), &"x".repeat(100_000)]);
    let log = env.audit();
    let wanted = format!("{} {}…", "ü".repeat(200), "x".repeat(55));
    assert_eq!(log[0]["arguments"], wanted);
    assert_eq!(log[1]["arguments"], wanted);
}

fn a_timeout_is_recorded_as_a_warning() {
    let env = TestEnv::with_script("while True: pass\n");
    env.run(&["--timeout", "1s"]);
    let line = env.audit().pop().unwrap();
    assert_eq!(line["level"], "warning");
    assert_eq!(line["status"], "timed_out");
    assert_eq!(line["exit_code"], 124);
    let warning = "`scripts/main.py` was stopped at its time limit of 1s (limits.time)";
    assert_eq!(line["warnings"], json!([warning]));
}

fn grants_are_recorded() {
    let env = TestEnv::with_script("");
    env.write("data/a.txt", "");
    env.run(&["--allow", "read:data", "--env", "TOKEN=secret value"]);
    let line = env.audit().pop().unwrap();
    assert_eq!(
        line["grants"],
        json!([format!("read:{}", env.text("data")), "env:TOKEN"])
    );
    assert!(
        !env.read("state/skillrun/audit.jsonl")
            .contains("secret value")
    );
}

fn many_processes_write_whole_lines() {
    let env = TestEnv::with_script("print(1)\n");
    let long = "y".repeat(5000);
    let words = ["run", "./skill", "main.py", "--", long.as_str()];
    let children: Vec<_> = (0..12)
        .map(|_| env.command(&words).spawn().unwrap())
        .collect();
    for child in children {
        assert_eq!(env.end_of_child(child).code, 0);
    }
    assert_eq!(env.audit().len(), 24);
    env.check_left_behind().unwrap();
}

fn the_log_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::with_script("");
    env.run(&[]);
    let mode = |path| env.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("state/skillrun/audit.jsonl"), 0o600);
    assert_eq!(mode("state/skillrun/audit.head"), 0o600);
    assert_eq!(mode("state/skillrun"), 0o700);
}

/// Applies the setup steps, and checks that the script does not run and why.
fn nothing_runs(steps: &str, why: &str) {
    let env = TestEnv::with_script(RUNS);
    env.write("workspace/a", "");
    setup::prepare(env.root(), steps).unwrap();
    let end = env.run(&["-w", "workspace"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            format!(
                "error: cannot write the audit log `{{root}}/state/skillrun/audit.jsonl`: {why}\n\
                 hint: nothing ran; set XDG_STATE_HOME to another directory\n"
            )
            .as_str(),
            125
        )
    );
    let object = env.outcome(&["-w", "workspace"]);
    assert_eq!(object["exit_code"], 125);
    assert_eq!(object["error"]["kind"], "error");
    assert!(!env.path("workspace/ran").exists());
    // With its log repaired, the same test environment runs.
    let mut command = env.command(&["run", "./skill", "main.py", "-w", "workspace"]);
    let end = env.end_of(command.env("XDG_STATE_HOME", env.path("other")));
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    assert!(env.path("workspace/ran").exists());
}

fn a_log_that_is_a_directory_stops_everything() {
    nothing_runs("dir state/skillrun/audit.jsonl", "is a directory");
}

fn a_log_whose_parent_is_a_file_stops_everything() {
    nothing_runs("touch state/skillrun", "not a directory");
}

fn a_log_that_is_a_fifo_stops_everything() {
    nothing_runs(
        "fifo state/skillrun/audit.jsonl",
        "it is not a regular file",
    );
}

fn a_log_that_may_not_be_written_stops_everything() {
    let env = TestEnv::with_script(RUNS);
    env.write("workspace/a", "");
    setup::prepare(
        env.root(),
        "touch state/skillrun/audit.jsonl\nmode 0400 state/skillrun/audit.jsonl",
    )
    .unwrap();
    let words = ["run", "./skill", "main.py", "-w", "workspace"];
    let end = env.end_of(&mut env.unprivileged_command(&words));
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "error: cannot write the audit log `{root}/state/skillrun/audit.jsonl`: permission denied\n\
             hint: nothing ran; set XDG_STATE_HOME to another directory\n",
            125
        )
    );
    assert!(!env.path("workspace/ran").exists());
}

fn a_log_that_cannot_grow_stops_everything() {
    let env = TestEnv::with_script(RUNS);
    env.write("workspace/a", "");
    // Without the signal, a write beyond the limit is an error, as on a full disk.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 0; exec {} run ./skill main.py -w workspace",
        env!("CARGO_BIN_EXE_skillrun")
    );
    let mut command = env.program("/bin/sh");
    let end = env.end_of(command.args(["-c", &limited]));
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "error: cannot write the audit log `{root}/state/skillrun/audit.jsonl`: file too large\n\
             hint: nothing ran; set XDG_STATE_HOME to another directory\n",
            125
        )
    );
    assert!(!env.path("workspace/ran").exists());
    assert_eq!(env.run(&["-w", "workspace"]).code, 0);
    assert!(env.path("workspace/ran").exists());
}

fn a_log_that_is_a_link_to_a_device_stops_everything() {
    for name in ["audit.jsonl", "audit.head", "audit.lock"] {
        for device in ["/dev/null", "/dev/full"] {
            let beside = match name {
                "audit.jsonl" => String::new(),
                _ => format!("its {} `{{root}}/state/skillrun/{name}`: ", &name[6..]),
            };
            nothing_runs(
                &format!("symlink {device} state/skillrun/{name}"),
                &format!("{beside}it is a symbolic link, not a regular file"),
            );
        }
    }
}

fn a_log_that_other_users_may_write_stops_everything() {
    nothing_runs(
        "touch state/skillrun/audit.jsonl\nmode 0666 state/skillrun/audit.jsonl",
        "it may be written by other users",
    );
}

fn a_log_with_a_second_hard_link_stops_everything() {
    let env = TestEnv::with_script(RUNS);
    let log = env.write("state/skillrun/audit.jsonl", "");
    env.write("workspace/a", "");
    std::fs::hard_link(&log, env.path("workspace/log")).unwrap();
    let end = env.run(&["-w", "workspace"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "error: cannot write the audit log `{root}/state/skillrun/audit.jsonl`: it has more than one hard link\n\
             hint: nothing ran; set XDG_STATE_HOME to another directory\n",
            125
        )
    );
    std::fs::remove_file(env.path("workspace/log")).unwrap();
    assert_eq!(env.run(&["-w", "workspace"]).code, 0);
}

fn a_log_whose_head_is_a_directory_stops_everything() {
    nothing_runs(
        "dir state/skillrun/audit.head",
        "its head `{root}/state/skillrun/audit.head`: is a directory",
    );
}

fn a_log_locked_by_another_process_stops_everything() {
    let env = TestEnv::with_script(RUNS);
    env.write("workspace/a", "");
    let head = std::fs::File::create(env.write("state/skillrun/audit.lock", "")).unwrap();
    rustix::fs::flock(&head, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let end = env.run(&["-w", "workspace"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "error: cannot write the audit log `{root}/state/skillrun/audit.jsonl`: another process has held the lock for 3s\n\
             hint: nothing ran; set XDG_STATE_HOME to another directory\n",
            125
        )
    );
    assert!(!env.path("workspace/ran").exists());
    drop(head);
    assert_eq!(env.run(&["-w", "workspace"]).code, 0);
    assert!(env.path("workspace/ran").exists());
}

fn a_removed_log_is_started_again() {
    let env = TestEnv::with_script("");
    env.run(&[]);
    std::fs::remove_dir_all(env.path("state/skillrun")).unwrap();
    env.run(&[]);
    assert_eq!(env.audit().len(), 2);
}
