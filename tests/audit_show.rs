//! `audit show`: filters lines and prints them unchanged.

use crate::audit_chain::{LOG, lines, refused};
use crate::env::TestEnv;
use serde_json::{Value, json};
use std::fmt::Write as _;

tests! {
    show_prints_a_line_for_each_event,
    show_filters_by_each_field,
    show_filters_by_the_time_of_each_line,
    show_prints_the_last_lines_unchanged,
    show_escapes_control_sequences,
    show_names_invalid_values,
    show_skips_malformed_lines,
}

/// A log whose lines have these fields.
fn with_lines(lines: &[Value]) -> TestEnv {
    let env = TestEnv::new();
    let text = lines.iter().fold(String::new(), |mut text, line| {
        writeln!(text, "{line}").unwrap();
        text
    });
    env.write(LOG, text);
    env
}

fn shown(env: &TestEnv, words: &[&str]) -> String {
    let words: Vec<&str> = [&["audit", "show"], words].concat();
    let end = env.end(&words);
    // No match is reported. With `-n 0`, there may be matches.
    let note = match end.stdout.is_empty() && !words.contains(&"-n") {
        true => "note: no lines of the audit log match\n",
        false => "",
    };
    assert_eq!((end.stderr.as_str(), end.code), (note, 0));
    end.stdout
}

fn show_prints_a_line_for_each_event() {
    let env = with_lines(&[
        json!({"time": "2026-01-31T12:00:00.123456Z", "event": "started", "run_id": "r1", "skill": "pdf", "script": "scripts/a.py", "arguments": "a b"}),
        json!({"time": "2026-01-31T12:00:01Z", "event": "finished", "run_id": "r1", "skill": "pdf", "script": "scripts/a.py", "status": "exited", "exit_code": 3, "signal": null, "duration_ms": 12.345}),
        json!({"time": "2026-01-31T12:00:02Z", "event": "finished", "run_id": "r2", "skill": "pdf", "script": "scripts/a.sh", "status": "signaled", "exit_code": -11, "signal": "SIGSEGV", "duration_ms": 1.0}),
        json!({"time": "2026-01-31T12:00:03Z", "event": "refused", "run_id": "r3", "skill": "pdf", "script": "../x", "reason": "no"}),
        json!({"time": "2026-01-31T12:00:04Z", "event": "approved", "run_id": "r4", "skill": "pdf", "script": "scripts/a.py", "answer": "yes_once"}),
        json!({"time": "2026-01-31T12:00:05Z", "event": "aborted", "run_id": "r5", "skill": "pdf", "script": "scripts/a.py"}),
    ]);
    assert_eq!(
        shown(&env, &[]),
        "2026-01-31T12:00:00Z  started   pdf               scripts/a.py          r1  a b\n\
         2026-01-31T12:00:01Z  finished  pdf               scripts/a.py          r1  exited 3 in 12.3ms\n\
         2026-01-31T12:00:02Z  finished  pdf               scripts/a.sh          r2  signaled SIGSEGV in 1.0ms\n\
         2026-01-31T12:00:03Z  refused   pdf               ../x                  r3  no\n\
         2026-01-31T12:00:04Z  approved  pdf               scripts/a.py          r4  yes_once\n\
         2026-01-31T12:00:05Z  aborted   pdf               scripts/a.py          r5\n"
    );
}

/// The names of the lines that pass.
fn passing(env: &TestEnv, words: &[&str]) -> String {
    let text = shown(env, &[words, &["--json"]].concat());
    let names = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["name"].as_str().unwrap().to_owned()
    });
    names.collect::<Vec<_>>().join(" ")
}

fn show_filters_by_each_field() {
    let env = with_lines(&[
        json!({"name": "a", "event": "finished", "status": "exited", "run_id": "r-11", "tenant": "w", "session": "c", "skill": "s", "script": "scripts/x.py"}),
        json!({"name": "b", "event": "finished", "status": "timed_out", "run_id": "r-12", "tenant": "w", "session": "d", "skill": "s", "script": "scripts/y.py"}),
        json!({"name": "c", "event": "started", "run_id": "r-2", "world": "v", "chat": "c", "skill": "t", "script": "x.py"}),
    ]);
    for (words, wanted) in [
        (&[] as &[&str], "a b c"),
        (&["--skill", "s"], "a b"),
        (&["--script", "x"], "a c"),
        (&["--script", "x.py"], "a c"),
        (&["--script", "scripts/x.py"], "a"),
        (&["--status", "timed_out"], "b"),
        (&["--event", "started"], "c"),
        (&["--run", "r-1"], "a b"),
        (&["--run", "r-12"], "b"),
        (&["--tenant", "w", "--session", "c"], "a"),
        // An earlier version wrote the last line.
        (&["--tenant", "v"], "c"),
        (&["--session", "c"], "a c"),
        (&["--world", "v", "--chat", "c"], "c"),
        (&["--skill", "none"], ""),
    ] {
        assert_eq!(passing(&env, words), wanted, "{words:?}");
    }
}

fn show_filters_by_the_time_of_each_line() {
    // The clock was set back between the lines; they are printed in the order in which they were written.
    let env = with_lines(&[
        json!({"name": "a", "time": "2026-01-31T12:00:00Z"}),
        json!({"name": "b", "time": "2026-01-30T12:00:00Z"}),
        json!({"name": "c", "time": "2026-02-01T12:00:00.5Z"}),
        json!({"name": "d", "time": "what"}),
    ]);
    for (words, wanted) in [
        (&["--since", "2026-01-31"] as &[&str], "a c"),
        (&["--until", "2026-01-31"], "b"),
        (
            &[
                "--since",
                "2026-01-30T12:00:00Z",
                "--until",
                "2026-01-31T12:00:00.1Z",
            ],
            "a b",
        ),
        (&["--since", "2026-01-31T13:00:00+01:00"], "a c"),
        (&["--since", "9999w"], "a b c"),
        (&["--until", "9999w"], ""),
    ] {
        assert_eq!(passing(&env, words), wanted, "{words:?}");
    }
    // What was written just now is not older than an hour.
    let env = refused();
    assert_eq!(shown(&env, &["--since", "1h"]).lines().count(), 4);
    assert_eq!(shown(&env, &["--until", "1h"]), "");
}

fn show_prints_the_last_lines_unchanged() {
    let env = refused();
    let lines = lines(&env);
    let text = shown(&env, &["--json", "-n", "2"]);
    assert_eq!(text, format!("{}\n{}\n", lines[2], lines[3]));
    assert_eq!(shown(&env, &["--json", "-n", "0"]), "");
    assert_eq!(shown(&env, &["--json", "-n", "9"]), env.read(LOG));
}

fn show_escapes_control_sequences() {
    let env = with_lines(&[json!({
        "time": "\u{1b}[2J", "event": "refused", "run_id": "\u{1b}c", "skill": "a\u{202e}b",
        "script": "x\ny", "reason": "\u{1b}]0;t\u{7}",
    })]);
    assert_eq!(
        shown(&env, &[]),
        "\u{fffd}[2J                  refused   a\u{fffd}b               x y                   \u{fffd}c  \u{fffd}]0;t\u{fffd}\n"
    );
}

fn show_names_invalid_values() {
    let env = TestEnv::new();
    for (words, why) in [
        (
            ["--since", "yesterday"],
            "error: invalid value 'yesterday' for '--since <TIME>': `yesterday` is not a time: write `2026-01-31T12:00:00Z`, a date like `2026-01-31` (its beginning in UTC), or how long ago: `90s`, `15m`, `2h`, `3d`, `1w`\n",
        ),
        (
            ["--status", "timedout"],
            "error: invalid value 'timedout' for '--status <STATUS>'\n  [possible values: exited, signaled, timed_out, out_of_fuel, out_of_memory, trapped, cancelled]\n",
        ),
        (
            ["--event", "done"],
            "error: invalid value 'done' for '--event <EVENT>'\n  [possible values: refused, approved, started, finished, aborted, new_head]\n",
        ),
        (["-n", "-1"], "error: invalid value '-1' for '-n <N>'"),
    ] {
        let end = env.end(&[&["audit", "show"], words.as_slice()].concat());
        assert!(end.stderr.starts_with(why), "{}", end.stderr);
        assert_eq!((end.stdout.as_str(), end.code), ("", 125));
    }
}

fn show_skips_malformed_lines() {
    let env = refused();
    let lines = lines(&env);
    let odd = [
        lines[0].as_bytes(),
        b"\xff\n[1]\n{\"v\":",
        b"\n",
        lines[1].as_bytes(),
        b"\n",
    ];
    env.write(LOG, odd.concat());
    let end = env.end(&["audit", "show", "--json"]);
    assert_eq!(
        (end.stdout.as_str(), end.stderr.as_str(), end.code),
        (
            format!("{}\n", lines[1]).as_str(),
            "warning: 3 lines cannot be read\nhint: `skillrun audit verify` names them\n",
            0
        )
    );
}
