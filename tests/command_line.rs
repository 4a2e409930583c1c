//! The command line itself: streams as they come, signals, closed pipes, help.

use crate::containment::start_until_ready;
use crate::env::{End, TestEnv};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Stdio};

tests! {
    output_is_streamed_while_the_script_runs,
    both_streams_arrive_in_the_order_they_were_written,
    ctrl_c_stops_the_script_at_once_and_leaves_nothing_behind,
    sigterm_stops_a_sleeping_script,
    a_closed_terminal_stops_the_script_and_is_recorded,
    a_closed_terminal_does_not_stop_what_nohup_started,
    a_closed_output_pipe_ends_the_script,
    a_closed_output_pipe_is_not_an_error,
    missing_skill_directories_are_reported,
    a_skill_that_is_found_twice_hides_nothing,
    invalid_limits_and_variables_are_reported,
    a_missing_approval_cannot_be_revoked,
    a_slow_reader_gets_everything,
    raw_output_is_passed_on_unchanged,
    help_shows_examples_and_exit_codes,
    each_command_has_help,
    the_version_is_printed,
    completions_are_printed_for_each_shell,
    runtimes_lists_the_interpreter,
    the_licences_of_the_interpreters_are_printed,
    doctor_finds_no_problem,
    doctor_names_a_broken_policy,
    doctor_prints_the_hint_of_a_failure,
    doctor_names_an_audit_log_that_cannot_be_written,
    a_missing_home_is_reported,
}

const WAITS: &str = "\
import sys
print('ready', flush=True)
print('got', sys.stdin.readline().strip(), flush=True)
";
const SPINS: &str = "print('ready', flush=True)\nwhile True: pass\n";

/// Starts the skill's `main.py` and waits until it prints `ready`.
fn started(env: &TestEnv, words: &[&str]) -> (Child, BufReader<ChildStdout>) {
    start_until_ready(env, "main.py", words)
}

fn output_is_streamed_while_the_script_runs() {
    let env = TestEnv::with_script(WAITS);
    // The test is that `ready` arrives before any input is sent.
    let (mut child, mut stdout) = started(&env, &[]);
    child.stdin.take().unwrap().write_all(b"word\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "got word\n");
    assert_eq!(env.end_of_child(child).code, 0);
}

fn both_streams_arrive_in_the_order_they_were_written() {
    let env = TestEnv::with_script(
        "import sys\nfor n in range(200):\n    print(n, file=(sys.stdout, sys.stderr)[n % 2], flush=True)\n",
    );
    let (mut both, out) = std::io::pipe().unwrap();
    let mut command = env.command(&["run", "./skill", "main.py"]);
    command.stdout(out.try_clone().unwrap()).stderr(out);
    let child = command.spawn().unwrap();
    drop(command);
    let mut text = String::new();
    both.read_to_string(&mut text).unwrap();
    let wanted: String = (0..200).map(|n| format!("{n}\n")).collect();
    assert_eq!(text, wanted);
    assert_eq!(env.end_of_child(child).code, 0);
}

fn signalled(script: &str, signal: Signal) {
    let env = TestEnv::with_script(script);
    let (child, _stdout) = started(&env, &[]);
    kill_process(Pid::from_child(&child), signal).unwrap();
    let end = env.end_of_child(child);
    assert_eq!(end.code, 130);
    assert_eq!(end.stderr, "");
    let last = env.audit().pop().unwrap();
    assert_eq!(last["event"], "finished");
    assert_eq!(last["status"], "cancelled");
    env.check_left_behind().unwrap();
}

fn ctrl_c_stops_the_script_at_once_and_leaves_nothing_behind() {
    signalled(SPINS, Signal::INT);
}

fn sigterm_stops_a_sleeping_script() {
    signalled(
        "import time\nprint('ready', flush=True)\ntime.sleep(1000)\n",
        Signal::TERM,
    );
}

fn a_closed_terminal_stops_the_script_and_is_recorded() {
    signalled(SPINS, Signal::HUP);
}

fn a_closed_terminal_does_not_stop_what_nohup_started() {
    let env = TestEnv::with_script(WAITS);
    let mut command = env.program("/bin/sh");
    let steps = "trap '' HUP; exec \"$@\"";
    command.args(["-c", steps, "sh", env!("CARGO_BIN_EXE_skillrun")]);
    command
        .args(["run", "./skill", "main.py"])
        .stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let is_set = |name: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() & 1 == 1
    };
    assert!(is_set("SigIgn:") && !is_set("SigCgt:"), "{status}");
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    child.stdin.take().unwrap().write_all(b"word\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "got word\n");
    assert_eq!(env.end_of_child(child).code, 0);
}

/// As in `skillrun … | head`: the command ends, prints nothing, and exits with the code of what it did.
fn a_closed_output_pipe_is_not_an_error() {
    let env = TestEnv::with_script("import sys\nprint('it ran')\nsys.exit(3)\n");
    env.write(
        "skill/SKILL.md",
        "---\nname: skill\ndescription: A skill of a test.\n---\nscripts/main.py\n",
    );
    env.write(
        "skills/one/SKILL.md",
        "---\nname: one\ndescription: One.\n---\n",
    );
    env.write("own.toml", "");
    env.write("broken.jsonl", "x\n");
    env.write("text", "a !{scripts/main.py} b\n".repeat(3));
    env.write("wrong/SKILL.md", "---\nname: other\n---\n");
    let commands: [(&[&str], i32); 20] = [
        (&["list"], 0),
        (&["list", "--json"], 0),
        (&["show", "one"], 0),
        (&["check", "./skills/one"], 0),
        (&["prompt", "--format", "xml"], 0),
        (&["policy", "check", "own.toml"], 0),
        (&["policy", "trust", "-y", "own.toml"], 0),
        (&["policy", "list"], 0),
        (&["approvals", "list", "--json"], 0),
        (&["runtimes", "list"], 0),
        (&["runtimes", "list", "--licenses"], 0),
        (&["completions", "bash"], 0),
        (&["run", "./skill", "main.py", "--json"], 3),
        (&["load", "./skill", "-y"], 0),
        (&["expand", "-y", "--skill", "./skill"], 0),
        (&["audit", "show"], 0),
        (&["audit", "verify"], 0),
        // A reader that closes the pipe does not change the exit code.
        (&["check", "./wrong"], 1),
        (&["load", "-q", "./none"], 127),
        (&["audit", "verify", "--json", "broken.jsonl"], 1),
    ];
    for (words, code) in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = env.command(words);
        command.stdout(writer);
        command.stdin(std::fs::File::open(env.path("text")).unwrap());
        let end = env.end_of(&mut command);
        let messages: String = end
            .stderr
            .lines()
            .filter(|line| !line.contains("ended with exit code 3"))
            .collect();
        assert_eq!(end.code, code, "{words:?}: {}", end.stderr);
        // Only a missing skill is reported.
        assert_eq!(
            messages.is_empty(),
            code != 127,
            "{words:?}: {}",
            end.stderr
        );
        assert!(!messages.contains("pipe"), "{words:?}: {messages}");
    }
    env.check_left_behind().unwrap();
}

fn missing_skill_directories_are_reported() {
    let env = TestEnv::with_script("");
    env.write("file", "");
    env.write(
        "skills/one/SKILL.md",
        "---\nname: one\ndescription: One.\n---\n",
    );
    let commands: [&[&str]; 6] = [
        &["list"],
        &["show", "one"],
        &["run", "one", "main.py"],
        &["check", "one"],
        &["prompt"],
        &["expand", "--skill", "one"],
    ];
    for words in commands {
        for (named, why) in [
            ("nope", "no such file or directory"),
            ("file", "not a directory"),
        ] {
            let end = env.end(&[words, &["--skills", named]].concat());
            let why = format!(
                "error: skills `{named}`: {why}\n\
                 hint: --skills takes a directory that contains skill folders\n"
            );
            let got = (end.stdout.as_str(), end.stderr, end.code);
            assert_eq!(got, ("", why, 127), "{words:?}");
        }
    }
    let end = env.end(&["list", "--skills", "skills"]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
}

fn a_skill_that_is_found_twice_hides_nothing() {
    let env = TestEnv::new();
    for folder in ["skills", "other"] {
        let text = "---\nname: one\ndescription: One.\n---\n";
        env.write(&format!("{folder}/one/SKILL.md"), text);
    }
    std::os::unix::fs::symlink("skills", env.path("link")).unwrap();
    for named in ["skills", "./skills", "link"] {
        let end = env.end(&["show", "one", "--skills", named]);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{named}");
    }
    let end = env.end(&["show", "one", "--skills", "other"]);
    let hides = "warning: skill `{root}/other/one` shadows `skills/one`\n";
    assert_eq!((end.stderr.as_str(), end.code), (hides, 0));
}

fn invalid_limits_and_variables_are_reported() {
    let env = TestEnv::with_script("");
    for (words, why) in [
        (
            ["--timeout", "-1s"],
            "error: `-1s` is not a duration: write `30s`, `500ms`, `2m`\n",
        ),
        (
            ["--memory", "-1"],
            "error: `-1` is not a size: write `256MiB`, `1GiB`, `10MB`\n",
        ),
        (
            ["--env", "=x"],
            "error: --env `=x` names no variable\nhint: write --env NAME=VALUE, or --env NAME\n",
        ),
        (
            ["--env", ""],
            "error: --env `` names no variable\nhint: write --env NAME=VALUE, or --env NAME\n",
        ),
    ] {
        let end = env.run(&words);
        assert_eq!((end.stderr.as_str(), end.code), (why, 125), "{words:?}");
    }
    let end = env.run(&["--timeout", "2s", "--env", "X=x"]);
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
}

fn a_missing_approval_cannot_be_revoked() {
    let env = TestEnv::new();
    for id in ["0", "7"] {
        let end = env.end(&["approvals", "revoke", id]);
        let why = format!(
            "error: no such approval: `{id}`\n\
             hint: `skillrun approvals list` shows their numbers; --skill NAME revokes every approval of a skill\n"
        );
        let got = (end.stdout.as_str(), end.stderr, end.code);
        assert_eq!(got, ("", why, 127));
    }
    let end = env.end(&["approvals", "revoke", "--all"]);
    let got = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(got, ("revoked 0\n", "", 0));
}

fn a_closed_output_pipe_ends_the_script() {
    let env = TestEnv::with_script("print('ready', flush=True)\nwhile True: print('more')\n");
    let (child, stdout) = started(&env, &["--timeout", "100s"]);
    drop(stdout);
    let end = env.end_of_child(child);
    assert_ne!(end.code, 0);
    let last = env.audit().pop().unwrap();
    assert_eq!(last["event"], "finished");
    assert_eq!(last["status"], "exited", "{last}");
    env.check_left_behind().unwrap();
}

fn a_slow_reader_gets_everything() {
    let env =
        TestEnv::with_script("print('ready', flush=True)\nfor n in range(500_000): print(n)\n");
    // The script fills every queue and the pipe before anything more is read.
    let (child, stdout) = started(&env, &[]);
    let mut lines = stdout.lines();
    for n in 0..500_000 {
        assert_eq!(lines.next().unwrap().unwrap(), n.to_string());
    }
    assert!(lines.next().is_none());
    assert_eq!(env.end_of_child(child).code, 0);
}

fn raw_output_is_passed_on_unchanged() {
    let env = TestEnv::with_script("import sys\nsys.stdout.buffer.write(bytes(range(256)))\n");
    let output = env
        .command(&["run", "--raw", "./skill", "main.py"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, (0..=255).collect::<Vec<u8>>());
}

fn help_shows_examples_and_exit_codes() {
    for words in [["--help"].as_slice(), &["run", "--help"]] {
        let End {
            stdout,
            stderr,
            code,
        } = TestEnv::new().end(words);
        assert_eq!((stderr.as_str(), code), ("", 0));
        assert!(stdout.contains("Examples:\n  skillrun run skills/word-count count.py"));
        for code in [
            "124 timed out",
            "125 host error or usage error",
            "126 refused",
        ] {
            assert!(stdout.contains(code), "{stdout}");
        }
    }
}

fn each_command_has_help() {
    for command in ["run", "list", "show", "runtimes", "doctor", "completions"] {
        let end = TestEnv::new().end(&[command, "--help"]);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{command}");
        assert!(end.stdout.contains(&format!("Usage: skillrun {command}")));
    }
}

fn the_version_is_printed() {
    let end = TestEnv::new().end(&["--version"]);
    let wanted = format!("skillrun {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((end.stdout, end.code), (wanted, 0));
}

fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let end = TestEnv::new().end(&["completions", shell]);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{shell}");
        // It asks the binary for the names: `usage.rs` tests the answers.
        assert!(end.stdout.contains("SKILLRUN_COMPLETE"), "{shell}");
    }
}

fn the_licences_of_the_interpreters_are_printed() {
    let end = TestEnv::new().end(&["runtimes", "list", "--licenses"]);
    assert_eq!((end.code, end.stderr.as_str()), (0, ""));
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../runtimes/licenses/THIRD-PARTY"
    );
    assert_eq!(end.stdout, std::fs::read_to_string(file).unwrap());
}

fn runtimes_lists_the_interpreter() {
    let end = TestEnv::new().end(&["runtimes", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(listed[0]["name"], "python");
    assert_eq!(listed[0]["tier"], "wasm");
    assert_eq!(listed[0]["prepared"], true);
    let version = listed[0]["version"].as_str().unwrap();
    let env = TestEnv::with_script("import platform\nprint(platform.python_version())\n");
    assert_eq!(env.run(&[]).stdout, format!("{version}\n"));
}

fn doctor_finds_no_problem() {
    let env = TestEnv::new();
    let end = env.end(&["doctor", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(found["good"], true, "{found}");
    assert_eq!((end.stderr.as_str(), end.code), ("", 0));
    let names: Vec<&str> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "skillrun",
            "policy",
            "skills",
            "audit log",
            "approvals",
            "cache",
            "cache",
            "cache",
            "native",
            "programs",
            "workers",
            "python",
            "javascript",
            "bash",
            "typescript"
        ]
    );
    env.check_left_behind().unwrap();
}

fn doctor_names_a_broken_policy() {
    let env = TestEnv::new();
    env.write("policy.toml", "alow = []\n");
    let end = env.end(&["doctor", "--policy", "policy.toml"]);
    assert_eq!(end.code, 1);
    assert!(end.stdout.contains("FAIL policy"), "{}", end.stdout);
    let why = "line 1, column 1: `alow` is not a key; did you mean `allow`?";
    assert!(end.stdout.contains(why), "{}", end.stdout);
}

fn doctor_prints_the_hint_of_a_failure() {
    let env = TestEnv::new();
    env.write("skillrun.toml", "allow = []\n");
    let end = env.end(&["doctor"]);
    assert_eq!(end.code, 1);
    let line = "\nFAIL policy     policy `skillrun.toml` is not trusted; \
                hint: run `skillrun policy trust` after reading it\n";
    assert!(end.stdout.contains(line), "{}", end.stdout);
}

fn doctor_names_an_audit_log_that_cannot_be_written() {
    let env = TestEnv::new();
    let mut command = env.command(&["doctor"]);
    let end = env.end_of(command.env("XDG_STATE_HOME", "/proc/nope"));
    assert_eq!(end.code, 1);
    let line = "\nFAIL audit log  cannot write the audit log `/proc/nope/skillrun/audit.jsonl`: ";
    assert!(end.stdout.contains(line), "{}", end.stdout);
    let hint = "; hint: nothing ran; set XDG_STATE_HOME to another directory\n";
    assert!(end.stdout.contains(hint), "{}", end.stdout);
}

fn a_missing_home_is_reported() {
    let env = TestEnv::with_script("print(1)\n");
    let mut command = env.command(&["run", "./skill", "main.py"]);
    command
        .env("HOME", "not/absolute")
        .env_remove("XDG_STATE_HOME");
    let end = env.end_of(&mut command);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "error: neither XDG_STATE_HOME nor HOME is an absolute path\n",
            125
        )
    );
}
