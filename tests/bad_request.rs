//! Messages about bad flags, inputs, grants and policies: a clear message, a hint where one helps, the right
//! exit code, and the same as JSON.

use crate::bad_input::{HELLO, fails};
use crate::env::TestEnv;
use crate::setup;

tests! {
    invalid_json_input_is_reported_with_its_position,
    input_beyond_its_limit_is_refused_wherever_it_comes_from,
    a_missing_input_file_is_reported,
    times_outside_the_range_are_refused,
    other_limits_outside_their_range_are_refused,
    malformed_limits_are_refused,
    an_unknown_grant_is_reported_with_the_nearest,
    a_grant_for_a_missing_path_is_an_error,
    a_missing_workspace_is_an_error,
    the_skill_itself_cannot_be_the_workspace,
    an_unset_variable_is_reported,
    a_variable_that_is_not_utf_8_is_reported,
    a_variable_that_skillrun_sets_is_refused,
    a_broken_policy_stops_everything,
    a_policy_that_is_not_a_regular_file_is_refused_without_blocking,
    an_unknown_flag_is_reported_with_the_nearest,
    a_missing_argument_is_reported,
    an_argument_that_is_not_utf8_is_refused,
}

fn invalid_json_input_is_reported_with_its_position() {
    let env = TestEnv::with_script(HELLO);
    let hint = Some("quote it for your shell: --input '{\"key\": \"value\"}'");
    let message = "--input is not JSON: key must be a string at line 1 column 2";
    fails(
        &env,
        &["./skill", "main.py", "--input", "{a: 1}"],
        125,
        message,
        hint,
    );
    let message = "--input is not JSON: EOF while parsing a value at line 1 column 0";
    fails(
        &env,
        &["./skill", "main.py", "--input", "-"],
        125,
        message,
        hint,
    );
}

fn input_beyond_its_limit_is_refused_wherever_it_comes_from() {
    let env = TestEnv::with_script(HELLO);
    env.write("large.json", format!("\"{}\"", "x".repeat(10 << 20)));
    let hint = Some("pass large data as a file in the workspace");
    let message = "arguments too large: `large.json` has more than 10MiB";
    fails(
        &env,
        &["./skill", "main.py", "--input", "@large.json"],
        125,
        message,
        hint,
    );
}

fn a_missing_input_file_is_reported() {
    let env = TestEnv::with_script(HELLO);
    let words = ["./skill", "main.py", "--input", "@nowhere.json"];
    fails(
        &env,
        &words,
        125,
        "input `nowhere.json`: no such file or directory",
        None,
    );
    let words = ["./skill", "main.py", "--input", "@skill"];
    fails(&env, &words, 125, "input `skill` is a directory", None);
}

/// A flag with a value that must be refused with this message.
fn bad_flag(flag: &str, value: &str, message: &str) {
    let env = TestEnv::with_script(HELLO);
    fails(
        &env,
        &["./skill", "main.py", flag, value],
        125,
        message,
        None,
    );
}

fn times_outside_the_range_are_refused() {
    for (value, shown) in [
        ("0s", "0s"),
        ("999ms", "999ms"),
        ("601s", "601s"),
        ("11m", "660s"),
    ] {
        let message = format!("time `{shown}` is out of range: 1s to 600s");
        bad_flag("--timeout", value, &message);
    }
}

fn other_limits_outside_their_range_are_refused() {
    let range = "is out of range: 64MiB to 4GiB";
    bad_flag("--memory", "1MiB", &format!("memory `1MiB` {range}"));
    bad_flag("--memory", "5GiB", &format!("memory `5GiB` {range}"));
    bad_flag(
        "--max-output",
        "1",
        "output `1` is out of range: 1KiB to 1GiB",
    );
    bad_flag("--fuel", "0", "fuel `0` is out of range: at least 1");
}

fn malformed_limits_are_refused() {
    let duration = "is not a duration: write `30s`, `500ms`, `2m`";
    bad_flag("--timeout", "soon", &format!("`soon` {duration}"));
    bad_flag("--timeout", "1y", &format!("`1y` {duration}"));
    bad_flag(
        "--memory",
        "much",
        "`much` is not a size: write `256MiB`, `1GiB`, `10MB`",
    );
}

fn an_unknown_grant_is_reported_with_the_nearest() {
    let none = "it starts with none of `read: write: net: env: run: interpreter: native`";
    bad_flag(
        "--allow",
        "raed:/x",
        &format!("`raed:/x` is not a grant: {none}, did you mean `read:`?"),
    );
    bad_flag(
        "--allow",
        "nativ",
        &format!("`nativ` is not a grant: {none}, did you mean `native`?"),
    );
    bad_flag(
        "--allow",
        "everything",
        &format!("`everything` is not a grant: {none}"),
    );
    bad_flag(
        "--allow",
        "read:",
        "`read:` is not a grant: nothing follows `read:`",
    );
}

fn a_grant_for_a_missing_path_is_an_error() {
    let env = TestEnv::with_script(HELLO);
    let message = "`read:{root}/nowhere`: no such file or directory";
    fails(
        &env,
        &["./skill", "main.py", "--allow", "read:nowhere"],
        125,
        message,
        None,
    );
}

fn a_missing_workspace_is_an_error() {
    let env = TestEnv::with_script(HELLO);
    let message = "workspace `nowhere`: no such file or directory";
    fails(
        &env,
        &["./skill", "main.py", "-w", "nowhere"],
        125,
        message,
        None,
    );
    setup::prepare(env.root(), "fifo fifo").unwrap();
    for file in ["skill/SKILL.md", "fifo"] {
        let message = format!("workspace `{file}`: must be a directory");
        fails(
            &env,
            &["./skill", "main.py", "-w", file],
            125,
            &message,
            None,
        );
    }
}

fn the_skill_itself_cannot_be_the_workspace() {
    let env = TestEnv::with_script(HELLO);
    let message = "workspace `skill` is the skill's own folder, which is read-only";
    let hint = Some("name no workspace if reading is enough, or pass --allow write:skill");
    fails(
        &env,
        &["./skill", "main.py", "-w", "skill"],
        126,
        message,
        hint,
    );
}

fn a_variable_that_is_not_utf_8_is_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let env = TestEnv::with_script(HELLO);
    let mut command = env.command(&["run", "./skill", "main.py", "--env", "BYTES"]);
    let end = env.end_of(command.env("BYTES", std::ffi::OsStr::from_bytes(b"\xff")));
    let why = "error: the value of the variable `BYTES` is not UTF-8\n";
    let printed = (end.stdout.as_str(), end.stderr.as_str(), end.code);
    assert_eq!(printed, ("", why, 125));
}

fn an_unset_variable_is_reported() {
    let env = TestEnv::with_script(HELLO);
    let message = "the variable `NOT_SET` is not set";
    let hint = Some("pass a value: --env NOT_SET=VALUE");
    fails(
        &env,
        &["./skill", "main.py", "--env", "NOT_SET"],
        125,
        message,
        hint,
    );
}

fn a_variable_that_skillrun_sets_is_refused() {
    let env = TestEnv::with_script(HELLO);
    for name in ["SKILL_BASE_DIR", "HOME", "PATH", "PYTHONPATH"] {
        let message = format!("the variable `{name}` is reserved by skillrun");
        let value = format!("{name}=/x");
        fails(
            &env,
            &["./skill", "main.py", "--env", &value],
            126,
            &message,
            None,
        );
    }
}

fn a_broken_policy_stops_everything() {
    let env = TestEnv::with_script(HELLO);
    env.write("skillrun.toml", "allow = [\"raed:/x\"]\n");
    let end = env.run(&["--policy", "skillrun.toml"]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 126));
    let start = "refused: policy `skillrun.toml`: ";
    assert!(end.stderr.starts_with(start), "{}", end.stderr);
    assert!(
        end.stderr.contains("did you mean `read:`?"),
        "{}",
        end.stderr
    );
    let end = env.run(&["--policy", "nowhere.toml"]);
    assert_eq!(
        (end.stderr.as_str(), end.code),
        (
            "refused: policy `nowhere.toml`: no such file or directory\n",
            126
        )
    );
}

fn a_policy_that_is_not_a_regular_file_is_refused_without_blocking() {
    for steps in [
        "fifo skillrun.toml",
        "dir skillrun.toml",
        "socket skillrun.toml",
        "symlink nowhere skillrun.toml",
        "symlink /dev/zero skillrun.toml",
        "file skillrun.toml 2000000",
    ] {
        let env = TestEnv::with_script(HELLO);
        setup::prepare(env.root(), steps).unwrap();
        let end = env.run(&[]);
        assert_eq!((end.stdout.as_str(), end.code), ("", 126), "{steps}");
        let start = "refused: policy `skillrun.toml`: ";
        assert!(end.stderr.starts_with(start), "{steps}: {}", end.stderr);
    }
}

fn an_unknown_flag_is_reported_with_the_nearest() {
    let env = TestEnv::with_script(HELLO);
    let end = env.run(&["--timeuot", "1s"]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 125));
    assert!(
        end.stderr
            .starts_with("error: unexpected argument '--timeuot' found\n")
    );
    assert!(end.stderr.contains("'--timeout'"));
    let end = env.end(&["list", "--nonsense"]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 125));
}

fn a_missing_argument_is_reported() {
    let end = TestEnv::new().end(&["run"]);
    assert_eq!((end.stdout.as_str(), end.code), ("", 125));
    assert!(end.stderr.contains("<SKILL>"));
}

fn an_argument_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let env = TestEnv::with_script(HELLO);
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    let words = ["run", "./skill", "main.py", "--"].map(std::ffi::OsStr::new);
    let words: Vec<_> = words.into_iter().chain([odd]).collect();
    let end = env.end(&words);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        ("", "error: argument 1 is not UTF-8\n", 125)
    );
}
