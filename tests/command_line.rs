//! The command line itself: streams as they come, signals, closed pipes, help.

use crate::place::{End, Place};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Stdio};

trials! {
    output_comes_while_the_script_goes_on,
    both_streams_come_in_the_order_they_were_written,
    ctrl_c_stops_the_script_at_once_and_leaves_nothing_behind,
    a_request_to_end_stops_a_sleeping_script,
    a_reader_that_goes_away_ends_the_script,
    a_slow_reader_gets_everything,
    raw_output_is_passed_on_byte_by_byte,
    help_shows_examples_and_exit_codes,
    each_command_has_help,
    the_version_is_told,
    completions_are_printed_for_each_shell,
    runtimes_lists_the_interpreter,
    the_licences_of_what_the_interpreters_hold_are_printed,
    doctor_finds_everything_good,
    doctor_names_a_broken_policy,
    without_a_home_the_reason_is_told,
}

const WAITS: &str = "\
import sys
print('ready', flush=True)
print('got', sys.stdin.readline().strip(), flush=True)
";
const SPINS: &str = "print('ready', flush=True)\nwhile True: pass\n";

/// Starts the skill's script and waits until it says that it is ready.
fn started(place: &Place, words: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let words: Vec<&str> = ["run", "./skill", "main.py"]
        .into_iter()
        .chain(words.iter().copied())
        .collect();
    let mut command = place.command(&words);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, stdout)
}

fn output_comes_while_the_script_goes_on() {
    let place = Place::with_script(WAITS);
    // That `ready` arrives before anything was sent is what is tried here.
    let (mut child, mut stdout) = started(&place, &[]);
    child.stdin.take().unwrap().write_all(b"word\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "got word\n");
    assert_eq!(place.end_of_child(child).code, 0);
}

fn both_streams_come_in_the_order_they_were_written() {
    let place = Place::with_script(
        "import sys\nfor n in range(200):\n    print(n, file=(sys.stdout, sys.stderr)[n % 2], flush=True)\n",
    );
    let (mut both, out) = std::io::pipe().unwrap();
    let mut command = place.command(&["run", "./skill", "main.py"]);
    command.stdout(out.try_clone().unwrap()).stderr(out);
    let child = command.spawn().unwrap();
    drop(command);
    let mut text = String::new();
    both.read_to_string(&mut text).unwrap();
    let wanted: String = (0..200).map(|n| format!("{n}\n")).collect();
    assert_eq!(text, wanted);
    assert_eq!(place.end_of_child(child).code, 0);
}

fn signalled(script: &str, signal: Signal) {
    let place = Place::with_script(script);
    let (child, _stdout) = started(&place, &[]);
    kill_process(Pid::from_child(&child), signal).unwrap();
    let end = place.end_of_child(child);
    assert_eq!(end.code, 130);
    assert_eq!(end.stderr, "");
    let last = place.audit().pop().unwrap();
    assert_eq!(last["event"], "finished");
    assert_eq!(last["status"], "cancelled");
    place.check_left_behind().unwrap();
}

fn ctrl_c_stops_the_script_at_once_and_leaves_nothing_behind() {
    signalled(SPINS, Signal::INT);
}

fn a_request_to_end_stops_a_sleeping_script() {
    signalled(
        "import time\nprint('ready', flush=True)\ntime.sleep(1000)\n",
        Signal::TERM,
    );
}

fn a_reader_that_goes_away_ends_the_script() {
    let place = Place::with_script("print('ready', flush=True)\nwhile True: print('more')\n");
    let (child, stdout) = started(&place, &["--timeout", "100s"]);
    drop(stdout);
    let end = place.end_of_child(child);
    assert_ne!(end.code, 0);
    let last = place.audit().pop().unwrap();
    assert_eq!(last["event"], "finished");
    assert_eq!(last["status"], "exited", "{last}");
    place.check_left_behind().unwrap();
}

fn a_slow_reader_gets_everything() {
    let place =
        Place::with_script("print('ready', flush=True)\nfor n in range(500_000): print(n)\n");
    // The script fills every queue and the pipe before anything more is read.
    let (child, stdout) = started(&place, &[]);
    let mut lines = stdout.lines();
    for n in 0..500_000 {
        assert_eq!(lines.next().unwrap().unwrap(), n.to_string());
    }
    assert!(lines.next().is_none());
    assert_eq!(place.end_of_child(child).code, 0);
}

fn raw_output_is_passed_on_byte_by_byte() {
    let place = Place::with_script("import sys\nsys.stdout.buffer.write(bytes(range(256)))\n");
    let output = place
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
        } = Place::new().end(words);
        assert_eq!((stderr.as_str(), code), ("", 0));
        assert!(stdout.contains("Examples:\n  skillrun run skills/word-count count.py"));
        assert!(stdout.contains("124 timed out, 125 host error, 126 refused, 127 not found"));
    }
}

fn each_command_has_help() {
    for command in ["run", "list", "show", "runtimes", "doctor", "completions"] {
        let end = Place::new().end(&[command, "--help"]);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{command}");
        assert!(end.stdout.contains(&format!("Usage: skillrun {command}")));
    }
}

fn the_version_is_told() {
    let end = Place::new().end(&["--version"]);
    let wanted = format!("skillrun {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((end.stdout, end.code), (wanted, 0));
}

fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let end = Place::new().end(&["completions", shell]);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{shell}");
        assert!(end.stdout.contains("virtual-paths"), "{shell}");
    }
}

fn the_licences_of_what_the_interpreters_hold_are_printed() {
    let end = Place::new().end(&["runtimes", "list", "--licenses"]);
    assert_eq!((end.code, end.stderr.as_str()), (0, ""));
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../runtimes/licenses/THIRD-PARTY"
    );
    assert_eq!(end.stdout, std::fs::read_to_string(file).unwrap());
}

fn runtimes_lists_the_interpreter() {
    let end = Place::new().end(&["runtimes", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(listed[0]["name"], "python");
    assert_eq!(listed[0]["tier"], "wasm");
    assert_eq!(listed[0]["prepared"], true);
    let version = listed[0]["version"].as_str().unwrap();
    let place = Place::with_script("import platform\nprint(platform.python_version())\n");
    assert_eq!(place.run(&[]).stdout, format!("{version}\n"));
}

fn doctor_finds_everything_good() {
    let place = Place::new();
    let end = place.end(&["doctor", "--json"]);
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
            "python",
            "javascript",
            "bash",
            "typescript"
        ]
    );
    place.check_left_behind().unwrap();
}

fn doctor_names_a_broken_policy() {
    let place = Place::new();
    place.write("policy.toml", "alow = []\n");
    let end = place.end(&["doctor", "--policy", "policy.toml"]);
    assert_eq!(end.code, 1);
    assert!(end.stdout.contains("FAIL policy"), "{}", end.stdout);
    let why = "line 1, column 1: `alow` is not a key; did you mean `allow`?";
    assert!(end.stdout.contains(why), "{}", end.stdout);
}

fn without_a_home_the_reason_is_told() {
    let place = Place::with_script("print(1)\n");
    let mut command = place.command(&["run", "./skill", "main.py"]);
    command
        .env("HOME", "not/absolute")
        .env_remove("XDG_STATE_HOME");
    let end = place.end_of(&mut command);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            "",
            "error: neither XDG_STATE_HOME nor HOME names a directory\n",
            125
        )
    );
}
