//! Limits of a run, where a folder is not enough: streams that stay open, amounts too large
//! to keep in a file, counts that must repeat.

use crate::env::{TestEnv, may_mount};
use crate::library::{block_on, host, permitted, skill};
use crate::setup;
use serde_json::json;
use skillrun::{Limits, Policy, Request, Status};
use std::process::Stdio;

tests! {
    a_script_that_waits_for_input_that_never_comes_is_stopped_at_the_time_limit,
    a_script_that_waits_for_a_reader_that_never_reads_is_stopped_at_the_time_limit,
    a_timeout_is_reported_in_the_outcome,
    spent_fuel_is_reported_in_the_outcome,
    spent_memory_is_reported_in_the_outcome,
    the_fuel_of_a_script_repeats_exactly,
    more_work_takes_more_fuel,
    a_flood_on_both_streams_is_truncated_and_counted_and_does_not_end_the_script,
    a_flood_is_cut_on_the_streams_too,
    output_of_exactly_the_limit_is_kept_whole,
    one_byte_beyond_the_limit_is_cut,
    the_memory_a_script_used_is_reported,
    a_skill_of_ten_thousand_files_is_found_and_runs,
    input_of_nearly_the_limit_reaches_the_script_whole,
    a_memory_error_that_ends_a_script_names_the_flag,
    a_full_disk_is_named_in_a_warning,
}

fn a_script_that_waits_for_input_that_never_comes_is_stopped_at_the_time_limit() {
    let env = TestEnv::with_script("print('waits', flush=True)\nprint('got', input())\n");
    let mut command = env.command(&["run", "./skill", "main.py", "--timeout", "1s"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let held_open = child.stdin.take();
    let end = env.end_of_child(child);
    drop(held_open);
    assert_eq!(end.stdout, "waits\n");
    assert_eq!(
        end.stderr,
        "warning: `scripts/main.py` was stopped at its time limit of 1s (limits.time)\n\
         hint: raise limits.time with --timeout\n"
    );
    assert_eq!(end.code, 124);
    env.check_left_behind().unwrap();
}

fn a_script_that_waits_for_a_reader_that_never_reads_is_stopped_at_the_time_limit() {
    let env = TestEnv::with_script("while True: print('x' * 1000)\n");
    is_stopped_while_nothing_reads(&env, "main.py");
}

/// The script writes until the pipe is full, and waits there until its time limit.
pub(crate) fn is_stopped_while_nothing_reads(env: &TestEnv, script: &str) {
    let mut command = env.command(&["run", "./skill", script, "--timeout", "1s"]);
    let mut child = command.spawn().unwrap();
    let unread = child.stdout.take();
    let end = env.end_of_child(child);
    drop(unread);
    assert_eq!(end.code, 124);
    assert!(end.stderr.contains(
        "stopped at its time limit of 1s (limits.time)\nhint: raise limits.time with --timeout\n"
    ));
    env.check_left_behind().unwrap();
}

fn a_timeout_is_reported_in_the_outcome() {
    let env = TestEnv::with_script("print('begins', flush=True)\nwhile True: pass\n");
    let outcome = env.outcome(&["--timeout", "1s"]);
    assert_eq!(outcome["status"], "timed_out");
    assert_eq!(outcome["exit_code"], 124);
    assert_eq!(outcome["timeout"], true);
    assert_eq!(outcome["success"], false);
    assert_eq!(outcome["signaled"], false);
    assert_eq!(outcome["stdout"], "begins\n");
    assert_eq!(outcome["stderr"], "Timeout: stopped after 1s\n");
    assert!(outcome["execution_time_ms"].as_f64().unwrap() >= 1000.0);
}

fn spent_fuel_is_reported_in_the_outcome() {
    let env = TestEnv::with_script("while True: pass\n");
    let outcome = env.outcome(&["--fuel", "100000000"]);
    assert_eq!(outcome["status"], "out_of_fuel");
    assert_eq!(outcome["exit_code"], 124);
    assert_eq!(outcome["timeout"], false);
    assert_eq!(
        outcome["stderr"],
        "Out of fuel: the limit is 100000000 (limits.fuel)\n"
    );
    assert_eq!(outcome["usage"]["fuel"], 100_000_000);
}

/// A script gets a `MemoryError`. Here the interpreter has no memory for the arguments of its call, before
/// any script could catch anything.
fn spent_memory_is_reported_in_the_outcome() {
    let env = TestEnv::with_script("import sys\nprint(len(sys.argv))\n");
    let (host, skill) = (host(&env), skill(&env));
    let run = |arguments: usize| {
        let request = Request {
            args: vec!["a".to_owned(); arguments],
            limits: Some(Limits {
                memory: 64 << 20,
                ..Limits::default()
            }),
            ..Request::typed(&skill, "main.py")
        };
        block_on(host.run(permitted(&host, &Policy::default(), request))).unwrap()
    };
    let outcome = run(5_000_000);
    assert_eq!(
        (outcome.status, outcome.exit_code),
        (Status::OutOfMemory, 137)
    );
    assert_eq!(
        outcome.stderr,
        "Out of memory: the limit is 64MiB (limits.memory)\n"
    );
    assert!(!outcome.success);
    let line = env.audit().pop().unwrap();
    assert_eq!(
        (&line["event"], &line["status"]),
        (&json!("finished"), &json!("out_of_memory"))
    );
    // The twin: fewer arguments fit.
    assert_eq!(run(1000).stdout, "1001\n");
}

fn fuel(env: &TestEnv, words: &[&str]) -> u64 {
    let outcome = env.outcome(words);
    assert_eq!(outcome["status"], "exited", "{outcome}");
    outcome["usage"]["fuel"].as_u64().unwrap()
}

fn the_fuel_of_a_script_repeats_exactly() {
    let env = TestEnv::with_script(
        "import json, re\ndata = {str(n): [n] * 3 for n in range(500)}\n\
         print(len(re.findall(r'\\d+', json.dumps(data))), len({str(n) for n in range(99)}))\n",
    );
    let first = fuel(&env, &[]);
    assert_eq!([fuel(&env, &[]), fuel(&env, &[])], [first, first]);
}

fn more_work_takes_more_fuel() {
    let env = TestEnv::with_script("import sys\nfor _ in range(int(sys.argv[1])): pass\n");
    let (little, much) = (fuel(&env, &["--", "10"]), fuel(&env, &["--", "100000"]));
    assert!(much > little + 100_000, "{little} {much}");
}

const FLOOD: &str = "\
import sys
line = 'x' * 999 + '\\n'
for _ in range(100):
    for _ in range(10):
        sys.stdout.write(line * 100)
        sys.stderr.write(line * 100)
sys.exit(7)
";
const FLOOD_BYTES: u64 = 100_000_000;
const KEPT: usize = 10 * 1024 * 1024;
const MARKER: &str = "[... output truncated ...]";

fn a_flood_on_both_streams_is_truncated_and_counted_and_does_not_end_the_script() {
    let env = TestEnv::with_script(FLOOD);
    let outcome = env.outcome(&[]);
    assert_eq!(outcome["status"], "exited");
    assert_eq!(outcome["exit_code"], 7);
    for stream in ["stdout", "stderr"] {
        let text = outcome[stream].as_str().unwrap();
        assert_eq!(outcome[format!("{stream}_bytes")], FLOOD_BYTES);
        assert_eq!(outcome[format!("{stream}_truncated")], true);
        assert_eq!(text.len(), KEPT + MARKER.len());
        assert!(text.ends_with(MARKER));
    }
    let line = env.audit().pop().unwrap();
    assert_eq!(line["level"], "warning");
    assert_eq!(line["stdout_bytes"], FLOOD_BYTES);
    assert_eq!(
        line["warnings"],
        json!([
            "stdout of `scripts/main.py` was cut at 10MiB (limits.output): it wrote 100000000 bytes",
            "stderr of `scripts/main.py` was cut at 10MiB (limits.output): it wrote 100000000 bytes",
        ])
    );
    env.check_left_behind().unwrap();
}

fn a_flood_is_cut_on_the_streams_too() {
    let env = TestEnv::with_script(FLOOD);
    let end = env.run(&["--max-output", "1MiB"]);
    let cut = 1024 * 1024 + MARKER.len() + 1;
    assert_eq!(end.code, 7);
    assert_eq!(end.stdout.len(), cut);
    assert!(end.stdout.ends_with(&format!("{MARKER}\n")));
    let (stderr, warnings) = end.stderr.split_at(cut);
    assert!(stderr.ends_with(&format!("{MARKER}\n")));
    assert_eq!(
        warnings,
        "warning: stdout of `scripts/main.py` was cut at 1MiB (limits.output): it wrote 100000000 bytes\n\
         warning: stderr of `scripts/main.py` was cut at 1MiB (limits.output): it wrote 100000000 bytes\n\
         hint: raise limits.output with --max-output\n"
    );
}

fn output_of_exactly_the_limit_is_kept_whole() {
    let env = TestEnv::with_script("import sys\nsys.stdout.write('é' * (5 << 20))\n");
    let outcome = env.outcome(&[]);
    assert_eq!(outcome["stdout_truncated"], false);
    assert_eq!(outcome["stdout_bytes"], KEPT);
    assert_eq!(outcome["stdout"].as_str().unwrap(), "é".repeat(5 << 20));
}

fn one_byte_beyond_the_limit_is_cut() {
    let env = TestEnv::with_script("import sys\nsys.stdout.write('x' * ((10 << 20) + 1))\n");
    let outcome = env.outcome(&[]);
    assert_eq!(outcome["stdout_truncated"], true);
    assert_eq!(outcome["stdout_bytes"], KEPT + 1);
    assert_eq!(
        outcome["stdout"].as_str().unwrap(),
        format!("{}{MARKER}", "x".repeat(KEPT))
    );
}

fn the_memory_a_script_used_is_reported() {
    let env = TestEnv::with_script("import sys\nheld = bytearray(int(sys.argv[1]) << 20)\n");
    let peak = |size| {
        env.outcome(&["--", size])["usage"]["peak_memory_bytes"]
            .as_u64()
            .unwrap()
    };
    let (small, large) = (peak("1"), peak("150"));
    assert!(large > small + (140 << 20), "{small} {large}");
    assert!(large <= 256 << 20);
}

fn a_skill_of_ten_thousand_files_is_found_and_runs() {
    let env = TestEnv::with_script("import os\nprint(len(os.listdir('data')))\n");
    for n in 0..10_000 {
        env.write(&format!("skill/data/{n}"), "");
    }
    let end = env.run(&[]);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("10000\n", ""));
    let end = env.end(&["show", "--json", "./skill"]);
    let shown: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(shown["scripts"].as_array().unwrap().len(), 1);
}

fn input_of_nearly_the_limit_reaches_the_script_whole() {
    let env = TestEnv::with_script(
        "import json, sys\ntext = json.load(sys.stdin)\nprint(len(text), set(text))\n",
    );
    let letters = KEPT - 2;
    env.write("input.json", format!("\"{}\"", "y".repeat(letters)));
    let end = env.run(&["--input", "@input.json"]);
    assert_eq!(end.stderr, "");
    assert_eq!(end.stdout, format!("{letters} {{'y'}}\n"));
}

/// Python's libc reports any failure of a stream as EIO; the warning says that the disk was full.
fn a_full_disk_is_named_in_a_warning() {
    if !may_mount() {
        println!("not run: this user may not mount file systems");
        return;
    }
    let write = "
import errno, os
try:
    with open('bytes', 'wb') as file:
        for _ in range(COUNT): file.write(bytes(65536))
except OSError as error: print(errno.errorcode[error.errno])
else: print('written')
try: os.pwrite(os.open('more', os.O_CREAT | os.O_WRONLY), bytes(4096 * COUNT), 0)
except OSError as error: print(errno.errorcode[error.errno])
else: print('written')
";
    let full = "warning: a write failed because the disk is full\n";
    for (count, stdout, stderr) in [
        ("1", "written\nwritten\n", ""),
        ("64", "EIO\nENOSPC\n", full),
    ] {
        let env = TestEnv::with_script(&write.replace("COUNT", count));
        setup::prepare(env.root(), "dir disk").unwrap();
        let mount = "mount -t tmpfs -o size=256k none disk && exec \"$0\" \"$@\"";
        let words = ["run", "./skill", "main.py", "-w", "disk"];
        let end = env.end_of(&mut env.command_in_mounts(mount, &words));
        assert_eq!(
            (end.stdout.as_str(), end.stderr.as_str(), end.code),
            (stdout, stderr, 0)
        );
    }
}

fn a_memory_error_that_ends_a_script_names_the_flag() {
    let env = TestEnv::with_script("bytes(100 << 20)\nprint('allocated')\n");
    let end = env.end(&["run", "./skill", "main.py", "--memory", "64MiB"]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 1));
    let last: Vec<&str> = end.stderr.lines().rev().take(3).collect();
    let warning = "warning: the script hit its memory limit of 64MiB (limits.memory)";
    let hint = "hint: raise limits.memory with --memory";
    assert_eq!(last, [hint, warning, "MemoryError"]);
    let end = env.end(&["run", "./skill", "main.py"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str()),
        ("allocated\n", "")
    );
}
