//! The hash chain of the audit log: `audit verify` finds every change.

use crate::env::{End, TestEnv};
use crate::setup;
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

tests! {
    an_untouched_log_verifies_and_its_newest_hash_is_printed,
    a_changed_line_is_found,
    a_changed_last_line_is_found,
    a_removed_line_is_found,
    removed_last_lines_are_found,
    a_removed_first_line_is_found,
    an_inserted_line_is_found,
    a_moved_line_is_found,
    a_truncated_line_is_found,
    a_forged_line_at_the_end_is_found_after_every_later_run,
    a_partial_line_after_a_failed_write_is_found,
    a_lost_head_is_recorded_in_the_log_and_reported_until_a_newer_hash_is_named,
    a_log_that_was_moved_away_verifies_with_its_files_named,
    a_recreated_log_is_found_by_a_noted_hash,
    a_log_without_a_run_is_empty,
    a_log_that_is_not_a_file_cannot_be_verified,
    a_malformed_hash_is_named,
    a_line_of_a_hundred_megabytes_is_named,
    many_processes_rotate_a_full_log_once_and_write_one_chain,
}

pub(crate) const LOG: &str = "state/skillrun/audit.jsonl";

/// A test environment whose log records four refusals, numbered by their arguments.
pub(crate) fn refused() -> TestEnv {
    let env = TestEnv::with_script("");
    for n in 1..=4 {
        let end = env.end(&["run", "./skill", "../x.py", "--", &n.to_string()]);
        assert_eq!(end.code, 126);
    }
    env
}

pub(crate) fn lines(env: &TestEnv) -> Vec<String> {
    env.read(LOG).lines().map(ToOwned::to_owned).collect()
}

/// Verifies the log after a change: what is printed without the newest hash, and the exit code.
fn verified(change: impl FnOnce(&mut Vec<String>)) -> (String, i32) {
    let env = refused();
    let mut all = lines(&env);
    change(&mut all);
    env.write(LOG, all.join("\n") + "\n");
    let end = env.end(&["audit", "verify"]);
    let object = env.end(&["audit", "verify", "--json"]);
    let object: Value = serde_json::from_str(&object.stdout).unwrap();
    assert_eq!(object["holds"], json!(end.code == 0));
    let (text, newest) = end.stdout.split_once("newest: ").unwrap();
    assert_eq!(newest.split(", ").nth(1).unwrap().trim().len(), 64);
    (format!("{text}{}", end.stderr), end.code)
}

fn an_untouched_log_verifies_and_its_newest_hash_is_printed() {
    let (text, code) = verified(|_| {});
    assert_eq!((text.as_str(), code), ("intact: 4 lines in 1 file\n", 0));
    let env = refused();
    let object = env.end(&["audit", "verify", "--json"]);
    let mut object: Value = serde_json::from_str(&object.stdout).unwrap();
    let hash = object["newest_hash"].take();
    let wanted = json!({
        "files": [{"path": "{root}/state/skillrun/audit.jsonl", "lines": 4}],
        "lines": 4,
        "unchained": 0,
        "newest": 4,
        "newest_hash": null,
        "findings": [],
        "more_findings": 0,
        "notes": [],
        "holds": true,
    });
    assert_eq!(object, wanted);
    let hash = hash.as_str().unwrap();
    assert!(
        env.end(&["audit", "verify"])
            .stdout
            .ends_with(&format!("newest: number 4, {hash}\n"))
    );
    // The next line contains its hash.
    env.end(&["run", "./skill", "../x.py"]);
    assert_eq!(env.audit()[4]["previous"], hash);
}

/// Verifies the log after a change that must be found.
fn found(change: impl FnOnce(&mut Vec<String>), wanted: &str) {
    let (text, code) = verified(change);
    assert_eq!((text.as_str(), code), (wanted, 1));
}

fn a_changed_line_is_found() {
    found(
        |lines| lines[1] = lines[1].replace("\"arguments\":\"2\"", "\"arguments\":\"9\""),
        "{root}/state/skillrun/audit.jsonl:3: does not follow line 2: `previous` is not the hash of that line, so one of the two was changed\n\
         broken: 4 lines in 1 file\n",
    );
}

fn a_changed_last_line_is_found() {
    found(
        |lines| lines[3] = lines[3].replace("\"arguments\":\"4\"", "\"arguments\":\"9\""),
        "{root}/state/skillrun/audit.jsonl:4: was changed: `audit.head` records another hash\n\
         broken: 4 lines in 1 file\n",
    );
}

fn a_removed_line_is_found() {
    found(
        |lines| drop(lines.remove(1)),
        "{root}/state/skillrun/audit.jsonl:2: `seq` 2 is missing before it\n\
         broken: 3 lines in 1 file\n",
    );
}

fn removed_last_lines_are_found() {
    found(
        |lines| lines.truncate(2),
        "{root}/state/skillrun/audit.head: `seq` 3 to 4 are missing at the end of the log\n\
         broken: 2 lines in 1 file\n",
    );
}

fn a_removed_first_line_is_found() {
    found(
        |lines| drop(lines.remove(0)),
        "{root}/state/skillrun/audit.jsonl:1: `seq` 1 is missing before it\n\
         broken: 3 lines in 1 file\n\
         hint: if the missing lines are in other files, name those files, or pass --after with the hash you noted then\n",
    );
}

fn an_inserted_line_is_found() {
    found(
        |lines| {
            lines.insert(
                2,
                lines[1].replace("\"arguments\":\"2\"", "\"arguments\":\"9\""),
            )
        },
        "{root}/state/skillrun/audit.jsonl:3: `seq` 2 is out of place after `seq` 2\n\
         broken: 5 lines in 1 file\n",
    );
}

fn a_moved_line_is_found() {
    found(
        |lines| lines.swap(1, 2),
        "{root}/state/skillrun/audit.jsonl:2: `seq` 2 is missing before it\n\
         {root}/state/skillrun/audit.jsonl:3: `seq` 2 is out of place after `seq` 3\n\
         broken: 4 lines in 1 file\n",
    );
}

fn a_truncated_line_is_found() {
    found(
        |lines| lines[1].truncate(100),
        "{root}/state/skillrun/audit.jsonl:2: was cut short after it was written\n\
         broken: 4 lines in 1 file\n",
    );
}

/// The newest hash that `audit verify` prints.
fn newest(env: &TestEnv) -> String {
    let end = env.end(&["audit", "verify", "--json"]);
    let object: Value = serde_json::from_str(&end.stdout).unwrap();
    object["newest_hash"].as_str().unwrap().to_owned()
}

/// A line with the right number and the right hash of the line before it, in the log alone.
fn a_forged_line_at_the_end_is_found_after_every_later_run() {
    let env = refused();
    let mut all = lines(&env);
    let (start, _) = all[3].split_once("\"previous\"").unwrap();
    let start = start.replace("\"seq\":4,", "\"seq\":5,");
    let start = start.replace("\"event\":\"refused\"", "\"event\":\"approved\"");
    let forged = format!("{start}\"previous\":\"{}\"}}", newest(&env));
    all.push(forged);
    env.write(LOG, all.join("\n") + "\n");
    for further in 0..3 {
        let end = env.end(&["audit", "verify"]);
        let (text, number) = end.stdout.split_once("newest: ").unwrap();
        assert_eq!(
            (text, end.code),
            (
                format!(
                    "{{root}}/state/skillrun/audit.jsonl:5: is not in the chain: another program added it, or the head lost it in a power failure\n\
                     broken: {} lines in 1 file\n",
                    5 + further
                )
                .as_str(),
                1
            )
        );
        // Lines written since then follow our last line.
        assert!(
            number.starts_with(&format!("number {}, ", 4 + further)),
            "{number}"
        );
        assert_eq!(env.end(&["run", "./skill", "../x.py"]).code, 126);
    }
    assert_eq!(env.run(&[]).code, 0);
}

/// A line that did not fit on the disk is removed together with its announcement, so no later bytes can pass for its
/// rest.
fn a_partial_line_after_a_failed_write_is_found() {
    let env = refused();
    let log = env.path(LOG);
    let length = || fs::metadata(&log).unwrap().len();
    let before = env.read(LOG);
    // Only a part of the next line fits.
    let limit = length() + 100;
    let steps = format!("trap '' XFSZ; exec prlimit --fsize={limit} \"$@\"");
    let mut command = env.program("/bin/sh");
    command.env("PATH", "/usr/bin:/bin");
    command.args(["-c", &steps, "sh", env!("CARGO_BIN_EXE_skillrun")]);
    command.args(["run", "./skill", "main.py"]);
    let end = env.end_of(&mut command);
    let why = "error: cannot write the audit log `{root}/state/skillrun/audit.jsonl`: file too large\n\
               hint: nothing ran; set XDG_STATE_HOME to another directory\n";
    assert_eq!((end.stderr.as_str(), end.code), (why, 125));
    assert_eq!(env.read(LOG), before);
    let forged = "{\"v\":1,\"seq\":5,\"time\":\"2026-01-01";
    env.write(LOG, format!("{before}{forged}"));
    let found = "{root}/state/skillrun/audit.jsonl:5: is not a line of the log\n";
    for lines in [5, 7] {
        let end = env.end(&["audit", "verify"]);
        let (text, _) = end.stdout.split_once("newest: ").unwrap();
        let wanted = format!("{found}broken: {lines} lines in 1 file\n");
        assert_eq!(
            (text, end.stderr.as_str(), end.code),
            (wanted.as_str(), "", 1)
        );
        assert_eq!(env.run(&[]).code, 0);
    }
}

/// Runs continue without a head, and its loss stays on record.
fn a_lost_head_is_recorded_in_the_log_and_reported_until_a_newer_hash_is_named() {
    const HEAD: &str = "state/skillrun/audit.head";
    for (spoil, why) in [
        (None, "the head was missing"),
        (Some("x"), "the head could not be read"),
    ] {
        let env = refused();
        match spoil {
            None => fs::remove_file(env.path(HEAD)).unwrap(),
            Some(text) => drop(env.write(HEAD, text)),
        }
        env.write(LOG, lines(&env)[..3].join("\n") + "\n");
        assert_eq!(env.run(&[]).code, 0);
        let events: Vec<String> = env
            .audit()
            .iter()
            .map(|line| line["event"].as_str().unwrap().to_owned())
            .collect();
        let wanted = [
            "refused", "refused", "refused", "new_head", "started", "finished",
        ];
        assert_eq!(events, wanted);
        let shown = env.end(&["audit", "show", "--event", "new_head"]);
        assert!(shown.stdout.trim_end().ends_with(why), "{}", shown.stdout);
        let end = env.end(&["audit", "verify"]);
        let (text, _) = end.stdout.split_once("newest: ").unwrap();
        let found = format!(
            "{{root}}/state/skillrun/audit.jsonl:4: {why}: lines before this one may have been removed or replaced\n"
        );
        assert_eq!(text, format!("{found}broken: 6 lines in 1 file\n"));
        assert_eq!(
            (end.stderr.as_str(), end.code),
            (
                "hint: compare the log with your copies, note the newest hash, and pass it with --after from then on\n",
                1
            )
        );
        let end = env.end(&["audit", "verify", "--after", &newest(&env)]);
        assert_eq!((end.stderr, end.code), (format!("note: {found}"), 0));
    }
}

fn a_log_that_was_moved_away_verifies_with_its_files_named() {
    let env = refused();
    let noted = newest(&env);
    fs::rename(env.path(LOG), env.path("moved")).unwrap();
    env.end(&["run", "./skill", "../x.py"]);
    assert_eq!(env.audit()[0]["seq"], 5);
    let end = env.end(&["audit", "verify"]);
    let (text, _) = end.stdout.split_once("newest: ").unwrap();
    assert_eq!(
        (text, end.code),
        (
            "{root}/state/skillrun/audit.jsonl:1: `seq` 1 to 4 are missing before it\n\
             broken: 1 line in 1 file\n",
            1
        )
    );
    for words in [
        ["audit", "verify", &env.text(LOG), "moved"],
        ["audit", "verify", "--after", &noted],
    ] {
        let end = env.end(&words);
        assert_eq!((end.stderr.as_str(), end.code), ("", 0), "{}", end.stdout);
    }
}

fn a_recreated_log_is_found_by_a_noted_hash() {
    let env = refused();
    let noted = newest(&env);
    let words = ["audit", "verify", "--after", &noted];
    env.end(&["run", "./skill", "../x.py"]);
    assert_eq!(env.end(&words).code, 0);
    fs::remove_dir_all(env.path("state/skillrun")).unwrap();
    env.end(&["run", "./skill", "../x.py"]);
    assert_eq!(env.end(&["audit", "verify"]).code, 0);
    let End {
        stdout,
        stderr,
        code,
    } = env.end(&words);
    let wanted = format!(
        "{{root}}/state/skillrun/audit.jsonl: no line has the hash {noted}: it was rewritten, or is in another file\n\
         broken: 1 line in 1 file\n"
    );
    let (text, _) = stdout.split_once("newest: ").unwrap();
    assert_eq!((text, stderr.as_str(), code), (wanted.as_str(), "", 1));
}

fn a_log_without_a_run_is_empty() {
    let env = TestEnv::new();
    let end = env.end(&["audit", "verify"]);
    assert_eq!(
        (end.stdout.as_str(), end.code),
        ("intact: 0 lines in 0 files\n", 0)
    );
    assert_eq!(env.end(&["audit", "show"]).stdout, "");
    let end = env.end(&["audit", "verify", "no.jsonl"]);
    let why = "error: cannot read the audit log `no.jsonl`: no such file or directory\n";
    assert_eq!((end.stderr.as_str(), end.code), (why, 125));
}

fn a_log_that_is_not_a_file_cannot_be_verified() {
    for step in ["fifo", "dir"] {
        let env = TestEnv::new();
        setup::prepare(env.root(), &format!("{step} {LOG}")).unwrap();
        for words in [["audit", "verify"], ["audit", "show"]] {
            let end = env.end(&words);
            let why = "error: cannot read the audit log `{root}/state/skillrun/audit.jsonl`: it is not a regular file\n";
            assert_eq!(
                (end.stdout.as_str(), end.stderr.as_str(), end.code),
                ("", why, 125)
            );
        }
    }
}

fn a_malformed_hash_is_named() {
    let end = refused().end(&["audit", "verify", "--after", "abc"]);
    let why = "error: invalid value 'abc' for '--after <HASH>': `abc` is not the hash of a line: write 64 hexadecimal digits, as `skillrun audit verify` prints them\n";
    assert!(end.stderr.starts_with(why), "{}", end.stderr);
    assert_eq!((end.stdout.as_str(), end.code), ("", 125));
}

fn a_line_of_a_hundred_megabytes_is_named() {
    let env = refused();
    let log = fs::OpenOptions::new()
        .append(true)
        .open(env.path(LOG))
        .unwrap();
    let length = log.metadata().unwrap().len();
    log.set_len(length + 100_000_000).unwrap();
    let end = env.end(&["audit", "verify"]);
    let (text, _) = end.stdout.split_once("newest: ").unwrap();
    assert_eq!(
        (text, end.code),
        (
            "{root}/state/skillrun/audit.jsonl:5: is longer than 16MiB\n\
             broken: 5 lines in 1 file\n",
            1
        )
    );
    log.set_len(length).unwrap();
    assert_eq!(env.end(&["audit", "verify"]).code, 0);
}

fn many_processes_rotate_a_full_log_once_and_write_one_chain() {
    let env = TestEnv::with_script("");
    // A log without a chain, from an earlier version, almost full.
    let line = format!(
        "{{\"v\":1,\"event\":\"started\",\"arguments\":\"{}\",\"previous\":null}}\n",
        "x".repeat(4000)
    );
    let count = (64 << 20) / line.len() - 1;
    env.write(LOG, line.repeat(count));
    let binary = env!("CARGO_BIN_EXE_skillrun");
    let steps = format!("for i in $(seq 25); do {binary} run ./skill ../x.py -- $i; done");
    let children: Vec<_> = (0..6)
        .map(|_| {
            let mut command = env.program("/bin/sh");
            command.env("PATH", "/usr/bin:/bin").stdout(Stdio::null());
            command.args(["-c", &steps]).spawn().unwrap()
        })
        .collect();
    for child in children {
        assert_eq!(env.end_of_child(child).code, 126);
    }
    let end = env.end(&["audit", "verify", "--json"]);
    let object: Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!((&object["findings"], end.code), (&json!([]), 0));
    // One line records that the log had no head.
    assert_eq!(object["lines"], json!(count + 151));
    assert_eq!(object["newest"], json!(count + 151));
    let files = object["files"].as_array().unwrap();
    let paths: Vec<_> = files
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    let [part, live] =
        ["audit-1.jsonl", "audit.jsonl"].map(|name| format!("{{root}}/state/skillrun/{name}"));
    assert_eq!(paths, [part, live]);
}
