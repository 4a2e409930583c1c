//! Every run and every refusal is in the log, wherever the process is killed.
//!
//! The n-th system call of a kind kills the process, for every n that there is: before the log is
//! opened, between the line and its head, before the script starts, and so on. What ran has its line,
//! and the log verifies after every one of these deaths.

use crate::place::{End, Place};
use libtest_mimic::Trial;
use serde_json::Value;
use skillrun::{AuditFiles, AuditWrong};
use std::path::Path;

/// The system calls by which a run reads, writes and locks.
const CALLS: [&str; 11] = [
    "openat", "openat2", "flock", "fstat", "statx", "pread64", "write", "pwrite64", "close",
    "mkdir", "rmdir",
];

pub(crate) fn trials() -> Vec<Trial> {
    let trials = [
        Trial::test(
            "what_ran_is_in_the_log_wherever_the_process_was_killed",
            || {
                what_ran_is_in_the_log_wherever_the_process_was_killed();
                Ok(())
            },
        ),
        Trial::test(
            "what_was_refused_is_in_the_log_wherever_the_process_was_killed",
            || {
                what_was_refused_is_in_the_log_wherever_the_process_was_killed();
                Ok(())
            },
        ),
    ];
    let traced = Place::new()
        .program("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .env("PATH", "/usr/bin:/bin")
        .status();
    let trials = trials.into_iter();
    if traced.is_ok_and(|status| status.success()) {
        return trials.collect();
    }
    let ignored = |trial: Trial| trial.with_kind("needs strace").with_ignored_flag(true);
    trials.map(ignored).collect()
}

/// Runs the words again and again, each time killed one step later, until it survives each kind of
/// step; `check` sees the last argument of the run and its end. Returns how many were killed.
fn killed_everywhere(place: &Place, words: &[&str], mut check: impl FnMut(&str, &End)) -> usize {
    let mut killed = 0;
    for call in CALLS {
        for n in 1.. {
            let name = format!("{call}-{n}");
            let mut command = place.program("strace");
            command.env("PATH", "/usr/bin:/bin");
            command.args(["-f", "-qq", "-o", "/dev/null"]);
            command.args(["-e", &format!("trace={call}")]);
            command.args(["-e", &format!("inject={call}:signal=KILL:when={n}")]);
            command
                .arg(env!("CARGO_BIN_EXE_skillrun"))
                .args(words)
                .args(["--", &name]);
            let end = place.end_of(&mut command);
            check(&name, &end);
            verify(place, &name);
            if end.code != 128 + 9 {
                break;
            }
            killed += 1;
        }
    }
    killed
}

/// The log is as it was written, but for what a killed writer may leave.
fn verify(place: &Place, name: &str) {
    let log = AuditFiles::of(place.path("state/skillrun/audit.jsonl"));
    let done = log.verify(None).unwrap();
    assert!(done.holds(), "{name}: {:?}", done.findings);
    let left = |kind| matches!(kind, AuditWrong::CutShort | AuditWrong::Head);
    assert!(
        done.notes.iter().all(|note| left(note.kind)),
        "{name}: {:?}",
        done.notes
    );
}

/// The events of the run with this argument.
fn events(place: &Place, name: &str) -> Vec<Value> {
    let lines = place.audit().into_iter();
    let its = lines.filter(|line| line["arguments"] == name);
    its.map(|mut line| line["event"].take()).collect()
}

fn what_ran_is_in_the_log_wherever_the_process_was_killed() {
    let place = Place::with_script("import sys\nopen(sys.argv[1], 'w').close()\n");
    std::fs::create_dir(place.path("workspace")).unwrap();
    let words = ["run", "./skill", "main.py", "-w", "workspace"];
    let (mut before, mut after, mut whole) = (0, 0, 0);
    let killed = killed_everywhere(&place, &words, |name, end| {
        let ran = Path::new(&place.path("workspace")).join(name).exists();
        let events = events(&place, name);
        match (end.code, ran) {
            (0, true) => {
                assert_eq!(events, ["started", "finished"], "{name}");
                whole += 1;
            }
            (137, true) => {
                assert_eq!(events[0], "started", "{name}");
                after += 1;
            }
            (137, false) => before += 1,
            _ => panic!("{name}: {end:?}"),
        }
    });
    // Some died before the script ran and some after, or this shows nothing.
    assert_eq!(whole, CALLS.len());
    assert!(before > 50 && after > 20, "{before} {after} {killed}");
}

fn what_was_refused_is_in_the_log_wherever_the_process_was_killed() {
    let place = Place::with_script("");
    let words = ["run", "./skill", "../x.py"];
    let (mut told, mut silent) = (0, 0);
    killed_everywhere(&place, &words, |name, end| {
        if end.stderr.contains("refused: ") {
            assert_eq!(events(&place, name), ["refused"], "{name}");
            told += 1;
        } else {
            assert_eq!(end.code, 137, "{name}: {end:?}");
            silent += 1;
        }
    });
    assert!(told >= CALLS.len() && silent > 10, "{told} {silent}");
}
